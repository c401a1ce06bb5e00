"""What of a table and its metadata is schema, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sdv.errors import InvalidDataError

from sdv_plausible.privacy.parameter_checks import Refused, one_of
from sdv_plausible.table.declared.column_types import metadata_columns, person_words
from sdv_plausible.table.declared.declarations import says_written
from sdv_plausible.table.declared.spec_words import MODELLED_SDTYPES, is_invented


def check_metadata(metadata: Any) -> None:
    """Refuse what SDV would not know: it asks whatever it is given."""
    if not hasattr(metadata, "_get_single_table_name") and not hasattr(metadata, "columns"):
        rule = "must be SDV's Metadata of one table"
        raise Refused("metadata", type(metadata), rule, "metadata_of(domain) makes one of declarations")


def with_person(metadata: Any, name: str | None, domain: Any) -> Any:
    """Return the metadata in which the column that says whose a row is has its type; unchanged for None."""
    if name is None or not hasattr(metadata, "to_dict") or not hasattr(type(metadata), "load_from_dict"):
        return metadata
    columns = metadata_columns(metadata)
    one_of("person", name, columns, of="one of the metadata's columns")
    declared = columns if says_written(domain) else {} if domain is None else domain.columns
    words, document = person_words(name, columns[name], declared), metadata.to_dict()
    if words == columns[name]:
        return metadata
    for table in document.get("tables", {"table": document}).values():
        if name in table.get("columns", {}):
            table["columns"][name] = words
    return type(metadata).load_from_dict(document)


def with_types(metadata: Any, columns: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the metadata with other words of its columns, as a vote finds them or a declaration says them.

    Keys and relationships, which may have been detected, are left out: that all ids differ is of the rows.
    """
    document = metadata.to_dict()
    for table in document.get("tables", {"table": document}).values():
        table["columns"] = {name: dict(words) for name, words in columns.items()}
        for key in ("primary_key", "alternate_keys", "column_relationships"):
            table.pop(key, None)
    return type(metadata).load_from_dict(document)


def modelled(specs: Mapping[str, Mapping[str, Any]], keys: Collection[str] = ()) -> dict[str, str]:
    """Semantic types of the columns that are modelled."""
    found = {name: str(spec.get("sdtype")) for name, spec in specs.items() if name not in keys}
    return {name: sdtype for name, sdtype in found.items() if sdtype in MODELLED_SDTYPES}


def reaching(
    table: pd.DataFrame,
    specs: Mapping[str, Mapping[str, Any]],
    transformers: Mapping[str, Any],
    made: Collection[str] = (),
) -> dict[str, dict[str, Any]]:
    """Specification of every column that reaches the model, in the metadata's order.

    A user's own transformer makes it a number. Of the table its schema alone counts. ``made`` are columns
    that SDV's constraints made of the rows, without a claim: noise would only break what they make of them.
    """
    order = {name: i for i, name in enumerate(specs)}
    found = {}
    for name in sorted(map(str, table.columns), key=lambda name: (order.get(name, len(order)), name)):
        spec, types = dict(specs.get(name, {})), pd.api.types
        if transformers.get(name) is not None or spec.get("sdtype") not in MODELLED_SDTYPES:
            numeric = types.is_numeric_dtype(table[name]) and not types.is_bool_dtype(table[name])
            spec = {"sdtype": "numerical" if numeric else "categorical", "transformed": True}
        elif name in made:
            spec["transformed"] = True
        found[name] = spec
    return found


def check_labels(frame: pd.DataFrame) -> None:
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


def check_columns(frame: pd.DataFrame, known: Collection[str]) -> None:
    """Refuse a table whose columns are not those of the metadata: a look at the schema, not at a row."""
    names = {*frame.columns.astype(str)}
    absent, unknown = sorted({*known} - names), sorted(names - {*known})
    if absent or unknown:
        missing = [f"columns {absent} of the metadata are not in the data"] if absent else []
        more = [f"columns {unknown} of the data are not in the metadata: add them, or leave them out"]
        raise InvalidDataError([*missing, *(more if unknown else [])])


def check_sdtypes(specs: Mapping[str, Mapping[str, Any]], keys: Collection[str]) -> None:
    """Refuse columns that are neither modelled nor invented: only their rows would tell what they are."""
    for name, spec in specs.items():
        if spec.get("sdtype") not in MODELLED_SDTYPES and not is_invented(spec, name in keys):
            raise ValueError(
                f"column {name!r} (sdtype {spec.get('sdtype')!r}, pii False) is neither modelled nor "
                "invented: make its sdtype categorical, or leave pii out"
            )


def check_assigned(
    specs: Mapping[str, Mapping[str, Any]], keys: Collection[str], transformers: Mapping[str, Any]
) -> None:
    """Refuse columns of which SDV would hand cells on that are to be invented: no plan knows them."""
    for name, spec in specs.items():
        handed_on = name in transformers and transformers[name] is None
        if handed_on and is_invented(spec, name in keys):
            raise ValueError(
                f"column {name!r} (sdtype {spec.get('sdtype')!r}) has the transformer None, so that SDV "
                "would hand its cells on: leave it the one that SDV assigns, which invents them"
            )


def check_processed(frame: pd.DataFrame, wanted: Sequence[str] | None, processor: Any) -> None:
    """Refuse rows that are not what preprocess() returned; ``wanted`` are its columns where known."""
    names = sorted(frame.columns.astype(str))
    if wanted is not None and names != wanted:
        raise InvalidDataError([f"processed_data has columns {names}, and preprocess() returns {wanted}"])
    if getattr(processor, "_dtypes", None) is None:
        raise InvalidDataError(
            ["processed_data is what preprocess() of this synthesizer returns: call that first, or fit()"]
        )
