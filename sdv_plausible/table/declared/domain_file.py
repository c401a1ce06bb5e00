"""The domain file: declarations as JSON, where each came from, and which were looked at beside the rows.

A declaration is free because it was made without the rows. Whoever sees on a screen whether the rows fit, and
then changes the words, has read them off the rows: the file keeps a digest of the words that were looked at,
and says so unless a public source is cited.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused, listed, suggestion
from sdv_plausible.table.cells.cell_documents import write_value
from sdv_plausible.table.columns.domain import (
    Attribute,
    read_attribute,
    read_looks,
    write_attribute,
    written_looks,
)
from sdv_plausible.table.declared.spec_words import MODELLED_SDTYPES, check_names, read_words
from sdv_plausible.table.declared.specifications import told_sdtype
from sdv_plausible.utils.atomic_files import write_whole
from sdv_plausible.utils.input_files import read_given
from sdv_plausible.utils.strict_json import strict_json

SCHEMA = "sdv-plausible-declarations/1"
_KEYS = ("$schema", "schema", "detected", "columns", "looked", "looked_rules", "rules_source", "learned")


@dataclass(frozen=True, kw_only=True)
class DomainFile:
    """Declarations with their history."""

    # Column name -> declaration in SDV's words, with ``source``: the public text that it was taken from
    columns: Mapping[str, Any]
    # Column name -> digest of its words when they were first compared with the rows, or cells shown
    looked: Mapping[str, str] = field(default_factory=dict)
    # Whether the file was written by something that read the rows: none of it is then a declaration
    detected: bool = False
    editor_schema: str | None = None  # what ``"$schema"`` says, for editors
    # What learning some columns cost; they are Attributes, or have the form of one, with a ``kind``
    learned: Mapping[str, Any] | None = None
    # Digests of the rules when rows that break one were first counted; None before
    looked_rules: tuple[str, ...] | None = None
    rules_source: str | None = None  # the public text that rules changed after that are taken from
    # What is said of columns whose type is open: words without it, which hold whatever the type is
    beside: Mapping[str, Any] = field(default_factory=dict)

    @property
    def private(self) -> tuple[str, ...]:
        """Columns that were learned privately, and are to be paid for by whoever uses them."""
        return tuple(name for name, words in self.columns.items() if _provenance(words) == "private")

    @property
    def edited(self) -> tuple[str, ...]:
        """Columns whose words were changed after the rows were looked at, and that cite no public source."""
        return tuple(
            name
            for name, words in self.columns.items()
            if name in self.looked
            and self.looked[name] != digest(words)
            and not (isinstance(words, Mapping) and words.get("source"))
        )

    def without_blanks(self) -> DomainFile:
        """What is declared, without the columns that a template left blank."""
        blank = {name: words for name, words in self.columns.items() if is_blank(words)}
        said = {n: {w: v for w, v in words.items() if v is not None} for n, words in blank.items()}
        said = {name: words for name, words in said.items() if words.keys() - {"source"}}
        columns = {name: words for name, words in self.columns.items() if name not in blank}
        return replace(self, columns=columns, beside={**self.beside, **said})

    def with_types(self, found: Mapping[str, Mapping[str, Any]]) -> DomainFile:
        """The file once types are known that were open, with what is said of their columns beside."""
        more = {
            name: {**words, "sdtype": found[name]["sdtype"]}
            for name, words in self.beside.items()
            if found.get(name, {}).get("sdtype") in MODELLED_SDTYPES and name not in self.columns
        }
        return replace(self, columns={**self.columns, **more}, beside={}) if more else self

    def declarations(self) -> dict[str, Any]:
        """Words by column as the synthesizer takes them, each with what ends its claim."""
        edited, found = frozenset(self.edited), {}
        if self.learned is None and self.private:
            raise ValueError(
                f"column {self.private[0]!r} was learned privately, and what that cost ('learned') is not "
                "with it: give the Domain or file whole, as get_domain (of a release: from_release first), "
                "Domain.save or declare --private made it, or learn the domain anew (version 0.1 saved none)"
            )
        for name, given in self.columns.items():
            words = given
            if isinstance(given, Attribute) or (isinstance(given, Mapping) and "kind" in given):
                words = self._attribute(name, given, name in edited)
            elif isinstance(given, Mapping):
                if is_blank(given):
                    raise ValueError(
                        f"column {name!r}: fill in sdtype (null now), such as 'numerical', 'categorical', "
                        "'datetime' or 'id'; or take the column out of the file"
                    )
                words = {**read_words(name, given), **({"detected": True} if self.detected else {})}
                if name in edited:
                    words["provenance"] = "edited"
            found[name] = words
        return found

    def _attribute(self, name: str, given: Attribute | Mapping[str, Any], is_edited: bool) -> Attribute:
        if not isinstance(given, Attribute) and "name" in given:
            raise ValueError(f"column {name!r}: its name stands before its words: leave 'name' out")
        found = given if isinstance(given, Attribute) else read_attribute({"name": name, **given})
        if self.detected or is_edited:
            return replace(found, provenance="inferred" if self.detected else "edited")
        return found

    def looked_at(self, names: Collection[str], rules: Collection[str] | None = None) -> DomainFile:
        """The file after these columns were compared with the rows; the first look at a column counts."""
        # A column that is not declared counts as a blank: what is declared of it later may repeat it.
        # ``rules`` are digests, if rows that break one were counted.
        ordered = [*(name for name in self.columns if name in names), *sorted({*names} - {*self.columns})]
        new = {name: digest(self.columns.get(name, {})) for name in ordered}
        first = self.looked_rules if rules is None or self.looked_rules is not None else tuple(sorted(rules))
        return replace(self, looked={**new, **self.looked}, looked_rules=first)

    def paid_for(self, learned: Mapping[str, Any]) -> DomainFile:
        """The file after columns were learned: what was paid for repeats nothing of what a look has shown.

        Parameters
        ----------
        learned : mapping
            Column name -> words, as they were learned.
        """
        paid = {name: digest(words) for name, words in learned.items() if name in self.looked}
        return replace(self, looked={**self.looked, **paid})

    def has_other_rules(self, rules: Collection[str]) -> bool:
        """Whether rules (their digests) are not those that were compared with the rows."""
        return self.looked_rules is not None and set(rules) != set(self.looked_rules)

    def to_dict(self) -> dict[str, Any]:
        """Plain form for JSON; :meth:`of` reads it back."""
        return {
            **({} if self.editor_schema is None else {"$schema": self.editor_schema}),
            "schema": SCHEMA,
            **({"detected": True} if self.detected else {}),
            "columns": dict(self.columns),
            **written_looks(self),
            **({} if self.rules_source is None else {"rules_source": self.rules_source}),
            **({} if self.learned is None else {"learned": dict(self.learned)}),
        }

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all."""
        write_whole(path, self.to_json())

    def to_json(self) -> str:
        """JSON text of :meth:`to_dict`: a line for each column."""
        plain = self.to_dict()
        for key, value in plain.items():
            if key in ("columns", "looked"):
                lines = [f"  {_json(name)}: {_json(words)}" for name, words in value.items()]
                plain[key] = "{\n" + ",\n".join(lines) + "\n }" if lines else "{}"
            else:
                plain[key] = _json(value)
        parts = [f" {_json(key)}: {text}" for key, text in plain.items()]
        return "{\n" + ",\n".join(parts) + "\n}\n"

    @classmethod
    def of(cls, document: Mapping[str, Any], what: str = "domain file") -> DomainFile:
        """Read what :meth:`to_dict` wrote, or a bare mapping from names to words."""
        if not isinstance(document.get("schema"), str):
            check_names(document, what)
            inner = document.get("columns")
            if isinstance(inner, Mapping) and inner and all(isinstance(w, Mapping) for w in inner.values()):
                raise ValueError(
                    f"{what}: the key 'schema' is not there, and 'columns' declares {listed([*inner])}: add "
                    f'"schema": "{SCHEMA}"'
                )
            return cls(columns=document)
        if document["schema"] != SCHEMA:
            raise ValueError(
                f"{what}: its 'schema' ({document['schema']!r:.60}) must be {SCHEMA!r}, or that "
                "of Domain.save"
            )
        for key in document:
            if key not in _KEYS:
                hint = suggestion(str(key), _KEYS) or f"; known are {', '.join(_KEYS)}"
                raise ValueError(f"{what}: the key {key!r} means nothing{hint}")
        columns, looks = document.get("columns"), read_looks(document, what)
        detected, editor = document.get("detected", False), document.get("$schema")
        if not isinstance(columns, Mapping):
            raise ValueError(f"{what}: 'columns' must map names to declarations such as {{'sdtype': 'id'}}")
        check_names(columns, what)
        if not isinstance(detected, bool) or not isinstance(editor, (str, type(None))):
            raise ValueError(f"{what}: 'detected' must be true or false, '$schema' text")
        learned = document.get("learned")
        if not isinstance(learned, (Mapping, type(None))):
            raise ValueError(f"{what}: 'learned' must be what was written there: put back the file as it was")
        source = document.get("rules_source")
        if not isinstance(source, (str, type(None))) or source == "":
            raise ValueError(f"{what}: 'rules_source' must name the public text that the rules are from")
        return cls(
            columns=columns, detected=detected, editor_schema=editor, learned=learned, rules_source=source,
            **looks,
        )  # fmt: skip


def read_json(path: Path, name: str = "domain", also: str = 'declarations, or "written"') -> Any:
    """A JSON document in which no name occurs twice, for a parameter that may hold something else, too."""
    try:
        data = read_given(path, name)
    except FileNotFoundError as error:
        said = f"{error.strerror}; {name} must be the path of a file that is there, {also}"
        raise OSError(error.errno, said, str(path)) from None
    try:
        return strict_json(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        fault = f"line {line} is not UTF-8: save it in that encoding"
    except json.JSONDecodeError as error:
        fault = f"at line {error.lineno}, column {error.colno}: {error.msg}; it may be cut off: get it anew"
    except ValueError as error:
        fault = f"{error}: mend it, or get it anew"
    raise Refused.saying(name, f"{name} ({str(path)!r}) is not a JSON file: {fault}")


def digest(words: Any) -> str:
    """SHA-256 of a column's words as canonical JSON; sources do not count, nor what is null."""
    if isinstance(words, Attribute):  # whose provenance is what the digest tells
        with suppress(ValueError):  # of values that no file can hold
            words = {**write_attribute(words), "provenance": None}
    if isinstance(words, Mapping):
        words = {key: value for key, value in words.items() if key != "source" and value is not None}
    text = json.dumps(words, sort_keys=True, separators=(",", ":"), default=_whole)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _whole(value: Any) -> Any:
    """What JSON has no words for, in full: an array's own text leaves values out."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic, pd.Series, pd.Index)) else str(value)


def is_blank(words: Any) -> bool:
    """Whether a column of a template was not filled in."""
    return isinstance(words, Mapping) and words.get("sdtype", "") is None and told_sdtype(words) is None


def _provenance(words: Any) -> str | None:
    """Where the value set of a finished column is from; None of one in words."""
    if isinstance(words, Attribute):
        return words.provenance
    return words.get("provenance") if isinstance(words, Mapping) and "kind" in words else None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=write_value)


def read_domain_file(path: str | Path) -> DomainFile:
    """Read a domain file, or a bare mapping from names to declarations; a finished domain is none."""
    document = read_json(Path(path))
    if not isinstance(document, dict):
        raise ValueError(f"{str(path)!r} is no domain file: it must map names of columns to declarations")
    return DomainFile.of(document, str(path))


BLANK: Mapping[str, Any] = {"sdtype": None}
"""Of a column of which nothing is known but its name: a type read off the cells would be the rows'."""


def drafted(
    names: Sequence[str], said: Mapping[str, Mapping[str, Any]] | None = None, start: DomainFile | None = None
) -> DomainFile:
    """Draft a domain file from a table's header alone: what ``start`` declares, or public sources say."""
    known, start = said or {}, start or DomainFile(columns={})
    kept = {n: words for n, words in start.columns.items() if n not in known or not is_blank(words)}
    return replace(start, columns={**{name: dict(known.get(name, BLANK)) for name in names}, **kept})


def blanks(file: DomainFile) -> list[str]:
    """Columns that are to be filled in."""
    return [name for name, words in file.columns.items() if is_blank(words)]
