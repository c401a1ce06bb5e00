"""The page of the paper's results shows what is stored, and no report mixes what different code or settings made."""

import copy
import itertools
import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.paper import claims, page, report, store
from benchmarks.paper.__main__ import main, measures
from benchmarks.paper.settings import SIZES
from benchmarks.paper.store import MixedVersionsError, Store, Version, code_digest

QUICK = SIZES["quick"]
TEXT, STORES = page.PAGE.read_text(encoding="utf-8"), page.stored()


def test_every_table_of_the_page_is_what_is_stored():
    assert {*page.blocks(TEXT)} == {*page.TABLES}
    assert page.differing(TEXT, STORES) == {}


def test_a_planted_digit_or_line_is_seen(monkeypatch):
    texts = {name: made(STORES) for name, made in page.TABLES.items()}
    monkeypatch.setattr(page, "TABLES", {name: lambda _, name=name: texts[name] for name in texts})
    for name in page.TABLES:
        block = page.blocks(TEXT)[name]
        digit = [*re.finditer(r"[\w.]", block)][-1]
        changed = block[: digit.start()] + ("7" if digit[0] != "7" else "8") + block[digit.end() :]
        assert [*page.differing(TEXT.replace(block, changed), STORES)] == [name]
        assert page.renewed(TEXT.replace(block, changed), STORES) == TEXT
        less = "\n".join(block.splitlines()[:-1])
        assert [*page.differing(TEXT.replace(block, less), STORES)] == [name]
        unmarked = TEXT.replace(f"<!-- {name}: begin -->", "")
        assert name in page.differing(unmarked, STORES)
        with pytest.raises(ValueError, match=name):
            page.renewed(unmarked, STORES)


def test_no_sentence_has_a_figure_of_its_own_and_every_claim_holds():
    assert page.loose_figures(TEXT) == []
    assert page.outlived(TEXT, STORES) == []
    for figure in (
        "70.9",
        "15 of 16",
        "7 in the median",
        "0.33",
        "12 %",
        "61.2",
        "7.5",
        "within 3 points",
        "100 draws",
    ):
        for place in ("**In short.** ", "- *Reals*, ", "| section 5 | "):
            planted = TEXT.replace(place, f"{place}it is {figure} here, ")
            assert planted != TEXT
            assert page.loose_figures(planted) == re.findall(r"[\d.]+", figure)


def test_a_claim_without_its_sentence_or_the_reverse_is_seen():
    for name in claims.SENTENCES:
        mark = f"<!-- holds: {name} -->"
        assert TEXT.count(mark) == 1
        assert page.outlived(TEXT.replace(mark, ""), STORES) == [name]
    assert page.outlived(f"{TEXT}<!-- holds: another -->", STORES) == ["another"]


def changed(row, factor):
    """The stores with every number of a row, and the spread of its repeats, another one."""

    def scaled(value):
        if isinstance(value, list):
            return [scaled(v) for v in value]
        return value * factor if isinstance(value, float) else value

    others = [copy.copy(kept) for kept in STORES]
    for other in others:
        other.lines = [
            {k: scaled(v) for k, v in one.items()} if one["row"] == row else one for one in other.lines
        ]
    return claims.Stores(*others)


def test_what_no_longer_holds_is_seen():
    """Sentences of the page, and claims of the paper: each is judged by the results."""
    rows = dict.fromkeys(line["row"] for kept in STORES for line in kept.lines)
    judges = {
        name: claims.SENTENCES[name] for name in claims.SENTENCES if name != "the order is a hypothesis"
    }
    judges |= {claim.text: lambda stores, claim=claim: claim.judge(stores)[0] for claim in claims.CLAIMS}
    for row, factor in itertools.product(rows, (0.5, 0.9, 1.1, 2.0, 1e4)):
        others = changed(row, factor)
        judges = {name: judge for name, judge in judges.items() if judge(others) == judge(STORES)}
    assert [*judges] == []


def test_the_order_is_judged_by_its_arcs():
    told = {"fitted": 15, "random": [6, 7, 13], "of": 16, "best arc": 5}
    for planted in ({}, {"fitted": 14}, {"random": [7, 9, 9]}, {"random": [6, 7, 15]}):
        acs = SimpleNamespace(of=lambda item, row, line=told | planted: [line])
        assert claims.SENTENCES["the order is a hypothesis"]((acs, acs)) is (planted == {})


def test_the_stored_pages_are_made_of_what_is_stored_and_nothing_is_left_out_of_a_version():
    """Results of before versions were kept lack items; those of a version have all, so that no claim holds for want of them."""
    for data, kept in zip(("acs", "simulated"), STORES[:2], strict=True):
        if {*kept.versions()} != {store.UNKNOWN}:
            assert {line["item"] for line in kept.lines} == {*measures(quick=False), "table4 printed"}
            assert len(kept.commits()) == 1
        assert kept.lines == Store(page.HERE / f"results_{data}.jsonl").lines
        assert report.render(kept, data, SIZES[data]) == (page.HERE / f"results_{data}.md").read_text("utf-8")
        assert len(kept.versions()) == 1


def test_every_result_knows_what_made_it(tmp_path: Path):
    path = tmp_path / "lines.jsonl"
    kept = Store(path, QUICK)
    kept.once("distances", "reals", 0, lambda: {"values": [0.5], "pairs": [0.25]})
    kept.once("distances", "reals", 0, lambda: pytest.fail("measured again"))
    (line,) = Store(path).lines
    assert {k: v for k, v in line["made"].items() if k != "commit"} == asdict(Version.of(QUICK))
    again = Store(path, replace(QUICK, repeats=9))  # more repeats are no other setting
    again.check_one_version()
    again.forget_other_versions()
    assert again.lines == [line]


@pytest.mark.parametrize("what", ["code", "libraries", "settings", "unknown"])
def test_two_versions_are_refused(tmp_path: Path, what: str):
    path = tmp_path / "results_simulated.jsonl"
    kept = Store(path, QUICK)
    for repeat in range(2):
        kept.once("distances", "reals", repeat, lambda: {"values": [0.5], "pairs": [0.25]})
    assert "Made at" in report.render(Store(path), "simulated", QUICK)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    if what == "unknown":
        del lines[1]["made"]
    else:
        lines[1]["made"][what] = "another"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(MixedVersionsError, match="rerun"):
        report.render(Store(path), "simulated", QUICK)
    with pytest.raises(SystemExit, match="mixes"):
        main(["report", "--data", "simulated", "--quick", "--output", str(tmp_path)])
    # Another one than this checkout's: nothing is measured beside it.
    path.write_text(json.dumps(lines[1]) + "\n")
    with pytest.raises(SystemExit, match="now"):
        main(["figure3", "--data", "simulated", "--quick", "--output", str(tmp_path)])
    assert len(path.read_text().splitlines()) == 1
    kept = Store(path, QUICK)
    kept.forget_other_versions()
    assert kept.lines == []


def test_the_code_is_what_can_change_a_number(tmp_path: Path):
    for name in store.SOURCES:
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        assert (page.ROOT / name).exists()
        (place.write_text("a = 1\n") if name.endswith(".py") else place.mkdir())
    before = code_digest(tmp_path)
    (tmp_path / "sdv_plausible/web.py").write_text("b = 1\n")
    code_digest.cache_clear()
    assert code_digest(tmp_path) == before
    (tmp_path / "sdv_plausible/models/new.py").write_text("c = 1\n")
    code_digest.cache_clear()
    assert code_digest(tmp_path) != before
