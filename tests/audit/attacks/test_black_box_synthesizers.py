"""Synthesizers of every kind: of frames, of SDV's two versions, and with columns in another order."""

import pytest
from attacked import CopyCat, people

from sdv_plausible.audit.attacks.black_box import synthetic_rows

ROWS = people(60)


class InvalidDataTypeError(Exception):
    """As SDV 2 raises it."""


class OfDicts(CopyCat):
    """As SDV 2: frames in dicts."""

    def fit(self, data):
        if not isinstance(data, dict):
            raise InvalidDataTypeError
        super().fit(data["table"])

    def sample(self, num_rows):
        return {"table": super().sample(num_rows)[list(ROWS.columns)[::-1]]}


@pytest.mark.parametrize("factory", [CopyCat, OfDicts])
def test_frames_and_dicts(factory) -> None:
    made = synthetic_rows(factory, ROWS, 20)
    assert len(made) == 20
    assert list(made.columns) == list(ROWS.columns)


def test_a_synthesizer_of_sdv() -> None:
    from sdv.single_table import GaussianCopulaSynthesizer

    from sdv_plausible.sdv.metadata import metadata_from_columns

    rows = ROWS[["age", "job"]]
    columns = {"age": {"sdtype": "numerical"}, "job": {"sdtype": "categorical"}}
    made = synthetic_rows(lambda: GaussianCopulaSynthesizer(metadata_from_columns(columns)), rows, 20)
    assert len(made) == 20


def test_other_errors_are_not_swallowed() -> None:
    class Broken(CopyCat):
        def fit(self, data):
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        synthetic_rows(Broken, ROWS, 5)
