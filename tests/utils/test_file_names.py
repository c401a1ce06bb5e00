"""Names of files that are made of names in documents: none leads elsewhere, on any system."""

from __future__ import annotations

import pytest

from sdv_plausible.utils.file_paths import find_collision, path_in_folder, violated_rule
from tests.hostile import COLLIDING, ORDINARY_NAMES, TABLE_NAMES


def test_names_that_lead_elsewhere_break_a_rule():
    assert [name for name in TABLE_NAMES if violated_rule(name) is None] == []
    assert [name for name in ORDINARY_NAMES if violated_rule(name) is not None] == []
    assert [pair for pair in COLLIDING if find_collision(pair) != pair] == []
    assert find_collision(ORDINARY_NAMES) is None


def test_no_name_and_no_link_leads_out_of_the_folder(tmp_path):
    folder, victim = tmp_path / "out", tmp_path / "victim.csv"
    folder.mkdir()
    victim.write_text("precious")
    for name, target in (("there", victim), ("gone", tmp_path / "new.csv")):
        (folder / f"{name}.csv").symlink_to(target)
        with pytest.raises(ValueError, match="is a link to a place outside its folder: remove it"):
            path_in_folder(folder, name, ".csv")
    (folder / "near.csv").symlink_to(folder / "other.csv")
    (tmp_path / "alias").symlink_to(folder)
    for there in (folder, tmp_path / "alias"):  # which the user named
        assert path_in_folder(there, "near", ".csv") == there / "near.csv"
    for name in TABLE_NAMES:
        with pytest.raises(ValueError, match="the file name .* must"):
            path_in_folder(folder, name, ".csv")
