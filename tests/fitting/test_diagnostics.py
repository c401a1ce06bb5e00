"""What a fit tells the holder of the rows, at both doors, and that nobody else hears of it."""

from __future__ import annotations

import ast
import inspect
import io
import json
import re
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import mkdtemp
from textwrap import dedent
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sentences import notes_of

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release, fit_source
from sdv_plausible.cli.main import main
from sdv_plausible.fitting import diagnostics
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.queries.count_queries import NumberOfRows
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.rules.inequality import Inequality
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.declared import access_log
from sdv_plausible.table.declared.domain_file import DomainFile, read_domain_file
from sdv_plausible.table.learned.raw_queries import NumberReading, PrecisionQuery

AGES = {
    "sdtype": "numerical",
    "range_min": 0,
    "range_max": 9,
    "decimal_places": 0,
    "range_is_nullable": False,
}
COLUMNS: dict[str, dict[str, Any]] = {
    "age": AGES,
    "sex": {"sdtype": "categorical", "range_values": ["m", "f"]},
}


def table(first: int = 50, missing: int = 0) -> pd.DataFrame:
    ages = pd.Series([float(first + i % 5) for i in range(400)])
    ages.iloc[:missing] = float("nan")
    return pd.DataFrame({"age": ages, "sex": ["m", "f"] * 200})


def synthesized(frame: pd.DataFrame, path: Path) -> Release:
    plain = {name: {"sdtype": words["sdtype"]} for name, words in COLUMNS.items()}
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(plain), domain=path, random_state=1)
    synth.fit(frame)
    return synth.release(allow_no_claim=True)


def by_source(frame: pd.DataFrame, path: Path) -> Release:
    return fit_source(frame, domain=path, random_state=1, allow_no_claim=True)


def in_small_parts(frame: pd.DataFrame, path: Path) -> Release:
    return fit_source(frame, domain=path, random_state=1, allow_no_claim=True, rows=150)


DOORS = [synthesized, by_source, in_small_parts]


def told(door: Any, frame: pd.DataFrame, folder: Path) -> tuple[list[str], Release, DomainFile]:
    """Warnings but those on noise, which so few rows have always; what leaves; and what is written down."""
    path = folder / "domain.json"
    DomainFile(columns=COLUMNS).save(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = door(frame, path)
    texts = notes_of(caught)
    return [t for t in texts if "at about " not in t], release, read_domain_file(path)


@pytest.mark.parametrize("door", DOORS)
def test_columns_that_do_not_fit_are_named_to_the_holder(door, tmp_path):
    texts, _, _ = told(door, table(first=50), tmp_path)
    assert any("age: most cells are outside the declared values" in text for text in texts)
    texts, _, _ = told(door, table(first=2, missing=40), tmp_path)
    assert any("age: cells are missing although none was declared" in text for text in texts)
    assert told(door, table(first=2), tmp_path)[0] == []


@pytest.mark.parametrize("door", DOORS)
def test_the_look_is_written_down_whatever_was_found(door, tmp_path):
    """Else ever narrower ranges are tried until nothing is said."""
    looked = {frozenset(told(door, table(first=first), tmp_path)[2].looked) for first in (2, 50)}
    assert looked == {frozenset(COLUMNS)}


def through_rules(door: str, most: int | None, folder: Path) -> tuple[bool, PrivacyLedger]:
    """Whether a fit warned of a distance between two columns, and its ledger; ``most`` None: without a rule."""
    path, rules = folder / "domain.json", folder / "rules.json"
    words: Any = {"sdtype": "numerical", "range_min": 0, "range_max": 60, "decimal_places": 0}
    if not path.exists():
        DomainFile(columns={"low": words, "high": words}).save(path)
    distance = [] if most is None else [Inequality("low", "high", most=most)]
    low = np.arange(400) % 40
    frame = pd.DataFrame({"low": low, "high": low + 1 + np.arange(400) % 12})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if door == "synthesizer":
            metadata = metadata_from_columns({name: {"sdtype": "numerical"} for name in frame})
            synth = PlausibleDeniabilitySynthesizer(metadata, domain=path, rules=distance)
            synth.fit(frame)
            ledger, said = synth.privacy_ledger(), ""
        elif door == "source":
            ledger, said = fit_source(frame, domain=path, rules=distance, allow_no_claim=True).ledger, ""
        else:
            frame.to_csv(folder / "table.csv", index=False)
            rules.write_text(json.dumps([rule.to_dict() for rule in distance]))
            words = ["--domain", path, "--rules", rules, "--overwrite", "--allow-no-claim"]
            told_of = io.StringIO()
            with redirect_stdout(told_of), redirect_stderr(told_of):
                output = folder / "table.release"
                assert main([*map(str, ["fit", folder / "table.csv", "-o", output, *words])]) == 0
            ledger, said = Release.load(output).ledger, told_of.getvalue()
    return "high - low: most cells" in said + "".join(notes_of(caught)), ledger


@pytest.mark.parametrize("door", ["synthesizer", "source", "command"])
def test_a_fit_that_looks_through_rules_writes_them_down(door, tmp_path):
    """Else the bound of a rule is halved from fit to fit until it is one person's distance."""
    assert [through_rules(door, most, Path(mkdtemp(dir=tmp_path)))[0] for most in (3, 9)] == [True, False]
    for first in (3, 9):  # whatever was told
        folder = Path(mkdtemp(dir=tmp_path))
        assert through_rules(door, None, folder)[1].claims_privacy
        assert read_domain_file(folder / "domain.json").looked_rules is None  # nothing was told of a rule
        assert through_rules(door, first, folder)[1].claims_privacy
        assert through_rules(door, first, folder)[1].claims_privacy  # the same rule
        assert not through_rules(door, 6, folder)[1].claims_privacy


@pytest.mark.parametrize("door", DOORS)
def test_no_column_is_named_where_the_look_cannot_be_written_down(door, tmp_path, monkeypatch):
    """Control: columns that fit are told nothing of, though the look is lost."""

    def refuse(*_: Any) -> list[str]:
        raise OSError("the disk is full")

    monkeypatch.setattr(access_log, "log_access", refuse)
    (text,) = told(door, table(first=50), tmp_path)[0]
    assert text.startswith(
        "some columns do not fit their declarations (for you, not for publication), and are not named: "
    )
    assert "the disk is full" in text
    assert "age" not in text
    assert told(door, table(first=2), tmp_path)[0] == []


def said_to_the_holder_alone() -> dict[str, list[str]]:
    """Of every warning of a fit what it says before "for you, not for publication"; of others nothing."""
    found: dict[str, list[str]] = {}
    for name, method in vars(diagnostics.HolderDiagnostics).items():
        if name.startswith(("report_", "tell_of_")):
            texts = ast.walk(ast.parse(dedent(inspect.getsource(method))))
            pieces = [text.values for text in texts if isinstance(text, ast.JoinedStr)]
            marks = [
                (said, i) for said in pieces for i in range(1, len(said)) if "FOR_YOU" in ast.dump(said[i])
            ]
            constants = [said[i - 1] for said, i in marks]
            phrases = [str(one.value).strip(" (:") for one in constants if isinstance(one, ast.Constant)]
            found[name] = [phrase for phrase in phrases if phrase]
    return found


def not_listed(page: str) -> list[str]:
    """Warnings that hang on the rows, and of which the promise's list does not hold the words."""
    text = " ".join(page.partition("## Out of scope")[2].split())
    told = said_to_the_holder_alone()
    free = [
        name for name in told if "noisy answers only" in getattr(diagnostics.HolderDiagnostics, name).__doc__
    ]
    assert not any(told[name] for name in free)
    return [
        name
        for name, phrases in told.items()
        if name not in free and not (phrases and all(f'"{phrase}"' in text for phrase in phrases))
    ]


def test_the_promise_lists_every_warning_that_hangs_on_the_rows():
    """Planted: a page that lacks any one of them."""
    page = (Path(__file__).parents[2] / "docs/explanation/privacy_promise.md").read_text("utf-8")
    assert not_listed(page) == []
    for name, phrases in said_to_the_holder_alone().items():
        for phrase in phrases:
            assert not_listed(" ".join(page.split()).replace(phrase, "")) == [name]


def test_whoever_shows_a_warning_need_not_read_whom_it_is_for():
    """Each that says that it is for the holder alone is marked so, and no other."""
    for name, phrases in said_to_the_holder_alone().items():
        source = inspect.getsource(getattr(diagnostics.HolderDiagnostics, name))
        assert source.count("for_holder=True") == (source.count("self.add") if phrases else 0)


@pytest.mark.parametrize("door", DOORS)
def test_what_is_told_leaves_no_trace_in_the_release(door, tmp_path, monkeypatch):
    release = told(door, table(first=50), tmp_path)[1]
    monkeypatch.setattr(diagnostics.HolderDiagnostics, "report_mismatches", lambda *_: None)
    assert told(door, table(first=50), tmp_path)[1].to_bytes() == release.to_bytes()


def test_nothing_is_compared_for_nobody(monkeypatch):
    monkeypatch.setattr(diagnostics, "columns_mostly_outside", lambda *_: pytest.fail("compared"))
    diagnostics.HolderDiagnostics().report_mismatches(*[None] * 4)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:Unable to turn off rounding")
def test_a_fit_to_what_sdv_transformed_tells_once(tmp_path):
    """SDV's own fit calls ours for the processed rows, which tells nothing of its own."""
    from rdt.transformers import FloatFormatter

    frame = table(first=50).assign(wage=[float(i) for i in range(400)])
    plain = {name: {"sdtype": words["sdtype"]} for name, words in COLUMNS.items()} | {
        "wage": {"sdtype": "numerical"}
    }
    ages = {"age": {"range_min": 0, "range_max": 9}}
    synth = PlausibleDeniabilitySynthesizer(
        metadata_from_columns(plain), domain=ages, undeclared="infer", random_state=1
    )
    synth.auto_assign_transformers(frame)
    synth.update_transformers({"wage": FloatFormatter()})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        synth.fit(frame)
    assert sum("age: most cells" in text for text in notes_of(caught)) == 1


@pytest.mark.parametrize("door", ["synthesizer", "source"])
def test_rows_that_are_nobodys_are_told_of(door, tmp_path):
    """A name of an unknown class can be told from no other: without a word its rows were left out."""

    class Patient:
        pass

    def fit(whose: list[Any]) -> list[str]:
        frame = table(first=2).assign(whose=pd.Series(whose * 200, dtype=object))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if door == "source":
                declared = {**COLUMNS, "whose": {"sdtype": "id"}}
                fit_source(frame, domain=declared, person="whose", scratch=tmp_path)
            else:
                columns = {n: {"sdtype": w["sdtype"]} for n, w in COLUMNS.items()} | {
                    "whose": {"sdtype": "id"}
                }
                PlausibleDeniabilitySynthesizer(
                    metadata_from_columns(columns), domain=COLUMNS, person="whose"
                ).fit(frame)
        return notes_of(one for one in caught if issubclass(one.category, diagnostics.FitWarning))

    assert any("whose: some cells do not identify a person" in text for text in fit([Patient(), "b"]))
    assert not any("whose" in text for text in fit([None, "b"]))


# --- digits that noise hides ------------------------------------------------------------------------------------------

YEARS = {"years": {"sdtype": "numerical", "range_min": 0.0, "range_max": 60.0}}


def of_digits(frame: pd.DataFrame, domain: dict[str, Any] = YEARS) -> list[str]:
    """What a fit says of digits after the point, with the same noise each time."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit_source(frame, domain=domain, epsilon=1.0, random_state=1, allow_no_claim=True)
    return [text for text in notes_of(caught) if "digits after the point" in text]


def years(rows: int, halves: int = 0) -> pd.DataFrame:
    """Years of work, so many of them and a half."""
    return pd.DataFrame({"years": np.arange(rows) % 40 + np.where(np.arange(rows) < halves, 0.5, 0.0)})


def test_what_was_learned_of_no_column_is_said():
    """By column: no value, one value, and texts for missing."""
    common = {"kind": "categorical", "provenance": "private", "nullable": True}
    teller = diagnostics.HolderDiagnostics()
    teller.report_domain(
        Domain(
            (
                Attribute(name="name", **common),
                Attribute(name="town", values=("Bern",), **{**common, "nullable": False}),
                Attribute(name="cabin", values=("B5", " ?", "N/A"), **common),
                Attribute(
                    name="fare", lower=(0,), upper=(9,), values=("n/a",), **{**common, "kind": "integer"}
                ),
                Attribute(name="boat", values=("?", "2"), **{**common, "provenance": "declared"}),
            )
        )
    )
    empty, one, missing = map(str, teller.issued)
    assert empty.startswith("name: no value was common enough")
    assert one.startswith("town: only one value or range was common")
    assert "cabin: texts that usually mean a missing value were learned as values: [' ?', 'N/A']" in missing


@pytest.mark.parametrize("many", [3, 9])
def test_every_column_that_lost_something_is_named(many):
    """However many they are: a loss behind "and 3 more" is a silent one."""
    names = [f"c{i}" for i in range(many)]
    teller = diagnostics.HolderDiagnostics()
    teller.report_missing_cells(dict.fromkeys(names, 1.0))
    rare = {"kind": "categorical", "provenance": "private", "nullable": False, "counts": (300, 300, 400)}
    teller.report_domain(Domain(tuple(Attribute(name=name, values=("a", "NA"), **rare) for name in names)))
    gone, *own, rare_values = map(str, teller.issued)
    for text in (gone, " ".join(own), rare_values):
        assert [name for name in names if re.search(rf"\b{name}\b", text)] == names, text
    assert len(own) == many, "each with its own texts"


def test_digits_that_noise_may_hide_are_said_where_they_may_be_many():
    (text,) = of_digits(years(300, halves=30))
    assert text.startswith("years (up to ")
    assert "may have more digits after the point than the 0 that survived the noise" in text
    assert 'domain={"years": {"decimal_places": 2, ...}}' in text
    assert of_digits(years(20_000)) == []
    known = {"years": {**YEARS["years"], "decimal_places": 0}}
    assert of_digits(years(300), known) == [], "missing or not is learned, digits are declared"


def by_the_rows(frame: pd.DataFrame) -> Any:
    """Planted: what is said hangs on the rows themselves."""
    share = float((frame["years"] % 1 > 0).mean())
    return lambda *_: {"years": (0, share)} if share else {}


@pytest.mark.parametrize("planted", [False, True])
def test_what_is_said_of_digits_is_a_function_of_the_answers(planted, monkeypatch):
    """Neighbouring tables of which the door is made to say the same."""
    counts = np.zeros(NumberReading("years", "numerical").levels + 2, dtype=np.int64)
    counts[0] = 300
    monkeypatch.setattr(PrecisionQuery, "exact", lambda *_: counts)
    said = []
    for frame in (years(300), years(301), years(300, halves=1)):
        if planted:
            monkeypatch.setattr(diagnostics, "hidden_digits", by_the_rows(frame))
        said.append(of_digits(frame))
    assert (said[0] == said[1] == said[2] != []) != planted


def precision_of(values: np.ndarray, rows: int = 1000) -> list[NoisyAnswer]:
    """Answers of so many rows: how many cells need which digits, and last those that are missing."""
    return [
        NoisyAnswer(asked=asked, values=noisy, noise="discrete gaussian", scale=10.0, paid_by=("domain",))
        for asked, noisy in (
            (NumberOfRows().asked(), np.array([rows])),
            (PrecisionQuery(NumberReading("years", "numerical")).asked(), values),
        )
    ]


def number(**words: Any) -> Domain:
    parts = {"kind": "integer", "lower": (0,), "upper": (60,), "provenance": "private"} | words
    return Domain((Attribute(name="years", **parts),))


def hidden(share: float, seed: int) -> float:
    """Share of cells that is said to have digits at most, of 1,000 rows of which so many have two."""
    rng = np.random.default_rng(seed)
    exact = np.zeros(NumberReading("years", "numerical").levels + 2)
    exact[0], exact[2] = 1000 * (1 - share), 1000 * share
    answers = precision_of(np.rint(exact + rng.normal(0, 10.0, len(exact))))
    return diagnostics.hidden_digits(number(), ["years"], answers).get("years", (0, diagnostics.HIDDEN))[1]


def test_digits_are_those_after_the_learned_ones_and_of_learned_numbers_alone():
    """Of 1,000 cells 400 have one digit, and 400 are missing, which is no digit. Control: two digits."""
    levels = NumberReading("years", "numerical").levels
    one, two = np.zeros(levels + 2), np.zeros(levels + 2)
    one[[0, 1, -1]] = two[[0, 2, -1]] = 2000, 4000, 4000
    float_of = lambda decimals: number(kind="float", decimals=decimals)  # noqa: E731
    told = lambda domain, values, names=("years",): diagnostics.hidden_digits(  # noqa: E731
        domain, names, precision_of(values, 10_000)
    )
    assert told(float_of(1), one) == {}
    assert told(float_of(None), two) == {}, "all are kept"
    assert told(float_of(1), two, names=()) == {}, "declared: only whether cells are missing was asked"
    assert told(float_of(1), two)["years"] == (1, pytest.approx(0.4, abs=0.01))


def test_no_more_cells_have_digits_than_is_said(monkeypatch):
    """Too few in 2.3 % of the cases: more than 50 of 1,000 are so by chance with a probability of 1e-6."""
    wrong = lambda: sum(hidden(0.14, seed) < 0.14 for seed in range(1000))  # noqa: E731
    assert wrong() <= 50
    monkeypatch.setattr(diagnostics, "SURELY", 1.0)
    assert wrong() > 100, "planted: one deviation"


def test_several_notes_on_columns_are_one_table_for_each_reader():
    """One note stays a sentence; what depends on the rows is never in the table for all."""
    found = diagnostics.HolderDiagnostics()
    found.add_columns(["town"], "no value survived", "Declare it.")
    assert diagnostics.grouped(found.issued) == found.issued
    found.add_columns({"age": "7%"}, "of the cells are rare", "Declare it.")
    found.add("the model is simple")
    found.add_columns(
        ["secret"], "most cells are outside (for you, not for publication)", "Check.", for_holder=True
    )
    plain, own, table = diagnostics.grouped(found.issued)
    assert (str(plain), plain.for_holder) == ("the model is simple", False)
    assert (own.for_holder, table.for_holder) == (True, False)
    assert str(table).startswith("some columns need your attention:\n  column")
    assert "7% of the cells are rare" in str(table)
    assert "secret" not in str(table)
    assert [str(note) for note in table.notes] == [
        "town: no value survived. Declare it.",
        "age (7%): these shares of the cells are rare. Declare it.",
    ]
