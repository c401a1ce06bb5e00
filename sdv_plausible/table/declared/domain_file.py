"""The domain file: declarations as JSON with their sources, and an access log.

A declaration costs no privacy budget because it was made without the rows. A user who sees whether the rows
fit and then changes the declaration uses information about the rows. The file therefore records a digest of
every declaration that was compared with the rows. A later edit ends the guarantee, unless it cites a public
source.
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
    read_access_log,
    read_attribute,
    write_access_log,
    write_attribute,
)
from sdv_plausible.table.declared.specifications import (
    MODELLED_SDTYPES,
    check_names,
    implied_sdtype,
    read_spec,
)
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.file_paths import read_regular_file
from sdv_plausible.utils.json_schema import strict_json

SCHEMA = "sdv-plausible-declarations/1"
_KEYS = ("$schema", "schema", "detected", "columns", "looked", "looked_rules", "rules_source", "learned")


@dataclass(frozen=True, kw_only=True)
class DomainFile:
    """Declarations with their access log."""

    # Column name -> declaration with SDV's keys; ``source``: the public text that it comes from.
    columns: Mapping[str, Any]
    # Column name -> digest of its declaration at the first access to the rows.
    looked: Mapping[str, str] = field(default_factory=dict)
    # Whether a program that read the rows wrote the file: then nothing in it is a declaration.
    detected: bool = False
    editor_schema: str | None = None  # value of ``"$schema"``, for editors
    # Cost of the privately learned columns; those are Attributes, or their documents, with a ``kind``.
    learned: Mapping[str, Any] | None = None
    # Digests of the rules when violating rows were first counted; None before.
    looked_rules: tuple[str, ...] | None = None
    rules_source: str | None = None  # public source of rules changed after that
    # Partial declarations of columns whose type is undeclared.
    beside: Mapping[str, Any] = field(default_factory=dict)

    @property
    def private(self) -> tuple[str, ...]:
        """Privately learned columns, whose cost every use must include."""
        return tuple(
            name for name, declaration in self.columns.items() if _provenance(declaration) == "private"
        )

    @property
    def edited(self) -> tuple[str, ...]:
        """Columns without a public source whose declaration changed after an access to the rows."""
        return tuple(
            name
            for name, declaration in self.columns.items()
            if name in self.looked
            and self.looked[name] != digest(declaration)
            and not (isinstance(declaration, Mapping) and declaration.get("source"))
        )

    def without_blanks(self) -> DomainFile:
        """The file without blank columns; their partial declarations move to ``beside``."""
        blank = {name: declaration for name, declaration in self.columns.items() if is_blank(declaration)}
        partial = {
            name: {key: value for key, value in declaration.items() if value is not None}
            for name, declaration in blank.items()
        }
        partial = {
            name: declaration for name, declaration in partial.items() if declaration.keys() - {"source"}
        }
        columns = {name: declaration for name, declaration in self.columns.items() if name not in blank}
        return replace(self, columns=columns, beside={**self.beside, **partial})

    def with_types(self, types: Mapping[str, Mapping[str, Any]]) -> DomainFile:
        """The file with inferred types of open columns, merged with their declarations."""
        completed = {
            name: {**declaration, "sdtype": types[name]["sdtype"]}
            for name, declaration in self.beside.items()
            if types.get(name, {}).get("sdtype") in MODELLED_SDTYPES and name not in self.columns
        }
        return replace(self, columns={**self.columns, **completed}, beside={}) if completed else self

    def declarations(self) -> dict[str, Any]:
        """Declarations by column for the synthesizer, marked if they end the privacy guarantee."""
        edited, declarations = frozenset(self.edited), {}
        if self.learned is None and self.private:
            raise ValueError(
                f"column {self.private[0]!r} was learned privately, but its cost ('learned') is missing: "
                "use the complete Domain or file from get_domain (for a release: from_release first), "
                "Domain.save or declare --private, or learn the domain again (version 0.1 saved no cost)"
            )
        for name, declared in self.columns.items():
            declaration = declared
            if isinstance(declared, Attribute) or (isinstance(declared, Mapping) and "kind" in declared):
                declaration = self._attribute(name, declared, name in edited)
            elif isinstance(declared, Mapping):
                if is_blank(declared):
                    raise ValueError(
                        f"column {name!r}: set sdtype (null now) to a type such as 'numerical', "
                        "'categorical', 'datetime' or 'id', or remove the column from the file"
                    )
                declaration = {**read_spec(name, declared), **({"detected": True} if self.detected else {})}
                if name in edited:
                    declaration["provenance"] = "edited"
            declarations[name] = declaration
        return declarations

    def _attribute(self, name: str, declared: Attribute | Mapping[str, Any], is_edited: bool) -> Attribute:
        if not isinstance(declared, Attribute) and "name" in declared:
            raise ValueError(f"column {name!r}: the name is the key of the entry: remove 'name'")
        attribute = (
            declared if isinstance(declared, Attribute) else read_attribute({"name": name, **declared})
        )
        if self.detected or is_edited:
            return replace(attribute, provenance="inferred" if self.detected else "edited")
        return attribute

    def looked_at(self, names: Collection[str], rules: Collection[str] | None = None) -> DomainFile:
        """The file with an access record of these columns; the first access to a column counts."""
        # ``names``: column names. Undeclared columns are recorded as blank: a later declaration may use the
        # access.
        # ``rules``: digests of the rules, if violating rows were counted.
        ordered = [*(name for name in self.columns if name in names), *sorted({*names} - {*self.columns})]
        digests = {name: digest(self.columns.get(name, {})) for name in ordered}
        rules_accessed = (
            self.looked_rules if rules is None or self.looked_rules is not None else tuple(sorted(rules))
        )
        return replace(self, looked={**digests, **self.looked}, looked_rules=rules_accessed)

    def paid_for(self, learned: Mapping[str, Any]) -> DomainFile:
        """The file with new digests of privately learned columns: their content comes from paid queries only.

        Parameters
        ----------
        learned : mapping
            Column name -> learned declaration.
        """
        digests = {name: digest(declaration) for name, declaration in learned.items() if name in self.looked}
        return replace(self, looked={**self.looked, **digests})

    def has_other_rules(self, rules: Collection[str]) -> bool:
        """Whether the digests of rules differ from those compared with the rows."""
        return self.looked_rules is not None and set(rules) != set(self.looked_rules)

    def to_dict(self) -> dict[str, Any]:
        """JSON document; :meth:`of` reads it."""
        return {
            **({} if self.editor_schema is None else {"$schema": self.editor_schema}),
            "schema": SCHEMA,
            **({"detected": True} if self.detected else {}),
            "columns": dict(self.columns),
            **write_access_log(self),
            **({} if self.rules_source is None else {"rules_source": self.rules_source}),
            **({} if self.learned is None else {"learned": dict(self.learned)}),
        }

    def save(self, path: str | Path) -> None:
        """Write the file atomically."""
        write_atomically(path, self.to_json())

    def to_json(self) -> str:
        """JSON text of :meth:`to_dict`, one line per column."""
        document = self.to_dict()
        for key, value in document.items():
            if key in ("columns", "looked"):
                lines = [f"  {_json(name)}: {_json(declaration)}" for name, declaration in value.items()]
                document[key] = "{\n" + ",\n".join(lines) + "\n }" if lines else "{}"
            else:
                document[key] = _json(value)
        parts = [f" {_json(key)}: {text}" for key, text in document.items()]
        return "{\n" + ",\n".join(parts) + "\n}\n"

    @classmethod
    def of(cls, document: Mapping[str, Any], what: str = "domain file") -> DomainFile:
        """Read a document of :meth:`to_dict`, or a bare mapping from names to declarations."""
        if not isinstance(document.get("schema"), str):
            check_names(document, what)
            nested = document.get("columns")
            if (
                isinstance(nested, Mapping)
                and nested
                and all(isinstance(declaration, Mapping) for declaration in nested.values())
            ):
                raise ValueError(
                    f"{what}: the key 'schema' is missing, and 'columns' declares {listed([*nested])}: add "
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
                hint = suggestion(str(key), _KEYS) or f"; valid keys are {', '.join(_KEYS)}"
                raise ValueError(f"{what}: the key {key!r} is unknown{hint}")
        columns, access_log = document.get("columns"), read_access_log(document, what)
        detected, editor = document.get("detected", False), document.get("$schema")
        if not isinstance(columns, Mapping):
            raise ValueError(f"{what}: 'columns' must map names to declarations such as {{'sdtype': 'id'}}")
        check_names(columns, what)
        if not isinstance(detected, bool) or not isinstance(editor, (str, type(None))):
            raise ValueError(f"{what}: 'detected' must be true or false, '$schema' text")
        learned = document.get("learned")
        if not isinstance(learned, (Mapping, type(None))):
            raise ValueError(f"{what}: 'learned' was changed: restore the original file")
        source = document.get("rules_source")
        if not isinstance(source, (str, type(None))) or source == "":
            raise ValueError(f"{what}: 'rules_source' must name the public source of the rules")
        return cls(
            columns=columns, detected=detected, editor_schema=editor, learned=learned, rules_source=source,
            **access_log,
        )  # fmt: skip


def read_json(path: Path, name: str = "domain", also: str = 'declarations, or "written"') -> Any:
    """Read JSON without duplicate keys; ``name`` and ``also`` (other valid values) appear in errors."""
    try:
        data = read_regular_file(path, name)
    except FileNotFoundError as error:
        message = f"{error.strerror}; {name} must be the path of an existing file, {also}"
        raise OSError(error.errno, message, str(path)) from None
    try:
        return strict_json(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        fault = f"line {line} is not UTF-8: save the file as UTF-8"
    except json.JSONDecodeError as error:
        fault = (
            f"at line {error.lineno}, column {error.colno}: {error.msg}. The file may be truncated: "
            "download or write it again"
        )
    except ValueError as error:
        fault = f"{error}: repair the file, or write it again"
    raise Refused.saying(name, f"{name} ({str(path)!r}) is not a JSON file: {fault}")


def digest(declaration: Any) -> str:
    """SHA-256 of a declaration as canonical JSON, without ``source`` and nulls."""
    if isinstance(declaration, Attribute):  # provenance depends on the digest
        with suppress(ValueError):  # values that no file can hold
            declaration = {**write_attribute(declaration), "provenance": None}
    if isinstance(declaration, Mapping):
        declaration = {
            key: value for key, value in declaration.items() if key != "source" and value is not None
        }
    text = json.dumps(declaration, sort_keys=True, separators=(",", ":"), default=_json_fallback)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _json_fallback(value: Any) -> Any:
    """JSON fallback: arrays in full, since their text omits values."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic, pd.Series, pd.Index)) else str(value)


def is_blank(declaration: Any) -> bool:
    """Whether a declaration is blank: its sdtype is null, and no other key implies one."""
    return (
        isinstance(declaration, Mapping)
        and declaration.get("sdtype", "") is None
        and implied_sdtype(declaration) is None
    )


def _provenance(declaration: Any) -> str | None:
    """Provenance of an attribute or its document; None for a declaration."""
    if isinstance(declaration, Attribute):
        return declaration.provenance
    return (
        declaration.get("provenance") if isinstance(declaration, Mapping) and "kind" in declaration else None
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=write_value)


def read_domain_file(path: str | Path) -> DomainFile:
    """Read a domain file or a bare mapping from names to declarations; a saved Domain is rejected."""
    document = read_json(Path(path))
    if not isinstance(document, dict):
        raise ValueError(f"{str(path)!r} is not a domain file: it must map column names to declarations")
    return DomainFile.of(document, str(path))


BLANK: Mapping[str, Any] = {"sdtype": None}
"""Declaration of a column known by name only. A type detected from its cells would depend on the rows."""


def draft_domain_file(
    names: Sequence[str],
    published: Mapping[str, Mapping[str, Any]] | None = None,
    start: DomainFile | None = None,
) -> DomainFile:
    """Draft a domain file from a table's header, the declarations of ``start`` and public sources."""
    published, start = published or {}, start or DomainFile(columns={})
    from_start = {
        column: declaration
        for column, declaration in start.columns.items()
        if column not in published or not is_blank(declaration)
    }
    return replace(
        start, columns={**{name: dict(published.get(name, BLANK)) for name in names}, **from_start}
    )


def blanks(file: DomainFile) -> list[str]:
    """Columns that are blank."""
    return [name for name, declaration in file.columns.items() if is_blank(declaration)]
