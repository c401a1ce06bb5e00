"""Model of the review page: one domain file and the path of its table. Holds no cell of the table."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sdv_plausible.table.columns.domain import MAX_BINS
from sdv_plausible.table.data_checks import Finding, check_columns
from sdv_plausible.table.declared.access_log import log_access, record_access, replace_file
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.declarations import read_declarations
from sdv_plausible.table.declared.domain_file import DomainFile, blanks, read_domain_file
from sdv_plausible.table.files.table_file import count_code_cells, count_unreadable_cells, read_file
from sdv_plausible.table.files.text_files import Files

Planner = Callable[[Mapping[str, Any], float, float, int | None], object]
"""Declarations, epsilon, delta and a public number of rows -> the plan of a release."""


@dataclass(frozen=True)
class ReviewedTable:
    """Location of the rows: a CSV or Parquet file."""

    path: Path
    names: Sequence[str]  # from the header alone
    marks: Mapping[str, Any]  # file format, as for read_csv

    @property
    def files(self) -> Files:
        """The file with its format."""
        return Files(self.path, **self.marks)


@dataclass(frozen=True)
class ColumnFindings:
    """Mismatches of one column, for the data owner only."""

    unreadable: int = 0  # cells that cannot be parsed
    codes: int = 0  # numbers written as codes, such as 007
    findings: tuple[Finding, ...] = ()
    values: tuple[str, ...] = ()  # lines that quote a few values


@dataclass(frozen=True)
class RowComparison:
    """Mismatching columns of a comparison with the rows; sent in one response and never stored."""

    columns: Mapping[str, ColumnFindings] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what was recorded about this comparison


class Review:
    """One domain file under review; a draft before the first save."""

    def __init__(
        self,
        draft: DomainFile,
        table: ReviewedTable,
        output: Path,
        planner: Planner,
        *,
        is_saved: bool,
        learned: Mapping[str, Any] | None = None,
        on_look: Callable[[DomainFile], object] = lambda _: None,
    ) -> None:
        # ``on_look`` receives the file after a comparison was recorded in it, before anything is shown.
        self.table, self.output = table, output
        self._draft, self._planner, self.is_saved = draft, planner, is_saved
        self._learned, self._on_look = learned or {}, on_look
        self._lock = threading.Lock()

    @property
    def file(self) -> DomainFile:
        """The current file, or the draft before the first save."""
        return read_domain_file(self.output) if self.is_saved else self._draft

    @property
    def names(self) -> tuple[str, ...]:
        """All columns: the table's, and those only in the file."""
        return tuple(dict.fromkeys([*self.table.names, *self.file.columns]))

    def save(self, columns: Mapping[str, Any], seen: str) -> None:
        """Write the file atomically, unless it has changed since the version ``seen``."""
        with self._lock:
            file = self.file
            if version(file) != seen:
                raise ValueError(
                    f"{self.output.name} was changed since this page was made, and nothing was saved: "
                    "load the page again and repeat your edits"
                )
            updated = replace(file, columns=columns)
            if updated != file or not self.is_saved:
                learned = {} if self.is_saved else self._learned
                replace_file(self.output, updated, self.table.names, learned)
                self.is_saved = True

    def compare(self) -> RowComparison:
        """Compare the saved file with the rows; the comparison is recorded before it is returned."""
        with self._lock:
            undeclared, file = blanks(self.file), self.file.without_blanks()
            document = file.to_dict()
            types = column_types(document)
            unreadable_cells = count_unreadable_cells(self.table.files, document)
            coded_cells = count_code_cells(self.table.files, document)
            words = {name: kind.words for name, kind in types.items()}
            declared = read_declarations(file, "infer", MAX_BINS, words)
            rows = read_file(self.table.files, document)
            findings = {
                name: ColumnFindings(unreadable_cells.get(name, 0), coded_cells.get(name, 0))
                for name in declared.names
                if name in unreadable_cells or name in coded_cells
            }
            for name in declared.names:
                if (attribute := declared.known(name)) is None:
                    continue
                values: list[str] = []
                check = check_columns(
                    rows, {name: attribute}, {name: declared.allows_missing(name)}, values.append
                )
                if check.findings:
                    counts = unreadable_cells.get(name, 0), coded_cells.get(name, 0)
                    findings[name] = ColumnFindings(*counts, check.findings, tuple(values))
            # all declared columns; others are not compared
            notes = [
                note.replace(str(self.output), self.output.name)
                for note in log_access(self.output, declared.names)
            ]
            self._on_look(self.file)
            left_out = [f"Not declared, and not compared: {', '.join(undeclared)}"] if undeclared else []
            return RowComparison(findings, (*notes, *left_out))

    def note_look(self, names: Collection[str], rules: Collection[str] | None = None) -> None:
        """Record that rows of these columns are about to be shown or reported on."""
        # A column that the file no longer declares counts as a blank; ``rules`` are digests of rules.
        with self._lock:
            record_access(self.output, names, rules)
            self._on_look(self.file)

    def plan(self, columns: Mapping[str, Any], epsilon: float, delta: float, rows: int | None) -> object:
        """Plan a release; no row is read."""
        file = replace(self.file, columns=columns)
        if undeclared := blanks(file):
            raise ValueError(f"fill in the type first, or leave out: {', '.join(undeclared)}")
        return self._planner(file.to_dict(), epsilon, delta, rows)


def version(file: DomainFile) -> str:
    """Digest of a file, to detect changes since it was shown."""
    text = json.dumps(file.to_dict(), sort_keys=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
