"""Counts that others published with their noise, as answers in a domain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.parameter_checks import Refused, listed, shown
from sdv_plausible.queries.count_queries import Axis, QueryRecord
from sdv_plausible.queries.transcript import DEVIATION, SCALES, SOURCE, Noise, NoisyAnswer
from sdv_plausible.table.codec import Codec, ColumnCodec
from sdv_plausible.table.columns.cell_reader import PLAIN_SPELLING, reparse_columns
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.declared.column_types import column_types

# Names of the noise parameter -> noise laws of answers.
LAWS: Mapping[str, Noise] = {
    "gaussian": "discrete gaussian",
    "discrete gaussian": "discrete gaussian",
    "laplace": "discrete laplace",
    "discrete laplace": "discrete laplace",
    "exact": "rounded",
}
TAILS: tuple[Noise, ...] = ("discrete laplace", "discrete gaussian", "rounded")  # longest tails first
LEDGER_ENTRY = "answers"  # name of the ledger entry
ROUNDING_DEVIATION = 12**-0.5  # standard deviation of rounding to an integer
MAX_CELLS = 10_000_000
MAX_NUMBER = 2.0**53


@dataclass(frozen=True, kw_only=True, eq=False)
class StatedCounts:
    """Published counts over one or more columns, with the noise that the publisher states.

    Parameters
    ----------
    table : DataFrame
        One row per cell: its values, and the count. Values outside the domain are refused, and so are totals,
        which are not cells. Numbers in the same bin of the domain are added up.
    count : str
        Name of the column of counts: finite numbers, rounded to integers.
    columns : sequence of str, optional
        Columns of the margin, named as in the domain; by default all but ``count`` and ``scale``.
    noise : {"gaussian", "laplace", "discrete gaussian", "discrete laplace", "exact"}
        Distribution of the independent noise on every count.
    scale : float or str
        Noise parameter, > 0, or the name of a column with one parameter per count, >= 0: the standard
        deviation of Gaussian noise (or a survey's standard error), b of Laplace noise. For exact counts the
        unit to which they were rounded, by default 1.
    source : str, optional
        The publisher; required for exact counts.
    privacy : str, optional
        The publisher's privacy statement, such as ``"rho 0.01"``. It is not verified.
    unknown : tuple of two floats, optional
        Count and scale for missing or empty cells, such as suppressed ones. By default such cells are
        refused.

    Raises
    ------
    ValueError
        If a parameter is invalid, or exact counts have no source.

    Examples
    --------
    >>> import pandas as pd
    >>> from sdv_plausible import StatedCounts
    >>> table = pd.DataFrame({"sex": ["f", "m"], "count": [510, 488]})
    >>> StatedCounts(table=table, noise="gaussian", scale=20.0, source="OpenDP").columns
    ('sex',)
    """

    table: pd.DataFrame
    count: str = "count"
    columns: Sequence[str] = ()
    noise: str = "gaussian"
    scale: float | str | None = None
    source: str | None = None
    privacy: str | None = None
    unknown: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.table, pd.DataFrame):
            raise Refused("table", type(self.table), "must be a DataFrame, a line for each cell")
        check.one_of("noise", self.noise, LAWS)
        scale = 1.0 if self.scale is None and self.noise == "exact" else self.scale
        if not isinstance(scale, str):
            scale = check.positive("scale", scale, "it is the standard deviation, b, or the name of a column")
        for name, text in (("source", self.source), ("privacy", self.privacy)):
            # One line only: in a printed ledger it must not look like a statement of the ledger.
            if text is not None and not (isinstance(text, str) and text.strip() and text.isprintable()):
                raise Refused(name, text, "must be a text of one line, or left out")
        if self.noise == "exact" and self.source is None:
            raise Refused.saying(
                "source",
                "source (None) must say who published exact counts, such as 'Office X, census of 2021': what "
                "nobody published is no public fact",
            )
        if self.unknown is not None:
            if not isinstance(self.unknown, (tuple, list)) or len(self.unknown) != 2:
                raise Refused("unknown", self.unknown, "must be a count and a scale", "such as (2, 2)")
            count, width = (check.non_negative("unknown", number) for number in self.unknown)
            object.__setattr__(self, "unknown", (count, check.positive("unknown", width, "it is a scale")))
        columns = [name for name in self.table if name not in (self.count, scale)]
        columns = [self.columns] if isinstance(self.columns, str) else [*(self.columns or columns)]
        required = [*columns, self.count, *([scale] if isinstance(scale, str) else [])]
        check.require_columns("table", [str(name) for name in required], [*map(str, self.table)])
        if not columns or len({*required}) < len(required) or not self.table.columns.is_unique:
            rule = "must be different columns, at least one, beside count and scale"
            raise Refused("columns", columns, rule)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "columns", tuple(columns))
        self._check_once(self._cells)

    @property
    def words(self) -> str:
        """Publisher, noise and privacy statement, in words, for a ledger."""
        noise = f"{self.noise} noise of scale "
        noise += f"in {self.scale!r}" if isinstance(self.scale, str) else rounded_up(float(self.scale or 0))
        how = "published as exact" if self.noise == "exact" else noise
        stated = f"states {self.privacy}" if self.privacy else "states no privacy"
        return f"{self.source or 'their maker'} {stated} for counts over {', '.join(self.columns)} ({how})"

    def added(self, *others: StatedCounts) -> StatedCounts:
        """Add up the counts of several data owners with disjoint populations; variances add up as well.

        Parameters
        ----------
        *others : StatedCounts
            Counts over the same columns and cells.

        Returns
        -------
        StatedCounts
            The sums. Their noise law is the one with the longest tails among the summands. All sources and
            privacy statements are named.

        Raises
        ------
        ValueError
            If the columns or cells differ.
        """
        summands, columns = (self, *others), [*self.columns]
        if any({*one.columns} != {*columns} for one in summands):
            raise Refused.saying(
                "others", f"others must be counts over {', '.join(columns)}: add up the rest"
            )
        law = next(law for law in TAILS if law in {LAWS[one.noise] for one in summands})
        cells = pd.concat([one._cells[columns] for one in summands], ignore_index=True)
        groups = cells.groupby(columns, dropna=False, sort=False)
        if (incomplete := int((groups.size() != len(summands)).sum())) > 0:
            raise Refused.saying(
                "others",
                f"others: {incomplete} cells over {', '.join(columns)} are not in all: give each, 0 with its "
                "noise where a holder has nobody",
            )
        numbers, cell = [one.numbers(law) for one in summands], groups.ngroup()
        counts, errors = (np.bincount(cell, np.concatenate(arrays)) for arrays in zip(*numbers, strict=True))
        scale, unit = f"scale of {self.count}", 2 if law == "rounded" else 1
        first_rows = cells.groupby(cell).head(1).reset_index(drop=True)
        statements = [f"{one.source or 'a holder'} {one.privacy}" for one in summands if one.privacy]
        return StatedCounts(
            table=first_rows.assign(**{self.count: counts, scale: unit * _noise_parameter(errors, law)}),
            columns=columns, count=self.count, scale=scale, noise="exact" if law == "rounded" else law,
            source=", ".join(dict.fromkeys(one.source for one in summands if one.source)) or None,
            privacy="; ".join(statements) or None,
        )  # fmt: skip

    def numbers(self, law: Noise) -> tuple[np.ndarray, np.ndarray]:
        """Return each row's count and its additive error under this law."""
        counts, scales = self._read(self.count), np.zeros(len(self.table))
        scales[:] = self._read(self.scale) if isinstance(self.scale, str) else self.scale
        if self.unknown is not None:
            missing = np.isnan(counts)
            counts[missing], scales[missing] = self.unknown
        for name, invalid, rule in (
            (self.count, ~(np.abs(counts) < MAX_NUMBER), "must be finite numbers"),
            (self.scale, ~((scales >= 0) & (scales < MAX_NUMBER)), "must be finite numbers of at least 0"),
            (self.count, (counts < 0) & (self.noise == "exact"), "must be at least 0, as they are exact"),
        ):
            if invalid.any():
                raise self._refuse(
                    f"have {int(invalid.sum())} cells of {name!r} that {rule}: mend them, or say what stands "
                    "for empty ones (unknown=(count, scale))"
                )
        return counts, _additive_error(scales, LAWS[self.noise], law)

    @property
    def _cells(self) -> pd.DataFrame:
        """Values of the rows, as given."""
        return self.table[[*self.columns]].astype(object)

    def _read(self, name: str) -> np.ndarray:
        """Numbers of a column; other values are NaN."""
        numbers = pd.to_numeric(self.table[name], errors="coerce")
        return numbers.to_numpy(dtype=float, copy=True, na_value=np.nan)

    def _check_once(self, cells: pd.DataFrame) -> None:
        if duplicates := int(cells.duplicated().sum()):
            raise self._refuse(
                f"have {duplicates} cells twice: add them up, or choose one year, region or unit"
            )

    def _refuse(self, rule: str) -> Refused:
        return Refused.saying("answers", f"counts over {listed([*map(str, self.columns)])} {rule}")

    # --- encoding in a domain ---------------------------------------------------------------------

    def answer(self, domain: Domain) -> NoisyAnswer:
        """Return the counts as an answer in a domain, which must hold all of their columns.

        Raises
        ------
        ValueError
            If columns or cells are not in the domain.
        """
        if unknown := [name for name in self.columns if name not in domain]:
            near = check.suggestion(str(unknown[0]), domain.names)
            raise self._refuse(
                f"name {unknown}, which are no modelled columns of the domain, {listed(domain.names)}{near}: "
                "rename them, declare them, or add the counts up over them"
            )
        attributes, law = [domain[name] for name in self.columns], LAWS[self.noise]
        sizes, (counts, errors) = [a.cardinality for a in attributes], self.numbers(law)
        if math.prod(sizes) > MAX_CELLS:
            rule = f"have {math.prod(sizes):,} cells, of at most {MAX_CELLS:,}: give fewer columns together"
            raise self._refuse(rule)
        cell = np.ravel_multi_index(self._codes(domain), sizes)
        rows_per_cell, totals, total_errors = (
            np.bincount(cell, weights, math.prod(sizes)) for weights in (None, counts, errors)
        )
        missing = (rows_per_cell == 0) & self._possible_cells(domain).ravel()
        if self.unknown is not None:
            totals[missing] = self.unknown[0]
            total_errors[missing] = _additive_error(self.unknown[1], law, law)
        elif missing.any():
            first = zip(attributes, np.unravel_index(int(np.argmax(missing)), sizes), strict=True)
            raise self._refuse(
                f"lack {int(missing.sum()):,} of {len(missing):,} cells, first "
                f"{', '.join(_label(a, int(code)) for a, code in first)}: give each, 0 where nobody is, or "
                "say what stands for those that are kept secret (unknown=(count, scale))"
            )
        scales = _noise_parameter(total_errors, law)
        details: dict[str, Any] = {SOURCE: self.source or "not named"}
        if scales_differ := bool(np.ptp(scales)):
            details[SCALES] = tuple(scales.tolist())
        axes = (Axis.of_codes(domain.names.index(a.name), a.cardinality) for a in attributes)
        return NoisyAnswer(
            asked=QueryRecord(kind="counts", tables=(tuple(axes),), details=details),
            values=np.rint(totals).astype(np.int64).reshape(sizes), noise=law,
            scale=math.sqrt(float((scales**2).mean())) if scales_differ else float(scales[0]),
            paid_by=(LEDGER_ENTRY,),
        )  # fmt: skip

    def _possible_cells(self, domain: Domain) -> np.ndarray:
        """Mask of the cells that the rules allow."""
        numbers = [domain.names.index(name) for name in self.columns]
        possible = np.ones([domain.cardinalities[j] for j in numbers], dtype=bool)
        for (i, j), cells in domain.possible.items():
            if i in numbers and j in numbers:
                axes = numbers.index(i), numbers.index(j)
                oriented = cells if axes[0] < axes[1] else cells.T
                possible &= oriented.reshape(
                    [size if axis in axes else 1 for axis, size in enumerate(possible.shape)]
                )
        return possible

    def _codes(self, domain: Domain) -> list[np.ndarray]:
        """Codes of the rows' cells, column by column."""
        raw, codec, codes = self._cells, Codec(domain), []
        types = {name: t for name, t in column_types(domain).items() if name in self.columns}
        table = reparse_columns(raw, types, PLAIN_SPELLING)
        self._check_once(table)  # "1" and 1 are the same cell, and so are all missing values
        for name in self.columns:
            cells = table[name]
            for row in np.flatnonzero(~cells.duplicated()):
                try:
                    codec.check_value(name, cells.iloc[row], is_written=False)
                except ValueError:
                    raise self._refuse(
                        f"have a cell {shown(raw[name].iloc[row]):.80}, which column {name!r} of the "
                        "domain does not hold: declare it, translate it, or leave totals out"
                    ) from None
            codes.append(ColumnCodec(domain[name]).encode(cells))
        return codes


def _additive_error(scales: Any, from_law: Noise, to_law: Noise) -> Any:
    """Additive error: the largest error of rounded counts, and the squared parameter of noise."""
    if from_law == "rounded":
        scales = np.floor(np.asarray(scales) / 2)  # largest error of integers rounded to this unit
    return scales if to_law == "rounded" else (DEVIATION[from_law] / DEVIATION[to_law] * scales) ** 2


def _noise_parameter(errors: np.ndarray, law: Noise) -> np.ndarray:
    """Noise parameter from the additive error."""
    return errors + 0.5 if law == "rounded" else np.maximum(np.sqrt(errors), ROUNDING_DEVIATION)


def _label(attribute: Attribute, code: int) -> str:
    from sdv_plausible.release.intervals.margins import code_label  # lazily: only errors need it

    return f"{attribute.name} {code_label(attribute, code)!s:.40}"
