"""The rule on names of tables is stated twice, and both statements take the same names."""

import pytest

from sdv_plausible.extensions.verify.independent.file_reader import (
    MAX_NAME_BYTES,
    _is_file_name,
    check_table_names,
)
from sdv_plausible.extensions.verify.independent.verdict import ContradictionError
from sdv_plausible.utils import file_paths
from sdv_plausible.utils.file_paths import violated_rule
from tests.hostile import COLLIDING, ORDINARY_NAMES, TABLE_NAMES

LETTERS = [
    *map(chr, [*range(1, 0x2100), *range(0xD7FF, 0xD802), *range(0xFE00, 0x10000), *range(0x1F100, 0x1F110)])
]
SHAPES = ("{}", "{}b", "b{}", "a{}b", "co{}", "nul{}x")


def test_both_statements_of_the_rule_agree():
    names = [
        *TABLE_NAMES,
        *ORDINARY_NAMES,
        *(shape.replace("{}", one) for one in LETTERS for shape in SHAPES),
    ]
    assert [ascii(name) for name in names if (violated_rule(name) is None) != _is_file_name(name)] == []
    assert [name for name in TABLE_NAMES if _is_file_name(name)] == []
    assert file_paths.MAX_NAME_BYTES == MAX_NAME_BYTES
    check_table_names(ORDINARY_NAMES)
    for pair in COLLIDING:
        with pytest.raises(ContradictionError, match="are one on some systems"):
            check_table_names(pair)
