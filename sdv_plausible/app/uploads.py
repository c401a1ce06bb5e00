"""Files that a browser sends: into the session's private folder, up to a limit."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Message

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
