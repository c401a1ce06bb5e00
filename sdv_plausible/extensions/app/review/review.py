"""What the page works on: one domain file, and the table that it is for. Holds no cell of the table."""

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
"""Declarations, epsilon, delta and a public number of rows -> what a release would cost, as it is shown."""


@dataclass(frozen=True)
class ReviewedTable:
    """Where the rows are: a CSV or Parquet file."""

    path: Path
    names: Sequence[str]  # from the header alone
    marks: Mapping[str, Any]  # how it is written, as for read_csv

    @property
    def files(self) -> Files:
        """The same, as it is read."""
        return Files(self.path, **self.marks)


@dataclass(frozen=True)
class ColumnFindings:
    """What of one column does not fit: for the holder's eyes."""

    unreadable: int = 0  # cells that cannot be read
    codes: int = 0  # cells of numbers that are written as codes, such as 007
    findings: tuple[Finding, ...] = ()
    values: tuple[str, ...] = ()  # lines with a few values


@dataclass(frozen=True)
class RowComparison:
    """A comparison with the rows, of columns that do not fit: made for one answer and kept nowhere."""

    columns: Mapping[str, ColumnFindings] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what was written down, for whoever looked


class Review:
    """One domain file under review; before the first save it is a draft."""

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
        # ``on_look`` is told of the file when a look was written down there, before anything is shown
        self.table, self.output = table, output
        self._draft, self._planner, self.is_saved = draft, planner, is_saved
        self._learned, self._on_look = learned or {}, on_look
        self._lock = threading.Lock()

    @property
    def file(self) -> DomainFile:
        """The file as it is now, or the draft before the first save."""
        return read_domain_file(self.output) if self.is_saved else self._draft

    @property
    def names(self) -> tuple[str, ...]:
        """All columns: the table's, and those that the file alone names."""
        return tuple(dict.fromkeys([*self.table.names, *self.file.columns]))

    def save(self, columns: Mapping[str, Any], seen: str) -> None:
        """Write the file, whole or not at all, unless it is not the version that was ``seen`` any more."""
        with self._lock:
            file = self.file
            if version(file) != seen:
                raise ValueError(
                    f"{self.output.name} was changed since this page was made, and nothing was saved: "
                    "load the page again and repeat your edits"
                )
            after = replace(file, columns=columns)
            if after != file or not self.is_saved:
                learned = {} if self.is_saved else self._learned
                replace_file(self.output, after, self.table.names, learned)
                self.is_saved = True

    def compare(self) -> RowComparison:
        """Compare the saved file with the rows; the look is written down before anything is returned."""
        with self._lock:
            left, file = blanks(self.file), self.file.without_blanks()
            document = file.to_dict()
            types = column_types(document)
            unread = count_unreadable_cells(self.table.files, document)
            codes = count_code_cells(self.table.files, document)
            words = {name: kind.words for name, kind in types.items()}
            declared = read_declarations(file, "infer", MAX_BINS, words)
            rows = read_file(self.table.files, document)
            found = {
                name: ColumnFindings(unread.get(name, 0), codes.get(name, 0))
                for name in declared.names
                if name in unread or name in codes
            }
            for name in declared.names:
                if (known := declared.known(name)) is None:
                    continue
                values: list[str] = []
                check = check_columns(
                    rows, {name: known}, {name: declared.allows_missing(name)}, values.append
                )
                if check.findings:
                    counts = unread.get(name, 0), codes.get(name, 0)
                    found[name] = ColumnFindings(*counts, check.findings, tuple(values))
            notes = log_access(self.output, declared.names)  # whatever a cell is: of others nothing is told
            self._on_look(self.file)
            left_out = [f"Not declared, and not compared: {', '.join(left)}"] if left else []
            return RowComparison(found, (*notes, *left_out))

    def note_look(self, names: Collection[str], rules: Collection[str] | None = None) -> None:
        """Write down that rows of these columns are about to be shown, or told about."""
        # One that the file no longer declares counts as a blank; ``rules`` are digests of those told of.
        with self._lock:
            record_access(self.output, names, rules)
            self._on_look(self.file)

    def plan(self, columns: Mapping[str, Any], epsilon: float, delta: float, rows: int | None) -> object:
        """Say what a budget can carry; no row is looked at."""
        file = replace(self.file, columns=columns)
        if left := blanks(file):
            raise ValueError(f"fill in the type first, or leave out: {', '.join(left)}")
        return self._planner(file.to_dict(), epsilon, delta, rows)


def version(file: DomainFile) -> str:
    """A digest of a file, to see whether it is still the one that was shown."""
    text = json.dumps(file.to_dict(), sort_keys=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
