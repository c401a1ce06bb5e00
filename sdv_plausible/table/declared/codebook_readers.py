"""Which reader reads which code book."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sdv_plausible.extensions.codebooks.c45_names import read_c45_names
from sdv_plausible.extensions.codebooks.csv_codebook import read_csv_codebook
from sdv_plausible.extensions.codebooks.ddi import read_ddi
from sdv_plausible.extensions.codebooks.json_schema import read_json_schema
from sdv_plausible.extensions.codebooks.nist import looks_like, read_nist
from sdv_plausible.extensions.codebooks.pandera_schema import read_pandera
from sdv_plausible.extensions.codebooks.spss_syntax import read_spss_syntax
from sdv_plausible.extensions.codebooks.sql import read_sql
from sdv_plausible.extensions.codebooks.statistics_files import read_statistics_file
from sdv_plausible.extensions.codebooks.table_schema import looks_like as looks_like_a_table_schema
from sdv_plausible.extensions.codebooks.table_schema import read_table_schema
from sdv_plausible.table.declared.codebook import Codebook, read_document, with_open_digits
from sdv_plausible.table.declared.spec_words import MODELLED_SDTYPES, VALUE_WORDS
from sdv_plausible.table.declared.specifications import declared_attribute
from sdv_plausible.utils.input_files import check_given
from sdv_plausible.utils.printable import visible

Reader = Callable[[Path], Codebook]
READERS: Mapping[str, Reader] = {
    "c45": read_c45_names,
    "csv": read_csv_codebook,
    "ddi": read_ddi,
    "frictionless": read_table_schema,
    "json-schema": read_json_schema,
    "nist": read_nist,
    "pandera": read_pandera,
    "sps": read_spss_syntax,
    "sql": read_sql,
    "statistics": read_statistics_file,
}
_BY_ENDING = {
    ".csv": "csv", ".xml": "ddi", ".json": "json", ".yaml": "pandera", ".yml": "pandera", ".sps": "sps",
    ".sql": "sql", ".ddl": "sql", ".sav": "statistics", ".zsav": "statistics", ".dta": "statistics",
    ".names": "c45",
}  # fmt: skip


def read_codebook(path: str | Path, form: str | None = None) -> Codebook:
    """Read what a code book declares, each column with the file's name as its source.

    Raises
    ------
    ValueError
        If the file is damaged or of another form: one line with the file, the place and what to do.
    """
    path = Path(path)
    if form is not None and form not in READERS:
        raise ValueError(f"format ({form!r}) must be one of {', '.join(READERS)}")
    try:
        form = form or _form(path)
        check_given(path)
        return _usable(READERS[form](path)).citing(path.name)
    except RecursionError:
        raise ValueError(f"{path} nests too deeply to be read: write it flat") from None
    except ValueError as error:  # of a column or a cell: the file is named here, whoever found the fault
        text = visible(" ".join(str(error).split()), keep="")
        raise ValueError(text if str(path) in text else f"{path}: {text}") from error


def _usable(found: Codebook) -> Codebook:
    """The same as a fit takes it; what contradicts itself is refused."""
    columns: dict[str, Mapping[str, Any]] = {}
    messages = list(found.messages)
    for name, said in found.columns.items():
        words, sdtype = with_open_digits(said), said.get("sdtype")
        if sdtype in MODELLED_SDTYPES:
            declared_attribute(name, words)
        elif sdtype is not None and (unused := [word for word in words if word in VALUE_WORDS]):
            words = {word: value for word, value in words.items() if word not in unused}
            messages.append(
                (name, f"of type {sdtype!r}, which is invented anew: {', '.join(unused)} not used")
            )
        columns[name] = words
    return replace(found, columns=columns, messages=tuple(messages))


def _form(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in _BY_ENDING:
        raise ValueError(
            f"{path}: nothing reads code books that end in {ending!r}; known are {', '.join(_BY_ENDING)}; or "
            f"say which it is: {', '.join(READERS)}"
        )
    return _json_form(path) if ending == ".json" else _BY_ENDING[ending]


def _json_form(path: Path) -> str:
    """Four kinds of code book are JSON, and none has the keys of another."""
    document = read_document(path)
    if isinstance(document, dict):
        if "schema_type" in document:
            return "pandera"
        if looks_like_a_table_schema(document):
            return "frictionless"
        if "properties" in document and not looks_like(document):
            return "json-schema"
    return "nist"
