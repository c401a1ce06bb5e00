"""Make SDV metadata: detected in a table, read from a file, or from column specifications."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sdv.errors import InvalidDataError

from sdv_plausible.fitting.arguments import VOTED
from sdv_plausible.fitting.reused_domain import columns_from_rows, has_inferred_types
from sdv_plausible.privacy.parameter_checks import Refused, one_of
from sdv_plausible.sdv.sdv_versions import TAKES_DICT
from sdv_plausible.table.columns.column_document import type_words, type_words_by_column
from sdv_plausible.table.declared.column_types import (
    DECLARED_TYPES,
    column_types,
    metadata_columns,
    person_spec,
)
from sdv_plausible.table.declared.declarations import explicit_domain_file, uses_metadata_values
from sdv_plausible.table.declared.specifications import MODELLED_SDTYPES, gets_placeholders


def detect_metadata(frame: pd.DataFrame, table_name: str = "table") -> Any:
    """Detect metadata in a table with SDV."""
    from sdv.metadata import Metadata

    return Metadata.detect_from_dataframes({table_name: frame})


def load_metadata(path: Path, more: Mapping[str, dict[str, Any]] | None = None) -> Any:
    """Read metadata from SDV's JSON file, with ``more`` columns."""
    from sdv.metadata import Metadata

    metadata = Metadata.load_from_json(str(path))
    if not more:
        return metadata
    document = metadata.to_dict()
    next(iter(document["tables"].values()))["columns"].update(more)
    return Metadata.load_from_dict(document)


def metadata_from_columns(columns: dict[str, dict[str, Any]], table_name: str = "table") -> Any:
    """Make metadata from column specifications, which count as stated."""
    if not TAKES_DICT:  # SDV 1.38 has no keys for ranges
        columns = type_words_by_column(columns)
    metadata = metadata_from_table({"columns": columns}, table_name)
    setattr(metadata, DECLARED_TYPES, {name: type_words(spec) for name, spec in columns.items()})
    return metadata


def metadata_from_table(table: dict[str, Any], table_name: str = "table") -> Any:
    """Make metadata from the document of one table."""
    from sdv.metadata import Metadata

    document: dict[str, Any] = {"tables": {table_name: table}, "relationships": []}
    if TAKES_DICT:
        document["METADATA_SPEC_VERSION"] = "V2"
    return Metadata.load_from_dict(document)


def metadata_of(domain: Any, table_name: str = "table") -> Any:
    """Make SDV metadata from declared types. Nothing is detected, and no row is read.

    Parameters
    ----------
    domain : Domain, mapping or path
        Declarations, as for the synthesizer. ``{"sdtype": "id"}`` alone declares the type of a column.
    table_name : str
        Name of the table.

    Returns
    -------
    sdv.metadata.Metadata
        With the declared columns.

    Raises
    ------
    ValueError
        If a declaration cannot be read, or has no sdtype.

    Examples
    --------
    >>> metadata_of({"age": {"range_min": 0, "range_max": 110}, "name": {"sdtype": "name"}})  # doctest: +SKIP
    """
    metadata = metadata_from_columns(
        {name: kind.words for name, kind in column_types(domain).items()}, table_name
    )
    file = explicit_domain_file(domain)
    if has_inferred_types(file):
        setattr(metadata, VOTED, True)
    for name in columns_from_rows(file):
        getattr(metadata, DECLARED_TYPES).pop(name, None)
    return metadata


def check_metadata(metadata: Any) -> None:
    """Reject anything but SDV's metadata; SDV itself would fail with an unclear error."""
    if not hasattr(metadata, "_get_single_table_name") and not hasattr(metadata, "columns"):
        rule = "must be SDV Metadata with one table"
        raise Refused("metadata", type(metadata), rule, "metadata_of(domain) creates it from declarations")


def with_person(metadata: Any, name: str | None, domain: Any) -> Any:
    """The metadata with the type of the person column; unchanged for None."""
    if name is None or not hasattr(metadata, "to_dict") or not hasattr(type(metadata), "load_from_dict"):
        return metadata
    columns = metadata_columns(metadata)
    one_of("person", name, columns, of="one of the metadata's columns")
    declared = columns if uses_metadata_values(domain) else {} if domain is None else domain.columns
    words, document = person_spec(name, columns[name], declared), metadata.to_dict()
    if words == columns[name]:
        return metadata
    for table in document.get("tables", {"table": document}).values():
        if name in table.get("columns", {}):
            table["columns"][name] = words
    return type(metadata).load_from_dict(document)


def with_types(metadata: Any, columns: Mapping[str, Mapping[str, Any]]) -> Any:
    """The metadata with other column specifications, inferred or declared, and without keys."""
    # Keys and relationships may have been detected: that all ids differ is learned from the rows.
    document = metadata.to_dict()
    for table in document.get("tables", {"table": document}).values():
        table["columns"] = {name: dict(words) for name, words in columns.items()}
        for key in ("primary_key", "alternate_keys", "column_relationships"):
            table.pop(key, None)
    return type(metadata).load_from_dict(document)


def modelled_sdtypes(specs: Mapping[str, Mapping[str, Any]], keys: Collection[str] = ()) -> dict[str, str]:
    """Semantic types of the modelled columns."""
    sdtypes = {name: str(spec.get("sdtype")) for name, spec in specs.items() if name not in keys}
    return {name: sdtype for name, sdtype in sdtypes.items() if sdtype in MODELLED_SDTYPES}


def model_specs(
    table: pd.DataFrame,
    specs: Mapping[str, Mapping[str, Any]],
    transformers: Mapping[str, Any],
    computed: Collection[str] = (),
) -> dict[str, dict[str, Any]]:
    """Specifications of the columns of a processed table, in the metadata's order, from its schema."""
    # A transformer of the user makes a column numerical. SDV constraints computed the columns in ``computed``
    # from the rows, without a claim, and could not invert them after noise.
    order = {name: i for i, name in enumerate(specs)}
    reaching = {}
    for name in sorted(map(str, table.columns), key=lambda name: (order.get(name, len(order)), name)):
        spec, types = dict(specs.get(name, {})), pd.api.types
        if transformers.get(name) is not None or spec.get("sdtype") not in MODELLED_SDTYPES:
            numeric = types.is_numeric_dtype(table[name]) and not types.is_bool_dtype(table[name])
            spec = {"sdtype": "numerical" if numeric else "categorical", "transformed": True}
        elif name in computed:
            spec["transformed"] = True
        reaching[name] = spec
    return reaching


def check_labels(frame: pd.DataFrame) -> None:
    """Reject a table whose column names are not unique texts or integers."""
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
            f"data has several columns named {twice} (0 and '0' are the same name): give every column a "
            "unique name"
        )


def check_columns(frame: pd.DataFrame, known: Collection[str]) -> None:
    """Reject a table whose columns are not those of the metadata."""
    names = {*frame.columns.astype(str)}
    absent, unknown = sorted({*known} - names), sorted(names - {*known})
    if absent or unknown:
        missing = (
            [
                f"columns {absent} of the metadata are not in the data: add them, or remove them from "
                "the metadata"
            ]
            if absent
            else []
        )
        more = [f"columns {unknown} of the data are not in the metadata: add them there, or drop them"]
        raise InvalidDataError([*missing, *(more if unknown else [])])


def check_sdtypes(specs: Mapping[str, Mapping[str, Any]], keys: Collection[str]) -> None:
    """Reject columns that are neither modelled nor generated: SDV would copy their cells."""
    for name, spec in specs.items():
        if spec.get("sdtype") not in MODELLED_SDTYPES and not gets_placeholders(spec, name in keys):
            raise ValueError(
                f"column {name!r} (sdtype {spec.get('sdtype')!r}, pii False) can be neither modelled nor "
                "generated: set its sdtype to categorical, or remove pii"
            )


def check_assigned(
    specs: Mapping[str, Mapping[str, Any]], keys: Collection[str], transformers: Mapping[str, Any]
) -> None:
    """Reject columns to be generated whose transformer None makes SDV pass their cells to the model."""
    for name, spec in specs.items():
        handed_on = name in transformers and transformers[name] is None
        if handed_on and gets_placeholders(spec, name in keys):
            raise ValueError(
                f"column {name!r} (sdtype {spec.get('sdtype')!r}) has the transformer None, so SDV would "
                "release its cells unchanged: keep the transformer that SDV assigns, which generates "
                "placeholder values"
            )


def check_processed(frame: pd.DataFrame, wanted: Sequence[str] | None, processor: Any) -> None:
    """Reject rows that preprocess() did not return; ``wanted`` are its columns, if known."""
    names = sorted(frame.columns.astype(str))
    if wanted is not None and names != wanted:
        raise InvalidDataError([f"processed_data has columns {names}, and preprocess() returns {wanted}"])
    if getattr(processor, "_dtypes", None) is None:
        raise InvalidDataError(
            ["processed_data must come from preprocess() of this synthesizer: call that first, or call fit()"]
        )
