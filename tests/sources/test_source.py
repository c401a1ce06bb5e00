"""Parts of a frame."""

import pandas as pd
import tqdm.auto  # noqa: F401 - it asks at its first import whether bars are shown, and conftest.py says no

from sdv_plausible.sources.progress import Progress, on_terminal
from sdv_plausible.sources.source import FrameSource
from sdv_plausible.sources.source_columns import RowCountTask


def test_parts_are_slices_in_order():
    source = FrameSource(pd.DataFrame({0: range(10), "b": range(10)}), 4)
    assert [part["0"].tolist() for part in source.parts(["0"])] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert source.total(RowCountTask(), ["b"]) == 10


def test_progress_is_shown_when_asked_for(capfd):
    frame = pd.DataFrame({"a": range(10)})
    source = FrameSource(frame, 4)
    source.total(RowCountTask(), ["a"])
    assert not capfd.readouterr().err
    with on_terminal() as tell:
        source.progress = Progress(tell)
        source.total(RowCountTask(), ["a"])
    assert "pass 1, 4 rows" in capfd.readouterr().err
