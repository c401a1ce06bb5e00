"""What a fit says of noise is what a plan says, at the number of rows that was paid for: of answers alone.

Planted: the true number of rows in the place of the noisy one. Of 200 rows at epsilon 0.1 the noisy number is the true
one by chance in less than 1 of 30 fits; of three fits in a row, less than once in 20,000 runs.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sentences import notes_of

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release, fit_source, metadata_of
from sdv_plausible.cli.main import main
from sdv_plausible.extensions.models.paper.paper_network import PaperNetwork
from sdv_plausible.fitting import fit, plan
from sdv_plausible.fitting.diagnostics import FitWarning
from sdv_plausible.fitting.ledger_notes import noise_entries
from sdv_plausible.fitting.plan import ExpectedNoise
from sdv_plausible.models import learner_from_config, make_learner
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.privacy.ledger import SENTENCE_ENTRIES
from sdv_plausible.privacy.ledger_record import says
from sdv_plausible.queries.count_queries import NumberOfRows
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.release.card import card_contents
from sdv_plausible.release.file.settings_section import privacy_of
from sdv_plausible.table.declared.domain_file import DomainFile

NOISE = SENTENCE_ENTRIES[2]
KINDS = ("Adelie", "Chinstrap", "Gentoo")


def whole(low, high):
    limits = {"range_min": low, "range_max": high, "decimal_places": 0, "range_is_nullable": False}
    return {"sdtype": "numerical", **limits}


def one_of(*values):
    return {"sdtype": "categorical", "range_values": [*values], "range_is_nullable": False}


DECLARED = {
    "species": one_of(*KINDS), "island": one_of("Biscoe", "Dream", "Torgersen"), "sex": one_of("f", "m"),
    "bill": whole(30, 60), "depth": whole(12, 22), "flipper": whole(170, 235), "mass": whole(25, 65),
}  # fmt: skip


def penguins(rows):
    """Birds like those of Palmer station: species, island and measures hang together."""
    rng = np.random.default_rng(0)
    kind, sex = rng.integers(0, 3, rows), rng.integers(0, 2, rows)
    return pd.DataFrame(
        {
            "species": np.array(KINDS)[kind],
            "island": np.array(["Torgersen", "Dream", "Biscoe"])[(kind + (rng.random(rows) < 0.2)) % 3],
            "sex": np.array(["f", "m"])[sex],
            "bill": (39 + 5 * (kind > 0) + 3 * sex + rng.normal(0, 2, rows)).round().clip(30, 60),
            "depth": (18 - 3 * (kind == 2) + sex + rng.normal(0, 1, rows)).round().clip(12, 22),
            "flipper": (190 + 26 * (kind == 2) + 5 * sex + rng.normal(0, 5, rows)).round().clip(170, 235),
            "mass": (36 + 12 * (kind == 2) + 6 * sex + rng.normal(0, 3, rows)).round().clip(25, 65),
        }
    )


def fitted(frame, **options):
    """A release, and what the holder was told of noise."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = fit_source(frame, **({"domain": DECLARED} | options))
    found = notes_of(one for one in caught if isinstance(one.message, FitWarning))
    return release, sorted(text for text in found if "at about " in text)


def synthesizer(**options):
    return PlausibleDeniabilitySynthesizer(metadata_of(DECLARED), domain=DECLARED, **options)


def expected_of(release):
    """What nothing but a release tells: its settings, domain and ledger."""
    return ExpectedNoise.of(privacy_of(release.settings), learner_from_config(release.settings), release.domain, release.ledger)  # fmt: skip


@pytest.fixture(scope="module")
def few():
    """The fit of a small table."""
    return fitted(penguins(344))


def expected_alone(few, **more):
    """At the budget of an empty ledger, by the default learner."""
    settings = privacy_of(few[0].settings)
    budget = settings.model_budget(settings.empty_ledger())
    return ExpectedNoise(settings=settings, learner=make_learner("bayesian_network"), domain=few[0].domain, budget=budget, **more)  # fmt: skip


def warnings_of(release):
    """The same warnings from nothing but a release: its answers, and what is public."""
    known = expected_of(release)
    return sorted(known.warnings(known.rows_of(release.answers)))


@pytest.mark.parametrize("rows", [344, 20_000])
def test_every_warning_follows_from_the_release_file(rows, few, tmp_path):
    release, told = few if rows == 344 else fitted(penguins(rows))
    release.save(tmp_path / "table.release")
    again = Release.load(tmp_path / "table.release")
    assert told == warnings_of(again)
    assert follows(release, told)
    assert again.ledger.said(NOISE) == (says(release.ledger.said(NOISE), NOISE) if told else "")
    assert bool(told) == (rows == 344)


def follows(release, told):
    known = expected_of(release)
    notes = known.warnings(known.rows_of(release.answers))
    written = "".join(entry.mechanism for entry in noise_entries(notes))
    return told == warnings_of(release) and release.ledger.said(NOISE) == written


@pytest.mark.parametrize("planted", [False, True])
def test_the_true_number_of_rows_is_seen(planted, monkeypatch):
    """Control: a fit that warns at the number of rows in the table, and not at the one it paid for."""
    frame = penguins(200)
    if planted:
        monkeypatch.setattr(ExpectedNoise, "rows_of", lambda *_: len(frame))
    fits = [fitted(frame, epsilon=0.1) for _ in range(3)]
    monkeypatch.undo()
    assert all(follows(*fit) for fit in fits) is not planted


def test_neighbouring_tables_with_equal_answers_are_told_the_same(monkeypatch):
    """What is said is asked with the answers and no rows. Control: answers of other rows say otherwise."""
    heard, asked = [], plan.number_of_rows
    monkeypatch.setattr(plan, "number_of_rows", lambda *given: heard.append(given) or asked(*given))
    (one, _), (other, _) = fitted(penguins(344)), fitted(penguins(343))
    assert [columns for _, columns in heard] == [7, 7]
    assert not any(isinstance(part, (pd.DataFrame, np.ndarray)) for given in heard for part in given)
    known = [expected_of(release) for release in (one, other)]
    assert len({tuple(k.warnings(k.rows_of(one.answers))) for k in known}) == 1
    many, _ = fitted(penguins(20_000))
    said = [known[0].warnings(known[0].rows_of(release.answers)) for release in (one, many)]
    assert said[0] != said[1]


@pytest.mark.parametrize(
    "options",
    [
        {"domain": {**DECLARED, "species": {"sdtype": "categorical"}}},  # learned first
        {"domain": {n: DECLARED[n] for n in ("species", "sex", "bill")}, "types": "voted"},
        {"model": PaperNetwork(structure="independent")},
        {"neighbours": "replace_one"},
    ],
    ids=["learned", "voted", "paper", "replaced"],
)
def test_what_the_model_could_spend_is_read_off_the_ledger(options, monkeypatch):
    """The budget is the one that the fit had. Control: one without what was spent before."""
    spent, of = [], fit.fit_release

    def watched(rows, domain, settings, learner, ledger, *rest):
        spent.append(settings.model_budget(ledger))
        return of(rows, domain, settings, learner, ledger, *rest)

    monkeypatch.setattr(fit, "fit_release", watched)
    release, told = fitted(penguins(344), **options)
    settings, known = privacy_of(release.settings), expected_of(release)
    assert known.budget.gaussian() == pytest.approx(spent[0].gaussian(), rel=1e-9)
    assert [text for text in told if "not learned" not in text] == warnings_of(release)  # of the model
    if "domain" in options:
        assert settings.model_budget(settings.empty_ledger()).gaussian() > 1.01 * known.budget.gaussian()


def test_a_plan_foresees_that_no_pair_is_measured():
    """At 250 rows none is, in five fits. Control: at 5,000 each has links."""
    for rows, lost in ((250, True), (5000, False)):
        forecast = synthesizer().plan(table_rows=rows).forecast
        assert (forecast.link == 1.0) is lost
        networks = [fitted(penguins(rows))[0].structure() for _ in range(5)]
        assert [any(parents for parents in one.values()) for one in networks] == [not lost] * 5


def test_of_a_split_the_number_follows_from_a_part():
    """A quarter of the rows is counted; the number is that of all. False alarm: 5 deviations, 1 in a million."""
    learner = PaperNetwork(structure="independent", split=(0.25, 0.25, 0.5))
    synth = synthesizer(model=learner)
    synth.fit(penguins(10_000))
    settings, answers = synth._fit_template.settings, synth._sampler.answers
    known = ExpectedNoise.of(settings, learner, synth.get_domain(), synth.privacy_ledger())
    assert 8800 < known.rows_of(answers) < 11_200
    assert known.rows_of([]) is None
    whole = replace(known, settings=replace(settings, split=None))
    assert whole.rows_of(answers) is None, "counts of a part tell nothing of all rows where none was planned"


def test_noise_leaves_one_row_at_least_and_a_published_table_is_none(few):
    """Of no rows nothing would be said; and links that come from a published table are no noise. Control: without it."""
    known, asked = expected_alone(few), NumberOfRows().asked()
    for noisy, rows in ((-7, 1), (0, 1), (12, 12)):
        answer = NoisyAnswer(asked=asked, values=np.array([noisy]), noise="discrete gaussian", scale=9.0, paid_by=("model",))  # fmt: skip
        assert known.rows_of([answer]) == rows
        assert known.warnings(rows)
    assert expected_alone(few, public=True).warnings(344) == []
    assert len(expected_alone(few, public=False).warnings(344)) >= 2


def test_penguins_do_not_look_as_safe_as_a_million_rows(tmp_path, capsys):
    """In one short sentence, on standard error, in the ledger, and on the card. Control: many rows say none."""
    sentence = "dependences between columns are mostly noise: do not rely on them"
    DomainFile(columns=DECLARED).save(tmp_path / "domain.json")
    for rows, said in ((344, True), (30_000, False)):
        penguins(rows).to_csv(tmp_path / "birds.csv", index=False)
        output = tmp_path / "birds.release"
        words = ["fit", tmp_path / "birds.csv", "--domain", tmp_path / "domain.json", "-o", output]
        assert main([*map(str, words), "--overwrite"]) == 0
        printed = capsys.readouterr()
        release = Release.load(output)
        card = card_contents.card_of(release, known={})
        shown = {"ledger": printed.out, "stderr": printed.err, "file": str(release.ledger),
                 "json": release.ledger.to_json(), "html": release.ledger.to_html(),
                 "card": card.to_html(), "card as text": card.to_markdown()}  # fmt: skip
        assert {name for name, text in shown.items() if sentence in text} == ({*shown} if said else set())


def test_a_forecast_that_fails_loses_no_fit():
    """Of a learner's own, at a number of rows that no plan asks for. Control: a plan of such a number fails."""
    planned, failing = set(), [False]

    class Uncertain(AdaptiveNetwork):
        def forecast(self, domain, budget, rows):
            if failing[0] and rows not in planned:
                raise ZeroDivisionError("nothing is foreseen")
            planned.add(rows)
            return super().forecast(domain, budget, rows)

    synth = synthesizer(model=Uncertain())
    synth.plan()
    failing[0] = True
    with pytest.raises(ZeroDivisionError):
        synth.plan(table_rows=347)
    synth.fit(penguins(344))
    assert len(synth.sample(9)) == 9


def test_plan_and_fit_say_the_same(few):
    """At the same number of rows, word by word: both ask one function. Control: at another number."""
    release, told = few
    rows = expected_of(release).rows_of(release.answers)
    assert sorted(synthesizer().plan(table_rows=rows).warnings) == told
    assert list(synthesizer().plan(table_rows=5 * rows).warnings) != told
