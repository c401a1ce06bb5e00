"""A fit that is interrupted leaves no row behind: in a new object nothing, in a fitted one the earlier fit."""

from __future__ import annotations

import pickle

import pandas as pd
import pytest
from sdv.errors import SamplingError

from sdv_plausible import PlausibleDeniabilitySynthesizer
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.sdv.metadata import metadata_from_columns

COLUMNS = {
    "key": {"sdtype": "id"},
    "email": {"sdtype": "email", "pii": True},
    "city": {"sdtype": "categorical"},
    "age": {"sdtype": "numerical"},
}
DOMAIN = {"city": {"range_values": ["Bern", "Chur"]}, "age": {"range_min": 0, "range_max": 10**9}}
SECRETS = ("only-here@example.org", "Only-This-City", "123454321", "K-987")


def table() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "key": [f"K-{i}" for i in range(300)],
            "email": [f"u{i}@example.org" for i in range(300)],
            "city": pd.Categorical(["Bern", "Chur", "Bern"] * 100, categories=["Bern", "Chur", SECRETS[1]]),
            "age": range(300),
        }
    )
    frame.loc[7] = [SECRETS[3], SECRETS[0], SECRETS[1], int(SECRETS[2])]
    return frame


def make() -> PlausibleDeniabilitySynthesizer:
    return PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), domain=DOMAIN)


def interrupt(patch: pytest.MonkeyPatch, when: str) -> None:
    """Ctrl-C while the model is learned, before or after it looked at the rows."""
    honest = AdaptiveNetwork.fit

    def fit(*args, **options):
        if when == "after":
            honest(*args, **options)
        raise KeyboardInterrupt

    patch.setattr(AdaptiveNetwork, "fit", fit)


def held(synth: PlausibleDeniabilitySynthesizer) -> str:
    return pickle.dumps(synth.__dict__).decode("latin-1")


def secrets_in(synth: PlausibleDeniabilitySynthesizer) -> list[str]:
    number = pickle.dumps(int(SECRETS[2]))[-5:-1].decode("latin-1")
    return [secret for secret in (*SECRETS, number) if secret in held(synth)]


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupted_first_fit_leaves_nothing(when, monkeypatch):
    synth = make()
    interrupt(monkeypatch, when)
    with pytest.raises(KeyboardInterrupt):
        synth.fit(table())
    assert secrets_in(synth) == []
    for ask in (synth.privacy_ledger, lambda: synth.sample(1), synth.release):
        with pytest.raises((SamplingError, ValueError), match="fit"):
            ask()


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupted_second_fit_leaves_the_first(when, monkeypatch):
    synth = make()
    synth.fit(table().drop(index=7))
    release, ledger = synth.release().to_bytes(), str(synth.privacy_ledger())
    interrupt(monkeypatch, when)
    with pytest.raises(KeyboardInterrupt):
        synth.fit(table())
    assert secrets_in(synth) == []
    assert synth.release().to_bytes() == release
    assert str(synth.privacy_ledger()) == ledger


def test_rows_that_stay_would_be_found(monkeypatch):
    honest = PlausibleDeniabilitySynthesizer._fit_rows

    def keep(self, table, dtypes):
        self._kept = self._rows
        honest(self, table, dtypes)

    synth = make()
    monkeypatch.setattr(PlausibleDeniabilitySynthesizer, "_fit_rows", keep)
    synth.fit(table())
    assert len(secrets_in(synth)) == len(SECRETS)  # the number as bytes, not as text


def test_who_watches_a_fit_sees_every_charge_before_the_rows_are_asked(monkeypatch, tmp_path):
    synth, seen, asked = make(), [], []
    synth.watch = lambda ledger: seen.append([entry.name for entry in ledger.entries])
    honest = AdaptiveNetwork.fit
    monkeypatch.setattr(
        AdaptiveNetwork, "fit", lambda *args, **options: asked.append(seen[-1]) or honest(*args, **options)
    )
    synth.fit(table())
    final = [entry.name for entry in synth.privacy_ledger().entries]
    assert seen[-1] == final
    assert all(names == final[: len(names)] for names in seen)
    learned = [entry.name for entry in synth.privacy_ledger().entries if "parameters" in entry.parts]
    assert learned
    assert set(learned) <= set(asked[0])
    synth.save(tmp_path / "synth.pkl")  # the watcher, which cannot be pickled, is not in it
    assert "after_charge" not in vars(synth.privacy_ledger())
