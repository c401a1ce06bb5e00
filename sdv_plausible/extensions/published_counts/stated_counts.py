"""Counts that others made and published, with the noise that they state, as answers about a domain."""

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
from sdv_plausible.table.columns.attribute import Attribute
from sdv_plausible.table.columns.cell_reader import PLAIN, read_again
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.declared.column_types import column_types

LAWS: Mapping[str, Noise] = {
    "gaussian": "discrete gaussian",
    "discrete gaussian": "discrete gaussian",
    "laplace": "discrete laplace",
    "discrete laplace": "discrete laplace",
    "exact": "rounded",
}
TAILS: tuple[Noise, ...] = ("discrete laplace", "discrete gaussian", "rounded")  # the longest first
PAID = "answers"  # the entry of the ledger
LEAST = 12**-0.5  # deviation of a count that was rounded to a whole one
MOST_CELLS = 10_000_000
LARGEST = 2.0**53


@dataclass(frozen=True, kw_only=True, eq=False)
class StatedCounts:
    """Counts over one or more columns, with the noise that their maker states.

    Parameters
    ----------
    table : DataFrame
        A line for each cell: its values, and the count. Values outside the domain are refused, and so are
        totals: they are no cells. Numbers that lie in one bin of the domain are added up.
    count : str
        Name of the column that holds the counts: finite numbers, rounded to whole ones.
    columns : sequence of str, optional
        Columns of the margin, named as in the domain; by default all but ``count`` and ``scale``.
    noise : {"gaussian", "laplace", "discrete gaussian", "discrete laplace", "exact"}
        Law of the independent noise on every count.
    scale : float or str
        Its parameter, > 0, or the name of a column that holds one for each count, >= 0: the standard
        deviation of Gaussian noise (also the standard error of a survey), b of Laplace noise. Of exact counts
        the unit that they were rounded to, by default 1.
    source : str, optional
        Who made them; needed for exact counts.
    privacy : str, optional
        What the maker states of their privacy, in words, such as ``"rho 0.01"``. Nobody checks it.
    unknown : tuple of two floats, optional
        Count and scale that stand for cells that are lacking or empty, such as those kept secret. By default
        such cells are refused.

    Raises
    ------
    ValueError
        If a parameter cannot be, or exact counts have no source.

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
            # of one line: no ledger that prints it shows a line that looks like a claim of its own
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
            count, wide = (check.non_negative("unknown", number) for number in self.unknown)
            object.__setattr__(self, "unknown", (count, check.positive("unknown", wide, "it is a scale")))
        columns = [name for name in self.table if name not in (self.count, scale)]
        columns = [self.columns] if isinstance(self.columns, str) else [*(self.columns or columns)]
        held = [*columns, self.count, *([scale] if isinstance(scale, str) else [])]
        check.all_there("table", [str(name) for name in held], [*map(str, self.table)])
        if not columns or len({*held}) < len(held) or not self.table.columns.is_unique:
            rule = "must be different columns, at least one, beside count and scale"
            raise Refused("columns", columns, rule)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "columns", tuple(columns))
        self._check_once(self._cells)

    @property
    def words(self) -> str:
        """Who made them, how noisy they are, and what is stated of their privacy: for a ledger."""
        noise = f"{self.noise} noise of scale "
        noise += f"in {self.scale!r}" if isinstance(self.scale, str) else rounded_up(float(self.scale or 0))
        how = "published as exact" if self.noise == "exact" else noise
        stated = f"states {self.privacy}" if self.privacy else "states no privacy"
        return f"{self.source or 'their maker'} {stated} for counts over {', '.join(self.columns)} ({how})"

    def added(self, *others: StatedCounts) -> StatedCounts:
        """Counts of several holders, each of people of its own, added up: variances add, too.

        Parameters
        ----------
        *others : StatedCounts
            Over the same columns and cells.

        Returns
        -------
        StatedCounts
            With Laplace noise in it, its law is that of the longest tails. Sources and statements are all
            named.

        Raises
        ------
        ValueError
            If they are over other columns or cells.
        """
        every, keys = (self, *others), [*self.columns]
        if any({*one.columns} != {*keys} for one in every):
            raise Refused.saying("others", f"others must be counts over {', '.join(keys)}: add up the rest")
        law = next(law for law in TAILS if law in {LAWS[one.noise] for one in every})
        cells = pd.concat([one._cells[keys] for one in every], ignore_index=True)
        groups = cells.groupby(keys, dropna=False, sort=False)
        if (lacking := int((groups.size() != len(every)).sum())) > 0:
            raise Refused.saying(
                "others",
                f"others: {lacking} cells over {', '.join(keys)} are not in all: give each, 0 with its "
                "noise where a holder has nobody",
            )
        numbers, at = [one.numbers(law) for one in every], groups.ngroup()
        counts, errors = (np.bincount(at, np.concatenate(each)) for each in zip(*numbers, strict=True))
        scale, unit = f"scale of {self.count}", 2 if law == "rounded" else 1
        table = cells.groupby(at).head(1).reset_index(drop=True)
        told = [f"{one.source or 'a holder'} {one.privacy}" for one in every if one.privacy]
        return StatedCounts(
            table=table.assign(**{self.count: counts, scale: unit * _parameter(errors, law)}),
            columns=keys, count=self.count, scale=scale, noise="exact" if law == "rounded" else law,
            source=", ".join(dict.fromkeys(one.source for one in every if one.source)) or None,
            privacy="; ".join(told) or None,
        )  # fmt: skip

    def numbers(self, law: Noise) -> tuple[np.ndarray, np.ndarray]:
        """Count of every line, and its error in the form that adds up, as one of this law."""
        counts, scales = self._read(self.count), np.zeros(len(self.table))
        scales[:] = self._read(self.scale) if isinstance(self.scale, str) else self.scale
        if self.unknown is not None:
            gone = np.isnan(counts)
            counts[gone], scales[gone] = self.unknown
        for name, bad, rule in (
            (self.count, ~(np.abs(counts) < LARGEST), "must be finite numbers"),
            (self.scale, ~((scales >= 0) & (scales < LARGEST)), "must be finite numbers of at least 0"),
            (self.count, (counts < 0) & (self.noise == "exact"), "must be at least 0, as they are exact"),
        ):
            if bad.any():
                raise self._refuse(
                    f"have {int(bad.sum())} cells of {name!r} that {rule}: mend them, or say what stands for "
                    "empty ones (unknown=(count, scale))"
                )
        return counts, _error(scales, LAWS[self.noise], law)

    @property
    def _cells(self) -> pd.DataFrame:
        """The lines' values, as they were given."""
        return self.table[[*self.columns]].astype(object)

    def _read(self, name: str) -> np.ndarray:
        """Numbers of a column; what is none is NaN."""
        read = pd.to_numeric(self.table[name], errors="coerce")
        return read.to_numpy(dtype=float, copy=True, na_value=np.nan)

    def _check_once(self, cells: pd.DataFrame) -> None:
        if twice := int(cells.duplicated().sum()):
            raise self._refuse(f"have {twice} cells twice: add them up, or choose one year, region or unit")

    def _refuse(self, rule: str) -> Refused:
        return Refused.saying("answers", f"counts over {listed([*map(str, self.columns)])} {rule}")

    # --- about a domain ---------------------------------------------------------------------------

    def answer(self, domain: Domain) -> NoisyAnswer:
        """The counts as an answer about a domain.

        Raises
        ------
        ValueError
            If columns or cells are not those of the domain.
        """
        if unknown := [name for name in self.columns if name not in domain]:
            near = check.suggestion(str(unknown[0]), domain.names)
            raise self._refuse(
                f"name {unknown}, which are no modelled columns of the domain, {listed(domain.names)}{near}: "
                "rename them, declare them, or add the counts up over them"
            )
        attributes, law = [domain[name] for name in self.columns], LAWS[self.noise]
        sizes, (counts, errors) = [a.cardinality for a in attributes], self.numbers(law)
        if math.prod(sizes) > MOST_CELLS:
            rule = f"have {math.prod(sizes):,} cells, of at most {MOST_CELLS:,}: give fewer columns together"
            raise self._refuse(rule)
        at = np.ravel_multi_index(self._codes(domain), sizes)
        lines, summed, error = (np.bincount(at, w, math.prod(sizes)) for w in (None, counts, errors))
        lacking = (lines == 0) & self._can_be(domain).ravel()
        if self.unknown is not None:
            summed[lacking], error[lacking] = self.unknown[0], _error(self.unknown[1], law, law)
        elif lacking.any():
            first = zip(attributes, np.unravel_index(int(np.argmax(lacking)), sizes), strict=True)
            raise self._refuse(
                f"lack {int(lacking.sum()):,} of {len(lacking):,} cells, first "
                f"{', '.join(_label(a, int(code)) for a, code in first)}: give each, 0 where nobody is, or "
                "say what stands for those that are kept secret (unknown=(count, scale))"
            )
        scales = _parameter(error, law)
        details: dict[str, Any] = {SOURCE: self.source or "not named"}
        if differ := bool(np.ptp(scales)):
            details[SCALES] = tuple(scales.tolist())
        axes = (Axis.of_codes(domain.names.index(a.name), a.cardinality) for a in attributes)
        return NoisyAnswer(
            asked=QueryRecord(kind="counts", tables=(tuple(axes),), details=details),
            values=np.rint(summed).astype(np.int64).reshape(sizes), noise=law,
            scale=math.sqrt(float((scales**2).mean())) if differ else float(scales[0]), paid_by=(PAID,),
        )  # fmt: skip

    def _can_be(self, domain: Domain) -> np.ndarray:
        """Which cells can hold anybody, by the rules."""
        numbers = [domain.names.index(name) for name in self.columns]
        found = np.ones([domain.cardinalities[j] for j in numbers], dtype=bool)
        for (i, j), cells in domain.possible.items():
            if i in numbers and j in numbers:
                at = numbers.index(i), numbers.index(j)
                turned = cells if at[0] < at[1] else cells.T
                found &= turned.reshape([size if axis in at else 1 for axis, size in enumerate(found.shape)])
        return found

    def _codes(self, domain: Domain) -> list[np.ndarray]:
        """Codes of the lines' cells, column by column: each is a value of the domain."""
        given, codec, codes = self._cells, Codec(domain), []
        types = {name: one for name, one in column_types(domain).items() if name in self.columns}
        table = read_again(given, types, PLAIN)
        self._check_once(table)  # "1" and 1 are one cell, and so are all that are missing
        for name in self.columns:
            cells = table[name]
            for place in np.flatnonzero(~cells.duplicated()):
                try:
                    codec.check_value(name, cells.iloc[place], is_written=False)
                except ValueError:
                    raise self._refuse(
                        f"have a cell {shown(given[name].iloc[place]):.80}, which column {name!r} of the "
                        "domain does not hold: declare it, translate it, or leave totals out"
                    ) from None
            codes.append(ColumnCodec(domain[name]).encode(cells))
        return codes


def _error(scales: Any, own: Noise, law: Noise) -> Any:
    """The form that adds up: of rounded counts their largest error, of noise the square of its parameter."""
    if own == "rounded":
        scales = np.floor(np.asarray(scales) / 2)  # of whole counts that were rounded to this unit
    return scales if law == "rounded" else (DEVIATION[own] / DEVIATION[law] * scales) ** 2


def _parameter(errors: np.ndarray, law: Noise) -> np.ndarray:
    """Back from that form."""
    return errors + 0.5 if law == "rounded" else np.maximum(np.sqrt(errors), LEAST)


def _label(attribute: Attribute, code: int) -> str:
    from sdv_plausible.release.intervals.margins import code_label  # of an error alone

    return f"{attribute.name} {code_label(attribute, code)!s:.40}"
