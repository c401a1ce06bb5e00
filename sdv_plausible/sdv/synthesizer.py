"""The synthesizer: SDV's methods, with plausible deniability and a privacy ledger.

SDV learns bounds, categories and numbers of rows from each table it sees. So SDV is fitted to a placeholder
table of the same schema, and the rows go past it to the model. Only SDV constraints and transformers that the
user adds see rows, and a fit with them makes no privacy claim.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sdv.errors import RefitWarning, SamplingError
from sdv.single_table.base import FIXED_RNG_SEED, BaseSingleTableSynthesizer

from sdv_plausible.fitting.arguments import VOTED, FitArguments
from sdv_plausible.fitting.diagnostics import (
    HolderDiagnostics,
    LookRecorder,
    compare_with_declarations,
    grouped,
)
from sdv_plausible.fitting.fit import Fit, FitResult, PaidFit
from sdv_plausible.fitting.fit_rows import FitRows, InMemoryRows
from sdv_plausible.fitting.ledger_notes import entries_without_cost, person_entry, unknown_persons_entry
from sdv_plausible.fitting.object_state import (
    check_budget_there,
    fixed_parameters,
    is_path,
    without_details,
    without_transient,
)
from sdv_plausible.fitting.plan import Plan, epsilon_for, epsilon_within
from sdv_plausible.fitting.public_table import PublicTable, check_public_given, public_entries
from sdv_plausible.fitting.reused_domain import with_cost, with_look_record
from sdv_plausible.mechanism.drawing.sampler import PrefixSampler, RecordSampler, Sampler
from sdv_plausible.mechanism.privacy_tests.contract import PrivacyTest, WithinEpsilon
from sdv_plausible.mechanism.privacy_tests.privacy_settings import TestName
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.models.bayesian_network import structure_by_name
from sdv_plausible.privacy import parameter_checks
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import Person, Relation
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.release.file.release import Release
from sdv_plausible.release.file.release_sampling import check_memory, decode_rows
from sdv_plausible.rules.rule_files import read_rules
from sdv_plausible.rules.rule_set import FittedRules
from sdv_plausible.rules.rules_and_declarations import rule_entries
from sdv_plausible.sdv.fit_input import (
    FrameKind,
    Rows,
    check_no_person,
    check_stored,
    check_types_declared,
    check_unchanged,
    frame_kind,
    in_kind,
    schema_only,
    split_input,
    with_unsplit_dates,
    without_special_texts,
)
from sdv_plausible.sdv.metadata import (
    check_assigned,
    check_columns,
    check_labels,
    check_metadata,
    check_processed,
    check_sdtypes,
    model_specs,
    modelled_sdtypes,
    with_person,
    with_types,
)
from sdv_plausible.sdv.release_conversion import from_release, settings_of, to_release
from sdv_plausible.sdv.sampling_requests import (
    SAME_ROWS,
    charge_rows,
    check_conditions,
    check_known_columns,
    check_request,
    parents,
    sample_with_sdv,
    with_tokens,
    without_tokens,
    writes_file,
)
from sdv_plausible.sdv.sdv_parameters import GivenMetadata, learner_of
from sdv_plausible.sdv.sdv_state import SDVState
from sdv_plausible.sdv.sdv_versions import from_native, to_native
from sdv_plausible.sdv.transient_state import RowCall, call_of, reads_rows, rolled_back_on_error, sdv_silenced
from sdv_plausible.table.cells.cell_series import mask_invalid
from sdv_plausible.table.cells.dates import check_dates
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.cell_reader import ColumnType, Spelling
from sdv_plausible.table.columns.domain import MAX_BINS, Domain
from sdv_plausible.table.columns.output_types import recorded_storage, to_pandas_types
from sdv_plausible.table.data_checks import Check
from sdv_plausible.table.declared.column_types import DECLARED_TYPES, metadata_columns
from sdv_plausible.table.declared.declarations import Specs, Types, Undeclared, uses_metadata_values
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.declared.specifications import MODELLED_SDTYPES, check_table_name
from sdv_plausible.table.files.text_files import reads_in_parts
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.text_output import escape_controls

if TYPE_CHECKING:
    from sdv_plausible.fitting.release_budget import Budget
    from sdv_plausible.release.multiple_synthesis import About

BAR_ROWS = 100_000  # batch size of long row-by-row sampling, so that SDV shows a progress bar


class PlausibleDeniabilitySynthesizer(BaseSingleTableSynthesizer):  # type: ignore[misc]
    """Synthesizer for one table with plausible deniability and a privacy ledger.

    It has SDV's methods, in SDV 2.0 and SDV 1.38. Parameters are copied and cannot be changed after
    construction, apart from ``budget``.

    Parameters
    ----------
    metadata : sdv.metadata.Metadata
        Metadata of one table.
    enforce_min_max_values : bool
        Only for compatibility with SDV: values never leave the domain.
    enforce_rounding : bool
        Whether to round numbers to the decimal places of the domain.
    locales : list of str
        Locales of the personal data that SDV generates.
    epsilon : float
        Privacy budget for learning the domain and the model, > 0. With the default test, and with
        ``ReleaseTest.within`` or ``RandomizedTest.within``, it is the total of the whole release; other tests
        cost extra. ``math.inf`` learns without noise and without a privacy claim.
    delta : float
        Failure probability of the whole release, in (0, 1).
    model : {"bayesian_network", "paper", "independent", "correlated", "gaussian_copula", ...} or object
        The generative model:

        - ``"bayesian_network"``: the default, an adaptive network (``AdaptiveNetwork`` has its options);
        - ``"paper"``: the learner of the paper on plausible deniability (``PaperNetwork``, see
          docs/how_to/paper_as_printed.md);
        - ``"correlated"``, ``"independent"``, ``"random"`` or ``"uniform"``: DataSynthesizer's modes
          (``GreedyBayes``, ``Uniform``, see docs/explanation/datasynthesizer.md);
        - ``"gaussian_copula"``: a private Gaussian copula (``GaussianCopula``);
        - ``"latent"``: an autoencoder (``Latent``);
        - ``SDVCopula``: a model of SDV, without a privacy claim, see docs/explanation/sdv_models.md;
        - a learner of your own, see docs/how_to/own_model.md.

        docs/explanation/models.md compares them.
    test : {"release", "randomized", "deterministic"}, ReleaseTest, RandomizedTest or DeterministicTest
        The privacy test. ``"release"``: one guarantee for any number of rows and for the saved object.
        ``"randomized"``: Privacy Test 2, every row costs. ``"deterministic"``: Privacy Test 1, plausible
        deniability without an epsilon.
    domain : "written", Domain, mapping, path or None
        Declared values of the columns, see docs/how_to/declare_the_domain.md. A mapping has the metadata's
        keys per column. ``"written"`` states that you wrote the ranges and values in the metadata yourself;
        detected metadata holds those of the rows.
    types : {"declared", "voted", "detected"}, optional
        Where the metadata's semantic types and date formats come from.

        - By default, types in ``domain`` or from ``metadata_of`` count as declared. The origin of the others
          is unknown, and the ledger states that its total holds only if they were known without the rows.
        - ``"declared"``: you vouch that all types are public, known without the rows.
        - ``"voted"``: types of columns that ``domain`` does not name are inferred from the cells under
          differential privacy, for three tenths of epsilon. Of the metadata only the column names count (no
          type, no key).
        - ``"detected"``: types were detected in the rows, and the ledger makes no privacy claim.
    undeclared : {"private", "infer"}
        How to find the domain of undeclared columns. ``"private"`` learns it with noise from a share of the
        budget. ``"infer"`` reads it off the rows, with a warning and without a privacy claim.
    max_bins : int
        Largest number of values of a numerical or datetime column before values are binned, at most 5,000
        where values are learned from the rows.
    person : str or Person, optional
        Column that identifies the person of each row, such as a household or patient number. The guarantee
        then covers all rows of any one person. The column is not modelled; new values are generated, as for
        an id. Rows without a value in it are not used. ``Person("patient", rows=3)`` uses at most three rows
        of each person.
    neighbours : {"add_remove", "replace_one"}
        Neighbouring tables of the guarantee: tables that differ by adding or removing one row (or person), or
        by replacing one. With ``"replace_one"`` the number of rows (or people) is public.
    budget : Budget, optional
        A total over several releases. Each fit draws from it before it reads a row.
    rules : list of Rule, or path
        Constraints that hold in every row and are known without the rows, see docs/how_to/rules.md. They hold
        in every sample and cost no privacy.
    public : DataFrame or PublicTable, optional
        A *published* table with the same columns or some of them, see docs/how_to/public_table.md. Learning
        starts from its marginals and associations, as far as the noisy answers support them. It costs no
        privacy of the rows; using a confidential table would cost the people in it a claim of its own.
    random_state : int, optional
        Seed of reproducible runs for tests and utility studies. The ledger then makes no privacy claim.
    anyway : bool
        Whether to learn undeclared columns however few rows there are. By default the rows are counted first,
        for at most 0.005 of epsilon. ``fit`` raises
        :class:`~sdv_plausible.fitting.row_count_check.TooFewRowsError` if noise would hide most of the
        undeclared columns, and the rest of the budget is not spent. Where all columns are declared, rows are
        not counted.

    Examples
    --------
    >>> synth = PlausibleDeniabilitySynthesizer(metadata)       # doctest: +SKIP
    >>> synth.fit(table)                                        # doctest: +SKIP
    >>> synth.sample(1000)                                      # doctest: +SKIP
    >>> print(synth.privacy_ledger())                           # doctest: +SKIP
    """

    watch: Callable[[PrivacyLedger], object] | None = None
    """Called with the ledger after each charge of a fit, before the rows are queried; never saved."""
    watch_progress: Callable[[str], object] | None = None
    """Called with the progress of a fit, in words for the data owner; never saved."""
    spelling = Spelling()
    """How text cells are written, where types are inferred."""
    record: LookRecorder | None = None
    """Records in the domain file that columns and rules were compared with rows; never saved."""

    # SDV's transformers would learn bounds and categories from the rows; our codec takes raw values.
    _model_sdtype_transformers = dict.fromkeys(MODELLED_SDTYPES)

    # The next fit
    budget: Budget | None = None  # copies and saved objects have none
    _fit_template: Fit  # everything but the rows
    _column_types: dict[str, ColumnType]  # types of the cells of a partitioned table
    _within_total: Specs | None = None  # the columns that the model's epsilon within a total was found for
    _looked = DomainFile(columns={})  # columns and rules that were compared with rows
    _public_given: pd.DataFrame | None = None
    _public_origin: tuple[int | None, str | None] = (None, None)  # rows and source of the public table
    _has_voted_types = False  # whether the metadata's types were inferred from the rows
    _made_by_sdv = False  # whether preprocess() returned rows that SDV computed from the rows

    # The last fit
    _sampler: Sampler | None
    _model: Any  # the same; SDV asks whether there is one
    _codec: Codec
    _fitted_rules: FittedRules
    _ledger: PrivacyLedger | None
    _charge: Mapping[str, str] | None = None  # in the budget that paid for the fit
    _public_digest: str | None = None  # of the public table that the model started from
    _other_type_shares: Mapping[str, float] = MappingProxyType({})  # shares of cells of another type
    _release_settings: Mapping[str, Any] | None = None  # where they differ from the parameters
    _storage_types: Mapping[str, str] = MappingProxyType({})  # storage types of the fitted file
    _returns_dict = False
    _frame_kind: FrameKind | None = None

    # Sampling
    _charged_calls: dict[tuple[Any, ...], int]  # rows of each call, towards a row cap
    _calls: int  # since SDV's random state was set
    _random_state_set: bool
    _process: int | None = None  # the process whose next call draws new rows
    _points: list[np.ndarray] | None = None  # only while rows are sampled with their latent points

    def __init__(
        self,
        metadata: Any,
        enforce_min_max_values: bool = True,
        enforce_rounding: bool = True,
        locales: list[str] | str = ["en_US"],  # noqa: B006  SDV's own default, never changed
        epsilon: float = 1.0,
        delta: float = 1e-9,
        model: Any = "bayesian_network",
        test: TestName | PrivacyTest | WithinEpsilon = "release",
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
        from sdv_plausible.table.declared.access_log import log_access_of_domain

        if moved:
            from sdv_plausible.fitting.options import check_no_moved  # which knows all options

            check_no_moved(type(self).__name__, moved, model=model, test=test)
        # SDV accepts no NumPy booleans. It sets these two and ``locales`` itself.
        enforce_min_max_values = parameter_checks.truth("enforce_min_max_values", enforce_min_max_values)
        enforce_rounding = parameter_checks.truth("enforce_rounding", enforce_rounding)
        # Each attribute but ``budget`` is a FixedParameter: a copy that cannot be set again.
        self.epsilon = epsilon
        self.delta = delta
        self.model = model
        self.test = test
        self.domain = domain
        self.types = types
        self.undeclared = undeclared
        self.max_bins = max_bins
        self.person = person
        self.neighbours = neighbours
        self.budget = budget
        self.rules = rules
        self.public = public
        self.random_state = random_state
        self.anyway = anyway

        arguments = FitArguments.of(
            metadata, self.domain, epsilon=epsilon, delta=delta, model=learner_of(self.model), test=test,
            types=types, person=person, neighbours=neighbours, budget=budget, locales=locales,
            random_state=random_state,
        )  # fmt: skip
        check_metadata(metadata)
        self._given = GivenMetadata(metadata, is_written=uses_metadata_values(domain))
        self._stated_types = getattr(metadata, DECLARED_TYPES, None)
        published, declared = PublicTable.read(public), arguments.domain
        self._public_given = None if published is None else published.frame
        self._public_origin = (None, None) if published is None else (len(published.frame), published.source)
        metadata = with_person(metadata, arguments.settings.neighbours.person, declared)
        # What was read from files replaces their paths in copies and saved objects.
        self._from_files = (
            {"domain": declared} if is_path(domain) and not uses_metadata_values(domain) else {}
        )
        rules = self.rules
        if is_path(rules):
            rules = self._from_files["rules"] = read_rules(rules)
        if isinstance(rules, (list, tuple)) and rules:
            from sdv_plausible.sdv.sdv_parameters import as_rules

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
            metadata = with_types(metadata, fit.column_specs.columns)
        super().__init__(without_details(metadata), enforce_min_max_values, enforce_rounding, locales)
        check_table_name(self._table_name)
        if fit.reused_domain.voted:
            self._mark_voted()
        self._fit_template, self._column_types = schema_only(fit, self.max_bins), fit.column_specs.types
        if isinstance(declared, DomainFile):
            self._looked = self._looked.looked_at(declared.looked, declared.looked_rules)
            if is_path(domain):
                self.record = partial(log_access_of_domain, Path(domain).resolve())
        self._sampler = self._ledger = None

    @classmethod
    def from_release(cls, release: Release, **parameters: Any) -> PlausibleDeniabilitySynthesizer:
        """Make a synthesizer from a release. It samples as the fitted one does, and holds no row.

        Parameters
        ----------
        release : Release
            From :meth:`~sdv_plausible.Release.load`.
        **parameters
            Parameters of this class that replace the release's, such as a learner of your own for a new fit.
        """
        return from_release(cls, release, parameters)

    # --- parameters -------------------------------------------------------------------------------

    def get_parameters(self) -> dict[str, Any]:
        """Return copies of the constructor's parameters."""
        return {name: getattr(self, name) for name in PARAMETERS if name != "metadata"}

    def get_metadata(self, version: str = "original") -> Any:
        """Return a copy of the metadata.

        Parameters
        ----------
        version : {"original", "modified"}
            ``"original"``: as given, ranges and values included, if ``domain="written"``. Otherwise only the
            schema, since detected ranges and values are those of the rows. ``"modified"``: the schema as
            changed by constraints and ``person``. Copies and loaded objects return the schema, too.
        """
        parameter_checks.one_of("version", version, ("original", "modified"))
        given = vars(self).get("_given")
        written = None if given is None else given.copy(self._table_name)
        if version == "original" and written is not None and not self._has_voted_types:
            return written
        metadata = super().get_metadata(version)
        vars(metadata).update({VOTED: True} if self._has_voted_types else {})
        if self._stated_types is not None:
            setattr(metadata, DECLARED_TYPES, dict(self._stated_types))
        return metadata

    def __repr__(self) -> str:
        from sdv_plausible.sdv import repr_html

        return repr_html.as_text(self)

    def _repr_html_(self) -> str:
        from sdv_plausible.sdv import repr_html

        return repr_html.as_html(self)

    # --- before the fit ---------------------------------------------------------------------------

    def plan(
        self,
        num_rows: int | None = None,
        *,
        table_rows: int | None = None,
        max_advantage: float | None = None,
        total: float | None = None,
    ) -> Plan:
        """Return the cost of a release, without reading a row.

        Parameters
        ----------
        num_rows : int, optional
            Rows you want to sample.
        table_rows : int, optional
            A public figure or a guess for the number of rows of your table. It sharpens cost and warnings.
        max_advantage : float, optional
            Largest advantage of an attacker, in (0, 1). The plan is for the largest epsilon within it,
            ``plan.epsilon``; pass that to the synthesizer.
        total : float, optional
            Largest total epsilon of the whole release, the privacy test included, > 0. The plan is for the
            largest epsilon within it.

        Raises
        ------
        ValueError
            If no epsilon keeps the advantage or the total, or if both are given.
        """
        if max_advantage is None and total is None:
            return self._planned(None, num_rows, table_rows)
        if max_advantage is not None and total is not None:
            raise ValueError(
                f"total ({total}) cannot be combined with max_advantage ({max_advantage}): leave one out"
            )
        if self._fit_template.settings.total is not None:
            raise ValueError(
                f"test={self.test!r} makes epsilon the total: leave out total ({total}) and max_advantage "
                f"({max_advantage}), and give the synthesizer another epsilon"
            )

        def ledger_at(epsilon: float) -> PrivacyLedger:
            return self._planned(epsilon, num_rows, None).ledger

        if max_advantage is not None:
            epsilon = epsilon_for(max_advantage, ledger_at)
        elif total is not None:
            epsilon = epsilon_within(total, ledger_at)
        return self._planned(epsilon, num_rows, table_rows)

    def _planned(self, epsilon: float | None, num_rows: int | None, table_rows: int | None) -> Plan:
        self._keep_dates_unsplit()
        return self._next_fit().plan(epsilon, num_rows, table_rows)

    def check(self, data: Any, show: Callable[[str], object] = print) -> Check:
        """Compare a table with the declarations. NOT private: only for the data owner.

        Parameters
        ----------
        data : DataFrame, or dict of one
            The real rows.
        show : callable
            Called with a few values of each column that does not fit. By default they are printed. They are
            not stored.

        Returns
        -------
        Check
            What does not fit, by column, without values; true if everything fits.

        Raises
        ------
        ValueError
            If the table lacks a declared column, or stores one so that its cells cannot be read.

        Notes
        -----
        The domain file records which columns were compared. A declaration that is edited afterwards makes no
        claim without a public source. Without a file, this object keeps the record and reports so; the claim
        of its own fit stands.
        """
        self._check_stored(data, sees_cells=True)
        _, frame = split_input(data)
        self._check_stored(frame, sees_cells=True)
        fit = self._fit_template
        result, columns, lines = compare_with_declarations(
            fit.declared, fit.rules, self._modelled_specs(), frame.rename(columns=str)
        )
        for line in [*lines, *self._record_comparison(columns, fit.rules.digests or None)]:
            show(line)
        return result

    def add_constraints(self, constraints: list[Any]) -> None:
        """Add SDV constraints. They learn from the rows, so the next fit makes no privacy claim.

        An earlier fit is discarded.
        """
        super().add_constraints(constraints)
        self._give_up_fit()
        self._update_default_transformers()  # SDV resets them

    @reads_rows
    def validate(self, data: Any) -> None:
        """Check a table against the metadata and the constraints. A fitted object learns nothing from it."""
        if self._rows is not None:
            return  # SDV validates the placeholder table of a fit
        self._record_validation()
        # SDV fits constraints to the rows that it validates: it gets copies.
        fitted = self._sdv.constraints if self._fitted else {}
        self.__dict__.update(deepcopy(fitted))
        try:
            table_name, frame = split_input(data)
            frame = without_special_texts(frame, self._fit_template.declared, self._sdv.columns)
            super().validate(to_native(table_name or self._table_name, frame))
        finally:
            self.__dict__.update(fitted)

    @reads_rows
    def validate_constraints(self, synthetic_data: Any) -> None:
        """Check rows, synthetic or real, against SDV constraints. The comparison is recorded."""
        if self._sdv.has_constraints:
            self._record_validation()
        super().validate_constraints(synthetic_data)

    @reads_rows
    def auto_assign_transformers(self, data: Any) -> None:
        """Assign SDV's transformers, so that :meth:`update_transformers` can change them."""
        check_types_declared(self._fit_template)
        self.validate(data)
        table_name, frame = split_input(data)
        self._rows = frame  # so that SDV validates the placeholders only
        super().auto_assign_transformers(
            to_native(table_name or self._table_name, self._sdv.placeholders(frame.dtypes))
        )

    # --- fit --------------------------------------------------------------------------------------

    @reads_rows
    def fit(self, data: Any, scratch: str | Path | None = None) -> None:
        """Fit to a table in memory, or to a partitioned table that need not fit there.

        If the fit fails, an earlier fit stays as it was.

        Parameters
        ----------
        data : DataFrame, {table: DataFrame}, path, Files, Dask or Spark DataFrame or function
            The rows. A path (a CSV or Parquet file, a folder of them, a pattern) is read in parts. So are a
            Dask or Spark DataFrame, a function that opens a stream and, with ``scratch``, all input of
            :func:`~sdv_plausible.fit_source`. Only the metadata's columns of partitioned tables are read.
            :class:`~sdv_plausible.Files` declares how a file is written.
        scratch : str or Path, optional
            A folder on a disk of yours for the codes of all rows, as for fit_source.

        Raises
        ------
        ValueError
            If the table is empty, or cannot be fitted in parts.
        sdv.errors.InvalidDataError
            If it does not match the metadata.

        Notes
        -----
        A cell that holds a list, a dict or an object of an unknown class counts as missing. A column whose
        pandas or Arrow type is nested is rejected before anything is spent; `check` names columns of such
        objects. A warning names columns, these included, whose cells are mostly outside the declared values.
        """
        call = self._call
        if scratch is None and not reads_in_parts(data):
            self._check_stored(data)
            self._fit_frame(data)
            frame = next(iter(data.values()), None) if isinstance(data, dict) else data
            self._keep_storage(recorded_storage(frame))
        else:
            from sdv_plausible.fitting.partitioned_table import open_in_parts

            with open_in_parts(
                data, self._column_types, self._fit_template.settings, self._fit_template.learner, scratch,
                is_paid=self.budget is not None, infers=self._needs_rows, sdv_sees_rows=self._sdv.sees_rows,
                tell=self.watch_progress,
            ) as call.parts:  # fmt: skip
                self._fit_frame(call.parts.source.empty(list(self._column_types)))
                self._keep_storage(call.parts.source.storage)
        self._emit_warnings()

    def _fit_frame(self, data: Any) -> None:
        """Check the input, fit SDV to a placeholder table, and the model to the rows."""
        table_name, frame = split_input(data)
        self._check_columns(frame)
        self._check_input_metadata_updated()
        self._check_before_rows(frame)
        if not frame.shape[1] or (not len(frame) and self._needs_rows):
            raise ValueError(
                f"data has {len(frame)} rows and {frame.shape[1]} columns: there is nothing to fit"
            )
        with rolled_back_on_error(self), sdv_silenced():
            self._forget_fit()
            self._call.is_fit = True
            if self._fit_template.column_specs.open:
                self._fit_with_inferred_types(frame)
            else:  # SDV calls preprocess() and fit_processed_data(), which calls _fit()
                super().fit(to_native(table_name or self._table_name, self._shown_to_sdv(frame)))
        self._returns_dict, self._frame_kind = table_name is not None, frame_kind(data)

    def _fit_with_inferred_types(self, frame: pd.DataFrame) -> None:
        """Infer column types under differential privacy, fit, and then set up SDV with these types."""
        call, specs = self._call, self._fit_template.column_specs
        call.is_closed = True
        table = frame.set_axis(frame.columns.astype(str), axis=1)
        fit, person = self._next_fit(), self._fit_template.settings.neighbours.person
        persons = None if person is None else table[person]
        paid = fit.pay(self.budget, self.watch)
        result = self._run_fit(fit, table[list(modelled_sdtypes(specs.columns))], persons, paid)
        call.is_closed = False
        self._set_metadata(with_types(self.metadata, {**specs.columns, **result.types}))
        dtypes = frame.dtypes.astype(object)
        dtypes[dtypes.index.astype(str).isin(specs.open)] = np.dtype(object)
        self._adopt(dtypes, result)

    @reads_rows
    def preprocess(self, data: Any) -> Any:
        """Transform raw data as SDV does; returns a frame or dict as given. An earlier fit is discarded."""
        if self._rows is not None:
            return super().preprocess(data)  # SDV calls from fit(), with placeholders
        check_types_declared(self._fit_template)
        with rolled_back_on_error(self), sdv_silenced():
            if self._fitted:
                warnings.warn(
                    "preprocess() discards the earlier fit; fit_processed_data() creates a new one",
                    RefitWarning,
                    stacklevel=3,
                )
                self._give_up_fit()
            table_name, frame = split_input(data)
            self._check_columns(frame)
            shown = to_native(table_name or self._table_name, self._shown_to_sdv(frame))
            self._made_by_sdv = self._made_by_sdv or self._sdv.sees_rows
            processed = self._modelled_rows(from_native(super().preprocess(shown)))
        return processed if table_name is None else {table_name: processed}

    @reads_rows
    def fit_processed_data(self, processed_data: Any) -> None:
        """Fit to the result of :meth:`preprocess`. If the fit fails, an earlier fit stays as it was."""
        table_name, frame = split_input(processed_data, "processed_data")
        call = self._call
        from_fit = call.is_fit
        if not from_fit:
            self._check_processed(frame)
            self._check_before_rows(frame)
        with rolled_back_on_error(self), sdv_silenced():
            self._forget_fit()
            call.is_closed = True  # callbacks of the model's fit may not start another call
            super().fit_processed_data(to_native(table_name or self._table_name, frame))
            if self._model is None and len(frame.columns) and not len(frame):
                self._fit(frame)  # SDV skips an empty table, which must not be visible in the result
            if self._model is None:
                self._fit_nothing()
        self._returns_dict, self._frame_kind = table_name is not None, frame_kind(processed_data)
        if not from_fit:
            self._emit_warnings()

    def _shown_to_sdv(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The table that SDV is fitted to. By default a placeholder table; the rows are kept for the model.

        With SDV constraints or transformers of the user, the rows themselves.
        """
        if not self._sdv.sees_rows:
            self._rows = frame.set_axis(frame.columns.astype(str), axis=1)
            return self._sdv.placeholders(frame.dtypes)
        shown = frame.copy(deep=False)
        for place, (_, column) in enumerate(frame.items()):
            shown.isetitem(place, mask_invalid(column))
        return shown

    def _preprocess(self, table_data: pd.DataFrame) -> pd.DataFrame:
        """SDV's hook: fit its transformers, and seed its generators independently of the rows."""
        processed = super()._preprocess(
            self._sdv.without_generated(table_data) if self._rows is None else table_data
        )
        self._sdv.reseed(self._fit_rng().spawn("invented columns"))
        return processed

    def _modelled_rows(self, processed: pd.DataFrame) -> pd.DataFrame:
        """The model's columns: of the rows, or as SDV processed them where it saw the rows."""
        return processed if self._rows is None else self._rows[list(processed.columns)].reset_index(drop=True)

    def _fit(self, processed_data: pd.DataFrame) -> None:
        """SDV's hook: fit the model, to the rows rather than to SDV's placeholders."""
        dtypes = processed_data.dtypes if self._rows is None else self._rows.dtypes
        self._fit_rows(self._modelled_rows(processed_data), dtypes)

    def _fit_rows(self, table: pd.DataFrame, dtypes: pd.Series[Any]) -> None:
        """Pay for the fit and learn the model; ``dtypes`` are those of the output."""
        if self._call.result is not None:
            self._store_result(*self._call.result)
            return
        if self._fit_template.rules and self._sdv.sees_rows:
            raise parameter_checks.Refused.saying(
                "rules",
                "rules cannot be combined with SDV constraints or custom transformers, which change the "
                "columns: replace the constraints by rules=[...], see docs/how_to/rules.md",
            )
        unit, fit, persons = self._fit_template.settings.neighbours, self._next_fit(), None
        if self._rows is None:
            fit = replace(fit, extra_entries=(*fit.extra_entries, *unknown_persons_entry(unit)))
        elif unit.person is not None:
            persons = self._rows[unit.person]
        paid = fit.pay(self.budget, self.watch)
        fit = replace(fit, specs=self._specs_of(table))
        self._store_result(dtypes, self._run_fit(fit, table, persons, paid))

    def _run_fit(
        self, fit: Fit, table: pd.DataFrame, persons: pd.Series[Any] | None, paid: PaidFit
    ) -> FitResult:
        """Run a fit that is paid for. Its warnings wait until the result is stored."""
        call, tell = self._call, self.watch_progress
        rows: FitRows = InMemoryRows(table, self._fit_template.rules, persons)
        if call.parts is not None:
            tell = call.parts.source.progress.stage
            rows = call.parts.rows(self._fit_template.rules, list(table.columns))
        diagnostics = HolderDiagnostics(self._record_comparison, tell=tell)
        result = fit.run(rows, paid, self._fit_rng(), diagnostics)
        call.warnings += diagnostics.issued
        return result

    def _store_result(self, dtypes: pd.Series[Any], result: FitResult) -> None:
        """Store the result of a fit."""
        self._codec, self._fitted_rules = Codec(result.domain), result.rules
        self._sampler, self._ledger, self._charge = result.sampler, result.ledger, result.charge
        self._public_digest, self._other_type_shares = result.public, result.others
        self._sdv.write_domain(result.rules.whole(result.domain), dtypes)
        self._model = result.sampler
        self._process, self._charged_calls = os.getpid(), {}

    @reads_rows
    def _adopt(self, dtypes: pd.Series[Any], result: FitResult) -> None:
        """Store a finished fit, and fit SDV's part to its schema; ``dtypes`` are the output's, by label."""
        placeholders, call = self._sdv.placeholders(dtypes), self._call
        self._rows = placeholders.set_axis(placeholders.columns.astype(str), axis=1)
        call.is_fit, call.result = True, (dtypes.rename(str), result)
        try:
            with sdv_silenced():
                super().fit(to_native(self._table_name, placeholders))
        finally:
            call.result = None

    def _fit_nothing(self) -> None:
        """Store the ledger of a fit without a modelled column, which reads no row."""
        self._ledger = self._fit_template.settings.empty_ledger()
        self._ledger.charge(*rule_entries(self._fit_template.rules), *self._extra_entries())

    def _emit_warnings(self) -> None:
        """Emit the warnings of the fit, which is stored now."""
        for warning in grouped(self._call.warnings):
            warnings.warn(warning, stacklevel=4)

    def _forget_fit(self) -> None:
        self._model = self._sampler = self._ledger = None
        self.__dict__.pop("_release_settings", None)

    def _give_up_fit(self) -> None:
        self._forget_fit()
        self._fitted = False

    def _keep_storage(self, storage: Mapping[str, str]) -> None:
        """Store how the columns of the fitted file are stored, if the file states it."""
        self.__dict__.pop("_storage_types", None)
        if storage:
            self._storage_types = dict(storage)

    # --- checks before the first row --------------------------------------------------------------

    def _check_columns(self, frame: pd.DataFrame) -> None:
        check_labels(frame)
        if not self._sdv.sees_rows:
            check_columns(frame, self._sdv.columns)

    def _check_stored(self, data: Any, *, sees_cells: bool = False) -> None:
        person = self._fit_template.settings.neighbours.person
        check_stored(data, self._given_specs(), self._sdv.keys, person, sees_cells=sees_cells)

    def _check_processed(self, frame: pd.DataFrame) -> None:
        """Reject anything but the result of :meth:`preprocess` under the current settings."""
        check_types_declared(self._fit_template)
        if self._made_by_sdv and not self._sdv.sees_rows:
            raise ValueError(
                "processed_data may come from constraints or custom transformers that are no longer set: "
                "call fit() with the table, or create a new synthesizer"
            )
        if self.budget is not None:
            check_no_person(self._fit_template)
        columns = sorted(modelled_sdtypes(self._sdv.columns, self._sdv.keys))
        check_processed(frame, None if self._sdv.sees_rows else columns, self._data_processor)

    def _check_before_rows(self, frame: pd.DataFrame) -> None:
        """Check everything that needs no row."""
        if self._sdv.sees_rows:
            check_types_declared(self._fit_template)
        self._keep_dates_unsplit()
        current = [] if self._sdv.has_constraints else [self.metadata]  # constraints change it
        check_unchanged(self._original_metadata, [self._input_metadata, *current])
        self._check_stored(frame)
        call, specs, keys = call_of(self), self._given_specs(), self._sdv.keys
        table = frame if call is None or call.parts is None else call.parts.given
        check_public_given(
            self.public,
            self._public_origin,
            is_the_table=self._public_given is table,
            alone=not self._sdv.sees_rows,
        )
        check_budget_there(self)
        if self.budget is not None:
            from sdv_plausible.fitting.release_budget import check_budget

            check_budget(self.budget)
        check_assigned(specs, keys, self._sdv.transformers)
        if self._sdv.sees_rows:
            if self.budget is not None:
                self.budget.check_claim(self.plan().ledger)  # SDV reads rows before the budget is charged
            return
        check_sdtypes(specs, keys)
        named, fit = frame.rename(columns=str), self._fit_template
        check_dates(named, fit.declared.date_formats(specs, fit.rules.formats, {*named}))

    def _check_input_metadata_updated(self) -> None:
        """SDV's hook: warn of metadata that was changed after construction, before a fit or a sample."""
        call, given = call_of(self), vars(self).get("_given")
        if given is None or not given.is_changed or (call is not None and call.is_fit):
            return  # a fit warns before it is paid for
        tables = getattr(self._input_metadata, "tables", {"": self._input_metadata}).values()
        for table in tables:  # SDV has a copy, which was not changed
            table._updated = True
        try:
            super()._check_input_metadata_updated()
        finally:
            for table in tables:
                table._updated = False

    @property
    def _needs_rows(self) -> bool:
        """Whether an empty table is an error. Under a claim, errors must not depend on the number of rows."""
        declared = self._fit_template.declared
        return declared.undeclared == "infer" and not all(map(declared.known, self._modelled_specs()))

    def _record_validation(self) -> None:
        """Record that all columns are compared with the metadata; SDV's errors quote cells."""
        call = call_of(self)
        is_fit = call is not None and call.is_fit
        if is_fit and not self._sdv.sees_rows:
            return
        # The original columns: constraints and the model replace some.
        lines = self._record_comparison(self._sdv.original_columns)
        if not is_fit and self.domain is not None:  # a fit reports it itself
            for line in lines:
                print(escape_controls(line))

    def _record_comparison(self, names: Collection[str], rules: Collection[str] | None = None) -> list[str]:
        """Record here and in the domain file that columns were compared with rows; return the messages."""
        from sdv_plausible.table.declared.access_log import log_access_of_domain

        self._looked = self._looked.looked_at(names, rules)
        return (self.record or partial(log_access_of_domain, self.domain))(names, rules)

    # --- the next fit -----------------------------------------------------------------------------

    @property
    def _call(self) -> RowCall:
        """The call in progress."""
        call = call_of(self)
        assert call is not None
        return call

    @property
    def _rows(self) -> pd.DataFrame | None:
        """Rows of the call in progress that SDV does not see; never stored in this object."""
        call = call_of(self)
        return None if call is None else call.rows

    @_rows.setter
    def _rows(self, rows: pd.DataFrame | None) -> None:
        self._call.rows = rows

    @property
    def _sdv(self) -> SDVState:
        """SDV's part of this object."""
        return SDVState(self)

    def _next_fit(self) -> Fit:
        """The next fit, complete but for the rows."""
        published = PublicTable.read(vars(self).get("public"))  # not a copy
        call, specs = call_of(self), self._fit_template.column_specs
        spelling = self.spelling if call is None or call.parts is None else call.parts.spelling
        fit = replace(
            self._fit_template, column_specs=replace(specs, spelling=spelling), specs=self._modelled_specs(),
            extra_entries=tuple(self._extra_entries()), name=self._table_name,
            as_declared=not self._sdv.sees_rows, rounding=self.enforce_rounding,
            public=None if published is None else published.frame,
        )  # fmt: skip
        if fit.settings.total is not None and self._within_total != fit.specs:
            settings, self._within_total = fit.within_total().settings, fit.specs
            self._fit_template = replace(self._fit_template, settings=settings)
        return replace(fit, settings=self._fit_template.settings, stored_settings=settings_of(self))

    def _keep_dates_unsplit(self) -> None:
        """Do not split dates if SDV constraints or the user's transformers change the columns first."""
        if self._fit_template.column_specs.split_dates and self._sdv.sees_rows:
            self._fit_template = schema_only(with_unsplit_dates(self._fit_template), self.max_bins)

    def _given_specs(self) -> dict[str, dict[str, Any]]:
        """The metadata's columns before the fit; columns of unknown type are categorical."""
        specs = self._fit_template.column_specs
        return {n: dict(spec) for n, spec in specs.columns.items()} if specs.open else self._sdv.columns

    def _modelled_specs(self) -> dict[str, dict[str, Any]]:
        """The columns of the model."""
        specs = self._given_specs()
        return self._fit_template.rules.model_columns({name: specs[name] for name in modelled_sdtypes(specs)})

    def _specs_of(self, table: pd.DataFrame) -> dict[str, dict[str, Any]]:
        """The columns of the model in a table that SDV may have processed."""
        empty = table.iloc[:0]
        folded = self._fit_template.rules.fold(empty) if self._fit_template.rules else empty
        specs = self._sdv.columns
        made_by_constraints = {*specs} - {*self._sdv.original_columns}
        specs = self._fit_template.rules.model_columns(specs)
        return model_specs(folded, specs, self._sdv.transformers, made_by_constraints)

    def _extra_entries(self) -> list[LedgerEntry]:
        """Ledger entries without a cost: public table, rows used, seed, constraints, SDV transformers."""
        return (
            public_entries(*self._public_origin)
            + person_entry(self._fit_template.settings.neighbours)
            + entries_without_cost(
                self.random_state, has_constraints=self._sdv.has_constraints,
                transformers=self._sdv.own_transformers, types=self.types, assumed=self._fit_template.assumed,
            )
        )  # fmt: skip

    def _fit_rng(self) -> KeyedRNG:
        """A new secret source of random streams; with ``random_state``, always the same reproducible one."""
        return (
            KeyedRNG.from_os_entropy() if self.random_state is None else KeyedRNG.from_seed(self.random_state)
        )

    def _update_default_transformers(self) -> None:
        """SDV's hook: turn off what SDV would learn from rows."""
        super()._update_default_transformers()
        self._sdv.turn_off_learning()

    def _set_metadata(self, metadata: Any) -> None:
        """Re-initialise SDV's part with metadata whose types were inferred from the rows."""
        parameters = map(self.__dict__.pop, ("enforce_min_max_values", "enforce_rounding", "locales"))
        super().__init__(without_details(metadata), *parameters)
        self._mark_voted()

    def _mark_voted(self) -> None:
        """Mark the metadata's types as inferred from the rows: another fit would have to pay for them."""
        self._has_voted_types = True
        for metadata in (self.metadata, self._original_metadata):
            setattr(metadata, VOTED, True)

    def _get_parameters(self) -> dict[str, Any]:
        """SDV's hook: reject its multi-table synthesizers, which fit a model to the rows of each parent."""
        raise NotImplementedError(
            "child tables are not supported here: SDV would need parameters of every parent's rows, and "
            "most parents have few (docs/explanation/sdv_models.md). Use "
            "PlausibleDeniabilityMultiTableSynthesizer, or fit each table alone and name the person column "
            "in person="
        )

    # --- sample -----------------------------------------------------------------------------------

    def sample(self, num_rows: int, *args: Any, processes: int = 1, **kwargs: Any) -> Rows:
        """Sample rows.

        Parameters
        ----------
        num_rows : int
            Rows to release, >= 0. 0 gives an empty table with the columns. More rows than fit in memory are
            rejected; ``release().sample_parts`` draws any number of them.
        *args, **kwargs
            As in the installed SDV. SDV 2.0: main_table_name, max_tries_per_batch, batch_size,
            output_folder_path. SDV 1.38: max_tries_per_batch, batch_size, output_file_path.
        processes : int
            Row-by-row tests: number of processes that draw the rows, at most 61. The rows are the same for
            any number.

        Returns
        -------
        DataFrame or {table: DataFrame}
            In the form of the table passed to :meth:`fit`: of pandas, polars or pyarrow.
        """
        with nullcontext() if self._sampler is None else self._sampler.in_processes(processes):
            parameter_checks.whole("num_rows", num_rows, 0, "try 1000; 0 gives an empty table")
            self._validate_fit_before_sample()
            check_request(super().sample, (int(num_rows), *args), kwargs)
            if num_rows == 0:
                return self._in_input_form(self._as_output_types(self._sdv.no_rows()))
            self._check_memory(int(num_rows))
            if num_rows > BAR_ROWS and self._fit_template.settings.test.row_limit is not None:
                kwargs.setdefault("batch_size", BAR_ROWS)
            return self._sample_with(super().sample, int(num_rows), *args, **kwargs)

    def sample_from_conditions(self, conditions: list[Any], *args: Any, **kwargs: Any) -> Rows:
        """Sample rows that meet SDV conditions; further arguments as in the installed SDV.

        A value outside the column's domain is rejected. So is a value that would be written differently, such
        as 5.5 in a column of integers. A missing value in a column without missing values is filled in after
        drawing, as if it were not known. So is a value to which the model gives probability 0; under a
        row-by-row test, SDV instead draws until rows have such a value together with the others, and may find
        none.
        """
        self._validate_fit_before_sample()
        check_conditions(conditions)
        self._check_memory(sum(int(getattr(one, "num_rows", 0)) for one in conditions))
        return self._sample_with(super().sample_from_conditions, conditions, *args, **kwargs)

    def sample_remaining_columns(self, known_columns: pd.DataFrame, *args: Any, **kwargs: Any) -> Rows:
        """Sample the other columns of given rows; further arguments as in the installed SDV."""
        self._validate_fit_before_sample()
        check_known_columns(known_columns)
        # SDV groups by the known values, and would form all combinations of category columns.
        categories = known_columns.select_dtypes("category").columns
        known_columns = known_columns.astype(dict.fromkeys(categories, object))
        return self._sample_with(super().sample_remaining_columns, known_columns, *args, **kwargs)

    def sample_with_points(self, num_rows: int, *, processes: int = 1) -> tuple[Rows, pd.DataFrame]:
        """Sample rows together with the latent points they were decoded from.

        Plausible deniability holds for the pair. For ``model="latent"`` under the row-by-row tests. A pair
        costs what its row costs, and counts towards ``row_cap`` as one row. The rows are those that
        :meth:`sample` would give.

        Parameters
        ----------
        num_rows : int
            Rows to release, >= 0.
        processes : int
            Number of processes that draw them.

        Returns
        -------
        (rows, points)
            Rows as from :meth:`sample`, and a pandas table with columns ``latent_1``, ``latent_2``, ..., in
            the same order. Points of rows that were made without a seed are missing.

        Raises
        ------
        ValueError
            If rows have no tested latent points, or SDV may drop some.
        """
        from sdv_plausible.sdv import latent_points

        sampler = latent_points.sampler_of_points(self._sampler, sdv_drops_rows=self._sdv.sees_rows)
        self._points = []
        try:
            rows = self.sample(num_rows, processes=processes)
            points = latent_points.points_table(self._points, sampler.model.num_latent, num_rows)
        finally:
            del self._points
        latent_points.check_lengths(rows, points)
        return rows, points

    def sample_multiple(
        self, num_tables: int, num_rows: int | None = None, *, about: About = "population"
    ) -> list[Rows]:
        """Draw tables from several models that agree with the noisy answers, at no further cost.

        Combine estimates from the tables with :func:`sdv_plausible.combine`; its intervals account for the
        noise. The rows come from the models alone, whatever ``test``, and do not count towards ``row_cap``.

        Parameters
        ----------
        num_tables : int
            Number M of tables, >= 2; 20 or more are recommended.
        num_rows : int, optional
            Rows of each; by default the noisy number of rows. Larger tables are more informative.
        about : {"population", "table"}
            Whether the intervals are about the population that the rows are drawn from, or about the rows.
            Where a person may have several rows, which are not independent, only "table" is possible.

        Raises
        ------
        ValueError
            If the model cannot be learned again from answers.
        """
        from sdv_plausible.release.intervals.measured_counts import number_of_rows
        from sdv_plausible.release.multiple_synthesis import refitted_models

        sampler, domain = self._fitted_sampler(), self._codec.domain
        rng = KeyedRNG.from_os_entropy() if sampler.rng.is_secret else sampler.rng.spawn("several tables")
        models = refitted_models(
            self._fit_template.learner, sampler.model, sampler.answers, domain, num_tables, about,
            rng.spawn("models"), rows_per_unit=self._ledger_of_fit().neighbours.rows,
            is_public=self._public_origin[0] is not None,
        )  # fmt: skip
        if num_rows is None:
            num_rows = number_of_rows(sampler.answers, len(domain))
        self._check_memory(num_tables * parameter_checks.whole("num_rows", num_rows, 0, "try 1000"))
        return [
            self._with_model(model, rng.spawn("table", i)).sample(num_rows) for i, model in enumerate(models)
        ]

    def _with_model(self, model: Any, rng: KeyedRNG) -> PlausibleDeniabilitySynthesizer:
        """A synthesizer like this one with another model, whose rows are drawn without seeds."""
        from sdv_plausible.release.multiple_synthesis import INDEPENDENT_ROWS

        twin = self._shallow_copy()
        twin._process = os.getpid()
        settings = replace(self._fit_template.settings, test=ReleaseTest())
        twin._fit_template = replace(self._fit_template, settings=settings)
        twin._sampler = PrefixSampler(model=model, seeds=INDEPENDENT_ROWS, rng=rng)
        return twin

    def _sample_with(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Rows:
        """Sample with a method of SDV."""
        frame = sample_with_sdv(method, args, kwargs, self._table_name, self._as_output_types)
        return self._in_input_form(frame)

    def _sample(self, num_rows: int, conditions: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """SDV's hook: draw rows. Where it raises NotImplementedError, SDV draws others until they match."""
        sampler, codec, rules = self._sampler, self._codec, self._fitted_rules
        assert sampler is not None
        self._warn_of_same_rows()
        values = without_tokens(conditions or {})
        if sampler.samples_conditions:
            values = rules.given(values)
        known = {
            codec.domain.names.index(name): codec.encode_value(name, value)
            for name, value in values.items()
            if name in codec.domain and (codec.domain[name].nullable or not pd.isna(value))
        }
        if (known and not sampler.samples_conditions) or set(values) & set(rules.made):
            raise NotImplementedError  # rejection is post-processing of rows that were released
        if self._points is not None:
            from sdv_plausible.sdv import latent_points  # only where points are sampled
        number, limit = self._next_call(), self._fit_template.settings.test.row_limit

        def drawn(wanted: int, attempt: int) -> pd.DataFrame:
            key = (self._sdv_seed, number, wanted, tuple(sorted(known.items())), attempt)
            charge_rows(self._charged_calls, limit, key, wanted)
            rng = sampler.rng.spawn("sample", *key)
            if self._points is not None and isinstance(sampler, RecordSampler):
                codes, points = sampler.sample_with_points(wanted, rng)
            else:
                codes, points = sampler.sample_possible(wanted, known, rng), None
            table = decode_rows(codes, values, codec, rules, rng)
            return table if points is None else latent_points.with_points(table, points)

        table = rules.draw(num_rows, drawn, rules.whole(codec.domain), spare=limit is None)
        if self._points is not None:
            table, points = latent_points.split_points(table)
            self._points.append(points)
        return table

    def _sample_with_conditions(self, conditions: pd.DataFrame, *args: Any, **kwargs: Any) -> pd.DataFrame:
        """SDV's hook: draw rows with known values, all at once if the model can, else group by group."""
        sampler, transformers = self._sampler, self._sdv.transformers
        plain = [name for name in conditions.columns if transformers.get(name) is None]
        needs_sdv = self._sdv.sees_rows or kwargs.get("keep_extra_columns") or writes_file(args, kwargs)
        if sampler is None or needs_sdv or self._points is not None or len(conditions) < 2:
            return super()._sample_with_conditions(conditions, *args, **kwargs)
        from sdv_plausible.sdv import known_values  # only where rows have known values

        if not known_values.can_be_batched(conditions, sampler, self._codec, self._fitted_rules, plain):
            return super()._sample_with_conditions(conditions, *args, **kwargs)
        self._warn_of_same_rows()
        if not self._random_state_set:
            self._set_random_state(FIXED_RNG_SEED)
        digest = known_values.digest_of(conditions)
        rng = sampler.rng.spawn("sample each", self._sdv_seed, self._next_call(), digest)
        raw = known_values.draw_rows(conditions, sampler, self._codec, self._fitted_rules, rng)
        if (bar := kwargs.get("progress_bar", args[2:3][0] if args[2:3] else None)) is not None:
            bar.update(len(conditions))
        return known_values.with_exact_values(self._data_processor.reverse_transform(raw), conditions)

    def _transform_conditions(self, condition_df: pd.DataFrame) -> pd.DataFrame:
        """SDV's hook: keep missing values, which SDV loses when it groups conditions."""
        return with_tokens(super()._transform_conditions(condition_df))

    def _validate_conditions_unseen_columns(self, conditions: pd.DataFrame) -> None:
        """SDV's hook: reject values outside the domain."""
        super()._validate_conditions_unseen_columns(conditions)
        for name in conditions.columns:
            is_modelled = self._sampler is not None and name in self._codec.domain
            if is_modelled and self._sdv.transformers.get(name) is None:
                values = conditions[name].infer_objects()
                if not self._codec.domain[name].nullable:  # missing values are filled in after drawing
                    values = values[values.notna()]
                self._codec.check_values(name, values)

    def _set_random_state(self, random_state: Any) -> None:
        """SDV's hook: start a sequence of samples. SDV's state, a public constant, only names the stream."""
        self._sdv_seed = random_state if isinstance(random_state, (int, type(None))) else repr(random_state)
        self._calls = 0
        self._random_state_set = True

    def _next_call(self) -> int:
        """Number of this call in the sequence of samples."""
        self._calls += 1
        return self._calls - 1

    def _warn_of_same_rows(self) -> None:
        """Warn once of rows that copies of this object in other processes draw, too."""
        if self._process != os.getpid():
            warnings.warn(SAME_ROWS, UserWarning, stacklevel=3)
            self._process = os.getpid()

    def _check_memory(self, num_rows: int) -> None:
        modelled_columns = 0 if self._sampler is None else len(self._fitted_rules.whole(self._codec.domain))
        columns = len(self._sdv.original_columns)
        check_memory(num_rows, modelled_columns, max(0, columns - modelled_columns))

    def _as_output_types(self, frame: pd.DataFrame) -> pd.DataFrame:
        if self._sampler is None:
            return frame
        columns = self._fitted_rules.whole(self._codec.domain)
        return to_pandas_types(frame, columns, masked=self._frame_kind is not None)

    def _in_input_form(self, frame: pd.DataFrame) -> Rows:
        """Rows in the form of the table passed to :meth:`fit`."""
        rows = in_kind(frame, self._frame_kind)
        return {self._table_name: rows} if self._returns_dict else rows

    # --- the fit ----------------------------------------------------------------------------------

    @property
    def drawn(self) -> dict[str, float] | None:
        """What the fit drew from its budget, in the units of the privacy filter; None without a budget."""
        return None if self.budget is None or self._charge is None else self.budget.cost_of(**self._charge)

    def privacy_ledger(self) -> PrivacyLedger:
        """Return the ledger of the fit: the total first, then its entries."""
        if self._ledger is None:
            raise SamplingError("there is no ledger yet: call fit() first, or plan() to see the cost")
        return deepcopy(self._ledger)

    def margins(self, columns: str | Sequence[str], level: float = 0.95) -> pd.DataFrame:
        """Return counts with confidence intervals, from the noisy answers, at no further cost.

        Parameters
        ----------
        columns : str or sequence of str
            One modelled column or several; ``()`` gives the number of rows.
        level : float
            Of each interval on its own, in (0, 1). k intervals hold together at level
            ``1 - (1 - level) * k``.

        Returns
        -------
        DataFrame
            One row per cell, labelled by the columns' values, or by groups of values where groups were
            counted. ``estimate``, ``lower`` and ``upper`` are for the count of the rows used (with
            ``person``, at most so many of each); ``proportion`` and its limits are for the population that
            the rows are drawn from. These limits are missing where a person may have several rows, which are
            not independent. ``basis`` is "measured"; "bounds" for columns that were not measured together,
            whose cells have Frechet bounds and no estimate; or "not identified".

        Raises
        ------
        ValueError
            If a column is not modelled, or there are no noisy counts.
        """
        from sdv_plausible.release.intervals.margins import margins

        answers = self._fitted_sampler().answers
        rows = self._ledger_of_fit().neighbours.rows  # settings are of the next fit
        return margins(answers, self._codec.domain, columns, level, rows_per_unit=rows)

    def columns(self) -> pd.DataFrame:
        """Return how the columns' values are represented, from the noisy answers, at no further cost.

        Returns
        -------
        DataFrame
            One row per modelled column: ``kind``, ``codes``, the origin of its ``domain`` and, if that was
            learned, estimated shares of the rows. ``exact``: values with a code of their own. ``merged``:
            values kept as ranges. ``replaced``: values outside the domain, replaced by more common ones;
            ``uncertainty`` is the standard deviation of this share. ``missing``: cells that are empty or
            cannot be read. ``other_kind``, for columns of inferred types: upper limit of the share of cells
            of another type, which count as missing.
        """
        from sdv_plausible.table.learned.lost_mass import columns_frame

        answers = self._fitted_sampler().answers
        others = (self._release_settings or {}).get("voted_others", self._other_type_shares)
        return columns_frame(self._codec.domain, answers, others)

    def get_domain(self) -> Domain:
        """Return the domain of the fit: the values of each modelled column, and their origin.

        It can be saved (``Domain.save``), edited and passed to another synthesizer. It holds the cost of
        learning it (``Domain.learned``): the other fit charges that again, and draws it once from the same
        budget. It also records which columns were compared with rows (``Domain.looked``), by this object or
        before. If these are edited now, they make no claim. A release file has no such record, and neither
        has the domain of ``from_release``; edit the domain file instead.
        """
        self._fitted_sampler()
        fitted = self._codec.domain
        others = {n: spec for n, spec in self._sdv.columns.items() if n not in fitted.names}
        domain = with_cost(fitted, self._ledger_of_fit(), self._charge, others)
        return with_look_record(
            domain, self._looked, self._fitted_rules.rule_set, self._fit_template.rules.digests
        )

    def get_structure(self) -> dict[str, list[str]]:
        """Return the parents of each modelled column, ``{child: [parents]}``, in the resampling order."""
        return structure_by_name(self._fitted_sampler().model, self._codec.domain.names)

    def plot_structure(self) -> Any:
        """Draw the network as a plotly figure."""
        from sdv_plausible.evaluation.report.plots import plot_structure

        return plot_structure(self.get_structure())

    def diagnose(self, num_candidates: int = 10_000) -> pd.DataFrame:
        """Return the sizes of the groups of plausible seeds. NOT private: only for the data owner.

        Returns
        -------
        DataFrame
            One row per number of kept attributes: quartiles of the candidates' group sizes, and the share of
            groups of at least k.
        """
        from sdv_plausible.mechanism.drawing.sampler import diagnose

        return diagnose(self._fitted_sampler(), num_candidates)

    def seed_diagnostics(self, num_candidates: int = 10_000) -> dict[str, Any]:
        """Return the seeds' part of ``PlausibleDeniabilityReport(diagnostics=...)``. NOT private.

        Do not publish it.

        Returns
        -------
        dict
            ``"plausible_seeds"``: of candidates at this synthesizer's omega; ``"pass_rates"``: ``{k: {omega:
            share}}``.
        """
        from sdv_plausible.mechanism.drawing.sampler import seed_diagnostics

        return seed_diagnostics(self._fitted_sampler(), num_candidates)

    def _fitted_sampler(self) -> Sampler:
        if self._sampler is None:
            raise SamplingError("call fit() first: there is no model yet")
        return self._sampler

    def _ledger_of_fit(self) -> PrivacyLedger:
        assert self._ledger is not None
        return self._ledger

    # --- files and copies -------------------------------------------------------------------------

    def release(self, *, allow_no_claim: bool = False) -> Release:
        """Return the release, which can be saved as a file that runs no code and samples without SDV.

        Parameters
        ----------
        allow_no_claim : bool
            Whether to release even if the ledger makes no privacy claim. The file may then hold values of
            individual people.

        Raises
        ------
        ValueError
            If the fit keeps records, makes no claim, or has SDV constraints or transformers of your own.
        """
        return to_release(self, allow_no_claim=allow_no_claim)

    def save(self, filepath: str | Path) -> None:
        """Write the synthesizer as a pickle, atomically.

        A file that holds seed records can be read by its owner only.

        Warns
        -----
        UserWarning
            If the object holds seed records: the file is then outside every guarantee.
        """
        holds_records = self._sampler is not None and self._sampler.holds_records
        if holds_records:
            test = self._fit_template.settings.test.name
            warnings.warn(
                f"the saved file holds seed records of your table (test={test!r}). Protect it like the "
                "table itself; only its owner can read it. test='release' saves no records",
                stacklevel=2,
            )
        twin = self._shallow_copy()
        twin._process = None  # the process that loads it
        save = super(PlausibleDeniabilitySynthesizer, twin).save
        write_atomically(filepath, lambda path: save(str(path)), owner_only=holds_records)

    @classmethod
    def load(cls, filepath: str | Path) -> Any:
        """Read a file written by :meth:`save`. Only open files you trust: they are pickles.

        Raises
        ------
        ValueError
            If the file is damaged or holds something else.
        """
        from sdv_plausible.sdv.release_conversion import load_saved

        return load_saved(filepath, cls)

    def __getstate__(self) -> dict[str, Any]:
        return without_transient(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled object; one from a parent process repeats the parent's rows."""
        if "test" not in state:
            raise AttributeError("saved by sdv_plausible 0.1, which had different options")
        self.__dict__.update(state)
        if self._process not in parents():
            self._process = os.getpid()

    def __copy__(self) -> PlausibleDeniabilitySynthesizer:
        """A deep copy, apart from the sampler and the row cap, which both objects share."""
        shared = [vars(self).get(name) for name in ("_sampler", "_charged_calls")]
        return deepcopy(self, {id(one): one for one in shared})

    def _shallow_copy(self) -> PlausibleDeniabilitySynthesizer:
        """A shallow copy without transient state, to be saved or sampled but not fitted."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__getstate__())
        return twin


PARAMETERS = fixed_parameters(PlausibleDeniabilitySynthesizer, but=("metadata", "budget"))
# Saved files name the class by its public module, which is always imported. cloudpickle, which SDV uses,
# would copy the class into the file if its module might not be imported yet.
PlausibleDeniabilitySynthesizer.__module__ = "sdv_plausible"
