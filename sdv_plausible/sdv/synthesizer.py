"""SDV's face of the package: the synthesizer that users fit and sample."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.fitting.arguments import VOTED, FitArguments
from sdv_plausible.fitting.object_state import fixed_parameters, is_path
from sdv_plausible.fitting.plan import Plan, epsilon_for, epsilon_within
from sdv_plausible.fitting.public_table import PublicTable
from sdv_plausible.fitting.release_budget import Budget
from sdv_plausible.mechanism.privacy_tests.privacy_settings import TestName
from sdv_plausible.mechanism.privacy_tests.privacy_test import PrivacyTest
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import Person, Relation
from sdv_plausible.privacy.parameter_checks import one_of, truth
from sdv_plausible.release.file.release import Release
from sdv_plausible.rules.rule_files import read_rules
from sdv_plausible.sdv import repr_html
from sdv_plausible.sdv.fitting import FittingSynthesizer
from sdv_plausible.sdv.metadata_schema import check_metadata, with_person, with_types
from sdv_plausible.sdv.release_conversion import rebuilt
from sdv_plausible.sdv.sdv_parameters import GivenMetadata, learner_of
from sdv_plausible.sdv.transient_state import call_of
from sdv_plausible.table.columns.domain import MAX_BINS
from sdv_plausible.table.declared.access_log import told_of_look
from sdv_plausible.table.declared.column_types import STATED, metadata_columns
from sdv_plausible.table.declared.declarations import Types, Undeclared, says_written
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.declared.spec_words import check_table_name


class PlausibleDeniabilitySynthesizer(FittingSynthesizer):
    """Synthetic rows with plausible deniability and a privacy ledger, with SDV's fit and sample.

    Parameters
    ----------
    metadata : sdv.metadata.Metadata
        Metadata of one table.
    enforce_min_max_values : bool
        Kept for SDV's sake: values never leave the domain.
    enforce_rounding : bool
        Round numbers to the digits of the domain.
    locales : list of str
        Locales of the personal data that SDV invents.
    epsilon : float
        Privacy budget of learning the domain and the model; ``math.inf`` learns without noise and without a
        claim. With the default test it is the total of the whole release.
    delta : float
        Failure probability of the whole release, in (0, 1).
    model : {"bayesian_network", "paper", "independent", "correlated", "gaussian_copula", ...} or object
        The generative model: the default, the learner of the paper on plausible deniability ("paper", see
        docs/how_to/paper_as_printed.md), DataSynthesizer's modes ("correlated", "independent" and "random",
        see docs/explanation/datasynthesizer.md; "uniform" is "random"), a private Gaussian copula
        ("gaussian_copula"), an autoencoder ("latent"); or a value with options:
        ``AdaptiveNetwork``, ``PaperNetwork``, ``GreedyBayes``, ``GaussianCopula``, ``Latent``, ``Uniform``
        (docs/explanation/models.md), ``SDVCopula`` (no claim, see docs/explanation/sdv_models.md), or a
        learner of your own (docs/how_to/own_model.md).
    test : {"release", "randomized", "deterministic"}, ReleaseTest, RandomizedTest or DeterministicTest
        The privacy test. ``"release"``: one guarantee for any number of rows and for the saved object.
        ``"randomized"``: Privacy Test 2, every row costs. ``"deterministic"``: Privacy Test 1, plausible
        deniability without an epsilon.
    domain : "written", Domain, mapping, path or None
        Declared value sets, see docs/how_to/declare_the_domain.md. ``"written"``: your word that you wrote
        the ranges and values in the metadata. Metadata that was detected holds those of the rows. A mapping
        has the metadata's words per column.
    types : {"declared", "voted", "detected"}, optional
        Where the metadata's semantic types and date formats are from. By default, types that ``domain`` or
        ``metadata_of`` states count as declared; others may have been detected in the rows, and the ledger
        says that its total holds only if they were known without them. ``"declared"``: you vouch that all are
        public, known without the rows. ``"voted"``: of the metadata names alone count (no type, no key), and
        the cells of every column that ``domain`` does not name vote on its type, for three tenths of epsilon.
        ``"detected"``: they were read off the rows, and the ledger then makes no privacy claim.
    undeclared : {"private", "infer"}
        How the domains of columns without a declaration are found: learned with noise from a share of the
        budget, or read off the rows, without a privacy claim and with a warning.
    max_bins : int
        Numbers and dates with more values than this are put into this many bins: at most 5,000 where values
        are learned from the rows.
    person : str or Person, optional
        Column that says whose a row is, such as a household or patient number: the guarantee is then for all
        rows of any one person. The column is never modelled; it is invented anew, like an id. Rows without a
        value in it are not used. ``Person("patient", rows=3)`` uses at most so many rows of each.
    neighbours : {"add_remove", "replace_one"}
        What the guarantee compares: tables with a row (or person) more or less, or with another one in its
        place. Under the latter the number of rows (or people) counts as public.
    budget : Budget, optional
        A total over several releases, from which every fit draws before it looks at a row.
    rules : list of Rule, or path
        What holds in every row, known without the rows, see docs/how_to/rules.md: it holds in every sample,
        and costs no privacy.
    public : DataFrame or PublicTable, optional
        A *published* table of the same columns, or of some of them: margins and dependence start from it, as
        far as the noisy answers bear it out, see docs/how_to/public_table.md. It costs the rows nothing; a
        confidential table costs the people in it a claim of its own.
    random_state : int, optional
        Reproducible runs for tests and utility studies; the ledger then makes no privacy claim.
    anyway : bool
        Whether to learn what nobody declared however few rows there are. By default the rows are counted
        first, for 0.005 of epsilon or less, and ``fit`` raises
        :class:`~sdv_plausible.fitting.row_count_check.TooFewRowsError` where noise would hide most of what undeclared
        columns hold: the rest is not spent then. Where all is declared, nothing is counted.

    Examples
    --------
    >>> synth = PlausibleDeniabilitySynthesizer(metadata)       # doctest: +SKIP
    >>> synth.fit(table)                                        # doctest: +SKIP
    >>> synth.sample(1000)                                      # doctest: +SKIP
    >>> print(synth.privacy_ledger())                           # doctest: +SKIP
    """

    def __init__(
        self,
        metadata: Any,
        enforce_min_max_values: bool = True,
        enforce_rounding: bool = True,
        locales: list[str] | str = ["en_US"],  # noqa: B006  SDV's own default, never changed
        epsilon: float = 1.0,
        delta: float = 1e-9,
        model: Any = "bayesian_network",
        test: TestName | PrivacyTest = "release",
        domain: Any = None,
        types: Types | None = None,
        undeclared: Undeclared = "private",
        max_bins: int = MAX_BINS,
        person: str | Person | None = None,
        neighbours: Relation = "add_remove",
        budget: Budget | None = None,
        rules: Any = (),
        public: pd.DataFrame | PublicTable | None = None,
        random_state: int | None = None,
        anyway: bool = False,
        **moved: Any,
    ) -> None:
        given = locals()
        if moved:
            from sdv_plausible.fitting.options import refuse_moved  # which knows all options

            refuse_moved(type(self).__name__, moved, model=model, test=test)
        # SDV knows Python's truth values alone, and would show what was given instead
        enforce_min_max_values = truth("enforce_min_max_values", enforce_min_max_values)
        enforce_rounding = truth("enforce_rounding", enforce_rounding)
        sdv_sets = ("metadata", "enforce_min_max_values", "enforce_rounding", "locales")
        for name in PARAMETERS:
            if name not in sdv_sets:
                setattr(self, name, given[name])  # a copy, fixed from now on: see parameters.py
        arguments = FitArguments.of(
            metadata, self.domain, epsilon=epsilon, delta=delta, model=learner_of(self.model), test=test,
            types=types, person=person, neighbours=neighbours, budget=budget, locales=locales,
            random_state=random_state,
        )  # fmt: skip
        check_metadata(metadata)
        self._given = GivenMetadata(metadata, is_written=says_written(domain))
        self._stated_types = getattr(metadata, STATED, None)
        published, file = PublicTable.read(public), arguments.domain
        self._public_given = None if published is None else published.frame
        metadata = with_person(metadata, arguments.settings.neighbours.person, file)
        self._from_files = {"domain": file} if is_path(domain) and not says_written(domain) else {}
        if is_path(rules := self.rules):
            rules = self._from_files["rules"] = read_rules(rules)
        if isinstance(rules, (list, tuple)) and rules:
            from sdv_plausible.sdv.sdv_constraints import as_rules

            rules = as_rules(rules)
        fit = arguments.read(
            metadata_columns(metadata),
            rules=rules,
            max_bins=self.max_bins,
            undeclared=self.undeclared,
            public=self._public_given,
            anyway=self.anyway,
        )
        if types == "voted":
            metadata = with_types(metadata, fit.told.columns)
        super().__init__(metadata, enforce_min_max_values, enforce_rounding, locales)
        check_table_name(self._table_name)
        self._read_as = fit.told.types
        if fit.earlier.voted:
            self._mark_voted()
        self._keep(fit)
        if isinstance(file, DomainFile):  # also of columns whose types are open
            self._looked = self._looked.looked_at(file.looked, file.looked_rules)
            if is_path(domain):
                self.record = partial(told_of_look, Path(domain).resolve())
        self._public_said = (None, None) if published is None else (len(published.frame), published.source)
        self._sampler = self._ledger = None

    @classmethod
    def from_release(cls, release: Release, **parameters: Any) -> PlausibleDeniabilitySynthesizer:
        """Make a synthesizer of a release: it samples as the one that was fitted, and no row is there.

        Parameters
        ----------
        release : Release
            From :meth:`~sdv_plausible.Release.load`.
        **parameters
            Parameters of this class in the place of the release's, such as a learner of your own to fit anew.
        """
        return rebuilt(cls, release, parameters)

    def plan(
        self,
        num_rows: int | None = None,
        *,
        table_rows: int | None = None,
        max_advantage: float | None = None,
        total: float | None = None,
    ) -> Plan:
        """Say what a release would cost, before any row is looked at.

        Parameters
        ----------
        num_rows : int, optional
            Rows you want to sample.
        table_rows : int, optional
            A public figure or guess for the number of rows of your table: sharpens cost and warnings.
        max_advantage : float, optional
            Largest advantage that an attacker may have, in (0, 1): the plan is for the largest epsilon that
            keeps it, ``plan.epsilon``; give that to the synthesizer.
        total : float, optional
            Largest total epsilon of the whole release, the privacy test included, > 0: the plan is for the
            largest epsilon that keeps it.

        Raises
        ------
        ValueError
            If no epsilon keeps the advantage, or the total, or both are given.
        """
        if max_advantage is None and total is None:
            return self._planned(self.epsilon, num_rows, table_rows)
        if max_advantage is not None and total is not None:
            raise ValueError(
                f"total ({total}) does not go with max_advantage ({max_advantage}): leave one out"
            )

        def ledger_at(epsilon: float) -> PrivacyLedger:
            return self._planned(epsilon, num_rows, None).ledger

        if max_advantage is not None:
            epsilon = epsilon_for(max_advantage, ledger_at)
        elif total is not None:
            epsilon = epsilon_within(total, ledger_at)
        return self._planned(epsilon, num_rows, table_rows)

    def _planned(self, epsilon: float, num_rows: int | None, table_rows: int | None) -> Plan:
        self._leave_dates_whole()
        return self._as_fit().plan(epsilon, num_rows, table_rows)

    def get_metadata(self, version: str = "original") -> Any:
        """Return a copy of the metadata: as given, or as the model has it.

        Parameters
        ----------
        version : {"original", "modified"}
            ``"original"`` with ``domain="written"``: as given, ranges and values included. Otherwise they may
            have been detected, which holds values of the rows: its schema alone. So is ``"modified"``, as
            constraints and ``person`` changed it, and of objects that were copied or read from a file.
        """
        one_of("version", version, ("original", "modified"))
        given = vars(self).get("_given")
        written = None if given is None else given.copy(self._table_name)
        if version == "original" and written is not None and not self._has_voted_types:
            return written
        found = super().get_metadata(version)
        vars(found).update({VOTED: True} if self._has_voted_types else {})
        if self._stated_types is not None:
            setattr(found, STATED, dict(self._stated_types))
        return found

    def _check_input_metadata_updated(self) -> None:
        """Have SDV warn, before a fit or a sample, of metadata that was changed after it was given."""
        call, given = call_of(self), vars(self).get("_given")
        if given is None or not given.is_changed or (call is not None and call.fits):
            return  # or it was said before the fit, which is paid for now
        tables = getattr(self._input_metadata, "tables", {"": self._input_metadata}).values()
        for table in tables:  # SDV holds a copy, that nobody changed
            table._updated = True
        try:
            super()._check_input_metadata_updated()
        finally:
            for table in tables:
                table._updated = False

    def get_parameters(self) -> dict[str, Any]:
        """Return copies of the constructor's parameters."""
        return {name: getattr(self, name) for name in PARAMETERS if name != "metadata"}

    def _get_parameters(self) -> dict[str, Any]:
        """Refuse SDV's multi-table synthesizers, which fit a model to the rows of every parent."""
        raise NotImplementedError(
            "a table under a parent is not modelled: SDV would ask for parameters of every parent's rows, "
            "and most parents have few (docs/explanation/sdv_models.md); fit each table alone, and name the "
            "column of the persons in person="
        )

    def __repr__(self) -> str:
        return repr_html.as_text(self)

    def _repr_html_(self) -> str:
        return repr_html.as_html(self)


PARAMETERS = fixed_parameters(PlausibleDeniabilitySynthesizer, but=("metadata", "budget"))
# Saved files name the class by its public name. The package is imported whenever this module is; a module
# that may not be imported yet would make cloudpickle, with which SDV saves, copy the class into the file.
PlausibleDeniabilitySynthesizer.__module__ = "sdv_plausible"
