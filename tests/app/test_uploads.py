"""Names that a browser sends are made harmless."""

from __future__ import annotations

import pytest

from sdv_plausible.app.uploads import harmless


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("people.csv", "people.csv"),
        ("Zürich 2024 (1).csv", "Zürich 2024 (1).csv"),
        ("../../etc/passwd", "passwd"),
        ("C:\\data\\people.csv", "people.csv"),
        ("..", "table"),
        (".bashrc", "bashrc"),
        ("a\x1b[31m\n.csv", "a_[31m_.csv".replace("[", "_")),
        ("x" * 300 + ".parquet", "x" * 80 + ".parquet"),
    ],
)
def test_names(sent, kept):
    assert harmless(sent) == kept
