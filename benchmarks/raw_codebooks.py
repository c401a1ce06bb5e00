"""Code books of the raw tables: ``benchmarks/domains/<table>.json`` (see its README for where every fact comes from).

A file has four parts. ``metadata``: SDV's semantic types, as the raw file stores the columns. ``domain``: the
declaration, ready for the synthesizer's ``domain=``. ``wanted``: what the code book says and the declaration language
could not say when the file was written, ``columns`` (words to add to a column's declaration) and ``rules``.
``primary_key``: if there is one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "domains"
MODELLED = ("numerical", "datetime", "categorical", "boolean")
TODAY = {
    "sdtype", "range_min", "range_max", "range_values", "range_is_nullable", "decimal_places", "datetime_format", "buckets",
    "resolution", "parts", "rounding",
}  # fmt: skip
Specs = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class CodeBook:
    """One table's code book."""

    metadata: Specs
    domain: Specs
    wanted: Specs = field(default_factory=dict)
    rules: list[dict[str, Any]] = field(default_factory=list)
    primary_key: str | None = None

    @property
    def modelled(self) -> list[str]:
        """Columns that are modelled and scored: the others are invented."""
        return [name for name, spec in self.metadata.items() if spec["sdtype"] in MODELLED]

    @property
    def full(self) -> Specs:
        """Everything that is known of every modelled column, wanted words included."""
        return {
            n: {**self.metadata[n], **self.domain.get(n, {}), **self.wanted.get(n, {})} for n in self.modelled
        }

    def declared(self, words: Collection[str] = ()) -> Specs:
        """The declaration in today's language, with the wanted words that are switched on.

        A column whose wanted part needs a word that is switched off keeps its declaration without that part.
        """
        known = TODAY | set(words)
        added = {name: spec for name, spec in self.wanted.items() if set(spec) <= known}
        return {
            n: {**self.domain.get(n, {}), **added.get(n, {})}
            for n in [*self.domain, *sorted(set(added) - set(self.domain))]
        }

    def storage(self, words: Collection[str] = ()) -> Specs:
        """Metadata of the columns; a switched-on declaration may name another semantic type."""
        declared = self.declared(words)
        return {
            n: {**s, **{k: v for k, v in declared.get(n, {}).items() if k == "sdtype"}}
            for n, s in self.metadata.items()
        }

    def metadata_document(self, specs: Specs | None = None) -> dict[str, Any]:
        """One table's metadata as a dict in SDV's words."""
        key = {"primary_key": self.primary_key} if self.primary_key else {}
        return {"columns": self.metadata if specs is None else specs, **key}

    def fingerprint(self, words: Collection[str] = ()) -> str:
        """Short hash of what the methods are told."""
        text = json.dumps(
            [self.storage(words), self.declared(words), self.full, self.primary_key], sort_keys=True
        )
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def read_codebook(name: str) -> CodeBook:
    """Read ``domains/<name>.json``."""
    document: Mapping[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    wanted = document.get("wanted", {})
    return CodeBook(
        metadata=document["metadata"],
        domain={n: _with_list(spec) for n, spec in document["domain"].items()},
        wanted=wanted.get("columns", {}),
        rules=wanted.get("rules", []),
        primary_key=document.get("primary_key"),
    )


def _with_list(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A declaration whose values may be a file of words and of ranges of whole numbers: "ABE ABI 10001-16999"."""
    values = spec.get("range_values")
    if not isinstance(values, str):
        return dict(spec)
    found: list[str] = []
    for word in (FOLDER / values).read_text(encoding="utf-8").split():
        first, _, last = word.partition("-")
        found += [str(i) for i in range(int(first), int(last) + 1)] if last else [word]
    return {**spec, "range_values": found}
