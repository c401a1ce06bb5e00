"""Stages of a fit, in words for the data owner: of a table in memory, and of one in parts."""

import pandas as pd

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.sources.progress import Progress

TABLE = pd.DataFrame({"a": [i % 10 for i in range(300)], "b": ["x", "y", "z"] * 100})
DECLARED = {
    "a": {"sdtype": "numerical", "range_min": 0, "range_max": 9},
    "b": {"range_values": ["x", "y", "z"]},
}


def test_stages_of_a_fit_in_memory_and_in_parts(tmp_path, monkeypatch):
    """Control: a fit that nobody watches reports nothing, and its answers are the same."""
    monkeypatch.setattr("sdv_plausible.sources.progress.INTERVAL", 0)
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    synth = PlausibleDeniabilitySynthesizer(metadata_of(DECLARED), domain=DECLARED, random_state=0)
    told: list[str] = []
    synth.fit(TABLE)
    unwatched = synth.sample(50)
    synth.watch_progress = told.append
    synth.fit(TABLE)
    assert synth.sample(50).equals(unwatched)
    rounds = [words for words in told if words.startswith("learning the model, round ")]
    assert told == ["encoding rows", "learning the model", *rounds]
    assert rounds == [f"learning the model, round {i + 1} of {len(rounds)}" for i in range(len(rounds))]
    told.clear()
    synth.fit(str(tmp_path / "t.csv"))
    assert {words.partition(",")[0] for words in told} == {"encoding rows", "learning the model"}
    assert any("pass 1, 300 rows" in words for words in told)


def test_a_stage_precedes_the_passes_and_nothing_is_told_without_a_listener():
    told: list[str] = []
    for progress in (Progress(told.append), Progress()):
        progress.stage("encoding rows")
        progress.begin()
        progress.read(5)
    assert told[0] == "encoding rows"
    assert told[1].startswith("encoding rows, pass 1, 5 rows")
    assert len(told) == 2
