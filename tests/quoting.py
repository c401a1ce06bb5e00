"""Whether the command line quotes a cell: never, but to a holder who asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sdv_plausible.cli.main import main


def check_unquoted(words: Sequence[str], cell: str, capsys: Any) -> None:
    """An error of others is told without its text; with --debug (the control) the cell is there."""
    assert main([*words]) == 2
    said = capsys.readouterr().err
    assert "its text may quote cells" in said
    assert cell not in said
    assert main([*words, "--debug"]) == 2
    assert cell in capsys.readouterr().err
