"""What a fit does in its process: every charge is told before the rows are asked; files; no cell in an error."""

import json

import pytest
from killing import READY, SIGNALS, ended, waiting
from reviewing import COLUMNS, write_people

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release
from sdv_plausible.extensions.app.pages import background_fit
from sdv_plausible.extensions.app.pages.background_fit import FILES, run
from sdv_plausible.extensions.app.pages.release_request import read_request
from sdv_plausible.extensions.app.review.review import ReviewedTable
from sdv_plausible.fitting import diagnostics
from sdv_plausible.fitting.fit import Fit
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.table.declared.domain_file import draft_domain_file
from sdv_plausible.table.learned import type_inference

SENTENCE = "dependences between columns are mostly noise: do not rely on them"
NO_TOWN = {name: words for name, words in COLUMNS.items() if name != "town"}


class Heard(list):
    send = list.append

    def of(self, what):
        return [said[1:] for said in self if said[0] == what]

    @property
    def files(self):
        return [key for (key,) in self.of("file")]

    @property
    def without(self):
        return [name for name, _ in self.of("without")]


@pytest.fixture
def ordered(tmp_path):
    table = ReviewedTable(write_people(tmp_path / "people.csv", 2000), tuple(COLUMNS), {"encoding": "utf-8"})

    def made(columns=COLUMNS, **texts):
        return read_request(table, draft_domain_file(table.names, columns), {"rows": "50", **texts})[0]

    return made


@pytest.fixture
def heard(ordered, tmp_path):
    """What is told of a fit, which ends well."""

    def done(columns=COLUMNS, *, ends_well=True, **texts):
        told = Heard()
        run(ordered(columns, **texts), tmp_path, told)
        assert bool(told.of("failed")) is not ends_well
        return told

    return done


@pytest.mark.slow  # test_app_pages.py makes one in the fast suite
def test_a_whole_release(heard, tmp_path):
    told = heard(NO_TOWN)
    assert [number for (number,) in told.of("stage")] == [0, 1, 2, 3, 4]
    assert told.files == [
        "ledger",
        "release",
        "card",
        "plots",
        "own_plots",
        "rows",
        "full_report",
        "report",
        "inspection",
    ]
    assert told.of("charged")[0][1] == ["types"]
    texts = {key: (tmp_path / FILES[key].name).read_text() for key in ("ledger", "rows", "card", "report")}
    sentence, _, text, claims = told.of("released")[0]
    assert claims
    assert sentence in text
    assert json.loads(texts["ledger"])["epsilon"] == pytest.approx(1, rel=1e-3)
    assert len(Release.load(tmp_path / FILES["release"].name).sample(5)) == 5
    assert texts["rows"].splitlines()[0] == "id,age,sex,town,day"
    assert sentence.split(",")[0] in texts["card"]
    assert "NOT" not in texts["report"].split("<body")[1][:2000]


def charges_before_questions(ordered, tmp_path, monkeypatch):
    told, asked = Heard(), []

    def noted(honest):
        return lambda *a, **o: asked.append(told.of("charged")[-1][1]) or honest(*a, **o)

    monkeypatch.setattr(AdaptiveNetwork, "fit", noted(AdaptiveNetwork.fit))
    monkeypatch.setattr(type_inference, "infer_types", noted(type_inference.infer_types))
    run(ordered(NO_TOWN), tmp_path, told)
    assert told.of("failed") == []
    assert asked[0] == ["types"]
    assert {"types", "model"} <= set(asked[1])


def test_every_charge_is_told_before_the_rows_are_asked(ordered, tmp_path, monkeypatch):
    charges_before_questions(ordered, tmp_path, monkeypatch)


def test_a_planted_vote_that_is_told_too_late_is_caught(ordered, tmp_path, monkeypatch):
    honest = Fit._infer_types

    def late(fit, rows, opened, rng):
        told, opened.ledger.after_charge = opened.ledger.after_charge, None
        found = honest(fit, rows, opened, rng)
        opened.ledger.after_charge = told
        return found

    monkeypatch.setattr(Fit, "_infer_types", late)
    with pytest.raises(AssertionError):
        charges_before_questions(ordered, tmp_path, monkeypatch)


@pytest.mark.usefixtures("no_report")
def test_without_a_release_file_it_is_said_why(heard):
    told = heard(test="deterministic", k="2")
    assert told.without[0] == "release"
    assert "release" not in told.files


@pytest.mark.usefixtures("no_report")
def test_without_a_card_the_release_is_there(heard, monkeypatch):
    monkeypatch.setattr(Release, "card", lambda *_, **__: int("Basel"))
    told = heard()
    assert told.without == ["card"]
    assert "ValueError while the rows were worked on" in told.of("without")[0][1]
    assert told.files == ["ledger", "release", "plots", "own_plots", "rows"]
    assert told.of("released")[0][3]
    assert "Basel" not in str(told)


@pytest.mark.parametrize("test", ["release", "deterministic"])
def test_rows_that_cannot_be_made_leave_what_was_paid_for(heard, tmp_path, monkeypatch, test):
    """Control: without a release file nothing is left, and nothing was released."""
    monkeypatch.setattr(PlausibleDeniabilitySynthesizer, "sample", lambda *_: int("Basel"))
    has_file = test == "release"
    told = heard(test=test, k="2", ends_well=has_file)
    assert "Basel" not in str(told)
    assert bool(told.of("released")) == has_file == ("release" in told.files)
    if has_file:
        assert told.files == ["ledger", "release", "card", "plots", "own_plots"]
        said = [what for what, *_ in told]
        assert said.index("released") < said.index("without")  # so that one that is cancelled has it, too
        assert told.without == ["rows", "report", "inspection"]
        assert len(Release.load(tmp_path / FILES["release"].name).sample(3)) == 3


def test_an_error_quotes_no_cell(heard, monkeypatch):
    monkeypatch.setattr(background_fit, "read_file", lambda *_: int("Basel"))
    told = heard(ends_well=False)
    assert "ValueError while the rows were worked on" in told.of("failed")[0][0]
    assert "Basel" not in str(told)


def test_a_report_that_fails_takes_nothing_back(heard, monkeypatch):
    monkeypatch.setattr("sdv_plausible.evaluation.page.inspection.inspection_page", lambda *_: int("Basel"))
    told = heard()
    assert told[-1] == ("stage", 4)
    assert told.without == ["inspection"]
    assert "full_report" in told.files
    assert "Basel" not in str(told)


def order_of(path, lines, columns, **texts):
    """Of another table."""
    path.write_text("\n".join([*lines, ""]))
    table = ReviewedTable(path, tuple(lines[0].split(",")), {"encoding": "utf-8"})
    return read_request(table, draft_domain_file(table.names, columns), texts)[0]


def test_dates_that_are_split_leave_the_report_without_a_network(tmp_path):
    lines = ["at,town", *(f"2020-01-{i % 28 + 1:02d} {i % 24:02d}:30:00,Bern" for i in range(500))]
    moments = {"sdtype": "datetime", "datetime_format": "%Y-%m-%d %H:%M:%S"}
    columns = {"at": moments, "town": {"sdtype": "categorical", "range_values": ["Bern", "Chur"]}}
    told = Heard()
    run(order_of(tmp_path / "t.csv", lines, columns, rows="50"), tmp_path, told)
    assert told.of("failed") == told.of("without") == []


ALONE = f"""
import signal, sys
from pathlib import Path
from sdv_plausible.extensions.app.pages import background_fit
from sdv_plausible.utils.atomic_files import write_atomically

def half(path):
    path.write_text("a real row")
    {READY}

background_fit._release = lambda order, folder, told: write_atomically(folder / "page.html", half)
background_fit.process_main(None, Path(sys.argv[1]), None)
"""


@pytest.mark.skipif(len(SIGNALS) == 1, reason="no such signals")
@pytest.mark.parametrize("number", [SIGNALS[0], SIGNALS[-1]])
def test_a_process_that_is_asked_to_end_leaves_nothing(number, tmp_path):
    with waiting(ALONE, tmp_path) as running:
        assert list(tmp_path.glob("*/page.html"))
        is_asked = number != SIGNALS[-1]  # nobody hears SIGKILL: what it leaves is the control
        assert ended(running, number) == (128 + number if is_asked else -number)
    assert bool(list(tmp_path.iterdir())) is not is_asked


@pytest.mark.usefixtures("no_report")
def test_what_the_answers_lost_is_told_and_is_no_look(heard):
    looks, notes, _ = heard({**COLUMNS, "town": {"sdtype": "categorical"}}, epsilon="0.01").of("warnings")[0]
    assert any("town" in text and "survive the noise" in text for text in notes)
    assert not any("survive the noise" in text for text in looks)


@pytest.mark.usefixtures("no_report")
def test_what_a_look_found_is_known_without_its_words(heard, monkeypatch):
    monkeypatch.setattr(diagnostics, "FOR_YOU", "whatever")
    told = heard({**COLUMNS, "age": {**COLUMNS["age"], "range_min": 900, "range_max": 999}})
    looks, notes, (compared, _) = told.of("warnings")[0]
    assert [text[:20] for text in looks] == ["age: most cells are "]
    assert [text for text in notes if "at about " not in text] == []
    assert "age" in compared


@pytest.mark.usefixtures("no_report")
@pytest.mark.parametrize(("epsilon", "said"), [("0.1", True), ("50", False)])
def test_noise_is_told_as_the_ledger_says_it(epsilon, said, heard, tmp_path):
    """Of so few rows links are noise, and no look at them tells it. Control: at a large epsilon they are not."""
    told = heard(epsilon=epsilon)
    looks, notes, _ = told.of("warnings")[0]
    texts = (" ".join(notes), told.of("released")[0][2], (tmp_path / "card.html").read_text("utf-8"))
    assert not any("noise" in text for text in looks)
    assert [SENTENCE in text for text in texts] == [said] * 3


@pytest.mark.usefixtures("no_report")
def test_columns_that_a_vote_takes_for_ids_are_told(heard):
    told = heard({name: words for name, words in COLUMNS.items() if name != "id"}, epsilon="9")
    assert "id: the cells look like identifiers or" in " ".join(told.of("warnings")[0][1])
    assert told.of("types") == [({"id": "id"},)]


def test_no_report_is_for_the_public_without_a_claim(heard, monkeypatch):
    monkeypatch.setattr(background_fit, "_inspection", lambda *_: None)
    made = heard(test="deterministic", k="2").files
    assert "full_report" in made
    assert "report" not in made


@pytest.mark.parametrize("columns", [COLUMNS, NO_TOWN])
def test_a_table_larger_than_memory_is_released_without_being_compared(
    heard, ordered, tmp_path, monkeypatch, columns
):
    with pytest.raises(ValueError, match='must be "release"'):
        ordered(reading="parts", test="randomized").plan()
    monkeypatch.setattr(background_fit, "read_file", None)  # would fail if it were called
    told, kept = heard(columns, reading="parts"), ["ledger", "release", "card", "plots", "rows"]
    assert (told.files, told.without) == (kept, ["report", "inspection"])
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", *(FILES[key].name for key in kept)}
    assert told[-1] == ("stage", 4)
    assert any("pass 1, " in words for words, *_ in told.of("pass"))


@pytest.mark.parametrize("declared", [{}, {"sdtype": "numerical", "number_format": "$1,234.5"}])
def test_numbers_as_text_are_released_and_compared_as_numbers(tmp_path, monkeypatch, declared):
    """A vote finds one spelling, or both. The page on real rows has them on one axis."""
    lines = ["share,price", *(f'{i % 90}%,"${1000 + i:,}"' for i in range(2000))]
    columns = {"price": declared} if declared else {}
    told, compared, honest = Heard(), [], background_fit._report
    monkeypatch.setattr(background_fit, "_report", lambda d, rows: compared.append(d.rows) or honest(d, rows))
    run(order_of(tmp_path / "in.csv", lines, columns, rows="300", epsilon="9"), tmp_path, told)
    assert compared[0].notna().all(axis=None)
    assert told.of("types") == [({"share": "numerical"} | ({} if declared else {"price": "numerical"}),)]
    assert told.of("failed") == [] == told.of("without")
    assert {"full_report", "inspection"} <= {*told.files}
    rows = (tmp_path / FILES["rows"].name).read_text()
    assert rows.count("%") == 300 == rows.count("$")
    page = (tmp_path / FILES["full_report"].name).read_text()
    assert "price" in page
    assert "cannot be read" not in page
