"""SDV's base class as who fits should meet it: frames or dicts as given, no lost fit."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from copy import copy, deepcopy
from typing import Any

import pandas as pd
from sdv.errors import RefitWarning
from sdv.single_table.base import BaseSingleTableSynthesizer

from sdv_plausible.fitting.arguments import VOTED
from sdv_plausible.fitting.object_state import without_details, without_transient
from sdv_plausible.sdv.frame_conversion import FrameKind, frame_kind, split_input
from sdv_plausible.sdv.metadata_schema import check_columns, check_labels
from sdv_plausible.sdv.placeholder_table import hide_invented, own_transformers, stand_in_table
from sdv_plausible.sdv.sdv_versions import from_native, to_native
from sdv_plausible.sdv.transient_state import call_of, quiet_about_rows, shown_rows
from sdv_plausible.table.cells.cell_series import without_odd
from sdv_plausible.table.declared.spec_words import MODELLED_SDTYPES


class WholeTableSynthesizer(BaseSingleTableSynthesizer):  # type: ignore[misc]
    """A single-table synthesizer of SDV whose raw columns reach the model, on SDV 2.0 and SDV 1.38.

    SDV is fitted to stand-ins of the same schema, and the rows go past it (unless the user adds SDV
    constraints or transformers, which learn from rows). Frames or ``{table: frame}`` go
    in and out; an earlier fit is restored if a new one fails. Subclasses add the model, and the last hooks.
    """

    # Raw values reach our own codec: SDV's transformers would learn bounds and categories from the rows.
    _model_sdtype_transformers = dict.fromkeys(MODELLED_SDTYPES)

    _model: Any
    _returns_dict = False
    _frame_kind: FrameKind | None = None
    _has_voted_types = False  # the metadata's, which are answers of the rows
    _made_by_sdv = False  # processed rows are out there that SDV made of the rows

    def __init__(
        self, metadata: Any, enforce_min_max_values: bool, enforce_rounding: bool, locales: list[str] | str
    ) -> None:
        super().__init__(without_details(metadata), enforce_min_max_values, enforce_rounding, locales)

    @property
    def _rows(self) -> pd.DataFrame | None:
        """Rows of the call under way that go past SDV: the call's own, and in no attribute."""
        call = call_of(self)
        return None if call is None else call.rows

    @_rows.setter
    def _rows(self, rows: pd.DataFrame | None) -> None:
        call = call_of(self)
        assert call is not None
        call.rows = rows

    def __getstate__(self) -> dict[str, Any]:
        return without_transient(self.__dict__)

    def __copy__(self) -> Any:
        """A copy that is fitted, or told more, without a change to this object, whose claim is its own."""
        shared = [vars(self).get(name) for name in _SHARED]
        return deepcopy(self, {id(one): one for one in shared})

    def _alike(self) -> Any:
        """A shallow copy without what never leaves: to be written or sampled, and never fitted."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__getstate__())
        return twin

    # --- what SDV calls ---------------------------------------------------------------------------

    def _update_default_transformers(self) -> None:
        super()._update_default_transformers()
        processor = self._data_processor
        # The codec rounds and keeps to the domain; SDV's formatters would learn both from the rows.
        processor._enforce_rounding = processor._enforce_min_max_values = False
        # Ids that are not keys: invented by SDV, never modelled.
        processor._id_columns_use_old_behavior = [
            name for name, spec in self._column_specs().items() if spec.get("sdtype") == "id"
        ]

    def add_constraints(self, constraints: list[Any]) -> None:
        """Add SDV constraints: they learn from the rows, so the next fit makes no privacy claim.

        An earlier fit is given up.
        """
        super().add_constraints(constraints)
        self._give_up_fit()
        self._update_default_transformers()  # SDV forgets them here

    # --- public methods: frames or {table: frame}, as given ---------------------------------------

    @shown_rows
    def fit(self, data: Any) -> None:
        """Fit to a DataFrame or ``{table: DataFrame}``. If it fails, an earlier fit stays as it was."""
        given, frame = split_input(data)
        check_labels(frame)
        if not self._sdv_sees_rows:
            check_columns(frame, self._column_specs())
        self._check_input_metadata_updated()
        self._before_rows(frame)
        if not frame.shape[1] or (not len(frame) and self._needs_rows):
            raise ValueError(
                f"data has {len(frame)} rows and {frame.shape[1]} columns: there is nothing to fit"
            )
        with self._restored_on_error(), quiet_about_rows():
            self._forget_fit()
            if (call := call_of(self)) is not None:
                call.fits = True
            if not self._fit_first(frame):
                super().fit(to_native(given or self._table_name, self._shown_to_sdv(frame)))
        self._returns_dict, self._frame_kind = given is not None, frame_kind(data)
        self._tell()

    @property
    def _sdv_sees_rows(self) -> bool:
        """Whether the user added what learns from rows: SDV constraints, or transformers of their own."""
        return bool(self._has_constraints or self._own_transformers)

    @property
    def _own_transformers(self) -> list[str]:
        return own_transformers(self._data_processor._hyper_transformer.field_transformers)

    @property
    def _has_constraints(self) -> bool:
        return any(getattr(self, name) for name in _CONSTRAINTS)

    def _shown_to_sdv(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Keep the rows for the model, and return what SDV is fitted to in their place."""
        check_labels(frame)
        if self._sdv_sees_rows:
            shown = frame.copy(deep=False)
            for place, (_, column) in enumerate(frame.items()):
                shown.isetitem(place, without_odd(column))
            return shown
        check_columns(frame, self._column_specs())
        self._rows = frame.set_axis(frame.columns.astype(str), axis=1)
        return stand_in_table(frame.dtypes, self._column_specs(), self._data_processor._keys)

    def _fit_first(self, frame: pd.DataFrame) -> bool:  # noqa: ARG002  a hook
        """Fit a table of which only the fit tells what SDV is to see; whether that was so."""
        return False

    def _begin_anew(self, metadata: Any) -> None:
        """Be to SDV as if just made, of other metadata."""
        given = map(self.__dict__.pop, ("enforce_min_max_values", "enforce_rounding", "locales"))
        BaseSingleTableSynthesizer.__init__(self, without_details(metadata), *given)
        self._mark_voted()

    def _mark_voted(self) -> None:
        """Mark the metadata: its types are answers of the rows, which another fit would have to pay for."""
        self._has_voted_types = True
        for held in (self.metadata, self._original_metadata):
            setattr(held, VOTED, True)

    def _check_processing(self) -> None:
        """Refuse to hand rows to SDV's processing, step by step."""

    def _check_processed(self, frame: pd.DataFrame) -> None:
        """Refuse what :meth:`preprocess` did not return, or not with what is set now."""

    def _before_rows(self, frame: pd.DataFrame) -> None:
        """Whatever a fit must have checked before its first look at a row of the frame."""

    def _before_look(self) -> None:
        """What is done before SDV compares rows with the metadata, and quotes cells that do not fit."""

    @shown_rows
    def _fit_to_schema(self, dtypes: pd.Series[Any]) -> None:
        """Fit SDV's part to a schema alone: no row is there, and who subclasses puts the model in."""
        made = stand_in_table(dtypes, self._column_specs(), self._data_processor._keys)
        self._rows = made.set_axis(made.columns.astype(str), axis=1)
        if (call := call_of(self)) is not None:
            call.fits = True
        with quiet_about_rows():
            super().fit(to_native(self._table_name, made))

    @shown_rows
    def preprocess(self, data: Any) -> Any:
        """Transform raw data as SDV does; frame or dict as given. An earlier fit is given up."""
        if self._rows is not None:
            return super().preprocess(data)  # a fit is under way, to stand-ins
        self._check_processing()
        with self._restored_on_error(), quiet_about_rows():
            if self._fitted:
                warnings.warn(
                    "preprocess() gives up the earlier fit: fit_processed_data() makes a new one",
                    RefitWarning,
                    stacklevel=3,
                )
                self._give_up_fit()
            given, frame = split_input(data)
            shown = to_native(given or self._table_name, self._shown_to_sdv(frame))
            self._made_by_sdv = self._made_by_sdv or self._sdv_sees_rows
            processed = self._modelled_rows(from_native(super().preprocess(shown)))
        return processed if given is None else {given: processed}

    def _modelled_rows(self, processed: pd.DataFrame) -> pd.DataFrame:
        """The modelled columns of the rows, where SDV processed stand-ins of them.

        Else what it made of the rows.
        """
        return processed if self._rows is None else self._rows[list(processed.columns)].reset_index(drop=True)

    def _fit(self, processed_data: pd.DataFrame) -> None:
        dtypes = processed_data.dtypes if self._rows is None else self._rows.dtypes
        self._fit_rows(self._modelled_rows(processed_data), dtypes)

    def _preprocess(self, table_data: pd.DataFrame) -> pd.DataFrame:
        return super()._preprocess(
            table_data if self._rows is not None else self._without_invented(table_data)
        )

    @shown_rows
    def fit_processed_data(self, processed_data: Any) -> None:
        """Fit to what :meth:`preprocess` returned. If it fails, an earlier fit stays as it was."""
        given, frame = split_input(processed_data, "processed_data")
        call = call_of(self)
        assert call is not None
        if alone := not call.fits:  # else fit() calls
            self._check_processed(frame)
            self._before_rows(frame)
        with self._restored_on_error(), quiet_about_rows():
            self._forget_fit()
            call.ends = True  # SDV asks nothing more: whoever watches the model's fit may not either
            super().fit_processed_data(to_native(given or self._table_name, frame))
            if self._model is None and len(frame.columns) and not len(frame):
                self._fit(frame)  # SDV leaves an empty table out, which nobody may be told
            if self._model is None:
                self._fit_nothing()
        self._returns_dict, self._frame_kind = given is not None, frame_kind(processed_data)
        if alone:
            self._tell()

    def _tell(self) -> None:
        """Warn the holder of what a fit, which is held now, has found in the rows."""
        call = call_of(self)
        for told in () if call is None else call.told:
            warnings.warn(told, stacklevel=4)

    @shown_rows
    def validate(self, data: Any) -> None:
        """Check a table against the metadata and the constraints. A fitted object learns nothing from it."""
        if self._rows is not None:
            return  # SDV validates what it is fitted to: stand-ins
        self._before_look()
        kept = {name: getattr(self, name) for name in _CONSTRAINTS} if self._fitted else {}
        self.__dict__.update(deepcopy(kept))  # SDV fits the constraints to the rows that it validates
        try:
            given, frame = split_input(data)
            frame = self._without_texts(frame)
            self._as_given(super().validate, frame if given is None else {given: frame})
        finally:
            self.__dict__.update(kept)

    @shown_rows
    def validate_constraints(self, synthetic_data: Any) -> None:
        """Check rows against SDV constraints: real ones, too: a look at them."""
        if self._has_constraints:
            self._before_look()
        super().validate_constraints(synthetic_data)

    @shown_rows
    def auto_assign_transformers(self, data: Any) -> None:
        """Assign SDV's transformers, so that :meth:`update_transformers` can change them."""
        self._check_processing()
        self.validate(data)
        given, frame = split_input(data)
        self._rows = frame  # SDV validates what it sees, which are stand-ins
        made = stand_in_table(frame.dtypes, self._column_specs(), self._data_processor._keys)
        self._as_given(super().auto_assign_transformers, made if given is None else {given: made})

    # --- what the model adds ----------------------------------------------------------------------

    @property
    def _needs_rows(self) -> bool:
        """Whether an empty table cannot be fitted.

        Where there is a claim, the number of rows may not decide on an error.
        """
        return True

    def _fit_rows(self, table: pd.DataFrame, dtypes: pd.Series[Any]) -> None:
        """Fit the model to the modelled columns of a table; ``dtypes`` are the types of the real columns."""
        raise NotImplementedError

    def _forget_fit(self) -> None:
        """Forget an earlier fit; it is put back if the new one fails."""
        self._model = None

    def _fit_nothing(self) -> None:
        """Note a fit to a table of which no column is modelled."""

    def _without_texts(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return what SDV can validate as numbers: declared texts beside them are missing."""
        return frame

    # --- small helpers ----------------------------------------------------------------------------

    def _column_specs(self) -> dict[str, dict[str, Any]]:
        """The metadata's columns, as changed by constraints."""
        return {name: dict(spec) for name, spec in self._get_table_metadata().columns.items()}

    def _give_up_fit(self) -> None:
        self._forget_fit()
        self._fitted = False

    def _without_invented(self, frame: pd.DataFrame) -> pd.DataFrame:
        processor = self._data_processor
        transformers = processor._hyper_transformer.field_transformers
        return hide_invented(frame, self._column_specs(), processor._keys, transformers)

    def _as_given(self, method: Any, data: Any) -> Any:
        given, frame = split_input(data)
        result = method(to_native(given or self._table_name, frame))
        if result is None:
            return None
        frame = from_native(result)
        return frame if given is None else {given: frame}

    @contextlib.contextmanager
    def _restored_on_error(self) -> Iterator[None]:
        """Put the object back as it was if the block raises, so that a failed fit loses nothing."""
        state = copy(self.__dict__)
        state["_data_processor"] = deepcopy(self._data_processor) if self._fitted else self._data_processor
        for name in _CONSTRAINTS:
            state[name] = deepcopy(getattr(self, name)) if self._fitted else getattr(self, name)
        try:
            yield
        except BaseException:
            state |= {name: vars(self)[name] for name in _NEVER_BACK if name in vars(self)}
            self.__dict__ = state  # at once: another thread may be looking
            raise


# Of a fit, which never changes it: a copy holds no second table. Its rows count towards the same row cap.
_SHARED = ("_sampler", "_charged_calls")
_NEVER_BACK = ("_looked",)  # what was shown of the rows has been seen, whatever came of the fit
_CONSTRAINTS = ("_chained_constraints", "_reject_sampling_constraints")  # lists of fitted constraints
