"""DDI code books."""

import pytest

from sdv_plausible.extensions.codebooks.ddi import read_ddi

BOOK = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5"><dataDscr>
 <var name="age" intrvl="contin"><labl>Age</labl>
  <valrng><range min="0" max="110"/></valrng><invalrng><item VALUE="-1"/></invalrng>
  <sumStat type="min">17</sumStat><catgry><catValu>110</catValu><labl>110 or more</labl></catgry>
 </var>
 <var name="sex" intrvl="discrete"><valrng><range min="1" max="9"/></valrng>
  <catgry><catValu>1</catValu><labl>Male</labl><catStat type="freq">3</catStat></catgry>
  <catgry><catValu>2</catValu></catgry><catgry missing="Y"><catValu>9</catValu></catgry>
 </var>
 <var name="region"><catgry><catValu>01</catValu></catgry><varFormat type="character"/></var>
 <var name="name"><varFormat type="character"/><derivation/></var>
 <var name="pay"><invalrng><range min="90" max="99"/><item VALUE="98"/></invalrng></var>
</dataDscr></codeBook>
"""


def test_every_variable(written):
    found = read_ddi(written(BOOK))
    assert found.columns == {
        "age": {"sdtype": "numerical", "range_min": 0, "range_max": 110, "special_values": [-1]},
        "sex": {"sdtype": "categorical", "range_values": [1, 2, 9]},
        "region": {"sdtype": "categorical", "range_values": ["01"]},
        "name": {"sdtype": None},
        "pay": {"sdtype": "numerical", "special_values": [98]},
    }
    said = "\n".join(found.lines)
    for words in ("name: not understood: derivation", "pay: a range of missing", "sex: its range is not used",
                  "summary statistics are of the rows"):  # fmt: skip
        assert words in said


def test_damaged(written):
    for text, words in (
        ("", "is no XML"),
        ("<codeBook>", "is no XML"),
        ("<codeBook/>", "has no variables"),
        ("<codeBook><var/></codeBook>", "has no name"),
        ("<codeBook><var name='a'/><var name='a'/></codeBook>", "or that of another one"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><codeBook><var name="a"/></codeBook>', "document type or entities"),
    ):
        with pytest.raises(ValueError, match=words):
            read_ddi(written(text))
