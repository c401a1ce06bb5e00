"""Codes on disk count as the rows do, and are gone after the fit."""

import os
import stat
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from cases import each_once
from killing import READY, SIGNALS, ended, waiting
from tables import COLUMNS, DECLARED, held
from test_source_counts import DOMAIN, FRAME, NAMES, SETS, agree, whole

from sdv_plausible import Budget, fit_source
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources import progress
from sdv_plausible.sources.encoded_cache import cache_codes
from sdv_plausible.sources.source import FrameSource, RereadSource
from sdv_plausible.sources.source_counts import PartEncoder
from sdv_plausible.table.columns.cell_reader import PLAIN_SPELLING

CODER = PartEncoder(DOMAIN, RuleSet(), KeyedRNG.from_seed(1))


def test_tables_are_those_of_the_rows(tmp_path):
    for n in (0, 1, 700):
        folder = tmp_path / str(n)
        folder.mkdir()
        kept = cache_codes(FrameSource(FRAME.iloc[:n], 100), CODER, NAMES, folder)
        assert agree(kept, whole(FRAME.iloc[:n]))
        assert kept.num_rows() == n
        files = sorted(folder.iterdir())
        assert len(files) == max(-(-n // 100), 1)
        assert {np.load(file).dtype for file in files} == {np.dtype(np.uint8)}
        assert kept.part(0, 0.5, KeyedRNG.from_seed(0)).num_rows() <= n
        assert len(SETS) == len(list(kept.tables(SETS)))


def test_nothing_is_left(tmp_path, monkeypatch):
    """After a fit, and after one that is stopped."""
    seen, options = [], {"random_state": 0, "allow_no_claim": True}
    found = fit_source(FRAME, COLUMNS, DECLARED, scratch=tmp_path, rows=100, **options)
    assert found == fit_source(FRAME, COLUMNS, DECLARED, **options)
    assert not list(tmp_path.iterdir())

    def stop(*_):
        seen.extend(tmp_path.rglob("*.npy"))
        raise KeyboardInterrupt

    monkeypatch.setattr("sdv_plausible.fitting.fit.fit_release", stop)
    with pytest.raises(KeyboardInterrupt):
        fit_source(FRAME, COLUMNS, DECLARED, scratch=tmp_path)
    assert seen
    assert not list(tmp_path.iterdir())


def test_counts_from_files_show_how_far_they_are_also_of_columns_that_a_vote_read_again(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(progress, "INTERVAL", 0)
    source, told = FrameSource(FRAME, 100), []
    source.progress = progress.Progress(told.append)
    list(cache_codes(RereadSource(source, {}, PLAIN_SPELLING), CODER, NAMES, tmp_path).tables(SETS))
    passes = [line.partition(" rows")[0] for line in told]
    assert passes[-1] == f"pass 2, {len(FRAME):,} of {len(FRAME):,}"  # known from the first one
    assert "pass 1, 100" in passes


def test_a_folder_that_is_not_there_or_of_no_use_costs_no_budget(tmp_path):
    budget = Budget(1.5, 1e-8, tmp_path / "budget.json")
    with pytest.raises(ValueError, match="make it first"):
        fit_source(FRAME, COLUMNS, DECLARED, budget=budget, scratch=tmp_path / "none")
    with pytest.raises(ValueError, match="whose workers keep the encoded rows"):
        fit_source(held("dask", FRAME, tmp_path), COLUMNS, DECLARED, budget=budget, scratch=tmp_path)
    fit_source(FRAME, COLUMNS, DECLARED, budget=budget, scratch=tmp_path)


PEOPLE = {"name": {"sdtype": "id"}, "sex": {"range_values": ["f", "m"]}}
SCRIPT = f"""
import signal, sys
import pyarrow as pa
from sdv_plausible import fit_source

opened = []

def batches():
    opened.append(1)
    yield from [pa.RecordBatch.from_pydict({{"name": ["Anna", "Beat"], "sex": ["f", "m"]}})] * 2
    if len(opened) > 3:  # those before see whether it gives its rows anew
        {READY}

fit_source(batches, domain={PEOPLE}, scratch=sys.argv[1], person=sys.argv[2] or None, workers=1)
"""


def fit_again(scratch, person, **more):
    """A fit of other people in the same folder."""
    frame = pd.DataFrame({"name": ["Carla", "Daniel"] * 50, "sex": ["f", "m"] * 50})
    fit_source(frame, domain=PEOPLE, scratch=scratch, person=person or None, **more)


@pytest.mark.skipif(os.name != "posix", reason="there are no such locks")
@pytest.mark.parametrize(
    ("number", "person", "is_refused"), each_once(SIGNALS, ["", "name", "name"], [False, False, True])
)
def test_the_next_fit_removes_what_a_killed_one_left_and_nothing_else(person, is_refused, number, tmp_path):
    (tmp_path / "thesis").mkdir()
    with waiting(SCRIPT, tmp_path, person) as running:
        (folder,) = (one for one in tmp_path.iterdir() if one.name != "thesis")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        rows = set(folder.iterdir())
        assert rows
        fit_again(tmp_path, person)
        assert rows <= set(folder.iterdir())  # its fit is under way
        assert ended(running, number) == -number  # a library leaves signals to its program
    assert rows <= set(folder.iterdir())
    with pytest.raises(ValueError, match="allow_no_claim") if is_refused else nullcontext():
        fit_again(tmp_path, person, random_state=0 if is_refused else None)
    assert [one.name for one in tmp_path.iterdir()] == ["thesis"]
