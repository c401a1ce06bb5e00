"""Sampling rows from a release without SDV."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.models.base import PrefixModel
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.release.file.fake_columns import PartPosition, make_placeholders
from sdv_plausible.release.file.schema_section import TableSchema, cast_column
from sdv_plausible.rules.rule_set import FittedRules
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.columns.output_types import to_pandas_types
from sdv_plausible.table.columns.stored_types import restore_storage

PART_ROWS = 500_000  # rows per part of chunked sampling
# Measured peak bytes per cell of a modelled column and of a placeholder column.
MODELLED_BYTES, PLACEHOLDER_BYTES = 36, 160
_UNKNOWN_MEMORY = 64 * 2**30  # if the system reports nothing


def available_memory() -> int:
    """Available memory of this machine or of this process's limit, in bytes."""
    limits = []
    with suppress(OSError, ValueError, IndexError):
        meminfo = Path("/proc/meminfo").read_text(encoding="ascii").partition("MemAvailable:")[2]
        limits.append(1024 * int(meminfo.split()[0]))
    with suppress(OSError, ValueError):
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    with suppress(OSError, ValueError, AttributeError):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits, default=_UNKNOWN_MEMORY)


def check_memory(num_rows: int, modelled: int, invented: int) -> None:
    """Reject a table that does not fit in memory; the counts are of modelled and other columns."""
    needed = num_rows * (modelled * MODELLED_BYTES + invented * PLACEHOLDER_BYTES)
    available = available_memory()
    if needed > available:
        raise Refused(
            "num_rows",
            num_rows,
            f"needs about {needed / 2**30:,.1f} GiB at once, and {available / 2**30:,.1f} GiB of memory are "
            "there",
            "ask for fewer, or draw them part by part: sample_parts or sample_to_parquet of a Release, which "
            "release() gives",
        )


def sample_table(
    num_rows: int,
    given: Mapping[str, Any],
    *,
    domain: Domain,
    model: PrefixModel,
    seeds: ReleasedSeeds,
    schema: TableSchema,
    rules: FittedRules,
    locales: Sequence[str],
    coins: KeyedRNG,
    uniform: Sequence[str] = (),
    position: PartPosition = (0, 0),
) -> pd.DataFrame:
    """Draw rows (post-processing); an error if the ``given`` values have joint probability 0."""
    # ``uniform``: columns with uniform codes. ``position``: (rows before these, rows of the whole table).
    codec, attributes, given = Codec(domain), rules.whole(domain), rules.given(given)
    uniform_columns = _uniform_columns(uniform, given, domain)
    given_codes = _given_codes(given, codec, rules)

    def draw(num_wanted: int, number: int) -> pd.DataFrame:
        stream = coins if number == 0 else coins.spawn("again", number)
        codes = _draw_codes(num_wanted, given_codes, model, seeds, stream)
        for j in uniform_columns:
            codes[:, j] = stream.spawn("uniform", j).integers(domain.cardinalities[j], num_wanted)
        return decode_rows(codes, given, codec, rules, stream)

    table = rules.draw(num_rows, draw, attributes)
    # Decoded categories are already objects with NaN for missing, so no cast is needed.
    decoded_so = {a.name for a in domain if a.kind in ("categorical", "ordinal")} - set(given)
    streams = partial(coins.spawn, "invented")
    return complete_table(
        table, schema, attributes, streams, locales=locales, decoded_so=decoded_so, position=position
    )


def complete_table(
    table: pd.DataFrame,
    schema: TableSchema,
    whole: Domain,
    streams: Callable[[str], KeyedRNG],
    *,
    locales: Sequence[str],
    decoded_so: Collection[str] = (),
    position: PartPosition = (0, 0),
) -> pd.DataFrame:
    """Add the schema's missing columns with placeholder values, and set its order and dtypes."""
    columns = {}
    for column in schema.columns:
        name = column.name
        if name in table and ((name in decoded_so and column.dtype == object) or name not in whole):
            columns[name] = table[name]
        elif name in whole:
            columns[name] = cast_column(table[name], column.dtype)
        else:
            is_key, stream = name in schema.keys, streams(name)
            columns[name] = make_placeholders(
                column, len(table), stream, is_key=is_key, locales=locales, position=position
            )
    frame = restore_storage(to_pandas_types(pd.DataFrame(columns), whole), schema.storage, whole)
    frame.columns = pd.Index([column.label for column in schema.columns])
    return frame


def decode_rows(
    codes: np.ndarray, given: Mapping[str, Any], codec: Codec, rules: FittedRules, coins: KeyedRNG
) -> pd.DataFrame:
    """Decode rows: draw values inside bins, insert given values, and derive the rules' columns."""
    table = codec.decode(codes, coins.spawn("inside the bins"))
    for name, value in given.items():
        if name in table:
            table[name] = pd.Series([value] * len(table), index=table.index)
    return rules.unfold(table)


def _given_codes(given: Mapping[str, Any], codec: Codec, rules: FittedRules) -> dict[int, int]:
    """Codes of the given values."""
    names = codec.domain.names
    for name, value in given.items():
        if name in rules.made:
            rule = next(rule for rule in rules.rule_set.deriving_rules if name in rule.made)
            raise ValueError(
                f"given names {name!r}, which is made by the rule '{rule}': give the columns that it follows "
                "from"
            )
        if name not in names:
            raise ValueError(
                f"given names {name!r}, which is not a modelled column: rows can be conditioned on "
                f"{list(names)}"
            )
        codec.check_value(name, value, is_written=name not in rules.rule_set.added)
    return {names.index(name): codec.encode_value(name, value) for name, value in given.items()}


def _uniform_columns(names: Sequence[str], given: Mapping[str, Any], domain: Domain) -> list[int]:
    """Indices of the columns that are drawn uniformly ([DS], Algorithm 2: A_U)."""
    is_list = isinstance(names, Iterable) and not isinstance(names, str)
    if not is_list or not all(isinstance(name, str) and name in domain.names for name in names):
        raise Refused("uniform", names, f"must be a list of modelled columns, some of {list(domain.names)}")
    both = sorted(set(names) & set(given))
    if both:
        raise ValueError(f"uniform and given both name {both}: a column is either given or drawn")
    return [domain.names.index(name) for name in dict.fromkeys(names)]


def _draw_codes(
    num_rows: int, given_codes: Mapping[int, int], model: PrefixModel, seeds: ReleasedSeeds, coins: KeyedRNG
) -> np.ndarray:
    if not given_codes:
        return seeds.sample(num_rows, model, coins)
    codes = seeds.sample_given(num_rows, given_codes, model, coins)
    if len(codes) < num_rows:
        raise ValueError(
            "given: no row can have all of these values, their probability is 0: leave one of them out"
        )
    return codes
