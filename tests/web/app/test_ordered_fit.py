"""What a fit does in its process: every charge is told before the rows are asked; files; no cell in an error."""

import json

import pytest
from killing import READY, SIGNALS, ended, waiting
from reviewing import COLUMNS, write_people

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release
from sdv_plausible.fit import telling
from sdv_plausible.fit.run import Fit
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.table.declared.domain_file import drafted
from sdv_plausible.table.learned import type_votes
from sdv_plausible.web.app import ordered_fit
from sdv_plausible.web.app.order import read_order
from sdv_plausible.web.app.ordered_fit import FILES, run
from sdv_plausible.web.review.review import Table

SENTENCE = "links between columns are mostly noise: do not rely on them"


class Heard(list):
    send = list.append

    def of(self, what):
        return [said[1:] for said in self if said[0] == what]


@pytest.fixture
def ordered(tmp_path):
    table = Table(write_people(tmp_path / "people.csv", 2000), tuple(COLUMNS), {"encoding": "utf-8"})

    def made(columns=COLUMNS, **texts):
        return read_order(table, drafted(table.names, columns), {"rows": "50", **texts})[0]

    return made


@pytest.mark.slow  # test_app_pages.py makes one in the fast suite
def test_a_whole_release(ordered, tmp_path):
    heard, some = Heard(), {name: words for name, words in COLUMNS.items() if name != "town"}
    run(ordered(some), tmp_path, heard)
    assert heard.of("failed") == []
    assert [number for (number,) in heard.of("stage")] == [0, 1, 2, 3, 4]
    assert [key for (key,) in heard.of("file")] == [
        "ledger",
        "release",
        "card",
        "rows",
        "full_report",
        "report",
        "inspection",
    ]
    assert heard.of("charged")[0][1] == ["types"]
    ledger = json.loads((tmp_path / FILES["ledger"].name).read_text())
    sentence, _, text, claims = heard.of("released")[0]
    assert claims
    assert sentence in text
    assert ledger["epsilon"] == pytest.approx(1, rel=1e-3)
    assert len(Release.load(tmp_path / FILES["release"].name).sample(5)) == 5
    assert (tmp_path / FILES["rows"].name).read_text().splitlines()[0] == "id,age,sex,town,day"
    assert sentence.split(",")[0] in (tmp_path / FILES["card"].name).read_text()
    public = (tmp_path / FILES["report"].name).read_text()
    assert "NOT" not in public.split("<body")[1][:2000]


def charges_before_questions(ordered, tmp_path, monkeypatch):
    heard, asked, honest = Heard(), [], AdaptiveNetwork.fit
    monkeypatch.setattr(
        AdaptiveNetwork, "fit", lambda *a, **o: asked.append(heard.of("charged")[-1][1]) or honest(*a, **o)
    )
    vote = type_votes.vote_types
    monkeypatch.setattr(
        type_votes, "vote_types", lambda *a: asked.append(heard.of("charged")[-1][1]) or vote(*a)
    )
    some = {name: words for name, words in COLUMNS.items() if name != "town"}
    run(ordered(some), tmp_path, heard)
    assert heard.of("failed") == []
    assert asked[0] == ["types"]
    assert {"types", "model"} <= set(asked[1])


def test_every_charge_is_told_before_the_rows_are_asked(ordered, tmp_path, monkeypatch):
    charges_before_questions(ordered, tmp_path, monkeypatch)


def test_a_planted_vote_that_is_told_too_late_is_caught(ordered, tmp_path, monkeypatch):
    honest = Fit._voted

    def late(fit, rows, opened, coins):
        told, opened.ledger.after_charge = opened.ledger.after_charge, None
        found = honest(fit, rows, opened, coins)
        opened.ledger.after_charge = told
        return found

    monkeypatch.setattr(Fit, "_voted", late)
    with pytest.raises(AssertionError):
        charges_before_questions(ordered, tmp_path, monkeypatch)


def test_without_a_release_file_it_is_said_why(ordered, tmp_path, monkeypatch):
    monkeypatch.setattr(ordered_fit, "_compare", lambda *_: None)
    heard = Heard()
    run(ordered(test="deterministic", k="2"), tmp_path, heard)
    assert heard.of("failed") == []
    assert heard.of("without")[0][0] == "release"
    assert "release" not in [key for (key,) in heard.of("file")]


def test_without_a_card_the_release_is_there(ordered, tmp_path, monkeypatch):
    monkeypatch.setattr(ordered_fit, "_compare", lambda *_: None)
    monkeypatch.setattr(Release, "card", lambda *_, **__: int("Basel"))
    heard = Heard()
    run(ordered(), tmp_path, heard)
    assert heard.of("failed") == []
    assert [name for name, _ in heard.of("without")] == ["card"]
    assert "ValueError while the rows were worked on" in heard.of("without")[0][1]
    assert [key for (key,) in heard.of("file")] == ["ledger", "release", "rows"]
    assert heard.of("released")[0][3]
    assert "Basel" not in str(heard)


@pytest.mark.parametrize("test", ["release", "deterministic"])
def test_rows_that_cannot_be_made_leave_what_was_paid_for(ordered, tmp_path, monkeypatch, test):
    """Control: without a release file nothing is left, and nothing was released."""
    monkeypatch.setattr(PlausibleDeniabilitySynthesizer, "sample", lambda *_: int("Basel"))
    heard = Heard()
    run(ordered(test=test, k="2"), tmp_path, heard)
    files = [key for (key,) in heard.of("file")]
    assert "Basel" not in str(heard)
    assert (
        bool(heard.of("released")) == (test == "release") == ("release" in files) != bool(heard.of("failed"))
    )
    if test == "release":
        assert files == ["ledger", "release", "card"]
        said = [what for what, *_ in heard]
        assert said.index("released") < said.index("without")  # so that one that is cancelled has it, too
        assert [name for name, _ in heard.of("without")] == ["rows", "report", "inspection"]
        assert len(Release.load(tmp_path / FILES["release"].name).sample(3)) == 3


def test_an_error_quotes_no_cell(ordered, tmp_path, monkeypatch):
    monkeypatch.setattr(ordered_fit, "read_file", lambda *_: int("Basel"))
    heard = Heard()
    run(ordered(), tmp_path, heard)
    assert "ValueError while the rows were worked on" in heard.of("failed")[0][0]
    assert "Basel" not in str(heard)


def test_a_report_that_fails_takes_nothing_back(ordered, tmp_path, monkeypatch):
    monkeypatch.setattr("sdv_plausible.evaluation.page.inspection.inspection_page", lambda *_: int("Basel"))
    heard = Heard()
    run(ordered(), tmp_path, heard)
    assert heard.of("failed") == []
    assert heard[-1] == ("stage", 4)
    assert [name for name, _ in heard.of("without")] == ["inspection"]
    assert "full_report" in [key for (key,) in heard.of("file")]
    assert "Basel" not in str(heard)


def test_dates_that_are_split_leave_the_report_without_a_network(ordered, tmp_path, monkeypatch):
    heard = Heard()
    lines = ["at,town", *(f"2020-01-{i % 28 + 1:02d} {i % 24:02d}:30:00,Bern" for i in range(500))]
    (tmp_path / "t.csv").write_text("\n".join([*lines, ""]))
    table = Table(tmp_path / "t.csv", ("at", "town"), {"encoding": "utf-8"})
    moments = {"sdtype": "datetime", "datetime_format": "%Y-%m-%d %H:%M:%S"}
    columns = {"at": moments, "town": {"sdtype": "categorical", "range_values": ["Bern", "Chur"]}}
    run(read_order(table, drafted(table.names, columns), {"rows": "50"})[0], tmp_path, heard)
    assert heard.of("failed") == heard.of("without") == []


ALONE = f"""
import signal, sys
from pathlib import Path
from sdv_plausible.web.app import ordered_fit
from sdv_plausible.utils.whole_files import write_whole

def half(path):
    path.write_text("a real row")
    {READY}

ordered_fit._release = lambda order, folder, told: write_whole(folder / "page.html", half)
ordered_fit.run_alone(None, Path(sys.argv[1]), None)
"""


@pytest.mark.skipif(len(SIGNALS) == 1, reason="no such signals")
@pytest.mark.parametrize("number", [SIGNALS[0], SIGNALS[-1]])
def test_a_process_that_is_asked_to_end_leaves_nothing(number, tmp_path):
    with waiting(ALONE, tmp_path) as running:
        assert list(tmp_path.glob("*/page.html"))
        is_asked = number != SIGNALS[-1]  # nobody hears SIGKILL: what it leaves is the control
        assert ended(running, number) == (128 + number if is_asked else -number)
    assert bool(list(tmp_path.iterdir())) is not is_asked


def test_what_the_answers_lost_is_told_and_is_no_look(ordered, tmp_path, monkeypatch):
    monkeypatch.setattr(ordered_fit, "_compare", lambda *_: None)
    heard = Heard()
    run(ordered({**COLUMNS, "town": {"sdtype": "categorical"}}, epsilon="0.01"), tmp_path, heard)
    looks, notes, _ = heard.of("warnings")[0]
    assert any("town" in text and "survive the noise" in text for text in notes)
    assert not any("survive the noise" in text for text in looks)


def test_what_a_look_found_is_known_without_its_words(ordered, tmp_path, monkeypatch):
    monkeypatch.setattr(ordered_fit, "_compare", lambda *_: None)
    monkeypatch.setattr(telling, "FOR_YOU", "whatever")
    heard = Heard()
    run(ordered({**COLUMNS, "age": {**COLUMNS["age"], "range_min": 900, "range_max": 999}}), tmp_path, heard)
    looks, notes, (compared, _) = heard.of("warnings")[0]
    assert [text[:20] for text in looks] == ["age: most cells are "]
    assert [text for text in notes if not text.startswith("at about ")] == []
    assert "age" in compared


@pytest.mark.parametrize(("epsilon", "said"), [("0.1", True), ("50", False)])
def test_noise_is_told_as_the_ledger_says_it(epsilon, said, ordered, tmp_path, monkeypatch):
    """Of so few rows links are noise, and no look at them tells it. Control: at a large epsilon they are not."""
    monkeypatch.setattr(ordered_fit, "_compare", lambda *_: None)
    heard = Heard()
    run(ordered(epsilon=epsilon), tmp_path, heard)
    looks, notes, _ = heard.of("warnings")[0]
    texts = (" ".join(notes), heard.of("released")[0][2], (tmp_path / "card.html").read_text("utf-8"))
    assert not any("noise" in text for text in looks)
    assert [SENTENCE in text for text in texts] == [said] * 3


def test_columns_that_a_vote_takes_for_ids_are_told(ordered, tmp_path, monkeypatch):
    monkeypatch.setattr(ordered_fit, "_compare", lambda *_: None)
    heard = Heard()
    run(
        ordered({name: words for name, words in COLUMNS.items() if name != "id"}, epsilon="9"),
        tmp_path,
        heard,
    )
    assert "id: the cells look like identifiers or" in " ".join(heard.of("warnings")[0][1])
    assert heard.of("types") == [({"id": "id"},)]


def test_no_report_is_for_the_public_without_a_claim(ordered, tmp_path, monkeypatch):
    monkeypatch.setattr(ordered_fit, "_inspection", lambda *_: None)
    heard = Heard()
    run(ordered(test="deterministic", k="2"), tmp_path, heard)
    assert heard.of("failed") == []
    made = [key for (key,) in heard.of("file")]
    assert "full_report" in made
    assert "report" not in made


@pytest.mark.parametrize("columns", [COLUMNS, {k: v for k, v in COLUMNS.items() if k != "town"}])
def test_a_table_larger_than_memory_is_released_without_being_compared(
    ordered, tmp_path, monkeypatch, columns
):
    monkeypatch.setattr(ordered_fit, "read_file", None)  # would fail if it were called
    heard = Heard()
    run(ordered(columns, reading="parts"), tmp_path, heard)
    assert heard.of("failed") == []
    assert [key for (key,) in heard.of("file")] == ["ledger", "release", "card", "rows"]
    assert [name for name, _ in heard.of("without")] == ["report", "inspection"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "people.csv") == sorted(
        FILES[key].name for key in ("rows", "ledger", "release", "card")
    )
    assert heard[-1] == ("stage", 4)
    assert heard.of("pass")[0][0].startswith("pass 1, ")


def test_in_parts_every_row_test_is_refused_by_the_plan(ordered):
    with pytest.raises(ValueError, match='must be "release"'):
        ordered(reading="parts", test="randomized").plan()


@pytest.mark.parametrize("declared", [{}, {"sdtype": "numerical", "number_format": "$1,234.5"}])
def test_numbers_as_text_are_released_and_compared_as_numbers(tmp_path, monkeypatch, declared):
    """A vote finds one spelling, or both. The page on real rows has them on one axis."""
    cells = [f'{i % 90}%,"${1000 + i:,}"' for i in range(2000)]
    (tmp_path / "in.csv").write_text("\n".join(["share,price", *cells]))
    table = Table(tmp_path / "in.csv", ("share", "price"), {"encoding": "utf-8"})
    columns = {"price": declared} if declared else {}
    order = read_order(table, drafted(table.names, columns), {"rows": "300", "epsilon": "9"})[0]
    heard, compared, honest = Heard(), [], ordered_fit._report
    monkeypatch.setattr(ordered_fit, "_report", lambda d, rows: compared.append(d.rows) or honest(d, rows))
    run(order, tmp_path, heard)
    assert compared[0].notna().all(axis=None)
    assert heard.of("types") == [({"share": "numerical"} | ({} if declared else {"price": "numerical"}),)]
    assert heard.of("failed") == [] == heard.of("without")
    assert {"full_report", "inspection"} <= {key for (key,) in heard.of("file")}
    rows = (tmp_path / FILES["rows"].name).read_text()
    assert rows.count("%") == 300 == rows.count("$")
    page = (tmp_path / FILES["full_report"].name).read_text()
    assert "price" in page
    assert "cannot be read" not in page
