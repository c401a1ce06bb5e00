"""Opens the table in an uploaded file or at a path, or reports in one line why it cannot be opened.

Uploads are stored in the session's private folder, up to a size limit.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Message

from sdv_plausible.extensions.app.review.review import Review, ReviewedTable
from sdv_plausible.table.declared.access_log import with_earlier_records
from sdv_plausible.table.declared.codebook import Codebook, read_codebook
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.domain_file import DomainFile, draft_domain_file, read_domain_file
from sdv_plausible.table.files.csv_files import BLOCK, csv_texts
from sdv_plausible.table.files.table_file import file_columns
from sdv_plausible.table.files.text_files import Files, is_parquet

MEGABYTE = 1_000_000
MAX_FIELD_BYTES = MEGABYTE  # of a field that is not a file
_NOT_IN_NAMES = re.compile(r"[^\w .()+,=@-]")


@dataclass(frozen=True)
class Upload:
    """A submitted form with files; ``texts`` are its other fields."""

    texts: Mapping[str, str]
    form: FormData

    def keep(self, field: str, folder: Path) -> Path | None:
        """Store an uploaded file under a safe version of its name; None if there is none."""
        uploaded = self.form.get(field)
        if not isinstance(uploaded, UploadFile) or not uploaded.filename:
            return None
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / safe_file_name(uploaded.filename)
        uploaded.file.seek(0)
        with path.open("wb") as file:
            shutil.copyfileobj(uploaded.file, file)
        return path


def safe_file_name(name: str) -> str:
    """Return the last part of an uploaded file's name, without characters special to paths and terminals."""
    last = re.split(r"[\\/]", name)[-1]
    cleaned = _NOT_IN_NAMES.sub("_", last).lstrip(".")
    stem, dot, ending = cleaned.rpartition(".")
    return f"{(stem or 'table')[:80]}{dot}{ending[:12]}" if dot else (cleaned or "table")[:80]


async def read_upload(request: Request, most_bytes: int, max_fields: int = 20) -> Upload | Response:
    """Read the form, or return an error response; nothing is stored yet."""
    limit = PlainTextResponse(
        f"A file of more than {most_bytes // MEGABYTE:,} MB is not taken. For a larger table, give its path.",
        413,
    )
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or int(length) > most_bytes:
        return limit
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await request.receive()
        size += len(message.get("body", b""))
        if size > most_bytes:
            raise _TooLargeError
        return message

    try:
        form = await Request({"type": "http", "headers": request.scope["headers"]}, counted).form(
            max_files=3, max_fields=max_fields, max_part_size=MAX_FIELD_BYTES
        )
    except _TooLargeError:
        return limit
    except MultiPartException:
        return PlainTextResponse("This is no form, or has too many fields, or too much text in one.", 400)
    texts = {name: text for name, text in form.multi_items() if isinstance(text, str)}
    return Upload(texts, form)


class _TooLargeError(Exception):
    """The upload exceeds the size limit."""


DOMAIN = "domain.json"
ENDINGS = (".csv", ".tsv", ".txt", ".parquet")
_PREFIX_BYTES = 100_000  # bytes searched for NUL
_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "point": "."}


class NoTableError(ValueError):
    """A file that is not a table; the message says how to proceed."""


def marks_of(texts: Mapping[str, str]) -> dict[str, Any]:
    """Read the file format from the fields of a form."""
    missing = [line.strip() for line in texts.get("na_values", "").splitlines() if line.strip()]
    typed = texts.get("encoding", "").strip()
    chosen = {name: _WORDS.get(texts.get(name, "")) for name in ("separator", "decimal")}
    given = {"encoding": typed, **chosen, "na_values": ["", *missing] if missing else None}
    return {name: mark for name, mark in given.items() if mark}


def open_table(path: Path, marks: Mapping[str, Any], known: Collection[str] = ()) -> ReviewedTable:
    """Return a table after checking its format, not its cells; raises :class:`NoTableError`."""
    # ``known`` are the declared columns.
    if not path.is_file():
        raise NoTableError(f"there is no file {path}: give the whole path, such as /home/me/people.csv")
    if path.suffix.lower() not in ENDINGS:
        raise NoTableError(f"{path.name} must end in {', '.join(ENDINGS)}: save the table as CSV or Parquet")
    if path.stat().st_size == 0:
        raise NoTableError(f"{path.name} is empty: choose the file that holds the table")
    try:
        table_file = Files(path, **marks)
        if not is_parquet(path):
            _check_text(path, table_file.encoding)
        names = file_columns(table_file, known)
        if not is_parquet(path):
            _check_lines(table_file, names)
    except (ValueError, OSError) as error:
        raise NoTableError(" ".join(str(error).replace(str(path), path.name).split())) from None
    return ReviewedTable(path, names, marks)


def _check_text(path: Path, encoding: str) -> None:
    """Reject binary files, whatever their extension."""
    with path.open("rb") as file:
        start = file.read(_PREFIX_BYTES)
    if b"\0" in start and not encoding.lower().startswith(("utf-16", "utf-32")):
        raise NoTableError(
            f"{path.name} is no text, though its name ends in {path.suffix}: save the table as CSV (UTF-8)"
        )


def _check_lines(file: Files, names: Sequence[str]) -> None:
    """Parse all lines of a CSV file, and reject it if it has no rows."""
    first = column_types({names[0]: {"sdtype": "categorical"}})
    if not sum(1 for _ in csv_texts(file.path, first, BLOCK, **file.csv)):
        raise NoTableError(f"{Path(file.path).name} has a header line and no rows")


def review_upload(
    work: Path, upload: Upload, looks: dict[frozenset[str], DomainFile]
) -> tuple[Review, tuple[str, ...]]:
    """Open the table of an upload or a path, with the declarations of a domain file and a codebook."""
    # Also returns messages on parts of the codebook that were not understood. Stores files in ``work``.
    # ``looks`` are earlier comparisons of tables with these columns: new declarations may repeat them.
    path = upload.keep("domain", work / "given")
    domain_file = None if path is None else read_domain_file(path)
    table = _open_table(work, upload, () if domain_file is None else domain_file.columns)
    declared, messages = _read_declarations(work, upload, table, domain_file)
    key = frozenset(table.names)

    def with_looks(file: DomainFile) -> DomainFile:
        before = looks.get(key, DomainFile(columns={}))
        return with_earlier_records(file, before, before.looked)[0]

    def remember(seen: DomainFile) -> None:
        looks[key] = replace(with_looks(seen), columns={})

    draft = with_looks(declared)
    return Review(draft, table, work / DOMAIN, _no_planner, is_saved=False, on_look=remember), messages


def _open_table(work: Path, upload: Upload, known: Collection[str]) -> ReviewedTable:
    """Open the uploaded table, or the one at a path."""
    path = upload.keep("table", work / "table")
    typed_path = upload.texts.get("path", "").strip()
    if path is None and not typed_path:
        raise NoTableError("choose a file, or give the path of one on this machine")
    if path is not None and typed_path:
        raise NoTableError("a file and a path were given: leave one of them out")
    return open_table(path or Path(typed_path).expanduser(), marks_of(upload.texts), known)


def _read_declarations(
    work: Path, upload: Upload, table: ReviewedTable, domain_file: DomainFile | None
) -> tuple[DomainFile, tuple[str, ...]]:
    """Combine the declarations of a domain file and a codebook; also returns messages."""
    codebook = uploaded_codebook(work, upload, table.names) or Codebook(columns={})
    return draft_domain_file(table.names, codebook.columns, domain_file), tuple(codebook.lines)


def uploaded_codebook(work: Path, upload: Upload, names: Sequence[str]) -> Codebook | None:
    """Read the code book of an upload for a table with these columns; None if there is none."""
    book = upload.keep("codebook", work / "codebook")
    if book is None:
        return None
    try:
        codebook = read_codebook(book).of_table(names)
    except ValueError as error:
        raise ValueError(str(error).replace(str(book), book.name)) from None
    messages = tuple((column, text.replace(str(book), book.name)) for column, text in codebook.messages)
    return replace(codebook, messages=messages)


def _no_planner(*_: Any) -> object:
    raise ValueError("the plan is on the page of the budget")
