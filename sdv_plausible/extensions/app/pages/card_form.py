"""Form of the privacy card, for details that only a person knows; on the result page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sdv_plausible.extensions.app.pages.background_fit import FILES, card_of
from sdv_plausible.extensions.app.pages.sessions import Session
from sdv_plausible.release.card.privacy_card import KNOWN
from sdv_plausible.release.file.release import Release
from sdv_plausible.utils.atomic_files import write_atomically

MAX_FIELD_LENGTH = 500  # characters of a field, so that the card fits on one page


@dataclass(frozen=True)
class CardField:
    """A field of the card: name, title, hint and current text."""

    name: str
    title: str
    hint: str
    text: str


def fields(session: Session) -> list[CardField]:
    """Fields of the card with their current texts."""
    defaults = {} if session.fit is None else {"name": session.fit.request.table_name}
    return [
        CardField(
            name,
            name.replace("_", " ").capitalize(),
            hint,
            session.texts.get(f"card-{name}", "") or defaults.get(name, ""),
        )
        for name, hint in KNOWN.items()
    ]


def write_card(session: Session, typed: Mapping[str, str]) -> None:
    """Write the card with the typed details; the rest of it is unchanged, and no row is read."""
    fit = session.fit
    if fit is None or "card" not in fit.files:
        return
    typed_texts = {name: " ".join(typed.get(f"card-{name}", "").split())[:MAX_FIELD_LENGTH] for name in KNOWN}
    session.texts |= {f"card-{name}": text for name, text in typed_texts.items()}
    release = Release.load(fit.folder / FILES["release"].name)
    details = {name: text for name, text in typed_texts.items() if text}
    card = card_of(release, fit.request, **details)  # with the declarations of the fit
    write_atomically(fit.folder / FILES["card"].name, card.to_html())
