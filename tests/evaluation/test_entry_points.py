"""The names of the room resolve; how they are loaded into SDMetrics is in tests/integration/test_imports.py."""

import pytest

from sdv_plausible import evaluation


def test_public_names_resolve():
    assert set(evaluation.__all__) <= set(dir(evaluation))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = evaluation.nothing
