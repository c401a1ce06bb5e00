"""Rows with known values of their own each, drawn all at once; SDV draws combination by combination.

SDV takes 60 ms for each distinct combination, nearly all of it for tables of one row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.mechanism.drawing.sampler import Sampler
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.rules.rule_set import FittedRules
from sdv_plausible.table.codec import Codec


def can_be_batched(
    conditions: pd.DataFrame, sampler: Sampler, codec: Codec, rules: FittedRules, plain: Collection[str]
) -> bool:
    """Whether all rows can be drawn at once: the model conditions on every known column; else SDV rejects.

    ``plain`` are the columns that SDV does not transform.
    """
    whole = rules.whole(codec.domain)
    names = list(conditions.columns)
    if not sampler.samples_conditions or not set(names) <= {*whole.names} & {*plain}:
        return False
    reversible = {name for rule in rules.rule_set.making if rule.reversible for name in rule.made}
    is_whole = all(
        set(rule.made) <= set(names) or not set(rule.made) & set(names) for rule in rules.rule_set.making
    )
    return is_whole and set(names) & set(rules.made) <= reversible and conditions.index.nlevels == 1


def drawn(
    conditions: pd.DataFrame, sampler: Sampler, codec: Codec, rules: FittedRules, coins: KeyedRNG
) -> pd.DataFrame:
    """A row of the table for each row of conditions, in their order."""
    conditions = conditions.reset_index(drop=True).apply(_with_nan)
    given, names = rules.given_each(conditions), codec.domain.names
    codes, asked = dict[str, np.ndarray](), dict[str, np.ndarray]()
    for name in (name for name in given if name in names):
        # Where a column is never missing, a missing cell asks nothing: it is put in.
        is_asked = codec.domain[name].nullable | given[name].notna().to_numpy()
        codes[name], asked[name] = np.zeros(len(given), dtype=np.int32), is_asked
        codes[name][is_asked] = codec.encode_values(name, given[name][is_asked])
    known = {names.index(name): codes[name] for name in codes}
    which = np.stack([asked[name] for name in codes], axis=1)

    def rows(wanted: np.ndarray, number: int) -> pd.DataFrame:
        own = coins.spawn("round", number)
        found = np.zeros((len(wanted), len(names)), dtype=np.int32, order="F")
        patterns, of_row = np.unique(which[wanted], axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            here = np.flatnonzero(of_row.reshape(-1) == i)
            mine = {j: known[j][wanted[here]] for j, is_asked in zip(known, pattern, strict=True) if is_asked}
            stream = own.spawn("pattern", i)
            found[here] = sampler.sample_each(mine, stream) if mine else sampler.sample(len(here), {}, stream)
        table = codec.decode(found, own.spawn("inside the bins"))
        for name in given:
            if name in table:
                table[name] = given[name].to_numpy()[wanted]
        return rules.unfold(table)

    return rules.draw_each(len(given), rows, rules.whole(codec.domain))


def _with_nan(values: pd.Series[Any]) -> pd.Series[Any]:
    """Known values of which missing ones are NaN, numbers as such: as a table has them that was decoded."""
    kind = values.dtype.kind if isinstance(values.dtype, np.dtype) else "O"
    if kind in "biuf" or pd.api.types.is_datetime64_any_dtype(values.dtype):
        return values
    return values.astype(object).where(values.notna(), np.nan).infer_objects()


def exactly(table: pd.DataFrame, conditions: pd.DataFrame) -> pd.DataFrame:
    """Rows with the known numbers as they were given, which were read as the column's values."""
    for name in conditions.columns:
        if pd.api.types.is_float_dtype(table[name].dtype):
            table[name] = pd.to_numeric(conditions[name], errors="coerce").to_numpy(dtype=float)
    return table.set_axis(pd.Index(conditions.index.to_numpy()), axis=0).sort_index(kind="stable")


def stream_of(conditions: pd.DataFrame) -> str:
    """What tells these conditions from others, for the coins of a call."""
    text: Any = conditions.to_csv(index=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
