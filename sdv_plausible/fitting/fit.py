"""The fit that every entry point uses: plan it, pay for it, then read the rows."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sdv_plausible.fitting.column_specs import CATEGORY, MOMENTS, ColumnSpecs
from sdv_plausible.fitting.diagnostics import (
    FitWarning,
    HolderDiagnostics,
    missing_shares,
    warn_of_assumed_types,
)
from sdv_plausible.fitting.fit_rows import FitRows, InMemoryRows
from sdv_plausible.fitting.ledger_notes import (
    inferred_type_notes,
    noise_entries,
    other_type_notes,
    other_type_shares,
    personal_data_notes,
    sentences,
    type_entries,
)
from sdv_plausible.fitting.plan import ExpectedNoise, Plan, epsilon_within, large_total_warnings, plan
from sdv_plausible.fitting.public_table import codes_digest, with_public
from sdv_plausible.fitting.reused_domain import ReusedDomain
from sdv_plausible.mechanism.drawing.sampler import Sampler
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.models import is_builtin
from sdv_plausible.models.base import Learner, ModelBudget, SeedModel
from sdv_plausible.models.learner_checks import (
    check_plan_independence,
    impossible_seed_probability,
    model_class,
    planned_entries,
    plausible_gamma,
)
from sdv_plausible.privacy.accounting.losses import Loss
from sdv_plausible.privacy.entries import LedgerEntry, Part
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.queries.count_queries import ExactCounts
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import ALL_ROWS, NoisyAnswer, Transcript
from sdv_plausible.release.file.all_sections import check_sections
from sdv_plausible.rules.rule_set import FittedRules, RuleSet
from sdv_plausible.rules.rules_and_declarations import rule_entries
from sdv_plausible.table.cells.canonical_forms import LONGEST_TEXT, is_text
from sdv_plausible.table.columns.cell_reader import reparse_columns
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.declarations import Declarations, Specs
from sdv_plausible.table.domain_building import build_domain, domain_entries
from sdv_plausible.table.learned.private_domain import DomainPlan, LearningBudget, check_bins

if TYPE_CHECKING:
    from sdv_plausible.fitting.release_budget import Budget


@dataclass(frozen=True, kw_only=True)
class FitResult:
    """The result of a fit: everything that a release is made of."""

    domain: Domain
    rules: FittedRules
    sampler: Sampler
    ledger: PrivacyLedger
    charge: Mapping[str, str] | None  # date and name of the charge in the budget
    types: Specs = field(default_factory=dict)  # inferred types by column; empty if all were declared
    public: str | None = None  # digest of the published table that learning started from
    others: Mapping[str, float] = field(default_factory=dict)  # upper bounds on shares of other types


@dataclass(frozen=True, kw_only=True)
class PaidFit:
    """A fit that has been planned and paid for, before any row is read."""

    ledger: PrivacyLedger
    charge: Mapping[str, str] | None = None
    pending: Callable[[], Mapping[str, str] | None] | None = None  # draws what follows a passed row count

    def draw_pending(self) -> PaidFit:
        """Draw the rest from the budget, once the row count has passed."""
        return self if self.pending is None else replace(self, charge=self.pending(), pending=None)

    def close(self) -> PrivacyLedger:
        """Remove the hooks from the ledger, so that no trace of the budget stays in it, and return it."""
        for name in ("before_charge", "after_charge"):
            self.ledger.__dict__.pop(name, None)
        return self.ledger


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """A fit with all its parameters, but without rows."""

    column_specs: ColumnSpecs  # declared specifications of the table's columns
    declared: Declarations  # declared domains of the model's columns
    rules: RuleSet
    specs: Specs  # specifications of the model's columns, in order; undeclared types count as categorical
    settings: Settings
    learner: Learner
    extra_entries: tuple[LedgerEntry, ...] = ()  # entries of the coins, constraints, transformers and persons
    stored_settings: Mapping[str, Any] = field(
        default_factory=dict
    )  # settings as the release file stores them
    reused_domain: ReusedDomain = field(
        default_factory=ReusedDomain
    )  # cost of a domain learned by an earlier fit
    assumed: tuple[str, ...] = ()  # columns whose types come from metadata of unknown origin
    name: str = "table"  # name of the table in the budget file
    as_declared: bool = True  # False if constraints or transformers change the columns
    rounding: bool = True  # whether numbers are rounded to the digits of the domain
    public: pd.DataFrame | None = None  # published table that learning starts from
    worst_case: LedgerEntry | None = None  # after type inference: the charge that covers every outcome
    anyway: bool = False  # fit however few rows there are, without a row count
    total_settings: Settings | None = None  # with a row count: settings before its share was taken off

    # --- plan -------------------------------------------------------------------------------------

    def plan(
        self, epsilon: float | None = None, num_rows: int | None = None, table_rows: int | None = None
    ) -> Plan:
        """Plan the fit from public facts, optionally at another epsilon or for given numbers of rows."""
        settings = self.settings if epsilon is None else replace(self.settings, epsilon=epsilon)
        fit = replace(self, settings=settings).with_row_count()
        stated = settings.epsilon if settings.total is None else settings.total
        return replace(fit._plan(num_rows, table_rows), epsilon=stated)

    def within_total(self) -> Fit:
        """The fit with the largest epsilon of the model that keeps the settings' total, if they have one."""
        total = self.settings.total
        if total is None:
            return self
        # The extra entries cost nothing; with a random state they end the claim.
        fit = replace(self, settings=replace(self.settings, total=None), extra_entries=())
        epsilon = epsilon_within(total, lambda epsilon: fit.plan(epsilon).ledger)
        return replace(self, settings=replace(self.settings, epsilon=epsilon))

    def with_row_count(self) -> Fit:
        """The fit with the settings that a row count leaves; itself if no row count comes first."""
        if self.total_settings is not None or not (self.column_specs.open or self._undeclared.open):
            return self
        from sdv_plausible.fitting import row_count_check

        s = self.settings
        if not row_count_check.is_counted(s, self.anyway) or not self._claims_privacy:
            return self
        return replace(self, settings=row_count_check.after_count(s), total_settings=s)

    def _plan(self, num_rows: int | None = None, table_rows: int | None = None) -> Plan:
        """Check columns and learner, and plan all charges."""
        settings, worst_case, domain = self.settings, self._worst_case_charge(), self._planned_domain()
        private = self._domain_plan(worst_case)
        check_bins(self.column_specs.max_bins, private.columns, self.column_specs.open)
        if self.as_declared:
            self.learner.check_domain(domain)
            if (omega := settings.test.omega) is not None and len(domain):
                omega.among(len(domain))
        entries = (
            *self._row_count_entries,
            *self.reused_domain.entries,
            *self.column_specs.entries(settings),
            *worst_case,
            *private.entries(),
            *domain_entries(domain, self.declared),
            *rule_entries(self.rules),
            *self.extra_entries,
        )
        self._check_learner(domain, entries)
        planned = plan(
            settings, self.learner, domain,
            num_rows=num_rows, table_rows=table_rows, extra=entries, public=self.public is not None,
            assumed=self.declared.assumed(self.specs),
        )  # fmt: skip
        if planned.ledger.claims_privacy and math.isinf(planned.ledger.total()):
            from sdv_plausible.fitting.worst_case_charge import delta_too_small

            raise delta_too_small(settings)
        warnings = [
            *self.column_specs.warnings(),
            *personal_data_notes(self.specs, self.declared),
            *planned.warnings,
            *private.warnings(table_rows),
        ]
        if self.total_settings is not None:
            from sdv_plausible.fitting import row_count_check

            warnings += row_count_check.plan_warnings(table_rows, private.rows_needed, self.rules)
        return replace(planned, warnings=tuple(warnings))

    @cached_property
    def _claims_privacy(self) -> bool:
        """Whether the plan gives a privacy guarantee."""
        return self._plan().ledger.claims_privacy

    @property
    def _row_count_entries(self) -> tuple[LedgerEntry, ...]:
        """The charge of the row count, if there is one."""
        if self.total_settings is None:
            return ()
        from sdv_plausible.fitting.row_count_check import count_entry

        return (count_entry(self.total_settings),)

    @property
    def _undeclared(self) -> DomainPlan:
        """Plan of the columns whose domains are to be learned, whatever the budget."""
        return self.declared.plan_private(self.specs, LearningBudget(math.inf, 0.0))

    def _planned_domain(self) -> Domain:
        """The domain as far as it is known before learning."""
        return self.declared.planned(self.specs, self._undeclared.columns)

    def _domain_plan(self, worst_case: Sequence[LedgerEntry]) -> DomainPlan:
        """Plan of learning undeclared domains, within the worst-case charge if there is one."""
        s = self.settings
        budget = LearningBudget.of(s.epsilon, s.model_delta)
        if worst_case:
            budget = LearningBudget.within(worst_case[0].losses)
        return self.declared.plan_private(self.specs, budget, s.neighbours)

    def _check_learner(self, domain: Domain, entries: Sequence[LedgerEntry]) -> None:
        """Reject a custom learner whose cost depends on noisy answers, before anything is paid."""
        settings = self.settings
        if is_builtin(self.learner):
            return
        from sdv_plausible.fitting.worst_case_charge import check_uniform_cost, possible_domains

        if math.isfinite(settings.epsilon) and any(a.provenance == "private" for a in domain):
            ledger = settings.empty_ledger()
            ledger.charge(*entries)
            for possible in (domain, *possible_domains(domain)):
                check_plan_independence(self.learner, possible, settings.model_budget(ledger))
        if self.reused_domain.voted:
            check_uniform_cost(settings, self.learner, domain)

    # --- undeclared types -------------------------------------------------------------------------

    def _worst_case_charge(self) -> tuple[LedgerEntry, ...]:
        """One entry that covers domain and model whichever types are inferred; none if all are declared."""
        if self.worst_case is not None:
            return (self.worst_case,)
        is_open, to_learn, earlier = self.column_specs.open, self._undeclared.columns, self.reused_domain
        if earlier.voted and (is_open or (to_learn and not earlier.anew)):
            from sdv_plausible.fitting.worst_case_charge import open_after_inference

            raise open_after_inference(list(dict.fromkeys([*is_open, *to_learn])))
        if not is_open and (not earlier.voted or math.isinf(self.settings.epsilon)):
            return ()
        from sdv_plausible.fitting.worst_case_charge import worst_case_entry

        parts: tuple[Part, ...] = ("structure", "parameters")
        if is_open or earlier.anew:
            parts = ("domain", *parts)
        reused, vote = (
            _charged_losses(earlier.entries),
            _charged_losses(self.column_specs.entries(self.settings)),
        )
        entry = worst_case_entry(self.settings, self.learner, self._worst_case_domains(), reused, vote, parts)
        return (entry,)

    def _worst_case_domains(self) -> list[Domain]:
        """Planned domains that bound the cost of all outcomes of type inference, now or by an earlier fit."""
        from sdv_plausible.fitting.worst_case_charge import padded_domain

        domain = self._planned_domain()
        if not self.column_specs.open:
            names_columns = is_builtin(self.learner) and self.learner.names_columns
            return [domain if names_columns else padded_domain(domain)]
        most = self._assuming_all(MOMENTS[0])._planned_domain()
        fewest = self._assuming(self.column_specs.fewest)._planned_domain()
        domains = [domain, most, fewest]
        if not is_builtin(self.learner):  # it may plan another kind of noise for a number in between
            domains += [padded_domain(fewest, columns) for columns in range(len(fewest) + 1, len(most))]
        return domains

    def with_types(self, types: Specs) -> Fit:
        """The fit with inferred types, within the worst-case charge that was drawn for all outcomes."""
        (worst_case,) = self._worst_case_charge()
        return replace(self._assuming(types), worst_case=worst_case)

    def _assuming_all(self, spec: Mapping[str, Any]) -> Fit:
        """The fit if every undeclared type were this one."""
        return self._assuming(dict.fromkeys(self.column_specs.open, spec))

    def _assuming(self, types: Specs) -> Fit:
        """The fit with these types in place of the undeclared ones."""
        declared, rules, specs = self.column_specs.read(types)
        public = self.public
        if public is not None:
            public = reparse_columns(
                public.rename(columns=str), column_types(types), self.column_specs.spelling
            )
        settings = self.settings.among(len(specs))
        return replace(self, declared=declared, rules=rules, specs=specs, public=public, settings=settings)

    # --- pay --------------------------------------------------------------------------------------

    def pay(
        self,
        budget: Budget | None = None,
        watch: Callable[[PrivacyLedger], object] | None = None,
        *,
        warns: bool = True,
    ) -> PaidFit:
        """Plan the fit and draw its cost from the budget, the last step before the rows."""
        # ``budget``: total over several releases.
        # ``watch``: called with the ledger after each charge, before the rows are queried.
        # ``warns``: whether to warn of a guarantee that assumes column types of unknown origin.
        # Raises BudgetExceededError if the budget has too little left.
        # Plan.
        fit = self.with_row_count()
        fit = replace(fit, worst_case=next(iter(fit._worst_case_charge()), None))
        planned = fit.plan().ledger
        # Plan every outcome of type inference: the bounds on the names and on the number of columns.
        outcomes = list[PrivacyLedger]()
        if fit.column_specs.open:
            for outcome in (*map(fit._assuming_all, MOMENTS), fit._assuming(fit.column_specs.fewest)):
                outcomes.append(possible := outcome.plan().ledger)
                if planned.claims_privacy and not possible.claims_privacy:
                    raise Refused.saying(
                        "types", f"types: type inference may end the privacy guarantee. {possible.sentence()}"
                    )
        # Check that a release file can hold everything.
        check_texts(planned)
        domains = {name: domain for name in self.declared.names if (domain := self.declared.known(name))}
        is_release = isinstance(self.settings.test, ReleaseTest)
        check_sections(domains, self.rules, self.stored_settings, [planned, *outcomes] if is_release else [])
        if warns:
            warn_of_assumed_types(planned)
            for text in large_total_warnings(fit.settings, planned.total()):
                warnings.warn(FitWarning(text), stacklevel=2)
        # Draw from the budget.
        ledger = self.settings.empty_ledger()
        what = f"{self.name}, epsilon {rounded_up(self.settings.epsilon)}"
        charge, pending = draw_all(
            ledger, planned, budget, what, self.reused_domain.not_in, fit._row_count_entries
        )
        ledger.after_charge = watch
        return PaidFit(ledger=ledger, charge=charge, pending=pending)

    # --- run --------------------------------------------------------------------------------------

    @np.errstate(over="ignore")  # a number beyond the range of doubles needs no warning
    def run(self, rows: FitRows, paid: PaidFit, rng: KeyedRNG, diagnostics: HolderDiagnostics) -> FitResult:
        """Learn domain and model from the rows, and attach the privacy test.

        Parameters
        ----------
        rows : FitRows
            The table, in memory or in parts.
        paid : PaidFit
            Its ledger is charged before every query.
        rng : KeyedRNG
            Source of all random streams of this fit, and of its sampler. Each use has a name (``spawn``).
        diagnostics : HolderDiagnostics
            Collects warnings for the data owner; they have no effect on the fit.

        Raises
        ------
        ValueError
            If a column with an inferred domain cannot be read, or the privacy test needs more rows and there
            is no privacy guarantee.
        TooFewRowsError
            If noise would hide most undeclared columns, by a noisy row count.
        """
        fit, ledger, table, transcript = (
            self.with_row_count(), paid.ledger, rows, Transcript(diagnostics.tell),
        )  # fmt: skip

        # Bound contributions: at most as many rows of each person as the privacy unit has.
        rows = rows.of_persons(fit.settings.neighbours, rng.spawn("persons"))
        if isinstance(rows, InMemoryRows) and (errors := fit.settings.test.complaints(len(rows))):
            raise ValueError(" ".join(errors))
        if spelled := fit.declared.spelled:
            rows = rows.read_again(spelled, fit.column_specs.spelling, fit.rules)

        # Count the rows, and stop if they are too few. Then draw the rest from the budget.
        fit._count_rows(rows, paid, rng.spawn("count"), transcript)
        paid = paid.draw_pending()
        if fit.reused_domain.entries:
            ledger.charge(*fit.reused_domain.entries)

        # Infer the types that nobody declared.
        types, type_notes, other_types = dict[str, dict[str, Any]](), list[str](), dict[str, float]()
        if fit.column_specs.open:
            types, votes = fit._infer_types(rows, paid, rng.spawn("types"), Transcript(transcript.report))
            type_notes = inferred_type_notes(types, votes, fit.column_specs.spelling)
            other_types = other_type_shares(types, votes, fit.column_specs.spelling)
            fit = fit.with_types(types)
            if ledger.before_charge is not None:  # also within the worst-case charge, a fit keeps to its plan
                ledger.before_charge = only_planned(fit.plan().ledger)
        worst_case = fit._worst_case_charge()
        ledger.charge(*worst_case)
        if types:
            ledger.charge(*type_entries([*type_notes, *other_type_notes(other_types)]))
            rows = rows.read_again(column_types(types), fit.column_specs.spelling, fit.rules)

        # Learn the domain, and encode the rows.
        private = fit._domain_plan(worst_case)
        own_domain, rules = fit._learn_domain(rows, private, ledger, rng.spawn("domain"), transcript)
        domain = fit._beside(own_domain)
        codes = rows.coded(domain, rng.spawn("cells outside the domain"))

        # Learn the model, and attach the privacy test.
        learner: Any = fit.learner
        if fit.public is not None:
            learner = with_public(learner, fit.public, domain, fit.rules)
        sampler = fit_release(codes, domain, fit.settings, learner, ledger, rng, transcript)
        noise_notes = fit._noise_notes(domain, private, ledger, sampler.answers)
        ledger.charge(*noise_entries(noise_notes))

        # Warn the data owner. None of this changes the result.
        diagnostics.report_public_rows(self.public, table)
        diagnostics.report_unidentified_persons(fit.settings.neighbours.person, rows)
        if types:
            diagnostics.report(type_notes)
            diagnostics.report_reduced_omega(self.settings.test.user_omega, len(fit.specs))
        diagnostics.report_domain(own_domain, sampler.answers)
        if fit.public is not None:
            diagnostics.report_unmatched_public(fit.public, learner.public.codes, domain)
        diagnostics.report_mismatches(fit.declared, fit.rules, fit.specs, rows)
        with suppress(Exception):  # a diagnostic never ends a fit
            stream = rng.spawn("rows to see missing cells")
            shares = missing_shares(sampler.model, domain, sampler.answers, rules.rule_set, stream)
            diagnostics.report_missing_cells(shares)
        diagnostics.report_hidden_digits(domain, private.digits, sampler.answers)
        diagnostics.report_omitted_parents(fit.learner.arcs, sampler.model, domain)
        diagnostics.report([*noise_notes, *personal_data_notes(fit.specs, fit.declared)])

        return FitResult(
            domain=domain, rules=rules, sampler=sampler, ledger=paid.close(), charge=paid.charge, types=types,
            public=codes_digest(learner.public), others=other_types,
        )  # fmt: skip

    def _count_rows(self, rows: FitRows, paid: PaidFit, rng: KeyedRNG, transcript: Transcript) -> None:
        """Stop the fit if a noisy row count says that most undeclared columns would be lost."""
        if self.total_settings is None:
            return
        from sdv_plausible.fitting import row_count_check

        private = self._domain_plan(self._worst_case_charge())
        needed = row_count_check.rows_needed(private.rows_needed, self.rules)
        specs = {**self.column_specs.columns, **self.specs, **{name: {} for name in self.column_specs.open}}
        columns = rows.columns(list(self.specs))
        cells = Queryable(columns, paid.ledger, self._row_count_entries, rng, transcript=transcript)
        row_count_check.check_row_count(
            cells, self.total_settings, needed, {name: specs.get(name, {}) for name in needed}
        )

    def _infer_types(
        self, rows: FitRows, paid: PaidFit, rng: KeyedRNG, transcript: Transcript
    ) -> tuple[dict[str, dict[str, Any]], tuple[NoisyAnswer, ...]]:
        """Infer undeclared types under differential privacy; return them, and the noisy answers."""
        specs = self.column_specs
        transcript.report("inferring types")
        as_text = column_types(dict.fromkeys(specs.open, CATEGORY))
        columns = rows.read_again(as_text, specs.spelling, RuleSet()).columns(specs.open)
        entries = specs.entries(self.settings)
        cells = Queryable(columns, paid.ledger, entries, rng, transcript=transcript)
        return specs.infer_types(cells, self.settings), transcript.answers

    def _learn_domain(
        self, rows: FitRows, private: DomainPlan, ledger: PrivacyLedger, rng: KeyedRNG, transcript: Transcript
    ) -> tuple[Domain, FittedRules]:
        """Learn undeclared domains, fit the rules to them, and charge the entries of both."""
        names = list(self.specs)
        transcript.report("learning values" if private.columns else "encoding rows")
        domain = build_domain(
            rows.folded(names), self.declared, self.specs, self.column_specs.max_bins, private, ledger, rng,
            transcript, rows.columns(names) if private.columns else None,
        )  # fmt: skip
        domain = domain if self.rounding else domain.without_rounding()
        rules = self.rules.fitted(domain, rows.schema())
        domain = replace(domain, possible={})
        if self.rules:
            from sdv_plausible.rules.structural_zeros import possible_pairs

            domain = replace(domain, possible=possible_pairs(self.rules, domain))
        ledger.charge(*domain_entries(domain, self.declared), *rule_entries(self.rules), *self.extra_entries)
        return domain, rules

    def _beside(self, domain: Domain) -> Domain:
        """The domain with conditioning columns, which cost nothing: ``extensions/multi_table`` adds some."""
        return domain

    def _noise_notes(
        self, domain: Domain, private: DomainPlan, ledger: PrivacyLedger, answers: Sequence[NoisyAnswer]
    ) -> list[str]:
        """Sentences on what noise does to the release, from noisy answers alone."""
        expected = ExpectedNoise.of(
            self.settings, self.learner, domain, ledger, public=self.public is not None
        )
        noisy_rows = expected.rows_of(answers)
        notes = private.warnings(noisy_rows)
        with suppress(Exception):  # a custom learner's forecast may fail; the fit has been paid for
            notes = [*expected.warnings(noisy_rows), *notes]
        if any(attribute.provenance == "private" for attribute in domain):
            from sdv_plausible.table.learned.lost_mass import lost_mass_warnings  # where a domain was learned

            notes = [*notes, *lost_mass_warnings(domain, answers)]
        return notes


def _charged_losses(entries: Sequence[LedgerEntry]) -> tuple[Loss, ...]:
    """Losses of the entries that are charged."""
    return tuple(loss for entry in entries if entry.status == "charged" for loss in entry.losses)


def fit_release(
    rows: ExactCounts,
    domain: Domain,
    settings: Settings,
    learner: Learner,
    ledger: PrivacyLedger,
    rng: KeyedRNG,
    transcript: Transcript | None = None,
) -> Sampler:
    """Learn the model and attach the privacy test. Every query is charged first, then recorded."""
    if settings.neighbours != ledger.neighbours:
        raise ValueError(
            f"ledger (for the {ledger.neighbours.relation}) must have the neighbours of the settings (the "
            f"{settings.neighbours.relation}): create it with the same neighbours"
        )
    test, factor = settings.test, settings.test.likelihood_factor
    settings.check_model(model_class(learner))
    parts = split_rows(rows, settings.split, rng)
    budget = settings.model_budget(ledger)
    charge = test.charge(plausible_gamma(learner, factor), impossible_seed_probability(learner, factor))
    transcript = transcript or Transcript()
    name, stream = _name(parts, "seeds"), rng.spawn("release")
    seeds = Queryable(parts["seeds"], ledger, charge, stream, transcript=transcript, name=name)
    test.confirm(seeds)  # before anything else is spent
    if (split := settings.random_split(learner)) is not None:
        ledger.split = split
    model = learn_model(parts, domain, learner, budget, ledger, rng.spawn("learning"), transcript)
    ledger.charge(*sentences(settings, learner, domain))
    omega = settings.omega_for(model, domain.cardinalities)
    omega.among(len(domain))  # raises before anything is drawn
    sampler = test.start(model, seeds, omega, rng.spawn("sampling"))
    sampler.answers = transcript.answers
    return sampler


def learn_model(
    parts: Mapping[str, ExactCounts],
    domain: Domain,
    learner: Learner,
    budget: ModelBudget,
    ledger: PrivacyLedger,
    rng: KeyedRNG,
    transcript: Transcript | None = None,
) -> SeedModel:
    """Charge the learner's plan, and let it query the parts for learning, structure and parameters."""
    rows = Queryable(
        parts["learning"], ledger, planned_entries(learner, domain, budget), rng.spawn("noise"),
        parts={name: part for name, part in parts.items() if name != "seeds"}, transcript=transcript,
        name=_name(parts, "learning"),
    )  # fmt: skip
    rows.report("learning the model")
    model, made = learner.fit(rows, domain, budget, rng), model_class(learner)
    if not isinstance(model, made):
        raise TypeError(
            f"the learner ({type(learner).__name__}) must return {made.__name__}, but returned "
            f"{type(model).__name__}"
        )
    return model


def _name(parts: Mapping[str, ExactCounts], name: str) -> str:
    """Name of a part in the transcript: ALL_ROWS if the rows are not split."""
    return name if len({id(rows) for rows in parts.values()}) > 1 else ALL_ROWS


def split_rows(
    rows: ExactCounts, split: tuple[float, float, float] | None, rng: KeyedRNG
) -> dict[str, ExactCounts]:
    """Parts by purpose: all rows for each, or disjoint parts by secret independent draws."""
    if split is None:
        return dict.fromkeys(("learning", "structure", "parameters", "seeds"), rows)
    named, first, second = rng.spawn("split"), split[0], split[0] + split[1]
    return {
        "learning": rows.part(0, second, named),
        "structure": rows.part(0, first, named),
        "parameters": rows.part(first, second, named),
        "seeds": rows.part(second, second + split[2], named),
    }


# --- paying -------------------------------------------------------------------------------------


def check_texts(planned: PrivacyLedger) -> None:
    """Raise ValueError for texts that no release file could hold, before the fit is paid for."""
    for entry in planned.entries:
        if not all(map(is_text, (entry.mechanism, entry.note))):
            raise ValueError(
                f"ledger: the text of entry {entry.name} is longer than {LONGEST_TEXT:,} characters, or "
                "contains a lone surrogate: shorten the sources of declarations and rules, or use fewer"
            )


def only_planned(planned: PrivacyLedger) -> Callable[[tuple[Loss, ...]], None]:
    """A ``before_charge`` hook that rejects losses which were not planned, and so not drawn."""
    allowed = Counter((*planned.losses, *planned.within))

    def check_planned(losses: tuple[Loss, ...]) -> None:
        if not Counter(losses) <= allowed:
            raise BudgetExceededError(
                "this fit charges more than its plan, for example because the learner's plan depends on a "
                "learned domain: declare the domain. The amount drawn from the budget stays drawn"
            )

    return check_planned


def draw_all(
    ledger: PrivacyLedger,
    planned: PrivacyLedger,
    budget: Budget | None,
    what: str,
    due: Callable[[Budget, PrivacyLedger], PrivacyLedger] = lambda _, planned: planned,
    count: Sequence[LedgerEntry] = (),
) -> tuple[dict[str, str] | None, Callable[[], dict[str, str] | None] | None]:
    """Draw the plan from the budget, and let the ledger charge nothing beyond it.

    ``due`` removes what the budget has paid already. With a row ``count``, only its entries are drawn now.
    Returns the date and name of the charge, and a function that draws the rest once the count has passed.
    """
    charge, rest = None, None
    if budget is not None:
        budget.check_claim(planned)  # of the whole plan, before a part is drawn
    if budget is not None and not count:
        charge = _drawn(budget, due(budget, planned), what)
    elif budget is not None:
        first, then = _split_off(planned, count)
        left = due(budget, then)
        charge = _drawn(budget, first, what, then=left)
        rest = partial(_drawn, budget, left, what, when=charge["when"])
    if planned.claims_privacy:
        ledger.before_charge = only_planned(planned)
    return charge, rest


def _drawn(budget: Budget, planned: PrivacyLedger, what: str, **more: Any) -> dict[str, str]:
    drawn = budget.draw(planned, what, **more)
    return {"when": drawn.when, "what": drawn.what}


def _split_off(planned: PrivacyLedger, count: Sequence[LedgerEntry]) -> tuple[PrivacyLedger, PrivacyLedger]:
    """The charges of the row count, which takes nothing of delta, and the other charges of a plan."""
    first = PrivacyLedger(delta=0.0, covers=planned.covers, neighbours=planned.neighbours)
    first.charge(*count)
    rest = PrivacyLedger(delta=planned.delta, covers=planned.covers, neighbours=planned.neighbours)
    rest.charge(*(entry for entry in planned.entries if entry not in count))
    return first, rest
