"""Noisy answers in a release: the same questions put to the table give what was answered, but for noise of the stated scale.

The sum of squared errors over the stated variance is chi-squared: false alarm ``ALARM`` (the discrete Gaussian's variance is
below sigma^2 by less than 1e-9 of it where sigma is above 2). Planted: a scale stated too small by a half, as if the noise
of one answer were that of another; missed with a probability that the test computes, below 1e-6.
"""

import copy
import dataclasses
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from releases import CASES, fitted, shared, table
from scipy.stats import chi2

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release, metadata_of
from sdv_plausible.extensions.verify.independent.all_checks import check
from sdv_plausible.extensions.verify.model_replay import replay_model
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import (
    MAX_SCORE,
    Axis,
    CodeArray,
    CountTable,
    QueryRecord,
    ScoreProducts,
)
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import NoisyAnswer, Transcript, query_record
from sdv_plausible.release.file.answers_section import AnswersSection, read_answers, write_answers
from sdv_plausible.release.file.document_nodes import DocumentNode
from sdv_plausible.release.file.json_documents import encode, map_arrays
from sdv_plausible.table.columns.domain import Attribute, Domain

ALARM = 1e-9


def loaded(case: str) -> Release:
    return Release.from_bytes(shared(case).release().to_bytes())


def exact(answer: NoisyAnswer, codes: CodeArray) -> np.ndarray | None:
    """Answer of the table to a question that can be put to it again."""
    if answer.asked.kind == "counts":
        return CountTable(answer.asked.tables[0]).exact(codes)
    if answer.asked.kind == "number of rows":
        return np.array([len(table())])
    if answer.asked.kind == "present and missing":
        missing = int(table()[answer.asked.columns[0]].isna().sum())
        return np.array([len(table()) - missing, missing])
    return None


def squared_errors(case: str, answers: Any) -> tuple[float, int]:
    """Sum of squared errors over variances, and how many there are."""
    synth = shared(case)
    codes = CodeArray(synth._codec.encode(table(), KeyedRNG.from_seed(0)), synth._codec.domain.cardinalities)
    total, number = 0.0, 0
    for answer in answers:
        true = exact(answer, codes)
        if true is not None and answer.rows == "all" and answer.noise == "discrete gaussian":
            assert answer.scale > 2
            total += float((((answer.values - true) / answer.scale) ** 2).sum())
            number += true.size
    return total, number


def is_as_stated(total: float, number: int) -> bool:
    return chi2.ppf(ALARM / 2, number) <= total <= chi2.isf(ALARM / 2, number)


@pytest.mark.parametrize("case", ["declared", "paper's learner", "seeds"])
def test_answers_are_what_was_asked_with_noise_as_strong_as_stated(case):
    answers = loaded(case).answers
    total, number = squared_errors(case, answers)
    assert number > 300
    assert is_as_stated(total, number)
    halved = [dataclasses.replace(a, scale=a.scale / 2) for a in answers]
    assert chi2.cdf(chi2.isf(ALARM / 2, number) / 4, number) < 1e-6, (
        "how often the planted scale would be missed"
    )
    assert not is_as_stated(*squared_errors(case, halved))


def test_domain_questions_are_there_too():
    answers = loaded("private").answers
    kinds = {"number of rows", "frequent values", "present and missing", "precision", "runs"}
    assert kinds <= {a.asked.kind for a in answers}
    (values,) = answers.about("city", kind="frequent values")
    assert set(values.asked.details["found"]) == set(shared("private")._codec.domain["city"].values)
    assert values.values.shape == (1 + len(values.asked.details["found"]),)
    total, number = squared_errors("private", [a for a in answers if a.asked.kind != "counts"])
    assert is_as_stated(total, number)


@pytest.mark.parametrize("case", CASES)
def test_what_is_read_is_what_the_sampler_keeps(case):
    kept, read = shared(case)._sampler.answers, loaded(case).answers
    for one, other in zip(kept, read, strict=True):
        assert (one.values == other.values).all()
        for word in ("scale", "noise", "paid_by", "rows"):
            assert getattr(one, word) == getattr(other, word)
        assert one.asked.kind == other.asked.kind
        for mine, theirs in zip(one.asked.tables, other.asked.tables, strict=True):
            assert [a.column for a in mine] == [a.column for a in theirs]
            assert all((a.buckets == b.buckets).all() for a, b in zip(mine, theirs, strict=True))


def test_answers_by_columns():
    answers = loaded("declared").answers
    assert isinstance(answers, AnswersSection)
    (age,) = answers.about("age", kind="counts")
    assert answers.columns_of(age) == ("age",)
    assert age.values.shape == (len(shared()._codec.domain["age"].lower) + 1,)
    assert not answers.about("age", kind="precision")
    assert answers[0] is next(iter(answers))
    assert len(answers[:2]) == 2


def test_parts_are_told():
    parts = {a.rows for a in loaded("independent, split").answers if "domain" not in a.paid_by}
    assert parts
    assert parts <= {"learning", "parameters", "structure"}
    assert {a.rows for a in loaded("declared").answers} == {"all"}  # and so are all that learn a domain


def test_a_question_without_words_is_known_by_its_class():
    class Mine:
        pass

    assert query_record(Mine()).kind == "Mine"
    transcript = Transcript()
    transcript.note(QueryRecord(kind="x"), np.ones(1), 0.0, paid_by=(), rows="all", noise="discrete gaussian")
    assert transcript.answers == (), "an exact answer is not kept"


def test_no_answer_leaves_unwritten(monkeypatch):
    """As many answers as were given noise are in the release: a method that forgets to write its answer down is caught."""

    def noised(**options):
        drawn = []
        honest = Queryable._noisy
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Queryable, "_noisy", lambda self, *a: (drawn.append(1), honest(self, *a))[1])
            return len(fitted(**options).release().answers), len(drawn)

    for case in ("private", "declared"):
        written, drawn = noised(case=case)
        assert written == drawn > 5
    monkeypatch.setattr(Queryable, "ask_tables", _forgetful)
    written, drawn = noised()
    assert written < drawn


def _forgetful(self: Queryable, sets: Any, shares: Any) -> Any:
    self._meter.spend(share=sum(shares))
    return [
        self._noisy(found, CountTable(axes).sensitivity(self.neighbours), share)
        for found, axes, share in zip(self._rows.tables(sets), sets, shares, strict=True)
    ]


def test_the_number_of_rows_is_that_of_all_counts_wherever_it_is_asked_for():
    """Of what was asked about it alone the noise is several times that of the counts."""
    rows = 20_000
    frame = pd.DataFrame({name: ["a", "b"] * (rows // 2) for name in "xyz"})
    metadata = metadata_of({name: {"sdtype": "categorical"} for name in "xyz"})
    synth = PlausibleDeniabilitySynthesizer(metadata, epsilon=0.2)
    synth.fit(frame)
    release = synth.release()
    found = release.answers.number_of_rows()
    assert found == round(release.margins(())["estimate"].iloc[0]) == len(release.sample())
    alone = [a.values.sum() for a in release.answers if a.asked.kind == "number of rows"]
    assert alone
    assert found != max(0, round(float(np.mean(alone))))


@pytest.fixture(scope="module")
def finer() -> dict[str, Any]:
    """A file of two columns at epsilon 10, whose answers have noise on multiples of a half and less."""
    frame = pd.DataFrame({"a": np.arange(800) % 4, "b": np.arange(800) // 2 % 3}).astype(str)
    domain = {name: {"sdtype": "categorical", "range_values": sorted(set(frame[name]))} for name in frame}
    options = {"epsilon": 10.0, "delta": 1e-6, "domain": domain, "types": "declared"}
    synth = PlausibleDeniabilitySynthesizer(metadata_of(domain), **options)
    synth.fit(frame)
    release = synth.release()
    again = Release.from_bytes(release.to_bytes())
    assert min(answer.granularity for answer in release.answers) < 0.5
    for one, other in zip(release.answers, again.answers, strict=True):
        assert one.granularity == other.granularity
        assert (one.values == other.values).all()
        assert (other.values / other.granularity % 1 == 0).all()
    assert again.to_bytes() == release.to_bytes()
    return dict(json.loads(release.to_bytes()))


def test_noise_on_a_finer_lattice_is_checked_and_computed_again(finer):
    data = json.dumps(finer).encode()
    assert {verdict.state for verdict in check(data)} == {"ok"}
    assert replay_model(Release.from_bytes(data)).startswith("the answers lead to it again")
    assert Release.from_bytes(data).margins("a")["estimate"].sum() == pytest.approx(800, abs=20)
    assert len(list(Release.from_bytes(data).sample_multiple(2, 20))) == 2


def finest(document: Any) -> Any:
    """The answer with the finest lattice."""
    return min(document["answers"]["asked"], key=lambda one: one.get("granularity", 1.0))


def test_another_granularity_is_refused(finer):
    """Left out, the noise is on whole numbers: stronger counts at a scale that costs more than was charged."""
    for granularity in (None, 0.3, 0.75, 1, 2.0, -0.5, 2.0**-30, "0.5"):
        document = copy.deepcopy(finer)
        answer = finest(document)
        answer.pop("granularity")
        if granularity is not None:
            answer["granularity"] = granularity
            with pytest.raises(ValueError, match="granularity"):
                Release.from_bytes(json.dumps(document).encode())
        assert "refused" in {verdict.state for verdict in check(json.dumps(document).encode())}


def test_more_steps_than_doubles_hold_are_refused(finer):
    """They would change when saved again. Control: the most that doubles hold do not."""
    document = copy.deepcopy(finer)
    answer = finest(document)
    for steps in (2**53, -(2**53)):
        answer["values"] = encode(np.full(answer["values"]["shape"], steps))
        again = Release.from_bytes(json.dumps(document).encode())
        assert json.loads(again.to_bytes())["answers"] == document["answers"]
    answer["values"] = encode(np.full(answer["values"]["shape"], 2**53 + 1))
    changed = json.dumps(document).encode()
    with pytest.raises(ValueError, match="at most 2\\^53 steps"):
        Release.from_bytes(changed)
    assert [(one.about, one.state) for one in check(changed)] == [("format", "refused")]


def test_noise_whose_square_no_double_holds_is_refused(finer):
    for scale in (1e308, 1e101, 1e-101, 5e-324):
        document = copy.deepcopy(finer)
        document["answers"]["asked"][0]["scale"] = scale
        changed = json.dumps(document).encode()
        with pytest.raises(ValueError, match="scale: must be a finite number from 1e-100 to 1e\\+100"):
            Release.from_bytes(changed)
        assert [(one.about, one.state) for one in check(changed)] == [("format", "refused")]


THREE = Domain(tuple(Attribute(name=n, kind="integer", lower=(0, 1, 2), upper=(0, 1, 2)) for n in "abc"))
WHOLE = [Axis.of_codes(j, 3) for j in range(3)]
SCORES = np.array([-MAX_SCORE, 0, MAX_SCORE] * 3)


def read_products(values: Any, sets: Any = None, scores: Any = SCORES) -> AnswersSection:
    """Products as a file holds them, read again."""
    sets = [(WHOLE[0], WHOLE[1]), (WHOLE[0], WHOLE[2])] if sets is None else sets
    details = {} if scores is None else {"scores": scores}
    answer = NoisyAnswer(
        asked=QueryRecord(kind="products", tables=sets, details=details), values=np.array(values, dtype=np.int64),
        noise="discrete gaussian", scale=9.0, paid_by=("model",),
    )  # fmt: skip
    document = map_arrays(write_answers([answer], THREE), encode)
    return read_answers(DocumentNode(document, "answers"), THREE)


def test_products_of_scores_are_read_again():
    (answer,) = read_products([5, -7])
    query = ScoreProducts.of(answer.asked)
    assert answer.values.tolist() == [5, -7]
    assert sorted(query.scores) == [0, 1, 2]
    assert np.concatenate([query.scores[j] for j in range(3)]).tolist() == SCORES.tolist()


WRONG_PRODUCTS: dict[str, tuple[dict[str, Any], str]] = {
    "no pair": ({"values": [], "sets": [], "scores": np.zeros(0, dtype=int)}, "pairs of columns"),
    "a set of three": ({"values": [1], "sets": [WHOLE]}, "pairs of columns"),
    "a column with itself": (
        {"values": [1], "sets": [(WHOLE[0], Axis(0, np.array([0, 1, 1])))], "scores": SCORES[:3]}, "pairs of columns",
    ),
    "two axes of a column": (
        {"values": [1, 2], "sets": [(WHOLE[0], WHOLE[1]), (Axis(0, np.array([0, 1, 1])), WHOLE[2])]}, "one axis",
    ),
    "a number too few": ({"values": [1]}, "shape"),
    "no scores": ({"values": [1, 2], "scores": None}, "for each bucket"),
    "a score too few": ({"values": [1, 2], "scores": SCORES[1:]}, "for each bucket"),
    "a score too large": ({"values": [1, 2], "scores": SCORES + 1}, "at most 32"),
    "a score too small": ({"values": [1, 2], "scores": SCORES - 1}, "at most 32"),
    "a score without absolute value": (
        {"values": [1, 2], "scores": np.where(SCORES < 0, -(2**63), 0)}, "at most 32",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_PRODUCTS)
def test_products_of_other_scores_are_refused(case):
    given, message = WRONG_PRODUCTS[case]
    with pytest.raises(ValueError, match=message):
        read_products(**given)
