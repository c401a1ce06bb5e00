"""Black box attacks: they find a synthesizer that copies, of frames or dicts, and accuse none that never looks."""

import pytest
from attacked import CopyCat, Stranger, people
from sdv.single_table import GaussianCopulaSynthesizer

from sdv_plausible.extensions.audit.attacks.black_box import canary_game, shadow_attack, synthetic_rows
from sdv_plausible.extensions.audit.attacks.frames import KINDS, crafted
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.sdv.metadata import metadata_from_columns

TABLE = people(1500)


def test_copies_are_found_and_strangers_are_not_accused() -> None:
    """The distance's bound is 1.46 with standard deviation .23; the density's AUC .67 with .03: 4 of them to spare."""
    found = canary_game(TABLE, CopyCat, canaries=300, false_alarm=1e-4)
    assert found.distance.epsilon > 0.5
    assert found.density.auc > 0.55
    assert set(found.by_kind) == set(KINDS)
    assert found.by_kind["crafted"]["distance"] > 0.55
    honest = canary_game(TABLE, Stranger, canaries=300, false_alarm=1e-4)
    assert honest.distance.epsilon == honest.density.epsilon == 0.0


def test_shadow_models_find_a_copy_and_accuse_no_stranger() -> None:
    table = people(100, seed=2)
    target = crafted(table, 1, KeyedRNG.from_os_entropy())
    found = shadow_attack(table, target, CopyCat, runs=150, false_alarm=1e-2)
    assert found is not None
    assert found.mu > 0.0  # .6 with standard deviation .2
    honest = shadow_attack(table, target, Stranger, runs=60, false_alarm=1e-4)
    assert honest is not None
    assert honest.mu == honest.epsilon == 0.0


def test_wrong_arguments_are_named_and_too_little_time_gives_no_bound() -> None:
    table = people(100)
    assert shadow_attack(table, table.iloc[:1], CopyCat, runs=50, seconds=0.0) is None
    with pytest.raises(ValueError, match="quarter of the rows"):
        canary_game(table, CopyCat, canaries=30)
    with pytest.raises(ValueError, match="one row"):
        shadow_attack(TABLE, TABLE.iloc[:2], CopyCat)


ROWS = people(60)


class InvalidDataTypeError(Exception):
    """As SDV 2 raises it."""


class OfDicts(CopyCat):
    """As SDV 2: frames in dicts, with columns in another order."""

    def fit(self, data):
        if not isinstance(data, dict):
            raise InvalidDataTypeError
        super().fit(data["table"])

    def sample(self, num_rows):
        return {"table": super().sample(num_rows)[list(ROWS.columns)[::-1]]}


class Broken(CopyCat):
    def fit(self, data):
        raise RuntimeError("broken")


def test_synthesizers_of_every_kind() -> None:
    columns = {"age": {"sdtype": "numerical"}, "job": {"sdtype": "categorical"}}
    for factory, rows in (
        (CopyCat, ROWS),
        (OfDicts, ROWS),
        (lambda: GaussianCopulaSynthesizer(metadata_from_columns(columns)), ROWS[[*columns]]),
    ):
        made = synthetic_rows(factory, rows, 20)
        assert len(made) == 20
        assert list(made.columns) == list(rows.columns)
    with pytest.raises(RuntimeError, match="broken"):  # other errors are not swallowed
        synthetic_rows(Broken, ROWS, 5)
