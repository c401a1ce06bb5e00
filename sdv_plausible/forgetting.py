"""What SDV's own processing learned from the rows and must not carry into the output or a saved object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sdv_plausible.domain import Domain
from sdv_plausible.output_types import row_independent
from sdv_plausible.privacy.coins import Coins


def forget_rows(processor: Any, specs: Mapping[str, Mapping[str, Any]], coins: Coins) -> None:
    """Remove what SDV's generators of ids and personal data learned from the rows.

    RDT seeds them with a hash of the first five real values, lets them repeat the real share of missing values, keeps
    the number of rows, and gives unknown numbers as many digits as the largest has: all of it would carry facts about
    single rows into the output or the saved object.
    """
    for name, transformer in processor._hyper_transformer.field_transformers.items():
        if transformer is None or not transformer.is_generator():
            continue
        if getattr(transformer, "_nan_frequency", 0.0):
            transformer._nan_frequency = 0.0
        transformer.random_seed = int(coins.spawn(str(name)).integers(2**32 - 1))
        if hasattr(transformer, "_faker_random_seed"):
            transformer._faker_random_seed = transformer.random_seed
        if hasattr(transformer, "data_length"):
            transformer.data_length = 0
        if specs.get(name, {}).get("sdtype") == "unknown" and transformer.function_name == "numerify":
            size = getattr(processor._dtypes[name], "itemsize", 8)
            transformer.function_kwargs = {"text": "%" + "#" * {1: 1, 2: 3}.get(size, 8)}
        transformer.reset_randomization()


def forget_types(processor: Any, domain: Domain, specs: Mapping[str, Mapping[str, Any]]) -> None:
    """Write output columns in types, and in the codec's own format, that depend on no single row."""
    processor._dtypes = row_independent(processor._dtypes, domain, specs)
    for attribute in domain:
        if attribute.provenance != "inferred":
            processor.formatters.pop(attribute.name, None)
