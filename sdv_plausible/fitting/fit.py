"""The one fit: all but the rows is known and checked; then it is paid for; then the rows are asked.

Whoever fits calls it: the synthesizer, ``fit_source``, and with them the command line and the app. A door
says where the rows are and what comes back; all that happens in between is here, in this order and once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.fitting.column_specs import CATEGORY, MOMENTS, ColumnSpecs
from sdv_plausible.fitting.diagnostics import HolderDiagnostics, missing_shares, warn_of_assumed_types
from sdv_plausible.fitting.expected_noise import ExpectedNoise
from sdv_plausible.fitting.fit_rows import FitRows, InMemoryRows
from sdv_plausible.fitting.ledger_notes import blurred, of_noise, of_others, of_types, of_vote, personal
from sdv_plausible.fitting.model_learning import fit_release
from sdv_plausible.fitting.plan import Plan, plan
from sdv_plausible.fitting.public_table import codes_digest, with_public
from sdv_plausible.fitting.release_budget import Budget, check_texts, draw_all, only_planned
from sdv_plausible.fitting.reused_domain import ReusedDomain
from sdv_plausible.fitting.worst_case_charge import (
    after_a_vote,
    check_even,
    delta_too_small,
    envelope_entry,
    learned_domains,
    with_more,
)
from sdv_plausible.mechanism.drawing.sampler import Sampler
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.models import is_builtin
from sdv_plausible.models.base import Learner
from sdv_plausible.models.learner_checks import check_blind
from sdv_plausible.privacy.entries import LedgerEntry, Part
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import NoisyAnswer, Transcript
from sdv_plausible.release.file.all_sections import check_sections
from sdv_plausible.rules.rule_set import FittedRules, RuleSet
from sdv_plausible.rules.rules_and_declarations import rule_entries
from sdv_plausible.table.columns.cell_reader import read_again
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.declarations import Declarations, Specs
from sdv_plausible.table.domain_building import build_domain, domain_entries
from sdv_plausible.table.learned.private_domain import DomainPlan, LearningBudget, check_bins


@dataclass(frozen=True, kw_only=True)
class FitResult:
    """What a fit found: all that a release is made of."""

    domain: Domain
    rules: FittedRules
    sampler: Sampler
    ledger: PrivacyLedger
    charge: Mapping[str, str] | None  # in the budget it was drawn from
    types: Specs = field(default_factory=dict)  # words of the columns whose types were voted for
    public: str | None = None  # digest of the published table that the model started from
    others: Mapping[str, float] = field(default_factory=dict)  # shares that may be of another kind, by a vote


@dataclass(frozen=True, kw_only=True)
class PaidFit:
    """A fit that is paid for, and has not looked yet."""

    ledger: PrivacyLedger
    charge: Mapping[str, str] | None = None
    rest: Callable[[], Mapping[str, str] | None] | None = None  # draws what comes after a count of the rows

    def going_on(self) -> PaidFit:
        """The same once all is drawn: a count said that there are rows enough."""
        return self if self.rest is None else replace(self, charge=self.rest(), rest=None)

    def closed(self) -> PrivacyLedger:
        """The ledger of a fit that is done, without what watched over it, nor a trace of a budget."""
        for name in ("before_charge", "after_charge"):
            self.ledger.__dict__.pop(name, None)
        return self.ledger


def chosen(rows: FitRows, neighbours: Neighbours, coins: KeyedRNG, teller: HolderDiagnostics) -> FitRows:
    """Of every person at most as many rows as the unit has: the first look, once all is paid for."""
    rows = rows.of_persons(neighbours, coins.spawn("persons"))
    teller.tell_of_persons(neighbours.person, rows)
    return rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """A fit that is told everything but the rows."""

    told: ColumnSpecs  # of the columns; where types are open, as if those were categories
    declared: Declarations  # value sets of what the model sees
    rules: RuleSet
    specs: Specs  # columns that the model sees, in order
    settings: Settings
    learner: Learner
    side: tuple[LedgerEntry, ...] = ()  # what stands beside the mechanism, and the rules
    said: Mapping[str, Any] = field(default_factory=dict)  # settings, as a release file will have them
    earlier: ReusedDomain = field(default_factory=ReusedDomain)  # what the domain cost when it was learned
    assumed: tuple[str, ...] = ()  # columns whose types came from metadata of unknown origin
    name: str = "table"  # the table in words, for a budget
    as_declared: bool = True  # whether columns are those declared: constraints and transformers change them
    rounding: bool = True  # whether numbers keep to the digits of the domain
    public: pd.DataFrame | None = None  # a published table that the model starts from
    envelope: LedgerEntry | None = None  # after a vote: what stood for every outcome of it
    anyway: bool = False  # whether it goes on however few rows there are, and counts none before
    whole: Settings | None = None  # beside a count that comes first: ``settings`` are what it leaves

    def plan(
        self, epsilon: float | None = None, num_rows: int | None = None, table_rows: int | None = None
    ) -> Plan:
        """Say what this fit costs, before any row is looked at.

        Parameters
        ----------
        epsilon : float, optional
            Another one.
        num_rows, table_rows : int, optional
            Rows wanted, and a guess for the table's.

        Raises
        ------
        ValueError
            If it cannot be fitted.
        """
        settings = self.settings if epsilon is None else replace(self.settings, epsilon=epsilon)
        found = replace(self, settings=settings).beside_count()._plan(num_rows, table_rows)
        return replace(found, epsilon=settings.epsilon)

    def beside_count(self) -> Fit:
        """The fit beside a count of the rows that comes first; itself where there is none."""
        private = self.declared.plan_private(self.specs, LearningBudget(math.inf, 0.0))
        if self.whole is not None or not (self.told.open or private.open):
            return self
        from sdv_plausible.fitting.row_count_check import (  # where few rows may lose a column
            after_count,
            is_counted,
        )

        s = self.settings
        if not is_counted(s, self.anyway) or not self._claims:  # without a claim there is nothing to save
            return self
        return replace(self, settings=after_count(s), whole=s)

    @cached_property
    def _claims(self) -> bool:
        """Whether it makes a privacy claim."""
        return self._plan(None, None).ledger.claims_privacy

    @property
    def count(self) -> tuple[LedgerEntry, ...]:
        """Entry of the count that comes first."""
        if self.whole is None:
            return ()
        from sdv_plausible.fitting.row_count_check import count_entry  # where there is one

        return (count_entry(self.whole),)

    def _plan(self, num_rows: int | None, table_rows: int | None) -> Plan:
        settings = self.settings
        envelope, domain = self._envelope(settings), self._planned()
        private = self._private(settings, envelope)
        check_bins(self.told.max_bins, private.columns, self.told.open)
        if self.as_declared:
            self._check_names(domain)
        extra = (
            *self.count,
            *self.earlier.entries,
            *self.told.entries(settings),
            *envelope,
            *private.entries(),
            *domain_entries(domain, self.declared),
            *rule_entries(self.rules),
            *self.side,
        )
        self._check_plan(settings, domain, extra)
        found = plan(
            settings, self.learner, domain,
            num_rows=num_rows, table_rows=table_rows, extra=extra, assumed=self.declared.assumed(self.specs),
            public=self.public is not None,
        )  # fmt: skip
        if found.ledger.claims_privacy and math.isinf(found.ledger.total()):
            raise delta_too_small(settings)
        told = (*self.told.warnings(), *personal(self.specs, self.declared))
        told = (*told, *found.warnings, *private.warnings(table_rows))
        if self.whole is not None:
            from sdv_plausible.fitting.row_count_check import plan_says  # where there is a count

            told = (*told, *plan_says(table_rows, private.rows_needed, self.rules))
        return replace(found, warnings=told)

    def _check_plan(self, settings: Settings, domain: Domain, extra: Sequence[LedgerEntry]) -> None:
        """Refuse a learner whose cost would hang on answers, before anything is paid."""
        if is_builtin(self.learner):
            return
        if math.isfinite(settings.epsilon) and any(a.provenance == "private" for a in domain):
            before = settings.empty_ledger()
            before.charge(*extra)
            for learned in (domain, *learned_domains(domain)):
                check_blind(self.learner, learned, settings.model_budget(before))
        if self.earlier.voted:
            check_even(settings, self.learner, domain)

    def _check_names(self, domain: Domain) -> None:
        """Refuse what cannot be fitted to these columns, before anything is charged for it."""
        self.learner.check_domain(domain)
        if (omega := self.settings.test.omega) is not None and len(domain):
            omega.among(len(domain))

    def _private(self, s: Settings, envelope: Sequence[LedgerEntry]) -> DomainPlan:
        whole = (
            LearningBudget.within(envelope[0].losses)
            if envelope
            else LearningBudget.of(s.epsilon, s.model_delta)
        )
        return self.declared.plan_private(self.specs, whole, s.neighbours)

    def _planned(self) -> Domain:
        """The domain of a plan."""
        return self.declared.planned(self.specs, self._to_learn)

    @property
    def _to_learn(self) -> Collection[str]:
        """Columns whose value sets are to be learned privately."""
        return self.declared.plan_private(self.specs, LearningBudget(math.inf, 0.0)).columns

    def _envelope(self, settings: Settings) -> list[LedgerEntry]:
        """What stands for domain and model whatever a vote finds, or found when the domain was learned."""
        if self.envelope is not None:
            return [self.envelope]
        earlier, vote = (
            tuple(loss for entry in entries if entry.status == "charged" for loss in entry.losses)
            for entries in (self.earlier.entries, self.told.entries(settings))
        )
        if self.earlier.voted and (self.told.open or (self._to_learn and not self.earlier.anew)):
            raise after_a_vote(list(dict.fromkeys([*self.told.open, *self._to_learn])))
        domains = [self._planned()]
        if self.told.open:
            most, fewest = (
                one._planned() for one in (self._all(MOMENTS[0]), self._read_as(self.told.fewest))
            )
            domains += [most, fewest]
            if not is_builtin(
                self.learner
            ):  # which may plan another kind of noise for some number in between
                domains += [with_more(fewest, columns) for columns in range(len(fewest) + 1, len(most))]
        elif not self.earlier.voted or math.isinf(settings.epsilon):
            return []
        elif not (is_builtin(self.learner) and self.learner.names_columns):
            domains = [with_more(domain) for domain in domains]
        parts: tuple[Part, ...] = ("structure", "parameters")
        if self.told.open or self.earlier.anew:
            parts = ("domain", *parts)
        return [envelope_entry(settings, self.learner, domains, earlier, vote, parts)]

    def _all(self, words: Mapping[str, Any]) -> Fit:
        """The fit if all columns whose types are open are this."""
        return self._read_as(dict.fromkeys(self.told.open, words))

    def with_types(self, found: Specs) -> Fit:
        """The fit once the types are known that were open, within what was kept for any of them."""
        (envelope,) = self._envelope(self.settings)
        return replace(self._read_as(found), envelope=envelope)

    def _read_as(self, found: Specs) -> Fit:
        """The fit with these types, and what of it still applies."""
        declared, rules, specs = self.told.read(found)
        public = self.public
        if public is not None:
            public = read_again(public.rename(columns=str), column_types(found), self.told.spelling)
        settings = self.settings.among(len(specs))
        return replace(self, declared=declared, rules=rules, specs=specs, public=public, settings=settings)

    def opened(
        self,
        budget: Budget | None = None,
        watch: Callable[[PrivacyLedger], object] | None = None,
        *,
        warns: bool = True,
    ) -> PaidFit:
        """Plan it, and draw all of it from the budget: the last thing before the first look.

        Parameters
        ----------
        budget : Budget, optional
            A total over several releases.
        watch : callable, optional
            Told the ledger after each charge, before the rows are asked.
        warns : bool
            Whether a claim that depends on column types of unknown origin is warned of.

        Raises
        ------
        BudgetExceededError
            If the budget does not hold it.
        """
        fit = self.beside_count()
        kept = replace(fit, envelope=next(iter(fit._envelope(fit.settings)), None))
        ledger, planned = self.settings.empty_ledger(), kept.plan().ledger
        known = {name: one for name in self.declared.names if (one := self.declared.known(name))}
        outcomes = list[PrivacyLedger]()
        if self.told.open:  # names of columns are known for every outcome, and the most columns are within
            for found in (*map(kept._all, MOMENTS), kept._read_as(self.told.fewest)):
                outcomes.append(outcome := found.plan().ledger)
                if planned.claims_privacy and not outcome.claims_privacy:
                    raise Refused.saying("types", f"types: the vote may end the claim. {outcome.sentence()}")
        of_file = [planned, *outcomes] if isinstance(self.settings.test, ReleaseTest) else []
        check_texts(planned)
        check_sections(known, self.rules, self.said, of_file)
        if warns:
            warn_of_assumed_types(planned)
        what = f"{self.name}, epsilon {rounded_up(self.settings.epsilon)}"
        charge, rest = draw_all(ledger, planned, budget, what, self.earlier.not_in, fit.count)
        ledger.after_charge = watch
        return PaidFit(ledger=ledger, charge=charge, rest=rest)

    @np.errstate(over="ignore")  # one number beyond all doubles is no matter of a warning
    def run(self, rows: FitRows, opened: PaidFit, coins: KeyedRNG, teller: HolderDiagnostics) -> FitResult:
        """Choose each person's rows; vote on types, learn value sets, then the model; put the test in front.

        Parameters
        ----------
        rows : Rows
            Wherever they are.
        opened : Opened
            Its ledger is charged before every look.
        coins : Coins
            Of this fit.
        teller : Teller
            Tells the holder of the rows what does not fit; it changes nothing.

        Raises
        ------
        ValueError
            If a column that was left to its rows cannot be read, or the privacy test needs more rows where
            there is no claim.
        TooFewRowsError
            If a count that comes first says that most undeclared columns would be lost.
        """
        return self.beside_count()._run(rows, opened, coins, teller)

    def _run(self, rows: FitRows, opened: PaidFit, coins: KeyedRNG, teller: HolderDiagnostics) -> FitResult:
        teller.tell_of_public(self.public, rows)
        rows = chosen(rows, self.settings.neighbours, coins, teller)
        if isinstance(rows, InMemoryRows) and (errors := self.settings.test.complaints(len(rows))):
            raise ValueError(" ".join(errors))
        if spelled := self.declared.spelled:
            rows = rows.read_again(spelled, self.told.spelling, self.rules)
        transcript = Transcript()
        if self.whole is not None:
            self._counted(rows, opened, coins.spawn("count"), transcript)
        opened = opened.going_on()
        if self.earlier.entries:
            opened.ledger.charge(*self.earlier.entries)
        if not self.told.open:
            opened.ledger.charge(*self._envelope(self.settings))
            return self._learned(rows, opened, coins, teller, transcript)
        types, answers = self._voted(rows, opened, coins.spawn("types"))
        said, others = (
            of_vote(types, answers, self.told.spelling),
            of_others(types, answers, self.told.spelling),
        )
        fit = self.with_types(types)
        if opened.ledger.before_charge is not None:  # within the envelope, too, a fit keeps to its plan
            opened.ledger.before_charge = only_planned(fit.plan().ledger)
        opened.ledger.charge(*fit._envelope(fit.settings))
        teller.tell_all(said)
        opened.ledger.charge(*of_types([*said, *blurred(others)]))
        teller.tell_of_omega(self.settings.test.user_omega, len(fit.specs))
        rows = rows.read_again(column_types(types), self.told.spelling, fit.rules)
        found = fit._learned(rows, opened, coins, teller, transcript)
        return replace(found, types=types, others=others)

    def _counted(self, rows: FitRows, opened: PaidFit, coins: KeyedRNG, transcript: Transcript) -> None:
        """Count the rows, and end the fit where most undeclared columns would be lost."""
        from sdv_plausible.fitting.row_count_check import counted_rows, rows_needed  # where there is a count

        assert self.whole is not None
        private = self._private(self.settings, self._envelope(self.settings))
        columns, needed = rows.columns(list(self.specs)), rows_needed(private.rows_needed, self.rules)
        known = {**self.told.columns, **self.specs, **{key: {} for key in self.told.open}}
        asked = Queryable(columns, opened.ledger, self.count, coins, transcript=transcript)
        counted_rows(asked, self.whole, needed, {name: known.get(name, {}) for name in needed})

    def _voted(
        self, rows: FitRows, opened: PaidFit, coins: KeyedRNG
    ) -> tuple[dict[str, dict[str, Any]], tuple[NoisyAnswer, ...]]:
        """Types that are open, by a vote of the persons' rows, and its answers."""
        told, answers, texts = self.told, Transcript(), column_types(dict.fromkeys(self.told.open, CATEGORY))
        cells = rows.read_again(texts, told.spelling, RuleSet()).columns(told.open)
        asked = Queryable(cells, opened.ledger, told.entries(self.settings), coins, transcript=answers)
        return told.found(asked, self.settings), answers.answers

    def _beside(self, domain: Domain) -> Domain:
        """The domain with columns that cost nothing more: ``extensions/multi_table/related_fit.py`` has some."""
        return domain

    def _learned(
        self,
        rows: FitRows,
        opened: PaidFit,
        coins: KeyedRNG,
        teller: HolderDiagnostics,
        transcript: Transcript,
    ) -> FitResult:
        """Learn domain and model, of columns whose types are known, and put the test in front."""
        ledger, folded = opened.ledger, rows.folded(list(self.specs))
        private = self._private(self.settings, self._envelope(self.settings))
        domain = build_domain(
            folded, self.declared, self.specs, self.told.max_bins, private, ledger, coins.spawn("domain"),
            transcript, rows.columns(list(self.specs)),
        )  # fmt: skip
        domain = domain if self.rounding else domain.without_rounding()
        rules = self.rules.fitted(domain, rows.schema())
        domain = replace(domain, possible={})
        if self.rules:
            from sdv_plausible.rules.structural_zeros import possible_pairs  # which knows every kind of rule

            domain = replace(domain, possible=possible_pairs(self.rules, domain))
        ledger.charge(*domain_entries(domain, self.declared), *rule_entries(self.rules), *self.side)
        teller.tell_of_domain(domain, transcript.answers)
        domain = self._beside(domain)
        codes = rows.coded(domain, coins.spawn("cells outside the domain"))
        if (learner := self.learner) and self.public is not None:
            learner = with_public(learner, self.public, domain, self.rules)
            teller.tell_of_unread(self.public, learner.public.codes, domain)
        sampler = fit_release(codes, domain, self.settings, learner, ledger, coins, transcript)
        expected = ExpectedNoise.of(
            self.settings, self.learner, domain, ledger, public=self.public is not None
        )
        counted = expected.rows_of(sampler.answers)  # noisy, and never that of ``rows``
        noise = private.warnings(counted)
        with suppress(Exception):  # of a learner's own forecast: what was paid for is not lost
            noise = [*expected.warnings(counted), *noise]
        if any(attribute.provenance == "private" for attribute in domain):
            from sdv_plausible.table.learned.lost_mass import of_mass  # where a domain was learned

            noise = [*noise, *of_mass(domain, transcript.answers)]
        ledger.charge(*of_noise(noise))
        teller.tell_of_strangers(self.declared, self.rules, self.specs, rows)
        made = {name: rule.made[0] for rule in rules.rule_set.making for name in rule.added}
        with suppress(Exception):  # what is only told ends no fit
            stream = coins.spawn("rows to see missing cells")
            shares = missing_shares(sampler.model, domain, transcript.answers, made, stream)
            teller.tell_of_missing(shares)
        teller.tell_of_digits(domain, private.digits, transcript.answers)
        teller.tell_of_structure(self.learner.arcs, sampler.model, domain)
        teller.tell_all([*noise, *personal(self.specs, self.declared)])
        public, charge, ledger = codes_digest(learner.public), opened.charge, opened.closed()
        return FitResult(
            domain=domain, rules=rules, sampler=sampler, ledger=ledger, charge=charge, public=public
        )
