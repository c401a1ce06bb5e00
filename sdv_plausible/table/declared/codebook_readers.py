"""Which reader reads which code book."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sdv_plausible.table.declared.codebook import Codebook, CodebookReader, read_document, with_open_digits
from sdv_plausible.table.declared.spec_words import MODELLED_SDTYPES, VALUE_WORDS
from sdv_plausible.table.declared.specifications import declared_attribute
from sdv_plausible.utils.entry_points import extension, extension_names
from sdv_plausible.utils.input_files import check_given
from sdv_plausible.utils.printable import visible

FORMS = extension_names("codebook")
"""Forms of code books that installed packages read."""


def read_codebook(path: str | Path, form: str | None = None) -> Codebook:
    """Read what a code book declares, each column with the file's name as its source.

    Raises
    ------
    ValueError
        If the file is damaged or of another form: one line with the file, the place and what to do.
    """
    path = Path(path)
    if form is not None and form not in FORMS:
        raise ValueError(f"format ({form!r}) must be one of {', '.join(FORMS)}")
    try:
        form = form or _form(path)
        check_given(path)
        return _usable(_reader(form).read(path)).citing(path.name)
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


def _reader(form: str) -> CodebookReader:
    found: CodebookReader = extension("codebook", form)
    return found


def _form(path: Path) -> str:
    """Form of a file by its ending; of JSON, by its content."""
    ending = path.suffix.lower()
    forms = [form for form in FORMS if ending in _reader(form).endings]
    if not forms:
        known = dict.fromkeys(ending for form in FORMS for ending in _reader(form).endings)
        raise ValueError(
            f"{path}: nothing reads code books that end in {ending!r}; known are {', '.join(known)}; or "
            f"say which it is: {', '.join(FORMS)}"
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
