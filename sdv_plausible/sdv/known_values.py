"""Draw rows whose known values differ, all at once.

SDV draws each distinct combination of known values by itself, which takes 60 ms each.
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
    """Whether the model can condition on every known column; ``plain`` columns are not transformed by SDV."""
    columns = rules.whole(codec.domain)
    names = list(conditions.columns)
    if not sampler.samples_conditions or not set(names) <= {*columns.names} & {*plain}:
        return False
    reversible = {name for rule in rules.rule_set.deriving_rules if rule.reversible for name in rule.made}
    is_complete = all(
        set(rule.made) <= set(names) or not set(rule.made) & set(names)
        for rule in rules.rule_set.deriving_rules
    )
    return is_complete and set(names) & set(rules.made) <= reversible and conditions.index.nlevels == 1


def draw_rows(
    conditions: pd.DataFrame, sampler: Sampler, codec: Codec, rules: FittedRules, rng: KeyedRNG
) -> pd.DataFrame:
    """Draw a row of the table for each row of conditions, in their order."""
    conditions = conditions.reset_index(drop=True).apply(_with_nan)
    given, names = rules.condition_rows(conditions), codec.domain.names
    codes, conditioned = dict[str, np.ndarray](), dict[str, np.ndarray]()
    for name in (name for name in given if name in names):
        # A missing cell in a column without missing values is filled in after drawing.
        mask = codec.domain[name].nullable | given[name].notna().to_numpy()
        codes[name], conditioned[name] = np.zeros(len(given), dtype=np.int32), mask
        codes[name][mask] = codec.encode_values(name, given[name][mask])
    known = {names.index(name): codes[name] for name in codes}
    masks = np.stack([conditioned[name] for name in codes], axis=1)

    def rows(wanted: np.ndarray, number: int) -> pd.DataFrame:
        own = rng.spawn("round", number)
        drawn = np.zeros((len(wanted), len(names)), dtype=np.int32, order="F")
        patterns, pattern_of = np.unique(masks[wanted], axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            at = np.flatnonzero(pattern_of.reshape(-1) == i)
            fixed = {j: known[j][wanted[at]] for j, is_known in zip(known, pattern, strict=True) if is_known}
            stream = own.spawn("pattern", i)
            drawn[at] = sampler.sample_each(fixed, stream) if fixed else sampler.sample(len(at), {}, stream)
        table = codec.decode(drawn, own.spawn("inside the bins"))
        for name in given:
            if name in table:
                table[name] = given[name].to_numpy()[wanted]
        return rules.unfold(table)

    return rules.draw_each(len(given), rows, rules.whole(codec.domain))


def _with_nan(values: pd.Series[Any]) -> pd.Series[Any]:
    """Known values in the types of a decoded table: NaN where missing, numbers as numbers."""
    kind = values.dtype.kind if isinstance(values.dtype, np.dtype) else "O"
    if kind in "biuf" or pd.api.types.is_datetime64_any_dtype(values.dtype):
        return values
    return values.astype(object).where(values.notna(), np.nan).infer_objects()


def with_exact_values(table: pd.DataFrame, conditions: pd.DataFrame) -> pd.DataFrame:
    """Rows with the known numbers as given, and the index of the conditions."""
    for name in conditions.columns:
        if pd.api.types.is_float_dtype(table[name].dtype):
            table[name] = pd.to_numeric(conditions[name], errors="coerce").to_numpy(dtype=float)
    return table.set_axis(pd.Index(conditions.index.to_numpy()), axis=0).sort_index(kind="stable")


def digest_of(conditions: pd.DataFrame) -> str:
    """Digest of conditions, which names the random stream of a call."""
    text: Any = conditions.to_csv(index=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
