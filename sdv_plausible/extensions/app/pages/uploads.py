"""A file that somebody names or sends is a table, or it is said in one clear line why not.

What a browser sends goes into the session's private folder, up to a limit.
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
MOST_TEXT = MEGABYTE  # of a field that is no file
_NOT_IN_NAMES = re.compile(r"[^\w .()+,=@-]")


@dataclass(frozen=True)
class Upload:
    """A form with files, which it holds until they are kept; ``texts`` are its other fields."""

    texts: Mapping[str, str]
    form: FormData

    def keep(self, field: str, folder: Path) -> Path | None:
        """Write a file under its own name, made harmless; None if there is none."""
        sent = self.form.get(field)
        if not isinstance(sent, UploadFile) or not sent.filename:
            return None
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / harmless(sent.filename)
        sent.file.seek(0)
        with path.open("wb") as file:
            shutil.copyfileobj(sent.file, file)
        return path


def harmless(name: str) -> str:
    """Return the last part of a name that a browser sent, without what paths and terminals could misread."""
    last = re.split(r"[\\/]", name)[-1]
    cleaned = _NOT_IN_NAMES.sub("_", last).lstrip(".")
    stem, dot, ending = cleaned.rpartition(".")
    return f"{(stem or 'table')[:80]}{dot}{ending[:12]}" if dot else (cleaned or "table")[:80]


async def read_upload(request: Request, most_bytes: int) -> Upload | Response:
    """The form, or why it is not taken; nothing is kept yet."""
    limit = PlainTextResponse(
        f"A file of more than {most_bytes // MEGABYTE:,} MB is not taken: give its path instead, or start "
        "the program with --largest MB.",
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
            max_files=3, max_fields=20, max_part_size=MOST_TEXT
        )
    except _TooLargeError:
        return limit
    except MultiPartException:
        return PlainTextResponse("This is no form, or has too many fields, or too much text in one.", 400)
    texts = {name: text for name, text in form.multi_items() if isinstance(text, str)}
    return Upload(texts, form)


class _TooLargeError(Exception):
    """More came than is taken."""


DOMAIN = "domain.json"
ENDINGS = (".csv", ".tsv", ".txt", ".parquet")
_LOOKED_AT = 100_000  # bytes, for what no text holds
_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "point": "."}


class NoTableError(ValueError):
    """A file that is no table, with the way out."""


def marks_of(texts: Mapping[str, str]) -> dict[str, Any]:
    """How a file is read, from the fields of a form."""
    missing = [line.strip() for line in texts.get("na_values", "").splitlines() if line.strip()]
    typed = texts.get("encoding", "").strip()
    chosen = {name: _WORDS.get(texts.get(name, "")) for name in ("separator", "decimal")}
    given = {"encoding": typed, **chosen, "na_values": ["", *missing] if missing else None}
    return {name: mark for name, mark in given.items() if mark}


def opened(path: Path, marks: Mapping[str, Any], known: Collection[str] = ()) -> ReviewedTable:
    """Return a table after a look at its form, not at what is in its cells; else a :class:`NoTableError`."""
    # ``known`` are names of columns that were declared.
    if not path.is_file():
        raise NoTableError(f"there is no file {path}: give the whole path, such as /home/me/people.csv")
    if path.suffix.lower() not in ENDINGS:
        raise NoTableError(f"{path.name} must end in {', '.join(ENDINGS)}: save the table as CSV or Parquet")
    if path.stat().st_size == 0:
        raise NoTableError(f"{path.name} is empty: choose the file that holds the table")
    try:
        file = Files(path, **marks)
        if not is_parquet(path):
            _check_text(path, file.encoding)
        names = file_columns(file, known)
        if not is_parquet(path):
            _check_lines(file, names)
    except (ValueError, OSError) as error:
        raise NoTableError(" ".join(str(error).replace(str(path), path.name).split())) from None
    return ReviewedTable(path, names, marks)


def _check_text(path: Path, encoding: str) -> None:
    """Refuse what is no text, whatever its name says."""
    with path.open("rb") as file:
        start = file.read(_LOOKED_AT)
    if b"\0" in start and not encoding.lower().startswith(("utf-16", "utf-32")):
        raise NoTableError(
            f"{path.name} is no text, though its name ends in {path.suffix}: save the table as CSV (UTF-8)"
        )


def _check_lines(file: Files, names: Sequence[str]) -> None:
    """Count every line of a CSV file through."""
    first = column_types({names[0]: {"sdtype": "categorical"}})
    if not sum(1 for _ in csv_texts(file.path, first, BLOCK, **file.csv)):
        raise NoTableError(f"{Path(file.path).name} has a header line and no rows")


def review_of(
    work: Path, sent: Upload, looks: dict[frozenset[str], DomainFile]
) -> tuple[Review, tuple[str, ...]]:
    """The table that was sent, or that a path names, with what is said of its columns elsewhere."""
    # Second is what of a code book could not be read. Files that were sent go to the folder ``work``.
    # ``looks`` are those at tables with these columns before: words of now may repeat what they showed.
    domain = sent.keep("domain", work / "given")
    given = None if domain is None else read_domain_file(domain)
    table = _table(work, sent, () if given is None else given.columns)
    declared, messages = _declared(work, sent, table, given)
    key = frozenset(table.names)

    def with_looks(file: DomainFile) -> DomainFile:
        before = looks.get(key, DomainFile(columns={}))
        return with_earlier_records(file, before, before.looked)[0]

    def remember(seen: DomainFile) -> None:
        looks[key] = replace(with_looks(seen), columns={})

    draft = with_looks(declared)
    return Review(draft, table, work / DOMAIN, _no_planner, is_saved=False, on_look=remember), messages


def _table(work: Path, sent: Upload, known: Collection[str]) -> ReviewedTable:
    """The table that was sent, or that a path names."""
    path = sent.keep("table", work / "table")
    named = sent.texts.get("path", "").strip()
    if path is None and not named:
        raise NoTableError("choose a file, or give the path of one on this machine")
    if path is not None and named:
        raise NoTableError("a file and a path were given: leave one of them out")
    return opened(path or Path(named).expanduser(), marks_of(sent.texts), known)


def _declared(
    work: Path, sent: Upload, table: ReviewedTable, given: DomainFile | None
) -> tuple[DomainFile, tuple[str, ...]]:
    """What a domain file and a code book say of the columns, and what could not be read."""
    book = sent.keep("codebook", work / "codebook")
    found = Codebook(columns={}) if book is None else read_codebook(book).of_table(table.names)
    messages = tuple(message.replace(str(book), book.name if book else "") for message in found.lines)
    return draft_domain_file(table.names, found.columns, given), messages


def _no_planner(*_: Any) -> object:
    raise ValueError("the plan is on the page of the budget")
