"""All rules of a table together: what the model sees, and rows that keep every rule."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
import pandas as pd

import sdv_plausible.rules as kinds
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.rules.rule import DerivingRule, Rule, Words, attribute_words, date_formats
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME
from sdv_plausible.table.cells.dates import date_style
from sdv_plausible.table.cells.number_texts import read_numbers
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.column_document import Provenance
from sdv_plausible.table.columns.domain import Attribute, Domain

ROUNDS = 50  # in which rows that keep the rules are drawn
LIKE = 5  # of them that fill the place of a row that breaks a rule with a row of the same case only
SPARE = 1.1  # more rows than are likely to be needed
LEAST = 0.01  # share of kept rows that is assumed at least
MOST = 4  # times the rows wanted, in one round
ENOUGH = 10_000  # rows of which one must keep the rules
LIKE_TRIES = 300  # of a row with given values that may be of its own case only
EACH_AT_ONCE = 2**18  # tries at once of rows with given values


@dataclass(frozen=True)
class RuleSet:
    """Rules of a table, in the order in which made columns are made."""

    making: tuple[DerivingRule, ...] = ()  # a rule comes after those that make its sources
    limiting: tuple[Rule, ...] = ()  # rules that rows can break: those rows are drawn again
    # What is known of every modelled column of the table: sdtype, format, declaration
    words: Mapping[str, Words] | None = None
    digests: tuple[str, ...] = ()  # of the rules as they were given
    # Whether they were changed after rows that break one were counted, and cite no public source
    edited: bool = False
    source: str | None = None  # the public text that they are from
    # Columns whose words were read off the rows, or edited after a look at them, and of which a rule makes or
    # is made
    seen: tuple[str, ...] = ()

    @classmethod
    def make(cls, rules: Iterable[Rule], words: Mapping[str, Words], taken: Collection[str] = ()) -> RuleSet:
        """Check rules against the columns and one another; no row is looked at.

        ``words`` are those of modelled columns, ``taken`` names of all.
        """
        from sdv_plausible.rules.contradictions import check_possible  # where there are rules

        rules = tuple(rules)
        for rule in rules:
            unknown = sorted(set(rule.columns) - set(words))
            if unknown:
                raise Refused.saying(
                    "rules",
                    f"rule '{rule}' names {unknown}, which are not modelled columns of the metadata: "
                    f"{sorted(words)}",
                )
        rules = [rule.resolved(words) if isinstance(rule, DerivingRule) else rule for rule in rules]
        for rule in rules:
            rule.check(words)
        making = _in_order([rule for rule in rules if isinstance(rule, DerivingRule)])
        found = cls(making, tuple(rule for rule in rules if not isinstance(rule, DerivingRule)), dict(words))
        for name in found.added:
            if len(name) > LONGEST_NAME:
                raise Refused.saying(
                    "rules",
                    f"rules: a column of {len(name):,} letters, {name[:40]!r}..., would stand in for others, "
                    f"and no file holds names of more than {LONGEST_NAME:,}: shorten those of the table",
                )
            if name in {*words, *taken}:
                raise Refused.saying(
                    "rules", f"rules: the table has a column {name!r}, which the rules need: rename it"
                )
        check_possible(rules, words)
        return found

    def __bool__(self) -> bool:
        """Whether there is a rule."""
        return bool(self.making or self.limiting)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All of them."""
        return (*self.making, *self.limiting)

    @property
    def made(self) -> tuple[str, ...]:
        """Columns that the model does not see."""
        return tuple(name for rule in self.making for name in rule.made)

    @property
    def added(self) -> tuple[str, ...]:
        """Columns that only the model sees."""
        return tuple(name for rule in self.making for name in rule.added)

    def behind(self, name: str) -> tuple[str, ...]:
        """Columns of the table that a column of the model stands for."""
        return next((rule.columns for rule in self.making if name in rule.added), (name,))

    @property
    def formats(self) -> dict[str, str | None]:
        """Formats of the columns that hold dates."""
        return date_formats(self.words or {})

    def model_columns(self, columns: Mapping[str, Words]) -> dict[str, Words]:
        """What the model sees in the place of a table's columns, or of their declarations."""
        # A stand-in comes in place of the first of its rule's columns.
        after = {rule.made[0]: rule.stand_ins(self.words or {}) for rule in self.making}
        found: dict[str, Words] = {}
        for name, spec in columns.items():
            if name not in self.made:
                found[name] = spec
            found.update(after.get(name, {}))
        return found

    # --- rows -------------------------------------------------------------------------------------

    def fold(self, table: pd.DataFrame) -> pd.DataFrame:
        """Real rows as the model sees them; each is a function of its own row alone."""
        formats, read = self.formats, self._read(table)
        added = {name: column for rule in self.making for name, column in rule.fold(read, formats).items()}
        return table.drop(columns=list(self.made)).assign(**added)

    def _read(self, table: pd.DataFrame) -> pd.DataFrame:
        """Rows whose numbers are numbers, also where they are written as text."""
        spelled = {
            name: words["number_format"]
            for name, words in (self.words or {}).items()
            if words.get("number_format") and name in table and table[name].dtype.kind not in "biufc"
        }
        columns = {
            name: pd.Series(read_numbers(table[name], form), table.index, dtype=object)
            for name, form in spelled.items()
        }
        return table.assign(**columns)

    def fitted(self, domain: Domain, table: pd.DataFrame | None = None) -> FittedRules:
        """Put the rules to a domain that was found."""
        # Of the table the schema alone says how dates are written.
        known, made = {attribute.name: attribute for attribute in domain}, {}
        styles = {} if table is None else {
            name: date_style(table[name], form) for name, form in self.formats.items() if name in table
        }  # fmt: skip
        for rule in self.making:
            needed = {known[name].provenance for name in (*rule.sources, *rule.added)}
            needed |= {"edited" for name in rule.columns if name in self.seen}
            provenance = provenance_of(needed)
            for attribute in rule.attributes(known, self.words or {}, styles):
                spelled = (self.words or {}).get(attribute.name, {}).get("number_format")
                found = replace(attribute, provenance=provenance, number_format=spelled)
                known[attribute.name] = made[attribute.name] = found
        return FittedRules(replace(self, words=attribute_words(known)), made) if self else FittedRules()

    def broken(self, table: pd.DataFrame) -> dict[Rule, np.ndarray]:
        """Of every rule, which real rows break it. Not private: for the holder of the rows."""
        read = self._read(table)
        return {rule: ~rule.holds(read, self.formats) for rule in self.rules}

    def holds(self, table: pd.DataFrame) -> np.ndarray:
        """Whether each row keeps the rules that rows can break."""
        found = [rule.holds(table, self.formats) for rule in self.limiting]
        return np.logical_and.reduce(found) if found else np.ones(len(table), dtype=bool)

    def cases(self, table: pd.DataFrame) -> pd.Series:
        """Of every row, which implications apply to it: bytes that are equal for rows of the same case."""
        applies = [
            rule.applies(table, self.formats) for rule in self.limiting if isinstance(rule, kinds.Implies)
        ]
        bits = np.packbits(np.array(applies, dtype=bool).reshape(len(applies), len(table)), axis=0)
        return pd.Series([case.tobytes() for case in bits.T], index=table.index, dtype=object)


@dataclass(frozen=True)
class FittedRules:
    """Rules, and the value sets of the columns that they make: from the model's rows to the table's."""

    rule_set: RuleSet = RuleSet()
    made: Mapping[str, Attribute] = field(default_factory=dict)  # value sets of the made columns

    def whole(self, domain: Domain) -> Domain:
        """The columns of the table: those of the model but for stand-ins, and those that are made."""
        kept = (attribute for attribute in domain if attribute.name not in self.rule_set.added)
        return Domain((*kept, *self.made.values()))

    def given(self, conditions: Mapping[str, Any]) -> dict[str, Any]:
        """Conditions with those on made columns as conditions on stand-ins, where these follow from them."""
        found = dict(conditions)
        named = sorted(set(found) & set(self.rule_set.added))
        if named:
            raise ValueError(f"given names {named}, which only the model sees: give columns of the table")
        for rule in self.rule_set.making:
            if rule.reversible and set(rule.made) <= set(found):
                codec = Codec(Domain(tuple(self.made[name] for name in rule.made)))
                for name in rule.made:
                    codec.check_value(name, found[name])
                row = pd.DataFrame({name: [found.pop(name)] for name in rule.made})
                folded = rule.fold(row, self.rule_set.formats)
                found |= {name: column.iloc[0] for name, column in folded.items()}
        return found

    def given_each(self, conditions: pd.DataFrame) -> pd.DataFrame:
        """As :meth:`given`, of conditions that are other ones in each row."""
        found = conditions
        for rule in self.rule_set.making:
            if rule.reversible and set(rule.made) <= set(found):
                made = list(rule.made)
                codec = Codec(Domain(tuple(self.made[name] for name in made)))
                for name in made:
                    codec.check_values(name, found[name])
                folded = rule.fold(found[made], self.rule_set.formats)
                found = found.drop(columns=made).assign(**folded)
        return found

    def unfold(self, table: pd.DataFrame) -> pd.DataFrame:
        """Rows as the table has them, from rows of the model."""
        formats = self.rule_set.formats
        for rule in self.rule_set.making:
            table = table.assign(**rule.unfold(table, formats, self.made))
        return table.drop(columns=list(self.rule_set.added))

    def draw(
        self, num_rows: int, rows: Callable[[int, int], pd.DataFrame], domain: Domain, *, spare: bool = True
    ) -> pd.DataFrame:
        """Rows that keep the rules: those that do not are drawn again, which is post-processing."""
        # A row that breaks a rule makes room for one to which the same implications apply: else a case in
        # which the model errs more often than in others would become rarer than the model says. ``rows`` gets
        # a number of rows and that of the round; ``spare``: more may be drawn than are needed.
        if not (self.rule_set.limiting and num_rows):
            return rows(num_rows, 0)
        kept, drawn, share, places = [], 0, 1.0, _RowSlots(num_rows)
        for number in range(ROUNDS):
            likely = min(int(places.left / max(LEAST, share) * SPARE) + 1, MOST * num_rows + ENOUGH)
            table = rows(likely if spare and number else places.left, number)
            cases = self.rule_set.cases(table) if number < LIKE else None
            good = self.rule_set.holds(table)
            kept.append(table[places.fill(good, cases)])
            drawn, share = drawn + len(table), len(kept[-1]) / max(1, len(table))
            if not places.left:
                return _usual_numbers(pd.concat(kept, ignore_index=True), domain)
            if places.left == num_rows and drawn >= ENOUGH:
                break
        raise Refused.saying(
            "rules",
            f"rules: of {drawn:,} rows that the model made, {num_rows - places.left:,} keep all rules, and "
            f"{num_rows:,} are wanted: the rules, or the conditions together with them, do not fit the table",
        )

    def draw_each(
        self, num_rows: int, rows: Callable[[np.ndarray, int], pd.DataFrame], domain: Domain
    ) -> pd.DataFrame:
        """As :meth:`draw`, where each row has conditions of its own: it is drawn until it keeps the rules.

        ``rows`` gets the numbers of rows that are to be drawn, which may be there several times, and that of
        the round. A row that is drawn again is of the same case as it was first.
        """
        first = rows(np.arange(num_rows), 0)
        if not (self.rule_set.limiting and num_rows):
            return first
        good, cases = self.rule_set.holds(first), self.rule_set.cases(first).to_numpy()
        kept, places, left = [first[good]], [np.flatnonzero(good)], np.flatnonzero(~good)
        times, tried = 1, 1  # of each row that is left
        for number in range(1, ROUNDS):
            if not len(left) or tried >= ENOUGH:
                break
            times = max(1, min(4 * times, EACH_AT_ONCE // len(left)))
            wanted = np.repeat(left, times)
            table = rows(wanted, number)
            fits = self.rule_set.holds(table)
            if tried < LIKE_TRIES:
                fits &= self.rule_set.cases(table).to_numpy() == cases[wanted]
            filled, at = np.unique(wanted[fits], return_index=True)
            kept.append(table.iloc[np.flatnonzero(fits)[at]])
            places.append(filled)
            left, tried = np.setdiff1d(left, filled), tried + times
        if len(left):
            raise Refused.saying(
                "rules",
                f"rules: of {num_rows:,} rows with given values {len(left):,} do not keep all rules, however "
                "often they are drawn: the rules do not fit the table together with these values",
            )
        found = pd.concat(kept, ignore_index=True).iloc[np.argsort(np.concatenate(places))]
        return _usual_numbers(found.reset_index(drop=True), domain)


def provenance_of(needed: Iterable[Provenance]) -> Provenance:
    """Where knowledge of a made column comes from: of what it is made of, the origin that claims least."""
    order: tuple[Provenance, ...] = ("edited", "inferred", "private", "declared")
    return min(needed, key=order.index)


class _RowSlots:
    """Places of a table to be filled with rows that keep the rules; the first rows say of which cases."""

    def __init__(self, number: int) -> None:
        self.left = number
        self._by_case: pd.Series | None = None

    def fill(self, good: np.ndarray, cases: pd.Series | None) -> np.ndarray:
        """Which of the good rows get a place: one of their own case, or any if there are no cases."""
        if cases is None:
            fits = good & (np.cumsum(good) <= self.left)
        else:
            if self._by_case is None:
                self._by_case = cases.value_counts()
            free = cases.map(self._by_case).fillna(0).to_numpy()
            fits = good & (cases[good].groupby(cases).cumcount().reindex(cases.index, fill_value=0) < free)
            self._by_case = self._by_case.sub(cases[fits].value_counts(), fill_value=0)
        self.left -= int(fits.sum())
        return np.asarray(fits)


def _usual_numbers(table: pd.DataFrame, domain: Domain) -> pd.DataFrame:
    """Whole numbers as such, where the rows with a missing one are among those that were left out."""
    whole = [a.name for a in domain if a.kind == "integer" and a.name in table]
    full = {n: np.int64 for n in whole if table[n].dtype.kind == "f" and table[n].notna().all()}
    return table.astype(full)


def _in_order(rules: list[DerivingRule]) -> tuple[DerivingRule, ...]:
    """Rules after those that make their sources."""
    maker: dict[str, DerivingRule] = {}
    for rule in rules:
        for name in rule.made:
            if name in maker:
                raise Refused.saying(
                    "rules",
                    f"rules: column {name!r} is made twice, by '{maker[name]}' and by '{rule}': keep one, or "
                    "turn the other around",
                )
            maker[name] = rule
    number = {id(rule): i for i, rule in enumerate(rules)}
    needs = {
        i: {number[id(maker[name])] for name in rule.sources if name in maker} for i, rule in enumerate(rules)
    }
    try:
        return tuple(rules[i] for i in TopologicalSorter(needs).static_order())
    except CycleError as error:
        circle = "', '".join(str(rules[i]) for i in dict.fromkeys(error.args[1]))
        raise Refused.saying(
            "rules", f"rules contradict each other: columns follow from themselves by '{circle}'"
        ) from None
