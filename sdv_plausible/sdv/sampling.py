"""Rows of a fitted synthesizer: SDV's sampling as its users should meet it, from what a fit released."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sdv.errors import SamplingError
from sdv.single_table.base import FIXED_RNG_SEED

from sdv_plausible.mechanism.drawing.sampler import PrefixSampler, RecordSampler, Sampler
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.release.file.release_sampling import check_memory, decoded
from sdv_plausible.rules.rule_set import FittedRules
from sdv_plausible.sdv.frame_conversion import Rows, in_kind
from sdv_plausible.sdv.sampling_requests import (
    SAME_ROWS,
    check_conditions,
    check_known_columns,
    check_request,
)
from sdv_plausible.sdv.sdv_base import WholeTableSynthesizer
from sdv_plausible.sdv.sdv_versions import OutputFile, from_native
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.output_types import usual_types
from sdv_plausible.utils.atomic_files import new_folders, write_whole

if TYPE_CHECKING:
    from sdv_plausible.fitting.fit import Fit
    from sdv_plausible.release.multiple_synthesis import About

BAR_ROWS = 100_000  # longer sampling under a row-by-row test is cut into batches, so that SDV shows its bar


class RowCapExceededError(ValueError):
    """More rows were asked for than the declared row cap pays for. Nothing was released."""


class SamplingSynthesizer(WholeTableSynthesizer):
    """Draws rows of what a fit made, and counts them where each costs.

    It needs the sampler, the codec and the rules of the fit, and learns nothing.
    """

    _sampler: Sampler | None
    _codec: Codec
    _fitted_rules: FittedRules
    _known: Fit  # of the next fit, without the rows
    _public_said: tuple[int | None, str | None] = (None, None)  # its rows, and who published it
    _public_digest: str | None = None  # of the one that the model started from
    _charged_calls: dict[tuple[Any, ...], int]  # of a row cap
    _calls: int  # since a sequence of samples was started
    _random_state_set: bool
    _process: int | None = None  # whose the rows of the next call are
    _points: list[np.ndarray] | None = None  # only while rows are sampled with their latent points

    def sample(self, num_rows: int, *args: Any, processes: int = 1, **kwargs: Any) -> Rows:
        """Sample rows; further arguments as in the installed SDV.

        Parameters
        ----------
        num_rows : int
            Rows to release, >= 0. 0 gives an empty table with the columns. More than fit in memory are
            refused: ``release().sample_parts`` draws any number of them.
        *args, **kwargs
            SDV 2.0: main_table_name, max_tries_per_batch, batch_size, output_folder_path. SDV 1.38:
            max_tries_per_batch, batch_size, output_file_path.
        processes : int
            Row-by-row tests: how many processes draw the rows, each part of them from coins of its own. The
            rows are the same for any number; 61 at most are used.

        Returns
        -------
        DataFrame or {table: DataFrame}
            The kind that was given to :meth:`fit`, of pandas, polars or pyarrow.
        """
        with nullcontext() if self._sampler is None else self._sampler.in_processes(processes):
            check.whole("num_rows", num_rows, 0, "try 1000; 0 gives an empty table")
            self._validate_fit_before_sample()
            check_request(super().sample, (int(num_rows), *args), kwargs)
            if num_rows == 0:
                return self._like_fit(self._no_rows())
            self._check_memory(int(num_rows))
            if num_rows > BAR_ROWS and self._known.settings.test.row_limit is not None:
                kwargs.setdefault("batch_size", BAR_ROWS)
            return self._sampled(super().sample, (int(num_rows), *args), kwargs)

    def _check_memory(self, num_rows: int) -> None:
        modelled = 0 if self._sampler is None else len(self._fitted_rules.whole(self._codec.domain))
        columns = len(self._original_metadata.tables[self._table_name].columns)
        check_memory(num_rows, modelled, max(0, columns - modelled))

    def _no_rows(self) -> pd.DataFrame:
        types = self._data_processor._dtypes
        names = self._original_metadata.tables[self._table_name].columns
        empty = pd.DataFrame({name: pd.Series(dtype=types.get(name, object)) for name in names})
        if len(self._original_columns):
            empty.columns = self._original_columns
        return empty

    def sample_from_conditions(self, conditions: list[Any], *args: Any, **kwargs: Any) -> Rows:
        """Sample rows that meet SDV conditions; arguments as in the installed SDV.

        A value outside the column's domain is refused, and so is one that would be written as another one,
        such as 5.5 in whole numbers. Missing where no value is missing is put into rows that are drawn as if
        it were not known; so is a value of the domain to which the model gives no probability (under a
        row-by-row test SDV waits for rows that have such a value beside others, and may find none).
        """
        self._validate_fit_before_sample()
        check_conditions(conditions)
        self._check_memory(sum(int(getattr(one, "num_rows", 0)) for one in conditions))
        return self._sampled(super().sample_from_conditions, (conditions, *args), kwargs)

    def sample_remaining_columns(self, known_columns: pd.DataFrame, *args: Any, **kwargs: Any) -> Rows:
        """Sample the other columns of given rows; arguments as in the installed SDV."""
        self._validate_fit_before_sample()
        check_known_columns(known_columns)
        # SDV groups by the known values; of a category column it would also try the combinations that do not
        # occur.
        dictionaries = known_columns.select_dtypes("category").columns
        known_columns = known_columns.astype(dict.fromkeys(dictionaries, object))
        return self._sampled(super().sample_remaining_columns, (known_columns, *args), kwargs)

    def sample_with_points(self, num_rows: int, *, processes: int = 1) -> tuple[Rows, pd.DataFrame]:
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
        from sdv_plausible.sdv import latent_points

        sampler = latent_points.sampler_of_points(self._sampler, sdv_drops_rows=self._sdv_sees_rows)
        self._points = []
        try:
            rows = self.sample(num_rows, processes=processes)
            points = latent_points.as_table(self._points, sampler.model.num_latent, num_rows)
        finally:
            del self._points
        latent_points.check_lengths(rows, points)
        return rows, points

    def sample_multiple(
        self, num_tables: int, num_rows: int | None = None, *, about: About = "population"
    ) -> list[Rows]:
        """Draw tables from models that the answers could as well have led to: at no further cost.

        Put what is computed from each together by :func:`sdv_plausible.combine`: its intervals know
        of the noise. The rows come from models alone, whatever ``test``, and use up no ``row_cap``.

        Parameters
        ----------
        num_tables : int
            Number M of tables, >= 2; 20 or more are advised.
        num_rows : int, optional
            Rows of each; by default the noisy number of rows. Larger tables say more.
        about : {"population", "table"}
            Whether the intervals are to be of the population that the rows are drawn from, or of the rows.
            Where a person may have several rows, which are not independent, only "table" can be.

        Raises
        ------
        ValueError
            If the model cannot be learned again from answers.
        """
        from sdv_plausible.release.intervals.measured_counts import number_of_rows
        from sdv_plausible.release.multiple_synthesis import redrawn_models

        sampler, domain = self._fitted_sampler(), self._codec.domain
        coins = (
            KeyedRNG.from_os_entropy() if sampler.coins.is_secret else sampler.coins.spawn("several tables")
        )
        models = redrawn_models(
            self._known.learner, sampler.model, sampler.answers, domain, num_tables, about,
            coins.spawn("models"), rows_per_unit=self._ledger.neighbours.rows,
            is_public=self._public_said[0] is not None,
        )  # fmt: skip
        if num_rows is None:
            num_rows = number_of_rows(sampler.answers, len(domain))
        self._check_memory(num_tables * check.whole("num_rows", num_rows, 0, "try 1000"))
        return [
            self._with_model(model, coins.spawn("table", i)).sample(num_rows)
            for i, model in enumerate(models)
        ]

    def _with_model(self, model: Any, coins: KeyedRNG) -> Any:
        """Return this synthesizer with another model, all of whose attributes are drawn."""
        from sdv_plausible.release.multiple_synthesis import INDEPENDENT_ROWS

        held = self._alike()
        held._process = os.getpid()
        held._known = replace(self._known, settings=replace(self._known.settings, test=ReleaseTest()))
        held._sampler = PrefixSampler(model=model, seeds=INDEPENDENT_ROWS, coins=coins)
        return held

    # --- what SDV calls ---------------------------------------------------------------------------

    def _transform_conditions(self, condition_df: pd.DataFrame) -> pd.DataFrame:
        # SDV groups conditions and loses missing values on the way: a token stands for them.
        transformed = super()._transform_conditions(condition_df)
        return transformed.astype(object).where(transformed.notna(), _MISSING)

    def _validate_conditions_unseen_columns(self, conditions: pd.DataFrame) -> None:
        super()._validate_conditions_unseen_columns(conditions)
        transformers = self._data_processor._hyper_transformer.field_transformers
        for name in conditions.columns:
            known = self._sampler is not None and name in self._codec.domain
            if known and transformers.get(name) is None:
                never = not self._codec.domain[name].nullable  # missing is put in then, and asks nothing
                values = conditions[name].infer_objects()
                self._codec.check_values(name, values[values.notna()] if never else values)

    def _is_never(self, name: str, value: Any) -> bool:
        """Whether a value is missing, in a column that is never missing: it is put in, and asks nothing."""
        return not self._codec.domain[name].nullable and bool(pd.isna(value))

    def _sample_with_conditions(self, conditions: pd.DataFrame, *args: Any, **kwargs: Any) -> pd.DataFrame:
        """Rows that meet conditions: all at once where the model can, else combination by combination."""
        sampler, processor = self._sampler, self._data_processor
        transformers = processor._hyper_transformer.field_transformers
        plain = [name for name in conditions.columns if transformers.get(name) is None]
        is_plain = not (self._sdv_sees_rows or kwargs.get("keep_extra_columns") or _has_file(args, kwargs))
        if sampler is None or not is_plain or self._points is not None or len(conditions) < 2:
            return super()._sample_with_conditions(conditions, *args, **kwargs)
        from sdv_plausible.sdv import known_values  # where rows have known values

        if not known_values.can_be_batched(conditions, sampler, self._codec, self._fitted_rules, plain):
            return super()._sample_with_conditions(conditions, *args, **kwargs)
        self._tell_copies()
        if not self._random_state_set:
            self._set_random_state(FIXED_RNG_SEED)
        number, self._calls = self._calls, self._calls + 1
        stream = known_values.stream_of(conditions)
        coins = sampler.coins.spawn("sample each", self._sdv_seed, number, stream)
        raw = known_values.drawn(conditions, sampler, self._codec, self._fitted_rules, coins)
        if (bar := kwargs.get("progress_bar", args[2:3][0] if args[2:3] else None)) is not None:
            bar.update(len(conditions))
        return known_values.exactly(processor.reverse_transform(raw), conditions)

    def _tell_copies(self) -> None:
        """Warn of rows that another copy of this object draws, too."""
        if self._process != os.getpid():
            warnings.warn(SAME_ROWS, UserWarning, stacklevel=3)
            self._process = os.getpid()

    def _sample(self, num_rows: int, conditions: Mapping[str, Any] | None = None) -> pd.DataFrame:
        sampler, given = self._sampler, {n: _from_token(v) for n, v in (conditions or {}).items()}
        assert sampler is not None
        self._tell_copies()
        if sampler.samples_conditions:
            given = self._fitted_rules.given(given)
        known = {
            self._codec.domain.names.index(name): self._codec.encode_value(name, value)
            for name, value in given.items()
            if name in self._codec.domain and not self._is_never(name, value)
        }
        if (known and not sampler.samples_conditions) or set(given) & set(self._fitted_rules.made):
            raise NotImplementedError  # SDV then rejects: post-processing of rows that were released
        if self._points is not None:
            from sdv_plausible.sdv import latent_points  # where they are asked for
        number_of_call = self._calls
        self._calls += 1

        def drawn(wanted: int, number: int) -> pd.DataFrame:
            this = (self._sdv_seed, number_of_call, wanted, tuple(sorted(known.items())), number)
            self._charge_rows(this, wanted)
            coins = sampler.coins.spawn("sample", *this)
            if self._points is not None and isinstance(sampler, RecordSampler):
                codes, points = sampler.sample_with_points(wanted, coins)
            else:
                codes, points = sampler.sample_possible(wanted, known, coins), None
            table = decoded(codes, given, self._codec, self._fitted_rules, coins)
            return table if points is None else latent_points.beside(table, points)

        rules, whole = self._fitted_rules, self._fitted_rules.whole(self._codec.domain)
        table = rules.draw(num_rows, drawn, whole, spare=self._known.settings.test.row_limit is None)
        if self._points is not None:
            table, points = latent_points.apart(table)
            self._points.append(points)
        return table

    def _charge_rows(self, call: tuple[Any, ...], num_rows: int) -> None:
        """Count rows towards the cap, unless the very same call is repeated: it gives the very same rows."""
        limit = self._known.settings.test.row_limit
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

    # --- small helpers ----------------------------------------------------------------------------

    def _fitted_sampler(self) -> Sampler:
        if self._sampler is None:
            raise SamplingError("fit first: there is no model yet")
        return self._sampler

    def _usual(self, frame: pd.DataFrame) -> pd.DataFrame:
        if self._sampler is None:
            return frame
        whole = self._fitted_rules.whole(self._codec.domain)
        return usual_types(frame, whole, masked=self._frame_kind is not None)

    def _like_fit(self, frame: pd.DataFrame) -> Rows:
        rows = in_kind(self._usual(frame), self._frame_kind)
        return {self._table_name: rows} if self._returns_dict else rows

    def _sampled(self, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Rows:
        """Call SDV; show our own errors instead of SDV's wrapping.

        A file that is asked for is ours, whole or not at all: SDV's has every row of a batch, and values as
        they are before the last step.
        """
        check_request(method, args, kwargs)
        try:
            output = OutputFile.of(method, args, kwargs, self._table_name)
            if output is None or output.path.exists():  # which SDV refuses
                return self._like_fit(from_native(method(*args, **kwargs)))
            from sdv_plausible.table.files.write_table import write_table  # where a file is asked for

            frame = from_native(output.call(method))
            with new_folders(output.path.parent):
                write_whole(output.path, lambda path: write_table(self._usual(frame), path), replace=False)
            return self._like_fit(frame)
        except BaseException as error:
            cause = error.__cause__
            if cause is not None and type(cause) is type(error) and "Sampling terminated" in str(error):
                raise cause from None
            raise


def _has_file(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether SDV is to write rows as they come, by its own names and places of arguments."""
    return bool(kwargs.get("output_file_path") or args[3:4] not in ((), (None,)))


_MISSING = "\x00missing"


def _from_token(value: Any) -> Any:
    """A condition's value, with NaN for the token that stands for missing."""
    return math.nan if isinstance(value, str) and value == _MISSING else value
