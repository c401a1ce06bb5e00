"""SDV's face of the package: the synthesizer that users fit and sample."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sdv.errors import InvalidDataError, SamplingError

from sdv_plausible.declaring.domain_files import told_of_look
from sdv_plausible.declaring.private import Earlier, earlier_losses
from sdv_plausible.fit.options import refuse_moved
from sdv_plausible.fit.parts import check_form, is_in_parts, opened_parts, refuse_whole, spelling_of
from sdv_plausible.fit.public_table import PublicTable, check_public, public_entries
from sdv_plausible.fit.run import Fit, Found, Opened
from sdv_plausible.fit.telling import Note, Teller, as_read
from sdv_plausible.fit.voting import Told, check_vote, left_open
from sdv_plausible.intervals.margins import margins, number_of_rows
from sdv_plausible.models import make_learner
from sdv_plausible.models.base import HasStructure, check_number_of_columns
from sdv_plausible.models.paper.paper_network import given_structure
from sdv_plausible.privacy.checks import Refused, truth
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import Neighbours, Person, Relation
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.release.budget import Budget, check_budget
from sdv_plausible.release.plan import Plan, epsilon_for
from sdv_plausible.release.privacy_tests import PrivacyTest
from sdv_plausible.release.redrawn import INDEPENDENT_ROWS, About, redrawn_models
from sdv_plausible.release.release_level import ReleaseTest
from sdv_plausible.release.sampler import PrefixSampler, RecordSampler, Sampler, diagnose, seed_diagnostics
from sdv_plausible.release.settings import Settings, TestName
from sdv_plausible.release.side_entries import Types, check_types, side_entries
from sdv_plausible.release_file.domain import with_charges, with_looks
from sdv_plausible.release_file.invented import check_invented
from sdv_plausible.release_file.release import Release
from sdv_plausible.release_file.settings import check_locales
from sdv_plausible.rules.checking import check_rows, rule_entries
from sdv_plausible.rules.moments import DateAndTime
from sdv_plausible.rules.rule_set import FittedRules, RuleSet
from sdv_plausible.rules.written import read_rules
from sdv_plausible.sdv import latent_points, shown
from sdv_plausible.sdv import versions as sdv_compat
from sdv_plausible.sdv.base import WholeTableSynthesizer, from_token
from sdv_plausible.sdv.constraints import as_rules
from sdv_plausible.sdv.copula import learner_of
from sdv_plausible.sdv.parameters import fixed_parameters
from sdv_plausible.sdv.releasing import rebuilt, released, settings_of
from sdv_plausible.sdv.requests import SAME_ROWS, parents
from sdv_plausible.sdv.schema import check_metadata, is_invented, with_id, with_types
from sdv_plausible.sdv.stand_ins import reseed_generators, write_as_domain
from sdv_plausible.sdv.transient import Parts, call_of, shown_rows
from sdv_plausible.sources.rows import Rows, SourceRows, TableRows
from sdv_plausible.table.cell_texts import Spelling
from sdv_plausible.table.cells import numbers_alone
from sdv_plausible.table.checking import Check
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.column_types import check_released, column_types, metadata_columns
from sdv_plausible.table.dates import check_dates
from sdv_plausible.table.declarations import Specs, Undeclared, domain_document
from sdv_plausible.table.domain import MAX_BINS, Domain
from sdv_plausible.table.domain_file import DomainFile
from sdv_plausible.table.output_types import usual_types
from sdv_plausible.table.persons import person_entry, unknown_persons
from sdv_plausible.table.storage import PERSON, check_storage
from sdv_plausible.table.words import MODELLED_SDTYPES, check_table_name
from sdv_plausible.whole_files import part_folder


class RowCapExceededError(ValueError):
    """More rows were asked for than the declared row cap pays for. Nothing was released."""


class PlausibleDeniabilitySynthesizer(WholeTableSynthesizer):
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
    model : {"bayesian_network", "independent", "correlated", "gaussian_copula", "latent", "random"} or object
        The generative model: the default, DataSynthesizer's modes (see docs/explanation/datasynthesizer.md;
        "uniform" is "random"), a private Gaussian copula, an autoencoder ("latent"); or a value with options:
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
    types : {"declared", "voted", "detected"}
        Where the metadata's semantic types and date formats are from. ``"declared"``: you vouch that they are
        public, known without the rows. ``"voted"``: of the metadata names alone count, and the cells of every
        column that ``domain`` does not name vote on its type, for a tenth of the budget. ``"detected"``: they
        were read off the rows, and the ledger then makes no privacy claim.
    undeclared : {"private", "infer"}
        How the domains of columns without a declaration are found: learned with noise from a share of the
        budget, or read off the rows, without a privacy claim and with a warning.
    max_bins : int
        Numbers and dates with more values than this are put into this many bins.
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

    Examples
    --------
    >>> synth = PlausibleDeniabilitySynthesizer(metadata)       # doctest: +SKIP
    >>> synth.fit(table)                                        # doctest: +SKIP
    >>> synth.sample(1000)                                      # doctest: +SKIP
    >>> print(synth.privacy_ledger())                           # doctest: +SKIP
    """

    _sampler: Sampler | None
    _ledger: PrivacyLedger | None
    _taken: tuple[Any, ...] | None = None  # only while a release is put in
    budget: Budget | None = None
    watch: Callable[[PrivacyLedger], object] | None = None
    """Told the ledger after each charge of a fit, before the rows are asked: for its holder; never saved."""
    spelling = Spelling()
    """How cells of text are written whose types are voted for."""
    record: Note | None = None
    """Writes looks at columns and rules down in the domain file, of whatever folder it is; never saved."""
    _looked = DomainFile(columns={})  # what was compared with rows, and not what came out: saved, too
    _points: list[np.ndarray] | None = None  # only while rows are sampled with their latent points
    _earlier = Earlier()  # what the domain cost when it was learned
    _charge: Mapping[str, str] | None = None  # in the budget, that paid for the fit
    _lost_budget = False  # saved files hold no budget
    _public_given: pd.DataFrame | None = None  # only to be told from the rows; saved files hold none
    _public_said: tuple[int | None, str | None] = (None, None)  # its rows, and who published it
    _said: Mapping[str, Any] | None = None  # settings of a release that this object's own ones do not say
    _rules = RuleSet()
    _process: int | None = None  # whose the rows of the next call are

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
        types: Types = "declared",
        undeclared: Undeclared = "private",
        max_bins: int = MAX_BINS,
        person: str | Person | None = None,
        neighbours: Relation = "add_remove",
        budget: Budget | None = None,
        rules: Any = (),
        public: pd.DataFrame | PublicTable | None = None,
        random_state: int | None = None,
        **moved: Any,
    ) -> None:
        given = locals()
        refuse_moved(type(self).__name__, moved)
        check_budget(budget)
        truth("enforce_min_max_values", enforce_min_max_values)  # SDV would show what was given instead
        truth("enforce_rounding", enforce_rounding)
        sdv_sets = ("metadata", "enforce_min_max_values", "enforce_rounding", "locales")
        for name in PARAMETERS:
            if name not in sdv_sets:
                setattr(self, name, given[name])  # a copy, fixed from now on: see parameters.py
        domain, self._learner = self.domain, make_learner(learner_of(self.model))
        unit = Neighbours.parse(neighbours, person)
        self._settings = Settings.of(epsilon, delta, test, unit, self._learner)
        if random_state is not None:
            Coins.from_seed(random_state)  # complains now rather than at fit
        check_types(types)
        known_locales = check_locales(locales)
        check_released(metadata)
        check_metadata(metadata)
        metadata = with_id(metadata, unit.person)
        columns, open_ = metadata_columns(metadata), tuple[str, ...]()
        told = domain if _is_no_file(domain) else domain_document(domain)
        if isinstance(domain, (str, os.PathLike)) and not _is_no_file(domain):
            self.record = partial(told_of_look, Path(domain).resolve())
        if isinstance(told, DomainFile):  # also of columns whose types are open
            self._looked = self._looked.looked_at(told.looked, told.looked_rules)
        if types == "voted":
            columns, told, open_ = left_open(columns, told, unit.person)
            metadata = with_types(metadata, columns, open_)
        super().__init__(metadata, enforce_min_max_values, enforce_rounding, locales)
        check_table_name(self._table_name)
        check_invented({name: spec["sdtype"] for name, spec in columns.items()}, known_locales)
        fitted = getattr(self._learner, "fitted", None) is not None  # which names its columns
        as_they_are = fitted or given_structure(self._learner) is not None
        said = Told(
            columns=columns,
            rules=read_rules(as_rules(self.rules)),  # of a path now: the current folder may change
            domain=told,
            max_bins=self.max_bins,
            undeclared=self.undeclared,
            split_dates=not as_they_are,
            open=open_,
        )
        check_vote(said, self._settings, self._learner)
        self._read(said)
        self._earlier = earlier_losses(domain, unit)
        check_number_of_columns(self._learner, len(self._modelled_specs()))
        self._settings.check_learner(self._learner)
        published = PublicTable.read(public)
        self._public_given = None if published is None else published.frame
        check_public(self._public_given, columns, self._learner, self._rules)
        self._public_said = (None, None) if published is None else (len(published.frame), published.source)
        self._sampler = self._ledger = None

    def _read(self, told: Told) -> None:
        """Read rules and declarations; no row is looked at."""
        self._declared, self._rules, _ = told.read()
        splits = told.split_dates and any(isinstance(rule, DateAndTime) for rule in self._rules.making)
        read_again = bool(told.open) or splits  # else nothing of it is kept
        self._told = told if read_again else Told(columns={}, max_bins=self.max_bins, split_dates=False)

    def _leave_dates_whole(self) -> None:
        """Do not split dates once SDV constraints or the user's transformers change the columns first."""
        if self._told.split_dates and self._sdv_sees_rows:
            self._read(replace(self._told, split_dates=False))

    @shown_rows
    def fit(self, data: Any, scratch: str | Path | None = None) -> None:
        """Fit to a table in memory, or in parts to one that need not fit there.

        If it fails, an earlier fit stays as it was.

        A cell that is a list, a dict or an object of an unknown class counts as missing: one cell never ends
        a fit. Columns of which most cells are outside what was declared, these included, are named in a
        warning.

        Parameters
        ----------
        data : DataFrame, {table: DataFrame}, path, Files, Dask DataFrame or function
            The rows. A path (a CSV or Parquet file, a folder of them, or a pattern) is read in parts, and of
            its columns those of the metadata; so are a Dask DataFrame and a function that opens a stream,
            and with ``scratch`` all that :func:`~sdv_plausible.fit_source` takes.
            :class:`~sdv_plausible.Files` says how a file is written.
        scratch : str or Path, optional
            A folder on a disk of yours for the codes of all rows, as for fit_source.

        Raises
        ------
        ValueError
            If the table is empty, or cannot be fitted in parts with what this synthesizer was given.
        sdv.errors.InvalidDataError
            If it does not match the metadata.
        """
        if scratch is None and not is_in_parts(data):
            return super().fit(data)
        if self._sdv_sees_rows:
            raise ValueError(
                "data: SDV constraints and transformers of your own need the whole table in memory: read it "
                "(read_csv, read_parquet), or give the constraints as rules=[...]"
            )
        if self._needs_rows:
            raise Refused.saying(
                "undeclared",
                'undeclared ("infer"): domains are read off a whole table in memory: read it (read_csv, '
                'read_parquet), declare every column, or take "private"',
            )
        refuse_whole(self._settings.test, self._learner)
        types = column_types(self._given_specs())
        table = opened_parts(data, types, self._settings, scratch)
        if self.budget is not None:
            check_form(table)
        call = call_of(self)
        assert call is not None
        with nullcontext() if scratch is None else part_folder(Path(scratch)) as folder:
            call.parts = Parts(table, folder, spelling_of(data))
            super().fit(table.empty(list(types)))
        return None

    # --- what SDV calls ---------------------------------------------------------------------------

    def _preprocess(self, table_data: pd.DataFrame) -> pd.DataFrame:
        processed = super()._preprocess(table_data)
        reseed_generators(self._data_processor, self._fit_coins().spawn("invented columns"))
        return processed

    def _fit_rows(self, table: pd.DataFrame, dtypes: pd.Series[Any]) -> None:
        if self._taken is not None:
            return self._hold(*self._taken)
        if self._rules and self._sdv_sees_rows:
            raise Refused.saying(
                "rules",
                "rules do not go with SDV constraints or transformers of your own, which change what the "
                "columns are: give the constraints as rules=[...], see docs/how_to/rules.md",
            )
        unit, fit, persons = self._settings.neighbours, self._as_fit(), None
        if self._rows is None:
            fit = replace(fit, side=(*fit.side, *unknown_persons(unit)))
        elif unit.person is not None:
            persons = self._rows[unit.person]
        opened = fit.opened(self.budget, self.watch)
        found = self._found(replace(fit, specs=self._specs_of(table)), table, persons, opened)
        return self._hold(dtypes, *_made(found))

    def _found(self, fit: Fit, table: pd.DataFrame, persons: pd.Series[Any] | None, opened: Opened) -> Found:
        """Fit rows that are paid for, and keep what their holder is told until the fit is held."""
        teller, call = Teller(self._noted), call_of(self)
        rows: Rows = TableRows(table, self._rules, persons)
        if call is not None and call.parts is not None:
            rows = SourceRows(call.parts.source, self._rules, list(table.columns), call.parts.folder)
        found = fit.run(rows, opened, self._fit_coins(), teller)
        if call is not None:
            call.told += teller.told  # whoever makes errors of warnings keeps the fit
        return found

    def _fit_first(self, frame: pd.DataFrame) -> bool:
        """Fit columns whose types are voted for, and be to SDV what was found: no row is shown to it."""
        if not self._told.open:
            return False
        table = frame.set_axis(frame.columns.astype(str), axis=1)
        fit, person = self._as_fit(), self._settings.neighbours.person
        seen = [name for name, words in self._told.columns.items() if words["sdtype"] in MODELLED_SDTYPES]
        persons = None if person is None else table[person]
        found = self._found(fit, table[seen], persons, fit.opened(self.budget, self.watch))
        self._be_of(found.types)
        dtypes = frame.dtypes.astype(object)
        dtypes[dtypes.index.astype(str).isin(self._told.open)] = np.dtype(object)
        self._take(dtypes, *_made(found))
        return True

    def _be_of(self, types: Specs) -> None:
        """Be to SDV a synthesizer of columns with these types, as if it were new."""
        columns = {**self._told.columns, **types}
        self._begin_anew(with_types(self.metadata, columns, self._told.open))

    def _as_fit(self) -> Fit:
        """What of a fit is known without the rows."""
        published = PublicTable.read(vars(self).get("public"))  # not a copy
        parts = None if (call := call_of(self)) is None else call.parts
        return Fit(
            told=replace(self._told, spelling=self.spelling if parts is None else parts.spelling),
            declared=self._declared, rules=self._rules,
            settings=self._settings, learner=self._learner, specs=self._modelled_specs(),
            side=tuple(self._side_entries()), said=settings_of(self),
            earlier=self._earlier, name=self._table_name, as_declared=not self._sdv_sees_rows,
            rounding=self.enforce_rounding, public=None if published is None else published.frame,
        )  # fmt: skip

    def _hold(
        self,
        dtypes: pd.Series[Any],
        codec: Codec,
        sampler: Sampler,
        ledger: PrivacyLedger,
        rules: FittedRules,
        charge: Mapping[str, str] | None = None,
    ) -> None:
        """Keep what a fit made."""
        self._charge = charge
        self._codec, self._sampler, self._ledger, self._fitted_rules = codec, sampler, ledger, rules
        write_as_domain(self._data_processor, rules.whole(codec.domain), dtypes)
        self._model = sampler  # SDV asks whether there is a model
        self._process = os.getpid()
        self._charged_calls: dict[tuple[Any, ...], int] = {}

    def _take(self, dtypes: pd.Series[Any], *made: Any) -> None:
        """Hold what another fit made, of which there is no row here.

        ``dtypes`` are the output's, by label.
        """
        self._taken = (dtypes.rename(str), *made)
        try:
            self._fit_to_schema(dtypes)
        finally:
            del self._taken

    def _sample(self, num_rows: int, conditions: Mapping[str, Any] | None = None) -> pd.DataFrame:
        sampler, given = self._sampler, {n: from_token(v) for n, v in (conditions or {}).items()}
        assert sampler is not None
        if self._process != os.getpid():
            warnings.warn(SAME_ROWS, UserWarning, stacklevel=2)
            self._process = os.getpid()
        if sampler.samples_conditions:
            given = self._fitted_rules.given(given)
        known = {
            self._codec.domain.names.index(name): self._codec.encode_value(name, value)
            for name, value in given.items()
            if name in self._codec.domain
        }
        if (known and not sampler.samples_conditions) or set(given) & set(self._fitted_rules.made):
            raise NotImplementedError  # SDV then rejects: post-processing of rows that were released
        number_of_call = self._calls
        self._calls += 1

        def drawn(wanted: int, number: int) -> pd.DataFrame:
            this = (self._sdv_seed, number_of_call, wanted, tuple(sorted(known.items())), number)
            self._charge_rows(this, wanted)
            coins = sampler.coins.spawn("sample", *this)
            if self._points is not None and isinstance(sampler, RecordSampler):
                codes, points = sampler.sample_with_points(wanted, coins)
            else:
                codes, points = _sampled_given(sampler, wanted, known, coins), None
            table = self._codec.decode(codes, coins.spawn("inside the bins"))
            for name, value in given.items():
                if known and name in table:
                    table[name] = pd.Series([value] * len(table), index=table.index)
            table = self._fitted_rules.unfold(table)
            return table if points is None else latent_points.beside(table, points)

        rules, whole = self._fitted_rules, self._fitted_rules.whole(self._codec.domain)
        table = rules.draw(num_rows, drawn, whole, spare=self._settings.test.row_limit is None)
        if self._points is not None:
            table, points = latent_points.apart(table)
            self._points.append(points)
        return table

    def _charge_rows(self, call: tuple[Any, ...], num_rows: int) -> None:
        """Count rows towards the cap, unless the very same call is repeated: it gives the very same rows."""
        limit = self._settings.test.row_limit
        if limit is None or call in self._charged_calls:
            return
        used = sum(self._charged_calls.values())
        if used + num_rows > limit:
            raise RowCapExceededError(
                f"this call needs {num_rows} more rows from the mechanism, but {used} of row_cap ({limit}) "
                "are "
                "used: the charged privacy loss covers no more. Fit with a higher row_cap, or use "
                "test='release', where rows are free"
            )
        self._charged_calls[call] = num_rows

    def _set_random_state(self, random_state: Any) -> None:
        """Start a sequence of samples. SDV passes a public constant.

        It names the stream and never seeds it.
        """
        self._sdv_seed = random_state if isinstance(random_state, (int, type(None))) else repr(random_state)
        self._calls = 0
        self._random_state_set = True

    # --- hooks of the base class ------------------------------------------------------------------

    def _before_rows(self, frame: pd.DataFrame) -> None:
        """Refuse what can be refused without a look at a row."""
        if self._sdv_sees_rows:
            self._check_processing()
        self._leave_dates_whole()
        held = [self._input_metadata] if self._has_constraints else [self._input_metadata, self.metadata]
        if any(one.to_dict() != self._original_metadata.to_dict() for one in held):
            raise ValueError(
                "metadata was changed after this synthesizer was made, which read it then: make a new one, "
                "PlausibleDeniabilitySynthesizer(metadata, ...)"
            )
        named = frame.rename(columns=str)
        check_storage(named, self._sdtypes(named))
        self._check_public(frame)
        if self._lost_budget and self.budget is None:
            raise ValueError(
                "budget: this synthesizer drew from one, which its saved file does not hold: set "
                "synthesizer.budget = Budget(...) before you fit again"
            )
        check_budget(self.budget)
        self._check_transformers()
        if self._sdv_sees_rows:
            if self.budget is not None:
                self.budget.check_claim(self.plan().ledger)  # SDV will look before anything can be drawn
            return
        self._check_sdtypes()
        check_dates(named, self._date_formats(named))

    def _check_processing(self) -> None:
        if self._told.open:
            raise Refused.saying(
                "types",
                'types ("voted"): fit() alone finds what columns are, before SDV, its constraints or '
                "transformers of your own see a row: call that, give rules=[...], or declare the types",
            )

    def _check_processed(self, frame: pd.DataFrame) -> None:
        self._check_processing()
        super()._check_processed(frame)
        specs, names = self._column_specs(), sorted(frame.columns.astype(str))
        wanted = sorted(n for n, s in specs.items() if s.get("sdtype") in MODELLED_SDTYPES)
        wanted = [name for name in wanted if name not in self._data_processor._keys]
        if not self._sdv_sees_rows and names != wanted:
            raise InvalidDataError([f"processed_data has columns {names}, and preprocess() returns {wanted}"])
        if self.budget is not None and self._settings.neighbours.person is not None:
            raise Refused.saying(
                "person",
                f"person ({self._settings.neighbours.person!r}): processed rows do not say whose they are, "
                "and a fit without a claim cannot draw from a budget: use fit",
            )
        if getattr(self._data_processor, "_dtypes", None) is None:
            raise InvalidDataError(
                ["processed_data is what preprocess() of this synthesizer returns: call that first, or fit()"]
            )

    def _sdtypes(self, frame: pd.DataFrame) -> dict[str, str]:
        """What the columns of a frame are of which a fit reads cells."""
        person, keys = self._settings.neighbours.person, self._data_processor._keys
        read = {name: str(spec.get("sdtype")) for name, spec in self._given_specs().items() if name in frame}
        found = {name: one for name, one in read.items() if one in MODELLED_SDTYPES and name not in keys}
        return found if person not in frame else {**found, str(person): PERSON}

    def _check_transformers(self) -> None:
        """Refuse columns of which SDV would hand cells on that are to be invented: no plan knows them."""
        given = self._data_processor._hyper_transformer.field_transformers
        for name, spec in self._given_specs().items():
            if (
                name in given
                and given[name] is None
                and is_invented(spec, name in self._data_processor._keys)
            ):
                raise ValueError(
                    f"column {name!r} (sdtype {spec.get('sdtype')!r}) has the transformer None, so that SDV "
                    "would hand its cells on: leave it the one that SDV assigns, which invents them"
                )

    def _check_sdtypes(self) -> None:
        """Refuse columns that are neither modelled nor invented: only their rows would tell what they are."""
        keys = self._data_processor._keys
        for name, spec in self._given_specs().items():
            modelled = spec.get("sdtype") in MODELLED_SDTYPES
            if not modelled and not is_invented(spec, name in keys):
                raise ValueError(
                    f"column {name!r} (sdtype {spec.get('sdtype')!r}, pii False) is neither modelled nor "
                    "invented: make its sdtype categorical, or leave pii out"
                )

    def _date_formats(self, frame: pd.DataFrame) -> dict[str, str | None]:
        """Formats of the table's dates, but for those that are read off the rows or have a zone declared."""
        known, names, found = self._declared, set(frame.columns.astype(str)), dict(self._rules.formats)
        for name, spec in self._given_specs().items():
            attribute = known.known(name)
            if name not in found and spec.get("sdtype") == "datetime":
                found[name] = known.date_format(name, spec)
            open_ = attribute is None and known.undeclared == "infer"
            if name not in names or open_ or (attribute is not None and attribute.time_zone is not None):
                found.pop(name, None)
        return found

    def _check_public(self, frame: pd.DataFrame) -> None:
        """Refuse a published table that is lost, is the rows themselves, or cannot be read as they are."""
        if self.public is None and self._public_said[0] is not None:
            raise Refused.saying(
                "public",
                "public: this synthesizer was fitted with a published table, which its saved file does not "
                "hold: make a new one with public=..., or without it",
            )
        if self.public is None:
            return
        if self._public_given is frame:
            raise Refused.saying(
                "public", "public must be a published table, and is the one to be protected: leave it out"
            )
        if self._sdv_sees_rows:
            raise Refused.saying(
                "public",
                "public does not go with SDV constraints or transformers of your own, which change what the "
                "columns are: leave one of them out",
            )

    @property
    def _needs_rows(self) -> bool:
        columns = self._modelled_specs()
        return self._declared.undeclared == "infer" and not all(map(self._declared.known, columns))

    @property
    def _holds_rows(self) -> bool:
        return self._sampler is not None and self._sampler.holds_records

    @property
    def _is_slow(self) -> bool:
        return self._settings.test.row_limit is not None

    def _forget_fit(self) -> None:
        super()._forget_fit()
        self._sampler = self._ledger = None
        self.__dict__.pop("_said", None)

    def _fit_nothing(self) -> None:
        ledger = self._settings.empty_ledger()  # nothing is drawn: no row is looked at
        ledger.charge(*rule_entries(self._rules), *self._side_entries())
        self._ledger = ledger

    def _check_condition(self, name: str, value: Any) -> None:
        if self._sampler is not None and name in self._codec.domain:
            self._codec.check_value(name, value)

    def _without_texts(self, frame: pd.DataFrame) -> pd.DataFrame:
        specs = self._column_specs()
        known = {name: self._declared.known(name) for name in specs}
        texts = {
            name: attribute.texts
            for name, attribute in known.items()
            if attribute is not None and attribute.texts and specs[name].get("sdtype") == "numerical"
        }
        if not texts:
            return frame
        return frame.apply(lambda c: numbers_alone(c, texts[str(c.name)]) if str(c.name) in texts else c)

    def _with_usual_types(self, frame: pd.DataFrame) -> pd.DataFrame:
        return (
            frame
            if self._sampler is None
            else usual_types(frame, self._fitted_rules.whole(self._codec.domain))
        )

    def save(self, filepath: str | Path) -> None:
        """Write the synthesizer, whole or not at all.

        Warns
        -----
        UserWarning
            If the object holds seed records: the file is then outside every guarantee.
        """
        if self._holds_rows:
            warnings.warn(
                f"the saved file holds seed records of your table (test={self._settings.test.name!r}), and "
                "can be read by its owner alone: keep it as safe as the table itself. test='release' saves "
                "no record",
                stacklevel=2,
            )
        held = self._alike()  # without what never leaves
        held._process = None  # whoever reads the file
        super(PlausibleDeniabilitySynthesizer, held).save(filepath)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what comes from a file or a worker; what a parent hands on repeats its rows."""
        if "test" not in state:
            raise AttributeError("saved by sdv_plausible 0.1, whose options were others")
        self.__dict__.update(state)
        if self._process not in parents():
            self._process = os.getpid()

    # --- the release as a file --------------------------------------------------------------------

    def release(self, *, allow_no_claim: bool = False) -> Release:
        """Return what is released, to be saved as a file that runs no code and samples without SDV.

        Parameters
        ----------
        allow_no_claim : bool
            Also where the ledger makes no privacy claim: such a file may hold single people's values.

        Raises
        ------
        ValueError
            If the fit keeps records, makes no claim, or has SDV constraints or transformers of your own.
        """
        return released(self, allow_no_claim=allow_no_claim)

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

    # --- the guarantee and the model --------------------------------------------------------------

    def get_parameters(self) -> dict[str, Any]:
        """Return copies of the constructor's parameters."""
        return {name: getattr(self, name) for name in PARAMETERS if name != "metadata"}

    def __repr__(self) -> str:
        return shown.as_text(self)

    def _repr_html_(self) -> str:
        return shown.as_html(self)

    def privacy_ledger(self) -> PrivacyLedger:
        """Return the ledger of the fit: total first, then what it is made of."""
        if self._ledger is None:
            raise SamplingError("there is no ledger yet: fit first, or use plan() to see the cost beforehand")
        return deepcopy(self._ledger)

    def margins(self, columns: str | Sequence[str], level: float = 0.95) -> pd.DataFrame:
        """Counts with confidence intervals, from the noisy answers: at no further cost.

        Parameters
        ----------
        columns : str or sequence of str
            One modelled column or several; ``()`` gives the number of rows.
        level : float
            Of each interval on its own; k intervals hold together at level ``1 - (1 - level) * k``.

        Returns
        -------
        DataFrame
            One row per cell, labelled by the columns' values, or by groups of values where groups were
            counted. ``estimate``, ``lower`` and ``upper`` are of the table's count; ``proportion`` and its
            limits are of the population that the rows are drawn from. ``basis`` is "measured"; "bounds" for
            columns that were not measured together, whose cells have Frechet bounds and no estimate; or "not
            identified".

        Raises
        ------
        ValueError
            If a column is not modelled, or there are no noisy counts.
        """
        return margins(self._fitted_sampler().answers, self._codec.domain, columns, level)

    def sample_multiple(
        self, num_tables: int, num_rows: int | None = None, *, about: About = "population"
    ) -> list[Any]:
        """Draw tables from models that the answers could as well have led to: at no further cost.

        Put what is computed from each together by :func:`sdv_plausible.intervals.combine`: its intervals know
        of the noise. The rows come from models alone, whatever ``test``, and use up no ``row_cap``.

        Parameters
        ----------
        num_tables : int
            Number M of tables, >= 2; 20 or more are advised.
        num_rows : int, optional
            Rows of each; by default the noisy number of rows. Larger tables say more.
        about : {"population", "table"}
            Whether the intervals are to be of the population that the rows are drawn from, or of the rows.

        Raises
        ------
        ValueError
            If the model cannot be learned again from answers.
        """
        sampler, domain = self._fitted_sampler(), self._codec.domain
        if self._public_said[0] is not None:
            raise ValueError(
                "sample_multiple does not go with public=: its tables vary as the noise does, and what a "
                "published table lacks is no noise. Fit without it"
            )
        coins = Coins.from_os_entropy() if sampler.coins.is_secret else sampler.coins.spawn("several tables")
        models = redrawn_models(
            self._learner, sampler.model, sampler.answers, domain, num_tables, about, coins.spawn("models")
        )
        rows = number_of_rows(sampler.answers, domain) if num_rows is None else num_rows
        return [
            self._with_model(model, coins.spawn("table", i)).sample(rows) for i, model in enumerate(models)
        ]

    def _get_parameters(self) -> dict[str, Any]:
        """Refuse SDV's multi-table synthesizers, which fit a model to the rows of every parent."""
        raise NotImplementedError(
            "a table under a parent is not modelled: SDV would ask for parameters of every parent's rows, "
            "and most parents have few (docs/explanation/sdv_models.md); fit each table alone, and name the "
            "column of the persons in person="
        )

    def _with_model(self, model: Any, coins: Coins) -> PlausibleDeniabilitySynthesizer:
        """Return this synthesizer with another model, all of whose attributes are drawn."""
        held = self._alike()
        held._process = os.getpid()
        held._settings = replace(self._settings, test=ReleaseTest())
        held._sampler = PrefixSampler(model=model, seeds=INDEPENDENT_ROWS, coins=coins)
        return held

    def check(self, data: Any, show: Callable[[str], object] = print) -> Check:
        """Compare a table with the declarations. NOT private: for the holder of the data alone.

        Parameters
        ----------
        data : DataFrame, or dict of one
            The real rows.
        show : callable
            Gets a few values of each column that does not fit; by default they are printed, and they are
            kept nowhere.

        Returns
        -------
        Check
            What does not fit, by column, without values; true if everything fits. A domain file keeps a
            record of the columns that were compared: edited afterwards, they make no claim without a source.
            Where there is no file, this object keeps it, and says so: its own fit's claim stands.

        Raises
        ------
        ValueError
            If the table lacks a declared column.
        """
        _, frame = sdv_compat.split_input(data)
        frame = frame.rename(columns=str)
        declared, rules = self._declared, self._rules
        needed = {name for rule in rules.rules for name in rule.columns} | set(declared.names)
        absent = sorted(needed - set(rules.added) - set(frame.columns))
        if absent:
            raise ValueError(f"data lacks the declared columns {absent}; it has {list(frame.columns)}")
        specs = self._modelled_specs()
        known = {
            name: (as_read(declared, name, specs), declared.says_missing(name)) for name in declared.names
        }
        lines: list[str] = []
        found, looked = check_rows(rules, known, frame, lines.append)
        lines += self._noted(looked, rules.digests or None)
        for line in lines:
            show(line)
        return found

    def _before_look(self) -> None:
        call = call_of(self)
        fits = call is not None and call.fits
        if fits and not self._sdv_sees_rows:
            return
        # the table's columns: the model has others in the place of some, and so have constraints
        lines = self._noted(self._original_metadata.tables[self._table_name].columns)
        if not fits and self.domain is not None:  # a fit tells itself
            for line in lines:
                print(line)

    def _noted(self, names: Collection[str], rules: Collection[str] | None = None) -> list[str]:
        """Write a look down here and where the declarations are kept; return what whoever looked is told."""
        self._looked = self._looked.looked_at(names, rules)
        return (self.record or partial(told_of_look, self.domain))(names, rules)

    def plan(
        self,
        num_rows: int | None = None,
        *,
        table_rows: int | None = None,
        max_advantage: float | None = None,
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

        Raises
        ------
        ValueError
            If no epsilon keeps the advantage.
        """
        if max_advantage is None:
            return self._planned(self.epsilon, num_rows, table_rows)
        epsilon = epsilon_for(max_advantage, lambda trial: self._planned(trial, num_rows, None).ledger)
        return self._planned(epsilon, num_rows, table_rows)

    def _planned(self, epsilon: float, num_rows: int | None, table_rows: int | None) -> Plan:
        self._leave_dates_whole()
        return self._as_fit().plan(epsilon, num_rows, table_rows)

    def get_domain(self) -> Domain:
        """Return the domain of the fit: what each modelled column may hold, and where that is from.

        It can be saved (``Domain.save``), edited and given to another synthesizer. It holds what learning it
        cost (``Domain.learned``): the other's fit charges that again, and draws it once from one budget. And
        it holds which columns were compared with rows (``Domain.looked``), by this object or before: edited
        now, these make no claim. A release file has no such record: the domain of ``from_release`` tells
        of no look before it, so edit the domain file instead.
        """
        self._fitted_sampler()
        assert self._ledger is not None
        domain = with_charges(self._codec.domain, self._ledger, self._charge)
        return with_looks(domain, self._looked, self._fitted_rules.rule_set, self._rules.digests)

    def get_structure(self) -> dict[str, list[str]]:
        """Parents of every modelled column: ``{child: [parents]}``, in the resampling order."""
        model, names = self._fitted_sampler().model, self._codec.domain.names
        if not isinstance(model, HasStructure):
            raise ValueError(
                f"the model ({type(model).__name__}) tells no structure: give it a method structure() that "
                "lists every column "
                "with its parents, or use model='bayesian_network'"
            )
        return {names[child]: [names[parent] for parent in parents] for child, parents in model.structure()}

    def plot_structure(self) -> Any:
        """Draw the network as a plotly figure."""
        from sdv_plausible.evaluation.report.plots import plot_structure

        return plot_structure(self.get_structure())

    def diagnose(self, num_candidates: int = 10_000) -> pd.DataFrame:
        """Show the holder of the data how large groups of plausible seeds are. NOT private: do not publish.

        Returns
        -------
        DataFrame
            One row per number of kept attributes: quartiles of the group sizes of candidates, share of at
            least k.
        """
        return diagnose(self._fitted_sampler(), num_candidates)

    def seed_diagnostics(self, num_candidates: int = 10_000) -> dict[str, Any]:
        """Collect what ``PlausibleDeniabilityReport(diagnostics=...)`` shows of the seeds. NOT private.

        Do not publish.

        Returns
        -------
        dict
            ``"plausible_seeds"``: of candidates at this synthesizer's omega; ``"pass_rates"``: ``{k: {omega:
            share}}``.
        """
        return seed_diagnostics(self._fitted_sampler(), num_candidates)

    def sample(self, num_rows: int, *args: Any, processes: int = 1, **kwargs: Any) -> Any:
        """Sample rows; further arguments as in the installed SDV.

        Parameters
        ----------
        num_rows : int
            Rows to release, >= 0. 0 gives an empty table with the columns.
        *args, **kwargs
            SDV 2.0: main_table_name, max_tries_per_batch, batch_size, output_folder_path. SDV 1.38:
            max_tries_per_batch, batch_size, output_file_path.
        processes : int
            Row-by-row tests: how many processes draw the rows, each part of them from coins of its own. The
            rows are the same for any number; 61 at most are used.

        Returns
        -------
        DataFrame or {table: DataFrame}
            The kind that was given to :meth:`fit`.
        """
        if self._sampler is None:
            return super().sample(num_rows, *args, **kwargs)
        with self._sampler.in_processes(processes):
            return super().sample(num_rows, *args, **kwargs)

    def sample_with_points(self, num_rows: int, *, processes: int = 1) -> tuple[Any, pd.DataFrame]:
        """Sample rows with the latent points that they were decoded from: the pairs that can be denied.

        For ``model="latent"`` under the row-by-row tests. A pair costs what its row costs, and counts
        towards ``row_cap`` as one row. Rows are those that :meth:`sample` would give.

        Parameters
        ----------
        num_rows : int
            Rows to release, >= 0.
        processes : int
            How many processes draw them.

        Returns
        -------
        (rows, points)
            Rows as from :meth:`sample`, and a pandas table with columns ``latent_1``, ``latent_2``, ..., in
            the same order; empty cells where a row was made without a seed.

        Raises
        ------
        ValueError
            If rows have no tested latent points, or SDV may drop some.
        """
        sampler = latent_points.sampler_of_points(self._sampler, sdv_drops_rows=self._sdv_sees_rows)
        self._points = []
        try:
            rows = self.sample(num_rows, processes=processes)
            points = latent_points.as_table(self._points, sampler.model.num_latent, num_rows)
        finally:
            del self._points
        latent_points.check_lengths(rows, points)
        return rows, points

    def _fitted_sampler(self) -> Sampler:
        if self._sampler is None:
            raise SamplingError("fit first: there is no model yet")
        return self._sampler

    # --- small helpers ----------------------------------------------------------------------------

    def _given_specs(self) -> dict[str, dict[str, Any]]:
        """The metadata's columns before a fit: those to be voted on are categories, whatever was found."""
        given = self._told.columns
        return {name: dict(given[name]) for name in given} if self._told.open else self._column_specs()

    def _modelled_specs(self) -> dict[str, dict[str, Any]]:
        """Those that reach the model."""
        specs = {n: s for n, s in self._given_specs().items() if s.get("sdtype") in MODELLED_SDTYPES}
        return self._rules.model_columns(specs)

    def _fit_coins(self) -> Coins:
        """Secret coins of this fit, or reproducible ones."""
        return Coins.from_os_entropy() if self.random_state is None else Coins.from_seed(self.random_state)

    def _specs_of(self, table: pd.DataFrame) -> dict[str, dict[str, Any]]:
        """Specification of every column that reaches the model, in the metadata's order.

        A user's own transformer makes it a number. Of the table its schema alone counts.
        """
        empty = table.iloc[:0]
        folded = self._rules.fold(empty) if self._rules else empty
        specs = self._rules.model_columns(self._column_specs())
        order = {name: i for i, name in enumerate(specs)}
        transformers = self._data_processor._hyper_transformer.field_transformers
        found = {}
        for name in sorted(map(str, folded.columns), key=lambda name: (order.get(name, len(order)), name)):
            spec, types = specs.get(name, {}), pd.api.types
            if transformers.get(name) is not None or spec.get("sdtype") not in MODELLED_SDTYPES:
                numeric = types.is_numeric_dtype(folded[name]) and not types.is_bool_dtype(folded[name])
                spec = {"sdtype": "numerical" if numeric else "categorical", "transformed": True}
            found[name] = spec
        return found

    def _side_entries(self) -> list[LedgerEntry]:
        """Entries for what stands beside the mechanism: rows used, coins, constraints, SDV transformers."""
        return (
            public_entries(*self._public_said)
            + person_entry(self._settings.neighbours)
            + side_entries(
                self.random_state,
                has_constraints=self._has_constraints,
                transformers=self._data_processor._hyper_transformer.field_transformers,
                types=self.types,
            )
        )


def _made(found: Found) -> tuple[Any, ...]:
    """What of a fit is held."""
    return Codec(found.domain), found.sampler, found.ledger, found.rules, found.charge


def _is_no_file(domain: Any) -> bool:
    return domain is None or (isinstance(domain, str) and domain == "written")


def _sampled_given(sampler: Sampler, num_rows: int, known: Mapping[int, int], coins: Coins) -> np.ndarray:
    """Rows with known codes.

    Those to which the model gives no probability are put into rows drawn without them.
    """
    codes = sampler.sample(num_rows, known, coins)
    if len(codes) or not known:
        return codes
    alone = {
        j: code for j, code in known.items() if len(sampler.sample(1, {j: code}, coins.spawn("alone", j)))
    }
    possible = alone if len(alone) < len(known) else {}
    codes = sampler.sample(num_rows, possible, coins.spawn("possible"))
    codes = codes if len(codes) else sampler.sample(num_rows, {}, coins.spawn("any"))
    codes[:, list(known)] = list(known.values())
    return codes


PARAMETERS = fixed_parameters(PlausibleDeniabilitySynthesizer, but=("metadata", "budget"))
# Saved files name the public module: it imports SDV first, whatever a program that loads one has imported.
PlausibleDeniabilitySynthesizer.__module__ = RowCapExceededError.__module__ = "sdv_plausible.synthesizer"
