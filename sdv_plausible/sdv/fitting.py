"""From a table to a fit: what is checked before the first row, and what of the rows goes where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

import sdv_plausible.rules as kinds
from sdv_plausible.fitting.column_specs import ColumnSpecs
from sdv_plausible.fitting.diagnostics import HolderDiagnostics, Note, compared
from sdv_plausible.fitting.fit import Fit, FitResult, PaidFit
from sdv_plausible.fitting.fit_rows import FitRows, InMemoryRows
from sdv_plausible.fitting.object_state import check_budget_there
from sdv_plausible.fitting.public_table import PublicTable, check_there, public_entries
from sdv_plausible.fitting.release_budget import check_budget
from sdv_plausible.fitting.zero_cost_entries import side_entries
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.rules.rules_and_declarations import rule_entries
from sdv_plausible.sdv.fitted import FittedSynthesizer
from sdv_plausible.sdv.frame_conversion import split_input
from sdv_plausible.sdv.metadata_schema import (
    check_assigned,
    check_processed,
    check_sdtypes,
    modelled,
    reaching,
    with_types,
)
from sdv_plausible.sdv.placeholder_table import reseed_generators
from sdv_plausible.sdv.release_conversion import settings_of
from sdv_plausible.sdv.transient_state import call_of, shown_rows
from sdv_plausible.table.cells.cell_series import numbers_alone
from sdv_plausible.table.cells.dates import check_dates
from sdv_plausible.table.columns.cell_reader import ColumnType, Spelling
from sdv_plausible.table.columns.column_document import schema_of
from sdv_plausible.table.columns.stored_types import said_storage
from sdv_plausible.table.contribution_bounding import person_entry, unknown_persons
from sdv_plausible.table.data_checks import Check
from sdv_plausible.table.declared.access_log import told_of_look
from sdv_plausible.table.declared.declarations import Types, says_written
from sdv_plausible.table.files.storage_types import PERSON, check_storage
from sdv_plausible.table.files.text_files import is_in_parts
from sdv_plausible.utils.printable import visible


class FittingSynthesizer(FittedSynthesizer):
    """Checks and fits rows as they were declared: it needs what the constructor was told of the columns."""

    watch: Callable[[PrivacyLedger], object] | None = None
    """Told the ledger after each charge of a fit, before the rows are asked: for its holder; never saved."""
    watch_passes: Callable[[str], object] | None = None
    """Told how far a fit of a table in parts is; as ``watch``."""
    spelling = Spelling()
    """How cells of text are written whose types are voted for."""
    record: Note | None = None
    """Writes looks at columns and rules down in the domain file, of whatever folder it is; never saved."""
    _stored_as: Mapping[str, str] = MappingProxyType({})  # of the file that was fitted, for its release
    _read_as: dict[str, ColumnType]  # cells of a table in parts
    types: Types | None
    domain: Any
    public: Any
    random_state: int | None
    _public_given: pd.DataFrame | None = None  # only to be told from the rows; saved files hold none

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
            If the table lacks a declared column, or stores one so that its cells are not read.
        """
        self._check_stored(data, sees_cells=True)
        _, frame = split_input(data)
        self._check_stored(frame, sees_cells=True)
        told, rules = self._known.declared, self._known.rules
        found, looked, lines = compared(told, rules, self._modelled_specs(), frame.rename(columns=str))
        for line in [*lines, *self._noted(looked, rules.digests or None)]:
            show(line)
        return found

    @shown_rows
    def fit(self, data: Any, scratch: str | Path | None = None) -> None:
        """Fit to a table in memory, or in parts to one that need not fit there.

        If it fails, an earlier fit stays as it was. A cell that is a list, a dict or an object of an unknown
        class counts as missing: no cell ends a fit. A column that is stored as such, by pandas' or Arrow's
        type, is refused before anything is spent; `check` names columns of such objects. Columns of which
        most cells are outside what was declared, these included, are named in a warning.

        Parameters
        ----------
        data : DataFrame, {table: DataFrame}, path, Files, Dask or Spark DataFrame or function
            The rows. A path (a CSV or Parquet file, a folder of them, a pattern) is read in parts; so are a
            Dask or Spark DataFrame and a function that opens a stream, and with ``scratch`` all that
            :func:`~sdv_plausible.fit_source` takes. Of what is read in parts the metadata's columns count.
            :class:`~sdv_plausible.Files` says how a file is written.
        scratch : str or Path, optional
            A folder on a disk of yours for the codes of all rows, as for fit_source.

        Raises
        ------
        ValueError
            If the table is empty, or cannot be fitted in parts.
        sdv.errors.InvalidDataError
            If it does not match the metadata.
        """
        if scratch is None and not is_in_parts(data):
            self._check_stored(data)
            super().fit(data)
            frame = next(iter(data.values()), None) if isinstance(data, dict) else data
            self._keep_storage(said_storage(frame))
            return
        from sdv_plausible.fitting.partitioned_table import shown_in_parts

        call, types = call_of(self), self._read_as
        assert call is not None
        with shown_in_parts(
            data, types, self._known.settings, self._known.learner, scratch, is_paid=self.budget is not None,
            infers=self._needs_rows, sdv_sees_rows=self._sdv_sees_rows, tell=self.watch_passes,
        ) as call.parts:  # fmt: skip
            super().fit(call.parts.source.empty(list(types)))
            self._keep_storage(call.parts.source.storage)

    def _keep_storage(self, found: Mapping[str, str]) -> None:
        """Remember how the columns of the file that was fitted are stored, if it said so."""
        self.__dict__.pop("_stored_as", None)
        if found:
            self._stored_as = dict(found)

    def _check_stored(self, data: Any, *, sees_cells: bool = False) -> None:
        """Refuse columns of a pandas frame that are stored so that no cell is read."""
        if isinstance(data, pd.DataFrame):
            named, specs = data.rename(columns=str), self._given_specs()
            read = modelled(specs, self._data_processor._keys)
            if (person := self._known.settings.neighbours.person) is not None:
                read = {**read, person: PERSON}
            once = {n for n, number in Counter(named.columns).items() if number == 1}  # others are refused
            check_storage(named, {n: s for n, s in read.items() if n in once}, sees_cells=sees_cells)

    # --- what SDV calls ---------------------------------------------------------------------------

    def _preprocess(self, table_data: pd.DataFrame) -> pd.DataFrame:
        processed = super()._preprocess(table_data)
        reseed_generators(self._data_processor, self._fit_coins().spawn("invented columns"))
        return processed

    def _fit_rows(self, table: pd.DataFrame, dtypes: pd.Series[Any]) -> None:
        if self._taken is not None:
            return self._hold(*self._taken)
        if self._known.rules and self._sdv_sees_rows:
            raise Refused.saying(
                "rules",
                "rules do not go with SDV constraints or transformers of your own, which change what the "
                "columns are: give the constraints as rules=[...], see docs/how_to/rules.md",
            )
        unit, fit, persons = self._known.settings.neighbours, self._as_fit(), None
        if self._rows is None:
            fit = replace(fit, side=(*fit.side, *unknown_persons(unit)))
        elif unit.person is not None:
            persons = self._rows[unit.person]
        opened = fit.opened(self.budget, self.watch)
        found = self._found(replace(fit, specs=self._specs_of(table)), table, persons, opened)
        return self._hold(dtypes, found)

    def _found(
        self, fit: Fit, table: pd.DataFrame, persons: pd.Series[Any] | None, opened: PaidFit
    ) -> FitResult:
        """Fit rows that are paid for, and keep what their holder is told until the fit is held."""
        teller, call = HolderDiagnostics(self._noted), call_of(self)
        rows: FitRows = InMemoryRows(table, self._known.rules, persons)
        if call is not None and call.parts is not None:
            rows = call.parts.rows(self._known.rules, list(table.columns))
        found = fit.run(rows, opened, self._fit_coins(), teller)
        if call is not None:
            call.told += teller.told  # whoever makes errors of warnings keeps the fit
        return found

    def _fit_first(self, frame: pd.DataFrame) -> bool:
        """Fit columns whose types are voted for, and be to SDV what was found: no row is shown to it."""
        call = call_of(self)
        if not self._known.told.open or call is None:
            return False
        call.ends = True  # whoever watches the fit may not look, nor fit, meanwhile
        table = frame.set_axis(frame.columns.astype(str), axis=1)
        fit, person = self._as_fit(), self._known.settings.neighbours.person
        seen = list(modelled(self._known.told.columns))
        persons = None if person is None else table[person]
        found = self._found(fit, table[seen], persons, fit.opened(self.budget, self.watch))
        call.ends = False
        columns = {**self._known.told.columns, **found.types}
        self._begin_anew(with_types(self.metadata, columns))
        dtypes = frame.dtypes.astype(object)
        dtypes[dtypes.index.astype(str).isin(self._known.told.open)] = np.dtype(object)
        self._take(dtypes, found)
        return True

    def _as_fit(self) -> Fit:
        """What of a fit is known without the rows."""
        published = PublicTable.read(vars(self).get("public"))  # not a copy
        parts = None if (call := call_of(self)) is None else call.parts
        told = replace(self._known.told, spelling=self.spelling if parts is None else parts.spelling)
        return replace(
            self._known, told=told, specs=self._modelled_specs(), side=tuple(self._side_entries()),
            said=settings_of(self), name=self._table_name, as_declared=not self._sdv_sees_rows,
            rounding=self.enforce_rounding, public=None if published is None else published.frame,
        )  # fmt: skip

    # --- before the first row ---------------------------------------------------------------------

    def _before_rows(self, frame: pd.DataFrame) -> None:
        """Refuse what can be refused without a look at a row."""
        if self._sdv_sees_rows:
            self._check_processing()
        self._leave_dates_whole()
        held = [self._input_metadata] if self._has_constraints else [self._input_metadata, self.metadata]
        given = (
            self._original_metadata
        )  # SDV 1.38 may hold its older class beside it, which says it otherwise
        if any(type(one) is type(given) and one.to_dict() != given.to_dict() for one in held):
            raise ValueError(
                "metadata was changed after this synthesizer was made, which read it then: make a new one, "
                "PlausibleDeniabilitySynthesizer(metadata, ...)"
            )
        self._check_stored(frame)
        named, specs, keys = frame.rename(columns=str), self._given_specs(), self._data_processor._keys
        parts = None if (call := call_of(self)) is None else call.parts
        check_there(
            self.public,
            self._public_said,
            is_the_table=self._public_given is (frame if parts is None else parts.given),
            alone=not self._sdv_sees_rows,
        )
        check_budget_there(self)
        check_budget(self.budget)
        check_assigned(specs, keys, self._data_processor._hyper_transformer.field_transformers)
        if self._sdv_sees_rows:
            if self.budget is not None:
                self.budget.check_claim(self.plan().ledger)  # SDV will look before anything can be drawn
            return
        check_sdtypes(specs, keys)
        check_dates(named, self._known.declared.date_formats(specs, self._known.rules.formats, {*named}))

    def _check_processing(self) -> None:
        if self._known.told.open:
            raise Refused.saying(
                "types",
                'types ("voted"): fit() alone finds what columns are, before SDV, its constraints or '
                "transformers of your own see a row: call that, give rules=[...], or declare the types",
            )

    def _check_processed(self, frame: pd.DataFrame) -> None:
        self._check_processing()
        if self._made_by_sdv and not self._sdv_sees_rows:
            raise ValueError(
                "processed_data may be what constraints or transformers of your own, which are not set any "
                "more, have made of the rows: fit the table itself, or make a new synthesizer"
            )
        if self.budget is not None and self._known.settings.neighbours.person is not None:
            raise Refused.saying(
                "person",
                f"person ({self._known.settings.neighbours.person!r}): processed rows do not say whose they "
                "are, and a fit without a claim cannot draw from a budget: use fit",
            )
        wanted = sorted(modelled(self._column_specs(), self._data_processor._keys))
        check_processed(frame, None if self._sdv_sees_rows else wanted, self._data_processor)

    @property
    def _needs_rows(self) -> bool:
        declared = self._known.declared
        return declared.undeclared == "infer" and not all(map(declared.known, self._modelled_specs()))

    def _before_look(self) -> None:
        call = call_of(self)
        fits = call is not None and call.fits
        if fits and not self._sdv_sees_rows:
            return
        # the table's columns: the model has others in the place of some, and so have constraints
        lines = self._noted(self._original_metadata.tables[self._table_name].columns)
        for line in lines if not fits and self.domain is not None else ():  # a fit tells itself
            print(visible(line))

    def _noted(self, names: Collection[str], rules: Collection[str] | None = None) -> list[str]:
        """Write a look down here and where the declarations are kept; return what whoever looked is told."""
        self._looked = self._looked.looked_at(names, rules)
        return (self.record or partial(told_of_look, self.domain))(names, rules)

    def _fit_nothing(self) -> None:
        ledger = self._known.settings.empty_ledger()  # nothing is drawn: no row is looked at
        ledger.charge(*rule_entries(self._known.rules), *self._side_entries())
        self._ledger = ledger

    def _without_texts(self, frame: pd.DataFrame) -> pd.DataFrame:
        known = ((name, self._known.declared.known(name)) for name in self._column_specs())
        numbers = ((name, one) for name, one in known if one is not None and one.kind != "datetime")
        texts = {name: one.texts for name, one in numbers if one.texts}
        if not texts:
            return frame
        return frame.apply(lambda c: numbers_alone(c, texts[str(c.name)]) if str(c.name) in texts else c)

    def _keep(self, fit: Fit) -> None:
        """Keep of a fit what is read again: of metadata its schema, as it may hold rows' values."""
        told = fit.told
        splits = told.split_dates and any(isinstance(rule, kinds.DateAndTime) for rule in fit.rules.making)
        kept = (
            told
            if told.open or splits
            else ColumnSpecs(columns={}, max_bins=self.max_bins, split_dates=False)
        )
        if not says_written(kept.domain):
            kept = replace(kept, columns=schema_of(kept.columns))
        self._known = replace(fit, told=kept, specs={})

    def _leave_dates_whole(self) -> None:
        """Do not split dates once SDV constraints or the user's transformers change the columns first."""
        if self._known.told.split_dates and self._sdv_sees_rows:
            told = replace(self._known.told, split_dates=False)
            declared, rules, _ = told.read()
            self._keep(replace(self._known, told=told, declared=declared, rules=rules))

    def _given_specs(self) -> dict[str, dict[str, Any]]:
        """The metadata's columns before a fit: those to be voted on are categories, whatever was found."""
        given = self._known.told.columns
        return {name: dict(given[name]) for name in given} if self._known.told.open else self._column_specs()

    def _modelled_specs(self) -> dict[str, dict[str, Any]]:
        """Those that reach the model."""
        specs = self._given_specs()
        return self._known.rules.model_columns({name: specs[name] for name in modelled(specs)})

    def _fit_coins(self) -> KeyedRNG:
        """Secret coins of this fit, or reproducible ones."""
        return (
            KeyedRNG.from_os_entropy() if self.random_state is None else KeyedRNG.from_seed(self.random_state)
        )

    def _specs_of(self, table: pd.DataFrame) -> dict[str, dict[str, Any]]:
        """Specification of every column of a table that reaches the model."""
        empty = table.iloc[:0]
        folded = self._known.rules.fold(empty) if self._known.rules else empty
        transformers = self._data_processor._hyper_transformer.field_transformers
        specs, given = self._column_specs(), self._original_metadata.tables[self._table_name].columns
        made = {*specs} - {*given}
        return reaching(folded, self._known.rules.model_columns(specs), transformers, made)

    def _side_entries(self) -> list[LedgerEntry]:
        """Entries for what stands beside the mechanism: rows used, coins, constraints, SDV transformers."""
        return (
            public_entries(*self._public_said)
            + person_entry(self._known.settings.neighbours)
            + side_entries(
                self.random_state, has_constraints=self._has_constraints,
                transformers=self._own_transformers, types=self.types, assumed=self._known.assumed,
            )
        )  # fmt: skip
