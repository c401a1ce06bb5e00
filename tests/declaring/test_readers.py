"""The reader is found by the file's ending, or named."""

from __future__ import annotations

import pytest

from sdv_plausible.declaring.readers import read_codebook


def test_by_ending_or_by_name(tmp_path):
    for name, form in (("book.csv", None), ("book.txt", "csv")):
        (tmp_path / name).write_text("name,type\na,id\n")
        found = read_codebook(tmp_path / name, form)
        assert found.columns == {"a": {"sdtype": "id", "source": name}}


def test_nothing_reads_it(tmp_path):
    with pytest.raises(ValueError, match=r"end in '\.docx'"):
        read_codebook(tmp_path / "book.docx")
    with pytest.raises(ValueError, match="must be one of csv"):
        read_codebook(tmp_path / "book.csv", "excel")
