"""The page of the paper's results shows what is stored, and no report mixes what different code or settings made."""

import copy
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


def test_every_table_of_the_page_is_what_is_stored():
    text = page.PAGE.read_text(encoding="utf-8")
    assert {*page.blocks(text)} == {*page.TABLES}
    assert page.differing(text, page.stored()) == {}
    assert page.renewed(text, page.stored()) == text


@pytest.mark.parametrize("name", page.TABLES)
def test_a_planted_digit_or_line_is_seen(name):
    text, stores = page.PAGE.read_text(encoding="utf-8"), page.stored()
    block = page.blocks(text)[name]
    digit = [*re.finditer(r"[\w.]", block)][-1]
    changed = block[: digit.start()] + ("7" if digit[0] != "7" else "8") + block[digit.end() :]
    assert [*page.differing(text.replace(block, changed), stores)] == [name]
    assert page.renewed(text.replace(block, changed), stores) == text
    less = "\n".join(block.splitlines()[:-1])
    assert [*page.differing(text.replace(block, less), stores)] == [name]
    unmarked = text.replace(f"<!-- {name}: begin -->", "")
    assert name in page.differing(unmarked, stores)
    with pytest.raises(ValueError, match=name):
        page.renewed(unmarked, stores)


def test_no_sentence_has_a_figure_of_its_own_and_every_claim_holds():
    text, stores = page.PAGE.read_text(encoding="utf-8"), page.stored()
    assert page.loose_figures(text) == []
    assert page.outlived(text, stores) == []


@pytest.mark.parametrize(
    "figure",
    ["70.9", "15 of 16", "7 in the median", "0.33", "12 %", "61.2", "7.5", "within 3 points", "100 draws"],
)
def test_a_planted_figure_is_seen(figure):
    text = page.PAGE.read_text(encoding="utf-8")
    for place in ("**In short.** ", "- *Reals*, ", "| section 5 | "):
        planted = text.replace(place, f"{place}it is {figure} here, ")
        assert planted != text
        assert page.loose_figures(planted) == re.findall(r"[\d.]+", figure)


def test_a_claim_without_its_sentence_or_the_reverse_is_seen():
    text, stores = page.PAGE.read_text(encoding="utf-8"), page.stored()
    for name in claims.SENTENCES:
        mark = f"<!-- holds: {name} -->"
        assert text.count(mark) == 1
        assert page.outlived(text.replace(mark, ""), stores) == [name]
    assert page.outlived(f"{text}<!-- holds: another -->", stores) == ["another"]


def changed(stores, row, factor):
    """The stores with every number of a row, and the spread of its repeats, another one."""

    def scaled(value):
        if isinstance(value, list):
            return [scaled(v) for v in value]
        return value * factor if isinstance(value, float) else value

    def planted(kept):
        other = copy.copy(kept)
        other.lines = [
            {k: scaled(v) for k, v in line.items()} if line["row"] == row else line for line in kept.lines
        ]
        return other

    return tuple(planted(kept) for kept in stores)


FACTORS = (0.5, 0.9, 1.1, 2.0, 1e4)


def flips(judge):
    stores = page.stored()
    rows = dict.fromkeys(line["row"] for kept in stores for line in kept.lines)
    return any(judge(changed(stores, row, factor)) != judge(stores) for row in rows for factor in FACTORS)


@pytest.mark.parametrize("name", sorted({*claims.SENTENCES} - {"the order is a hypothesis"}))
def test_a_sentence_that_no_longer_holds_is_seen(name):
    assert flips(claims.SENTENCES[name])


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: claim.text)
def test_a_claim_of_the_paper_is_judged_by_the_results(claim):
    assert flips(lambda stores: claim.judge(stores[1])[0])


@pytest.mark.parametrize(
    ("planted", "holds"),
    [({}, True), ({"fitted": 14}, False), ({"random": [7, 9, 9]}, False), ({"random": [6, 7, 15]}, False)],
)
def test_the_order_is_judged_by_its_arcs(planted, holds):
    line = {"fitted": 15, "random": [6, 7, 13], "of": 16, "best arc": 5} | planted
    acs = SimpleNamespace(of=lambda item, row: [line])
    assert claims.SENTENCES["the order is a hypothesis"]((acs, acs)) is holds


@pytest.mark.parametrize("kept", page.stored(), ids=["acs", "simulated"])
def test_nothing_is_left_out_of_a_version(kept):
    """Results of before versions were kept lack items; those of a version have all, so that no claim holds for want of them."""
    if {*kept.versions()} != {store.UNKNOWN}:
        assert {line["item"] for line in kept.lines} == {*measures(quick=False), "table4 printed"}
        assert len(kept.commits()) == 1


@pytest.mark.parametrize("data", ["acs", "simulated"])
def test_the_stored_page_is_made_of_what_is_stored(data):
    kept = Store(page.HERE / f"results_{data}.jsonl")
    shown = (page.HERE / f"results_{data}.md").read_text(encoding="utf-8")
    assert report.render(kept, data, SIZES[data]) == shown
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
    path.write_text(
        json.dumps(lines[1]) + "\n"
    )  # another one than this checkout's: nothing is measured beside it
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
