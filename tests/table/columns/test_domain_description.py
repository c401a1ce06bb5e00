"""A domain in words, as text and in a notebook."""

from html import unescape

from sdv_plausible.table.columns import domain
from sdv_plausible.table.columns.domain import Attribute, Domain

DAY = 86_400 * 10**9
NAME = "<b>city</b>"
DOMAIN = Domain(
    (
        Attribute(name=NAME, kind="categorical", values=tuple("abcdef"), nullable=True),
        Attribute(name="age", kind="integer", lower=(0, 50), upper=(49, 110), provenance="private"),
        Attribute(name="day", kind="datetime", lower=(0,), upper=(10 * DAY,), provenance="edited"),
        Attribute(name="pay", kind="float", values=("N",), lower=(0.0,), upper=(1e9,), provenance="inferred"),
    )
)


def test_each_column_in_words_and_escaped():
    for line in (
        (NAME, "a, b, c, d and 2 more; missing", "declared"),
        ("age", "0 to 110 in 2 bins", "learned within the budget"),
        ("day", "1970-01-01 to 1970-01-11 in 1 bin", "edited after looking at the rows: no guarantee"),
        ("pay", "0 to 1,000,000,000 in 1 bin; N", "derived from the rows: no guarantee"),
    ):
        assert line in domain.description_lines(DOMAIN)
        for cell in line:
            assert cell in repr(DOMAIN)
            assert cell in unescape(DOMAIN._repr_html_())
    assert str(DOMAIN).startswith("Domain of 4 columns\n")
    assert "<b>" not in DOMAIN._repr_html_()
    assert domain.description_title(Domain(DOMAIN.attributes[:1])) == "Domain of 1 column"
