"""The code books of the raw files can be read, and the distance knows dates of a declared format."""

import pandas as pd
import pytest

from benchmarks.raw_files import BOOKS, FILES, distance
from sdv_plausible.extensions.codebooks.csv_codebook import read_csv_codebook


@pytest.mark.parametrize("path", sorted(BOOKS.glob("*.csv")), ids=lambda path: path.stem)
def test_every_code_book_is_of_a_file_and_can_be_read(path):
    book = read_csv_codebook(path)
    assert path.stem in {name for _, name in FILES}
    assert not book.messages
    assert {"categorical", "numerical"} & {words["sdtype"] for words in book.columns.values()}


def test_dates_of_a_format_that_no_list_has_are_compared_as_dates():
    days = pd.Series(pd.date_range("2000-01-01", periods=400).strftime("%b %d %Y"), dtype=object)
    later = pd.Series(pd.date_range("2000-01-02", periods=400).strftime("%b %d %Y"), dtype=object)
    assert distance(days, later, "%b %d %Y") < 0.02
    assert distance(days, days.iloc[::-1].iloc[:200], "%b %d %Y") > 0.4
