"""A fit that is interrupted leaves no row behind: in a new object nothing, in a fitted one the earlier fit."""

from __future__ import annotations

import pickle

import pandas as pd
import pytest
from sdv.errors import SamplingError

from sdv_plausible import AdaptiveNetwork, PlausibleDeniabilitySynthesizer
from sdv_plausible.sdv.metadata import metadata_from_columns

COLUMNS = {
    "key": {"sdtype": "id"}, "email": {"sdtype": "email", "pii": True}, "city": {"sdtype": "categorical"},
    "age": {"sdtype": "numerical"},
}  # fmt: skip
DOMAIN = {"city": {"range_values": ["Bern", "Chur"]}, "age": {"range_min": 0, "range_max": 10**9}}
SECRETS = ("only-here@example.org", "Only-This-City", "123454321", "K-987")


def table() -> pd.DataFrame:
    city = pd.Categorical(["Bern", "Chur", "Bern"] * 100, categories=["Bern", "Chur", SECRETS[1]])
    keys, emails = [f"K-{i}" for i in range(300)], [f"u{i}@example.org" for i in range(300)]
    frame = pd.DataFrame({"key": keys, "email": emails, "city": city, "age": range(300)})
    frame.loc[7] = [SECRETS[3], SECRETS[0], SECRETS[1], int(SECRETS[2])]
    return frame


def make() -> PlausibleDeniabilitySynthesizer:
    return PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), domain=DOMAIN)


def secrets_in(synth: PlausibleDeniabilitySynthesizer) -> list[str]:
    held = pickle.dumps(synth.__dict__).decode("latin-1")
    number = pickle.dumps(int(SECRETS[2]))[-5:-1].decode("latin-1")
    return [secret for secret in (*SECRETS, number) if secret in held]


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupted_fit_leaves_nothing_or_the_first(when, monkeypatch):
    """Ctrl-C while the model is learned, before or after it looked at the rows."""
    new, old, honest = make(), make(), AdaptiveNetwork.fit
    old.fit(table().drop(index=7))
    release, ledger = old.release().to_bytes(), str(old.privacy_ledger())

    def fit(*given, **options):
        if when == "after":
            honest(*given, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(AdaptiveNetwork, "fit", fit)
    for synth in (new, old):
        with pytest.raises(KeyboardInterrupt):
            synth.fit(table())
        assert secrets_in(synth) == []
    assert (old.release().to_bytes(), str(old.privacy_ledger())) == (release, ledger)
    for ask in (new.privacy_ledger, lambda: new.sample(1), new.release):
        with pytest.raises((SamplingError, ValueError), match="fit"):
            ask()


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
