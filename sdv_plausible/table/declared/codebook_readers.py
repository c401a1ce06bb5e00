"""Find the reader of a code book, and read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sdv_plausible.table.declared.codebook import (
    Codebook,
    CodebookReader,
    read_document,
    with_unknown_decimals,
)
from sdv_plausible.table.declared.spec_words import MODELLED_SDTYPES, VALUE_WORDS
from sdv_plausible.table.declared.specifications import declared_attribute
from sdv_plausible.utils.entry_points import extension, extension_names
from sdv_plausible.utils.input_files import check_regular_file
from sdv_plausible.utils.printable import escape_controls

CODEBOOK_FORMATS = extension_names("codebook")
"""Formats of code books that installed packages read."""


def read_codebook(path: str | Path, form: str | None = None) -> Codebook:
    """Read the declarations of a code book, citing the file's name as source.

    Raises
    ------
    ValueError
        If the file is damaged or has another format. One line with the file, the place and the way out.
    """
    path = Path(path)
    if form is not None and form not in CODEBOOK_FORMATS:
        raise ValueError(f"format ({form!r}) must be one of {', '.join(CODEBOOK_FORMATS)}")
    try:
        form = form or _form(path)
        check_regular_file(path)
        return _usable(_reader(form).read(path)).with_source(path.name)
    except RecursionError:
        raise ValueError(f"{path} nests too deeply to be read: write it flat") from None
    except ValueError as error:  # add the file to errors about a column or cell
        text = escape_controls(" ".join(str(error).split()), keep="")
        raise ValueError(text if str(path) in text else f"{path}: {text}") from error


def _usable(codebook: Codebook) -> Codebook:
    """The code book as a fit accepts it; raises ValueError for contradictory declarations."""
    columns: dict[str, Mapping[str, Any]] = {}
    messages = list(codebook.messages)
    for name, declaration in codebook.columns.items():
        usable, sdtype = with_unknown_decimals(declaration), declaration.get("sdtype")
        if sdtype in MODELLED_SDTYPES:
            declared_attribute(name, usable)
        elif sdtype is not None and (unused := [key for key in usable if key in VALUE_WORDS]):
            usable = {key: value for key, value in usable.items() if key not in unused}
            messages.append(
                (name, f"of type {sdtype!r}, which is invented anew: {', '.join(unused)} not used")
            )
        columns[name] = usable
    return replace(codebook, columns=columns, messages=tuple(messages))


def _reader(form: str) -> CodebookReader:
    reader: CodebookReader = extension("codebook", form)
    return reader


def _form(path: Path) -> str:
    """Format of a file by its extension, or by its content for JSON."""
    ending = path.suffix.lower()
    forms = [form for form in CODEBOOK_FORMATS if ending in _reader(form).endings]
    if not forms:
        endings = dict.fromkeys(ending for form in CODEBOOK_FORMATS for ending in _reader(form).endings)
        raise ValueError(
            f"{path}: nothing reads code books that end in {ending!r}; known are {', '.join(endings)}; or "
            f"say which it is: {', '.join(CODEBOOK_FORMATS)}"
        )
    if len(forms) > 1:
        document = read_document(path)
        fitting = [form for form in forms if (test := _reader(form).recognizes) and test(document)]
        if not fitting:
            raise ValueError(
                f"{path} has the form of no code book that is read: {', '.join(forms)}; say which it is"
            )
        return fitting[0]
    return forms[0]
