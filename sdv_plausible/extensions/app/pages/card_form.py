"""The privacy card, with what only a person knows: typed on the page of the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sdv_plausible.extensions.app.pages.background_fit import FILES, card_of
from sdv_plausible.extensions.app.pages.sessions import Session
from sdv_plausible.release.card.privacy_card import KNOWN
from sdv_plausible.release.file.release import Release
from sdv_plausible.utils.atomic_files import write_atomically

MOST = 500  # characters of a field: a card is one page


@dataclass(frozen=True)
class CardField:
    """A blank of the card: what it is called, what belongs there, and what was typed."""

    name: str
    title: str
    hint: str
    text: str


def fields(session: Session) -> list[CardField]:
    """The blanks of the card, as they are filled in."""
    known = {} if session.fit is None else {"name": session.fit.order.table_name}
    return [
        CardField(
            name,
            name.replace("_", " ").capitalize(),
            hint,
            session.texts.get(f"card-{name}", "") or known.get(name, ""),
        )
        for name, hint in KNOWN.items()
    ]


def write_card(session: Session, typed: Mapping[str, str]) -> None:
    """Make the card anew with what was typed; nothing else on it changes, and no row is looked at."""
    fit = session.fit
    if fit is None or "card" not in fit.files:
        return
    told = {name: " ".join(typed.get(f"card-{name}", "").split())[:MOST] for name in KNOWN}
    session.texts |= {f"card-{name}": text for name, text in told.items()}
    release = Release.load(fit.folder / FILES["release"].name)
    known = {name: text for name, text in told.items() if text}
    card = card_of(release, fit.order, **known)  # as it was fitted, whatever is declared by now
    write_atomically(fit.folder / FILES["card"].name, card.to_html())
