"""Who listens at the door hears every way to ask, or refuses it."""

import inspect

import numpy as np
import pytest

from sdv_plausible.extensions.audit.attacks.white_box import ObservedQueryable
from sdv_plausible.extensions.audit.recorded_queries import RecordingQueryable, rejects_unrecorded_queries
from sdv_plausible.privacy.accounting.losses import GaussianLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axis, CodeArray, CountTable
from sdv_plausible.queries.queryable import Queryable


def listening(kind: type[RecordingQueryable] = RecordingQueryable) -> RecordingQueryable:
    engine = CodeArray(np.zeros((3, 2), dtype=np.int32), (2, 2))
    losses = (GaussianLoss(sensitivity_over_sigma=1.0),)
    entry = LedgerEntry(name="model", mechanism="test", losses=losses, scope="the model")
    ledger, rng = PrivacyLedger(delta=1e-4), KeyedRNG.from_os_entropy()
    return kind(engine, ledger, [entry], rng, parts={"structure": engine})


def asking_methods() -> set[str]:
    """Public methods of the door by which something of the rows could leave."""
    methods = {name for name, _ in inspect.getmembers(Queryable, inspect.isfunction) if name[0] != "_"}
    return methods - {"part", "report", "sigma"}


@pytest.mark.parametrize("kind", [RecordingQueryable, ObservedQueryable])
def test_every_way_to_ask_is_heard_or_refused(kind, monkeypatch):
    """Planted: one more way, which an audit would not hear."""
    heard = {"ask", "ask_tables", "ask_laplace", "count_rows", "raw_rows"}
    refused = {"ask_frequent", "ask_sampled", "choose", "release_groups", "seed_records"}
    own = {name for name in asking_methods() if getattr(kind, name) is not getattr(Queryable, name)}
    assert heard | refused == asking_methods() == own
    for name in refused:
        with pytest.raises(NotImplementedError, match=f"not {name}"):
            getattr(listening(kind), name)("x")
    monkeypatch.setattr(Queryable, "whisper", lambda self: self._rows.num_rows(), raising=False)
    assert "whisper" in asking_methods()
    with pytest.raises(NotImplementedError, match="not whisper"):
        rejects_unrecorded_queries(type("Later", (kind,), {})).whisper(None)


def test_who_listens_hears_the_parts_too():
    rows = listening()
    rows.part("structure").ask(CountTable([Axis.of_codes(0, 2)]), 1.0)
    assert len(rows.recorded) == 1
