"""The rules of a table together: the model's columns, and sampling of rows that satisfy all rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
import pandas as pd

import sdv_plausible.rules as kinds
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.rules.rule import ColumnSpec, DerivingRule, Rule, attribute_specs, date_formats
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME
from sdv_plausible.table.cells.dates import date_style
from sdv_plausible.table.cells.number_texts import read_numbers
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.column_document import Provenance
from sdv_plausible.table.columns.domain import Attribute, Domain

MAX_ROUNDS = 50  # maximum number of sampling rounds
CASE_ROUNDS = 5  # first rounds, in which a rejected row is replaced only by a row of the same case
OVERSAMPLING = 1.1  # oversampling factor
MIN_ACCEPTANCE = 0.01  # lower bound on the assumed acceptance rate
MAX_ROUND_FACTOR = 4  # maximum number of rows per round, relative to the number requested
MAX_TRIES = 10_000  # rows without any acceptance after which sampling fails
CASE_TRIES = 300  # conditional sampling: first tries of a row, restricted to its own case
MAX_ROUND_ROWS = 2**18  # conditional sampling: maximum number of rows per round


@dataclass(frozen=True)
class RuleSet:
    """The rules of a table, in the order in which derived columns are computed."""

    deriving_rules: tuple[DerivingRule, ...] = ()  # after the rules that derive its sources
    row_constraints: tuple[Rule, ...] = ()  # rejected by sampling
    # Specification of every modelled column of the table: sdtype, format, declaration
    words: Mapping[str, ColumnSpec] | None = None
    digests: tuple[str, ...] = ()  # of the rules as declared
    # Whether they were edited after a comparison with the rows, without a public source
    edited: bool = False
    source: str | None = None  # public source
    # Columns of deriving rules whose declarations were inferred from the rows, or edited after a comparison
    seen: tuple[str, ...] = ()

    @classmethod
    def make(
        cls, rules: Iterable[Rule], specs: Mapping[str, ColumnSpec], taken: Collection[str] = ()
    ) -> RuleSet:
        """Check rules against the columns and against each other, without reading rows.

        ``specs`` are the specifications of the modelled columns, ``taken`` the names of all columns.
        """
        from sdv_plausible.rules.contradictions import check_possible  # only with rules

        rules = tuple(rules)
        for rule in rules:
            unknown = sorted(set(rule.columns) - set(specs))
            if unknown:
                raise Refused.saying(
                    "rules",
                    f"rule '{rule}' names {unknown}, which are not modelled columns of the metadata: "
                    f"{sorted(specs)}",
                )
        rules = [rule.resolve(specs) if isinstance(rule, DerivingRule) else rule for rule in rules]
        for rule in rules:
            rule.check(specs)
        deriving_rules = _in_order([rule for rule in rules if isinstance(rule, DerivingRule)])
        row_constraints = tuple(rule for rule in rules if not isinstance(rule, DerivingRule))
        rule_set = cls(deriving_rules, row_constraints, dict(specs))
        for name in rule_set.added:
            if len(name) > LONGEST_NAME:
                raise Refused.saying(
                    "rules",
                    f"rules: a column of {len(name):,} letters, {name[:40]!r}..., would represent others, "
                    f"but a file holds names of at most {LONGEST_NAME:,}characters: shorten the names of "
                    "the table",
                )
            if name in {*specs, *taken}:
                raise Refused.saying(
                    "rules", f"rules: the table has a column {name!r}, which the rules need: rename it"
                )
        check_possible(rules, specs)
        return rule_set

    def __bool__(self) -> bool:
        """Whether there is a rule."""
        return bool(self.deriving_rules or self.row_constraints)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules."""
        return (*self.deriving_rules, *self.row_constraints)

    @property
    def made(self) -> tuple[str, ...]:
        """Derived columns, which the model does not see."""
        return tuple(name for rule in self.deriving_rules for name in rule.made)

    @property
    def added(self) -> tuple[str, ...]:
        """Surrogate columns, which only the model sees."""
        return tuple(name for rule in self.deriving_rules for name in rule.added)

    def behind(self, name: str) -> tuple[str, ...]:
        """Columns of the table that a model column represents."""
        return next((rule.columns for rule in self.deriving_rules if name in rule.added), (name,))

    @property
    def formats(self) -> dict[str, str | None]:
        """Formats of the date columns."""
        return date_formats(self.words or {})

    def model_columns(self, columns: Mapping[str, ColumnSpec]) -> dict[str, ColumnSpec]:
        """The model's columns in place of a table's columns, or of their declarations."""
        # A surrogate takes the place of its rule's first column.
        surrogates = {rule.made[0]: rule.surrogate_specs(self.words or {}) for rule in self.deriving_rules}
        model_columns: dict[str, ColumnSpec] = {}
        for name, spec in columns.items():
            if name not in self.made:
                model_columns[name] = spec
            model_columns.update(surrogates.get(name, {}))
        return model_columns

    # --- rows -------------------------------------------------------------------------------------

    def fold(self, table: pd.DataFrame) -> pd.DataFrame:
        """Convert the table's rows to the model's, row by row: without derived columns, with surrogates."""
        formats, read = self.formats, self._read(table)
        added = {
            name: column for rule in self.deriving_rules for name, column in rule.fold(read, formats).items()
        }
        return table.drop(columns=list(self.made)).assign(**added)

    def _read(self, table: pd.DataFrame) -> pd.DataFrame:
        """Rows with formatted numbers parsed."""
        number_formats = {
            name: words["number_format"]
            for name, words in (self.words or {}).items()
            if words.get("number_format") and name in table and table[name].dtype.kind not in "biufc"
        }
        columns = {
            name: pd.Series(read_numbers(table[name], form), table.index, dtype=object)
            for name, form in number_formats.items()
        }
        return table.assign(**columns)

    def fitted(self, domain: Domain, table: pd.DataFrame | None = None) -> FittedRules:
        """Bind the rules to a domain."""
        # Only the table's schema is used: it determines how dates are written.
        known, derived = {attribute.name: attribute for attribute in domain}, {}
        styles = {} if table is None else {
            name: date_style(table[name], form) for name, form in self.formats.items() if name in table
        }  # fmt: skip
        for rule in self.deriving_rules:
            origins = {known[name].provenance for name in (*rule.sources, *rule.added)}
            origins |= {"edited" for name in rule.columns if name in self.seen}
            provenance = provenance_of(origins)
            for attribute in rule.attributes(known, self.words or {}, styles):
                number_format = (self.words or {}).get(attribute.name, {}).get("number_format")
                fitted = replace(attribute, provenance=provenance, number_format=number_format)
                known[attribute.name] = derived[attribute.name] = fitted
        return FittedRules(replace(self, words=attribute_specs(known)), derived) if self else FittedRules()

    def broken(self, table: pd.DataFrame) -> dict[Rule, np.ndarray]:
        """Mask of rows that break each rule. Not private: for the data owner."""
        parsed = self._read(table)
        return {rule: ~rule.holds(parsed, self.formats) for rule in self.rules}

    def holds(self, table: pd.DataFrame) -> np.ndarray:
        """Mask of rows that satisfy the constraints."""
        masks = [rule.holds(table, self.formats) for rule in self.row_constraints]
        return np.logical_and.reduce(masks) if masks else np.ones(len(table), dtype=bool)

    def cases(self, table: pd.DataFrame) -> pd.Series:
        """Case of each row: which implications apply, as bytes that are equal for rows of the same case."""
        applies = [
            rule.applies(table, self.formats)
            for rule in self.row_constraints
            if isinstance(rule, kinds.Implies)
        ]
        bits = np.packbits(np.array(applies, dtype=bool).reshape(len(applies), len(table)), axis=0)
        return pd.Series([case.tobytes() for case in bits.T], index=table.index, dtype=object)


@dataclass(frozen=True)
class FittedRules:
    """Rules with the attributes of their derived columns: converts the model's rows to the table's."""

    rule_set: RuleSet = RuleSet()
    made: Mapping[str, Attribute] = field(default_factory=dict)  # attributes of the derived columns

    def whole(self, domain: Domain) -> Domain:
        """Domain of the table: model columns without surrogates, and derived columns."""
        modelled = (attribute for attribute in domain if attribute.name not in self.rule_set.added)
        return Domain((*modelled, *self.made.values()))

    def given(self, conditions: Mapping[str, Any]) -> dict[str, Any]:
        """Replace conditions on derived columns by conditions on surrogates, where those follow from them."""
        converted = dict(conditions)
        named = sorted(set(converted) & set(self.rule_set.added))
        if named:
            raise ValueError(
                f"given names {named}, which are internal columns of the model: use columns of the table"
            )
        for rule in self.rule_set.deriving_rules:
            if rule.reversible and set(rule.made) <= set(converted):
                codec = Codec(Domain(tuple(self.made[name] for name in rule.made)))
                for name in rule.made:
                    codec.check_value(name, converted[name])
                row = pd.DataFrame({name: [converted.pop(name)] for name in rule.made})
                folded = rule.fold(row, self.rule_set.formats)
                converted |= {name: column.iloc[0] for name, column in folded.items()}
        return converted

    def condition_rows(self, conditions: pd.DataFrame) -> pd.DataFrame:
        """Like :meth:`given`, for conditions that differ per row."""
        converted = conditions
        for rule in self.rule_set.deriving_rules:
            if rule.reversible and set(rule.made) <= set(converted):
                derived = list(rule.made)
                codec = Codec(Domain(tuple(self.made[name] for name in derived)))
                for name in derived:
                    codec.check_values(name, converted[name])
                folded = rule.fold(converted[derived], self.rule_set.formats)
                converted = converted.drop(columns=derived).assign(**folded)
        return converted

    def unfold(self, table: pd.DataFrame) -> pd.DataFrame:
        """Convert the model's rows to the table's."""
        formats = self.rule_set.formats
        for rule in self.rule_set.deriving_rules:
            table = table.assign(**rule.unfold(table, formats, self.made))
        return table.drop(columns=list(self.rule_set.added))

    def draw(
        self, num_rows: int, rows: Callable[[int, int], pd.DataFrame], domain: Domain, *, spare: bool = True
    ) -> pd.DataFrame:
        """Sample rows that satisfy the rules, by rejection. Post-processing."""
        # A rejected row is replaced by one to which the same implications apply. Otherwise cases in which the
        # model errs more often would become rarer than in the model. ``rows`` receives the number of rows and
        # of the round. With ``spare``, more rows may be drawn than needed.
        if not (self.rule_set.row_constraints and num_rows):
            return rows(num_rows, 0)
        accepted, drawn, acceptance, slots = [], 0, 1.0, _RowSlots(num_rows)
        for round_ in range(MAX_ROUNDS):
            likely = int(slots.left / max(MIN_ACCEPTANCE, acceptance) * OVERSAMPLING) + 1
            num_drawn = min(likely, MAX_ROUND_FACTOR * num_rows + MAX_TRIES)
            table = rows(num_drawn if spare and round_ else slots.left, round_)
            cases = self.rule_set.cases(table) if round_ < CASE_ROUNDS else None
            valid = self.rule_set.holds(table)
            accepted.append(table[slots.fill(valid, cases)])
            drawn, acceptance = drawn + len(table), len(accepted[-1]) / max(1, len(table))
            if not slots.left:
                return _usual_numbers(pd.concat(accepted, ignore_index=True), domain)
            if slots.left == num_rows and drawn >= MAX_TRIES:
                break
        raise Refused.saying(
            "rules",
            f"rules: of {drawn:,} rows from the model, {num_rows - slots.left:,} satisfy all rules, but "
            f"{num_rows:,} are needed. The rules, or their combination with the conditions, do not match "
            "the table",
        )

    def draw_each(
        self, num_rows: int, rows: Callable[[np.ndarray, int], pd.DataFrame], domain: Domain
    ) -> pd.DataFrame:
        """Like :meth:`draw`, for rows with their own conditions: each is drawn until it satisfies the rules.

        ``rows`` receives row numbers, possibly repeated, and the number of the round. A row that is drawn
        again keeps its first case.
        """
        first = rows(np.arange(num_rows), 0)
        if not (self.rule_set.row_constraints and num_rows):
            return first
        valid, cases = self.rule_set.holds(first), self.rule_set.cases(first).to_numpy()
        accepted, positions, left = [first[valid]], [np.flatnonzero(valid)], np.flatnonzero(~valid)
        repeats, tried = 1, 1  # per remaining row
        for round_ in range(1, MAX_ROUNDS):
            if not len(left) or tried >= MAX_TRIES:
                break
            repeats = max(1, min(4 * repeats, MAX_ROUND_ROWS // len(left)))
            candidates = np.repeat(left, repeats)
            table = rows(candidates, round_)
            accept = self.rule_set.holds(table)
            if tried < CASE_TRIES:
                accept &= self.rule_set.cases(table).to_numpy() == cases[candidates]
            filled, at = np.unique(candidates[accept], return_index=True)
            accepted.append(table.iloc[np.flatnonzero(accept)[at]])
            positions.append(filled)
            left, tried = np.setdiff1d(left, filled), tried + repeats
        if len(left):
            raise Refused.saying(
                "rules",
                f"rules: of {num_rows:,} rows with given values, {len(left):,} never satisfy all rules: the "
                "combination of rules and values does not match the table",
            )
        result = pd.concat(accepted, ignore_index=True).iloc[np.argsort(np.concatenate(positions))]
        return _usual_numbers(result.reset_index(drop=True), domain)


def provenance_of(origins: Iterable[Provenance]) -> Provenance:
    """Provenance of a derived column: the weakest of its inputs."""
    order: tuple[Provenance, ...] = ("edited", "inferred", "private", "declared")
    return min(origins, key=order.index)


class _RowSlots:
    """Free positions of a table, per case; the first rows determine the cases."""

    def __init__(self, number: int) -> None:
        self.left = number
        self._by_case: pd.Series | None = None

    def fill(self, valid: np.ndarray, cases: pd.Series | None) -> np.ndarray:
        """Mask of valid rows that get a position of their own case, or any position without cases."""
        if cases is None:
            accept = valid & (np.cumsum(valid) <= self.left)
        else:
            if self._by_case is None:
                self._by_case = cases.value_counts()
            free = cases.map(self._by_case).fillna(0).to_numpy()
            rank = cases[valid].groupby(cases).cumcount().reindex(cases.index, fill_value=0)
            accept = valid & (rank < free)
            self._by_case = self._by_case.sub(cases[accept].value_counts(), fill_value=0)
        self.left -= int(accept.sum())
        return np.asarray(accept)


def _usual_numbers(table: pd.DataFrame, domain: Domain) -> pd.DataFrame:
    """Integer columns as int64, if no accepted row has a missing value."""
    integers = [a.name for a in domain if a.kind == "integer" and a.name in table]
    complete = {n: np.int64 for n in integers if table[n].dtype.kind == "f" and table[n].notna().all()}
    return table.astype(complete)


def _in_order(rules: list[DerivingRule]) -> tuple[DerivingRule, ...]:
    """Rules in topological order: after those that derive their sources."""
    owner: dict[str, DerivingRule] = {}
    for rule in rules:
        for name in rule.made:
            if name in owner:
                raise Refused.saying(
                    "rules",
                    f"rules: column {name!r} is derived twice, by '{owner[name]}' and by '{rule}': remove "
                    "one, or reverse the other",
                )
            owner[name] = rule
    index = {id(rule): i for i, rule in enumerate(rules)}
    dependencies = {
        i: {index[id(owner[name])] for name in rule.sources if name in owner} for i, rule in enumerate(rules)
    }
    try:
        return tuple(rules[i] for i in TopologicalSorter(dependencies).static_order())
    except CycleError as error:
        circle = "', '".join(str(rules[i]) for i in dict.fromkeys(error.args[1]))
        raise Refused.saying(
            "rules", f"rules contradict each other: columns depend on themselves by '{circle}'"
        ) from None
