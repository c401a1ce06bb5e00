"""SDV's base class as its users should meet it.

Frames or dicts as given, files whole or not at all, no lost fit.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import warnings
from collections.abc import Iterator
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sdv.errors import InvalidDataError, RefitWarning
from sdv.single_table import base
from sdv.single_table.base import BaseSingleTableSynthesizer

from sdv_plausible.fit.telling import FitWarning
from sdv_plausible.privacy import checks as check
from sdv_plausible.release.side_entries import own_transformers
from sdv_plausible.sdv import versions as sdv_compat
from sdv_plausible.sdv.requests import check_conditions, check_known_columns, check_request
from sdv_plausible.sdv.schema import without_details
from sdv_plausible.sdv.stand_ins import hide_invented, stand_in_table
from sdv_plausible.sdv.transient import call_of, shown_rows, without_transient
from sdv_plausible.table.cells import without_odd
from sdv_plausible.table.words import MODELLED_SDTYPES
from sdv_plausible.whole_files import new_folders, part_folder, write_whole

BAR_ROWS = 100_000  # longer sampling under a row-by-row test is cut into batches, so that SDV shows its bar


class WholeTableSynthesizer(BaseSingleTableSynthesizer):  # type: ignore[misc]
    """A single-table synthesizer of SDV whose raw columns reach the model, on SDV 2.0 and SDV 1.38.

    SDV never sees a row: it is fitted to stand-ins of the same schema, and the rows go past it (unless the
    user adds SDV constraints or transformers, which learn from rows). It takes and returns a frame or
    ``{table: frame}`` as given, restores an earlier fit if a new one fails, and writes files whole or not at
    all. Subclasses add the model: ``_fit_rows`` and ``_sample``, and the hooks at the end.
    """

    # Raw values reach our own codec: SDV's transformers would learn bounds, rounding and categories from the
    # rows.
    _model_sdtype_transformers = dict.fromkeys(MODELLED_SDTYPES)

    _model: Any
    _returns_dict = False
    _frame_kind: sdv_compat.FrameKind | None = None
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

    def _transform_conditions(self, condition_df: pd.DataFrame) -> pd.DataFrame:
        # SDV groups conditions and loses missing values on the way: a token stands for them.
        transformed = super()._transform_conditions(condition_df)
        return transformed.astype(object).where(transformed.notna(), _MISSING)

    def _validate_conditions_unseen_columns(self, conditions: pd.DataFrame) -> None:
        super()._validate_conditions_unseen_columns(conditions)
        transformers = self._data_processor._hyper_transformer.field_transformers
        for name in conditions.columns:
            if transformers.get(name) is None:
                for value in conditions[name].drop_duplicates():
                    self._check_condition(name, value)

    # --- public methods: frames or {table: frame}, as given ---------------------------------------

    @shown_rows
    def fit(self, data: Any) -> None:
        """Fit to a DataFrame or ``{table: DataFrame}``. If it fails, an earlier fit stays as it was.

        A cell that is a list, a dict or an object of an unknown class counts as missing: one cell never ends
        a fit. Columns of which most cells are outside what was declared, these included, are named in a
        warning.

        Raises
        ------
        ValueError
            If the table is empty.
        sdv.errors.InvalidDataError
            If it does not match the metadata.
        """
        given, frame = sdv_compat.split_input(data)
        _check_labels(frame)
        if not self._sdv_sees_rows:
            self._check_columns(frame)
        self._before_rows(frame)
        if not frame.shape[1] or (not len(frame) and self._needs_rows):
            raise ValueError(
                f"data has {len(frame)} rows and {frame.shape[1]} columns: there is nothing to fit"
            )
        with self._restored_on_error(), _quiet_about_rows():
            self._forget_fit()
            if (call := call_of(self)) is not None:
                call.fits = True
            if not self._fit_first(frame):
                super().fit(sdv_compat.to_native(given or self._table_name, self._shown_to_sdv(frame)))
        self._returns_dict, self._frame_kind = given is not None, sdv_compat.frame_kind(data)
        self._tell()

    @property
    def _sdv_sees_rows(self) -> bool:
        """Whether the user added what learns from rows: SDV constraints, or transformers of their own."""
        transformers = self._data_processor._hyper_transformer.field_transformers
        return bool(self._has_constraints or own_transformers(transformers))

    @property
    def _has_constraints(self) -> bool:
        return any(getattr(self, name) for name in _CONSTRAINTS)

    def _shown_to_sdv(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Keep the rows for the model, and return what SDV is fitted to in their place."""
        _check_labels(frame)
        if self._sdv_sees_rows:
            shown = frame.copy(deep=False)
            for place, (_, column) in enumerate(frame.items()):
                shown.isetitem(place, without_odd(column))
            return shown
        self._check_columns(frame)
        self._rows = frame.set_axis(frame.columns.astype(str), axis=1)
        return stand_in_table(frame.dtypes, self._column_specs(), self._data_processor._keys)

    def _fit_first(self, frame: pd.DataFrame) -> bool:  # noqa: ARG002  a hook
        """Fit a table of which only the fit tells what SDV is to see; whether that was so."""
        return False

    def _begin_anew(self, metadata: Any) -> None:
        """Be to SDV as if just made, of other metadata."""
        given = [
            self.__dict__.pop(name) for name in ("enforce_min_max_values", "enforce_rounding", "locales")
        ]
        BaseSingleTableSynthesizer.__init__(self, without_details(metadata), *given)

    def _check_processing(self) -> None:
        """Refuse to hand rows to SDV's processing, step by step."""

    def _check_processed(self, frame: pd.DataFrame) -> None:  # noqa: ARG002  a hook
        """Refuse what :meth:`preprocess` did not return, or not with what is set now."""
        if self._made_by_sdv and not self._sdv_sees_rows:
            raise ValueError(
                "processed_data may be what constraints or transformers of your own, which are not set any "
                "more, have made of the rows: fit the table itself, or make a new synthesizer"
            )

    def _before_rows(self, frame: pd.DataFrame) -> None:
        """Whatever a fit must have checked before its first look at a row of the frame."""

    def _before_look(self) -> None:
        """What is done before SDV compares rows with the metadata, and quotes cells that do not fit."""

    def _check_columns(self, frame: pd.DataFrame) -> None:
        """Refuse a table whose columns are not those of the metadata: a look at the schema, not at a row."""
        names = frame.columns.astype(str)
        known = set(self._column_specs())
        absent, unknown = sorted(known - set(names)), sorted(set(names) - known)
        if absent or unknown:
            missing = [f"columns {absent} of the metadata are not in the data"] if absent else []
            more = (
                [f"columns {unknown} of the data are not in the metadata: add them, or leave them out"]
                if unknown
                else []
            )
            raise InvalidDataError([*missing, *more])

    @shown_rows
    def _fit_to_schema(self, dtypes: pd.Series[Any]) -> None:
        """Fit SDV's part to a schema alone: no row is there, and who subclasses puts the model in."""
        made = stand_in_table(dtypes, self._column_specs(), self._data_processor._keys)
        self._rows = made.set_axis(made.columns.astype(str), axis=1)
        if (call := call_of(self)) is not None:
            call.fits = True
        with _quiet_about_rows():
            super().fit(sdv_compat.to_native(self._table_name, made))

    @shown_rows
    def preprocess(self, data: Any) -> Any:
        """Transform raw data as SDV does; frame or dict as given. An earlier fit is given up."""
        if self._rows is not None:
            return super().preprocess(data)  # a fit is under way, to stand-ins
        self._check_processing()
        with self._restored_on_error(), _quiet_about_rows():
            if self._fitted:
                warnings.warn(
                    "preprocess() gives up the earlier fit: fit_processed_data() makes a new one",
                    RefitWarning,
                    stacklevel=3,
                )
                self._give_up_fit()
            given, frame = sdv_compat.split_input(data)
            shown = sdv_compat.to_native(given or self._table_name, self._shown_to_sdv(frame))
            self._made_by_sdv = self._made_by_sdv or self._sdv_sees_rows
            processed = self._modelled_rows(sdv_compat.from_native(super().preprocess(shown)))
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
        given, frame = sdv_compat.split_input(processed_data, "processed_data")
        call = call_of(self)
        assert call is not None
        if alone := not call.fits:  # else fit() calls
            self._check_processed(frame)
            self._before_rows(frame)
        with self._restored_on_error(), _quiet_about_rows():
            self._forget_fit()
            call.ends = True  # SDV asks nothing more: whoever watches the model's fit may not either
            super().fit_processed_data(sdv_compat.to_native(given or self._table_name, frame))
            if self._model is None and len(frame.columns) and not len(frame):
                self._fit(frame)  # SDV leaves an empty table out, which nobody may be told
            if self._model is None:
                self._fit_nothing()
        self._returns_dict, self._frame_kind = given is not None, sdv_compat.frame_kind(processed_data)
        if alone:
            self._tell()

    def _tell(self) -> None:
        """Warn the holder of what a fit, which is held now, has found in the rows."""
        call = call_of(self)
        for text in () if call is None else call.told:
            warnings.warn(text, FitWarning, stacklevel=4)

    @shown_rows
    def validate(self, data: Any) -> None:
        """Check a table against the metadata and the constraints. A fitted object learns nothing from it."""
        if self._rows is not None:
            return  # SDV validates what it is fitted to: stand-ins
        self._before_look()
        kept = {name: getattr(self, name) for name in _CONSTRAINTS} if self._fitted else {}
        self.__dict__.update(deepcopy(kept))  # SDV fits the constraints to the rows that it validates
        try:
            given, frame = sdv_compat.split_input(data)
            frame = self._without_texts(frame)
            self._as_given(super().validate, frame if given is None else {given: frame})
        finally:
            self.__dict__.update(kept)

    @shown_rows
    def validate_constraints(self, synthetic_data: Any) -> None:
        """Check rows against SDV constraints: real ones, too, so that it counts as a look at them."""
        if self._has_constraints:
            self._before_look()
        super().validate_constraints(synthetic_data)

    @shown_rows
    def auto_assign_transformers(self, data: Any) -> None:
        """Assign SDV's transformers, so that :meth:`update_transformers` can change them."""
        self._check_processing()
        self.validate(data)
        given, frame = sdv_compat.split_input(data)
        self._rows = frame  # SDV validates what it sees, which are stand-ins
        made = stand_in_table(frame.dtypes, self._column_specs(), self._data_processor._keys)
        self._as_given(super().auto_assign_transformers, made if given is None else {given: made})

    def sample(self, num_rows: int, *args: Any, **kwargs: Any) -> Any:
        """Sample rows; further arguments as in the installed SDV.

        Parameters
        ----------
        num_rows : int
            Rows to release, >= 0. 0 gives an empty table with the columns.
        *args, **kwargs
            SDV 2.0: main_table_name, max_tries_per_batch, batch_size, output_folder_path. SDV 1.38:
            max_tries_per_batch, batch_size, output_file_path.

        Returns
        -------
        DataFrame or {table: DataFrame}
            The kind that was given to :meth:`fit`.
        """
        check.whole("num_rows", num_rows, 0, "try 1000; 0 gives an empty table")
        self._validate_fit_before_sample()
        check_request(super().sample, (int(num_rows), *args), kwargs)
        if num_rows == 0:
            types = self._data_processor._dtypes
            columns = {
                name: pd.Series(dtype=types.get(name, object))
                for name in self._original_metadata.tables[self._table_name].columns
            }
            empty = pd.DataFrame(columns)
            if len(self._original_columns):
                empty.columns = self._original_columns
            return self._like_fit(empty)
        if self._is_slow and num_rows > BAR_ROWS:
            kwargs.setdefault("batch_size", BAR_ROWS)
        return self._like_fit(self._sampled(super().sample, (int(num_rows), *args), kwargs))

    def sample_from_conditions(self, conditions: list[Any], *args: Any, **kwargs: Any) -> Any:
        """Sample rows that meet SDV conditions; arguments as in the installed SDV.

        A value that the model gives no probability, such as missing where no value is missing, is put into
        rows that are drawn as if it were not known.
        """
        self._validate_fit_before_sample()
        check_conditions(conditions)
        return self._like_fit(self._sampled(super().sample_from_conditions, (conditions, *args), kwargs))

    def sample_remaining_columns(self, known_columns: pd.DataFrame, *args: Any, **kwargs: Any) -> Any:
        """Sample the other columns of given rows; arguments as in the installed SDV."""
        self._validate_fit_before_sample()
        check_known_columns(known_columns)
        # SDV groups by the known values; of a category column it would also try the combinations that do not
        # occur.
        dictionaries = known_columns.select_dtypes("category").columns
        known_columns = known_columns.astype(dict.fromkeys(dictionaries, object))
        return self._like_fit(self._sampled(super().sample_remaining_columns, (known_columns, *args), kwargs))

    def save(self, filepath: str | Path) -> None:
        """Write the synthesizer, whole or not at all; one that holds rows for its owner alone."""
        write_whole(
            filepath,
            lambda path: super(WholeTableSynthesizer, self).save(str(path)),
            owner_only=self._holds_rows,
        )

    @classmethod
    def load(cls, filepath: str | Path) -> Any:
        """Read what :meth:`save` wrote. Only open files you trust: they are pickles.

        Raises
        ------
        ValueError
            If the file is damaged or holds something else.
        """
        from sdv.utils import load_synthesizer

        if not isinstance(filepath, (str, os.PathLike)):
            raise check.Refused("filepath", type(filepath), "must be the path of a file that save() wrote")
        try:
            loaded = load_synthesizer(str(filepath))
        except OSError:
            raise
        except _DAMAGED as error:
            if isinstance(error, (ImportError, AttributeError)) and "sdv_plausible" in str(error):
                raise ValueError(
                    f"{str(filepath)!r} was saved by another version of sdv-plausible, whose files this one "
                    "does not read: sample from it with that version, or fit again"
                ) from error
            if isinstance(error, ModuleNotFoundError):
                raise ValueError(
                    f"{str(filepath)!r} needs a module that is not installed: {error}"
                ) from error
            raise ValueError(
                f"{str(filepath)!r} is not a saved synthesizer, or is damaged: {error}"
            ) from error
        if not isinstance(loaded, cls):
            raise ValueError(f"{str(filepath)!r} holds a {type(loaded).__name__}, not a {cls.__name__}")
        return loaded

    # --- what the model adds ----------------------------------------------------------------------

    @property
    def _is_slow(self) -> bool:
        """Whether sampling takes so long that a bar is wanted."""
        return False

    @property
    def _holds_rows(self) -> bool:
        """Whether rows of the table are in this object."""
        return False

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

    def _check_condition(self, name: str, value: Any) -> None:
        """Raise ValueError if no row can have this value."""

    def _without_texts(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return what SDV can validate as numbers: declared texts beside them are missing."""
        return frame

    def _with_usual_types(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Give sampled columns their final types."""
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
        given, frame = sdv_compat.split_input(data)
        result = method(sdv_compat.to_native(given or self._table_name, frame))
        if result is None:
            return None
        frame = sdv_compat.from_native(result)
        return frame if given is None else {given: frame}

    def _like_fit(self, frame: pd.DataFrame) -> Any:
        frame = self._with_usual_types(frame)
        rows = sdv_compat.in_kind(frame, self._frame_kind)
        return {self._table_name: rows} if self._returns_dict else rows

    def _sampled(self, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> pd.DataFrame:
        """Call SDV; show our own errors instead of SDV's wrapping.

        A file that it writes is there whole or not at all.
        """
        check_request(method, args, kwargs)
        try:
            output = sdv_compat.OutputFile.of(method, args, kwargs, self._table_name)
            if output is None or output.path.exists():  # which SDV refuses
                return sdv_compat.from_native(method(*args, **kwargs))
            with new_folders(output.path.parent), part_folder(output.path.parent) as folder:
                frame = sdv_compat.from_native(output.call(method, folder))
                written = folder / output.path.name
                if written.exists():
                    written.replace(output.path)
                return frame
        except BaseException as error:
            cause = error.__cause__
            if cause is not None and type(cause) is type(error) and "Sampling terminated" in str(error):
                raise cause from None
            raise

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
            self.__dict__ = state  # at once: another thread may be looking
            raise


_MISSING = "\x00missing"
# Of a fit, which never changes it: a copy holds no second table. Its rows count towards the same row cap.
_SHARED = ("_sampler", "_charged_calls")
_CONSTRAINTS = ("_chained_constraints", "_reject_sampling_constraints")  # lists of fitted constraints
_DAMAGED = (
    pickle.UnpicklingError,
    EOFError,
    AttributeError,
    ImportError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
)


def _check_labels(frame: pd.DataFrame) -> None:
    """Refuse a table whose columns have no names of their own."""
    labels: list[Any] = list(frame.columns)
    for place, name in enumerate(labels, start=1):
        far = isinstance(name, (int, np.integer)) and abs(int(name)) >= 2**63
        if isinstance(name, bool) or not isinstance(name, (str, int, np.integer)) or not str(name) or far:
            raise ValueError(
                f"data: the name of column {place} ({name!r:.60}) must be text or a whole number below 2^63, "
                "and not empty"
            )
    names = frame.columns.astype(str)
    twice = sorted(set(names[names.duplicated()]))
    if twice:
        raise ValueError(
            f"data has several columns named {twice} (0 and '0' are one name): rename them, every column "
            "needs a name of "
            "its own"
        )


@contextlib.contextmanager
def _quiet_about_rows() -> Iterator[None]:
    """Keep SDV from logging the number of rows and from warning about declared ranges."""
    logger = base.SYNTHESIZER_LOGGER
    before, logger.disabled = logger.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The training data does not cover the full range")
            yield
    finally:
        logger.disabled = before


def from_token(value: Any) -> Any:
    """A condition's value, with NaN for the token that stands for missing."""
    return math.nan if isinstance(value, str) and value == _MISSING else value
