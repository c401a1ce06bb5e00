"""Replay: the noisy answers of one fit, given over a wholly different table, give the very same object and rows.

Under a claim everything that leaves may depend on the rows through noisy answers alone. So the answers of a first fit are
recorded, and given again while a second fit runs on a table with other values, another number of rows, other missing cells and
other storage of numbers. Metadata object and schema are the same. Whatever then differs has come through a side door.

The comparison is exact (nothing is drawn), so that it has no false alarm; planted side doors are caught surely.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import comparing
import numpy as np
import pandas as pd
import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer
from sdv_plausible.models.adaptive.learner import AdaptiveLearner
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.queryable import Queryable
from sdv_plausible.questions.transcript import NoisyAnswer, Transcript
from sdv_plausible.sdv import base as sdv_base
from sdv_plausible.sdv.versions import detect_metadata, metadata_from_columns

# The other table is outside every declaration on purpose: the holder is warned of it, and nothing leaves.
pytestmark = pytest.mark.filterwarnings("ignore:most cells of:UserWarning")

COLUMNS = {
    "id": {"sdtype": "id", "regex_format": "P[0-9]{6}"},
    "ticket": {"sdtype": "id"},
    "email": {"sdtype": "email", "pii": True},
    "city": {"sdtype": "categorical", "range_is_nullable": True},
    "grade": {"sdtype": "categorical", "range_is_nullable": True},
    "member": {"sdtype": "boolean"},
    "age": {"sdtype": "numerical"},
    "income": {"sdtype": "numerical"},
    "start": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
    "day": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
}
DECLARED = {
    "city": {"range_values": ["Bern", "Basel", "Chur"], "range_is_nullable": True},
    "grade": {"range_values": [1, 2, 3], "range_is_nullable": True},
    "age": {"range_min": 0, "range_max": 110, "range_is_nullable": True},
    "income": {"range_min": 0.0, "range_max": 1e6, "decimal_places": 2, "range_is_nullable": True},
    "start": {"range_min": "2000-01-01", "range_max": "2030-12-31", "range_is_nullable": True},
    "day": {"range_min": "01.01.2000", "range_max": "31.12.2030", "range_is_nullable": True},
    "member": {"range_is_nullable": True},
}


def first_table(n: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    city = rng.choice(["Bern", "Basel", "Chur"], n)
    start = pd.Timestamp("2019-03-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    return pd.DataFrame(
        {
            "id": [f"P{i:06d}" for i in range(n)],
            "ticket": [f"T-{i // 4}" for i in range(n)],
            "email": [f"u{i}@example.org" for i in range(n)],
            "city": city,
            "grade": rng.integers(1, 4, n),
            "member": rng.random(n) < 0.3,
            "age": rng.integers(16, 90, n),
            "income": np.round(rng.gamma(3, 900, n) + 500 * (city == "Basel"), 2),
            "start": start,
            "day": start.strftime("%d.%m.%Y"),
        }
    )


def other_table(n: int = 431) -> pd.DataFrame:
    """Other values, rows, missing cells, and types: whole numbers as doubles, odd cells, narrow types."""
    rng = np.random.default_rng(2)
    start = pd.Series(
        pd.Timestamp("2003-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), unit="D")
    ).astype("M8[s]")
    table = pd.DataFrame(
        {
            "id": [f"P{i + 500000:06d}" for i in range(n)],
            "ticket": np.arange(n) % 80 * 977,
            "email": [f"other{i}@example.com" for i in range(n)],
            "city": rng.choice(["Genf", "Basel", "Aarau"], n),
            "grade": rng.choice([1.0, 3.0, 7.0], n),
            "member": pd.Series(rng.random(n) < 0.9, dtype=object),
            "age": rng.integers(40, 200, n).astype("float32"),
            "income": rng.integers(0, 90, n),
            "start": start,
            "day": start.dt.strftime("%d.%m.%Y"),
        }
    )
    table.loc[::7, ["city", "email", "grade", "age", "start", "day", "member"]] = None
    table.loc[3, "city"] = "the only one here"
    return table


@contextmanager
def recorded(answers: list[Any], *, again: bool) -> Iterator[None]:
    """Write down every noisy answer, or give those written down instead; exact answers are computed either way."""
    honest, left = Queryable._give, iter(copy.deepcopy(answers))

    def give(self: Queryable, asked: Any, answer: Any, *law: Any) -> Any:
        if again:
            return honest(self, asked, next(left), *law)  # and so it is in the transcript
        answers.append(copy.deepcopy(answer))
        return honest(self, asked, answer, *law)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Queryable, "_give", give)
        patch.setattr(PlausibleDeniabilitySynthesizer, "_fit_coins", lambda self: Coins.from_seed(11))
        patch.setattr(sdv_base.base, "generate_synthesizer_id", lambda synthesizer: "same")
        yield
    assert not again or next(left, None) is None


def shown(synth: PlausibleDeniabilitySynthesizer) -> dict[str, Any]:
    """Everything that leaves a fitted synthesizer."""
    rows = synth.sample(200)
    given = synth.sample_remaining_columns(pd.DataFrame({"member": [True] * 3}))
    return {
        "rows": rows.to_csv(),
        "types": rows.dtypes.astype(str).to_dict(),
        "conditioned": given.to_csv(),
        "ledger": synth.privacy_ledger().to_json(),
        "plan": str(synth.plan(100)),
        "repr": repr(synth).split(" object at ")[0],
        "metadata": json.dumps(synth.get_metadata().to_dict(), sort_keys=True, default=str),
        "parameters": {k: repr(v) for k, v in synth.get_parameters().items() if k != "metadata"},
        "release file": synth.release().to_bytes(),
        "readable release file": synth.release().to_bytes(readable=True),
        "state": dict(leaves(synth)),
    }


def leaves(thing: Any, path: str = "", seen: dict[int, Any] | None = None) -> Iterator[tuple[str, str]]:
    """Path and content of everything that an object holds."""
    seen = {} if seen is None else seen
    if isinstance(thing, (str, bytes, int, float, bool, type(None), complex)):
        yield path, repr(thing)
        return
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        yield path, f"{thing.dtype} {thing.shape} {thing.tobytes().hex()}"
        return
    if isinstance(thing, (pd.DataFrame, pd.Series, pd.Index, np.dtype, pd.Timestamp, type)) or callable(
        thing
    ):
        text = (
            thing.to_dict()
            if isinstance(thing, (pd.DataFrame, pd.Series))
            else getattr(thing, "__qualname__", thing)
        )
        yield path, f"{type(thing).__name__} {text!r}"
        return
    if id(thing) in seen:
        return
    seen[id(thing)] = thing  # kept alive: a later object must not be given its identity
    if isinstance(thing, dict):
        items: Any = ((repr(k), v) for k, v in thing.items())
    elif isinstance(thing, (list, tuple, set, frozenset, np.ndarray)):
        items = enumerate(sorted(thing, key=repr) if isinstance(thing, (set, frozenset)) else thing)
    else:
        slots = {
            s: getattr(thing, s, None)
            for s in getattr(type(thing), "__slots__", ())
            if s not in ("_lock", "_home")
        }
        items = {**slots, **getattr(thing, "__dict__", {})}.items()
        yield path, type(thing).__name__
    for key, value in items:
        if key not in ("_fitted_date", "_creation_date", "_home", "_lock"):
            yield from leaves(value, f"{path}.{key}", seen)


def detected(table: pd.DataFrame) -> Any:
    """What SDV detects in a table, with the semantic types of ``COLUMNS`` where it found others."""
    metadata = detect_metadata(table)
    document = metadata.to_dict()
    columns = document["tables"]["table"]["columns"]
    for name, spec in COLUMNS.items():
        kept = (
            columns[name] if columns[name]["sdtype"] == spec["sdtype"] != "datetime" else {}
        )  # its ranges need its format
        columns[name] = {**kept, **spec}
    return type(metadata).load_from_dict(document)


WITHOUT_CITY = {name: spec for name, spec in DECLARED.items() if name != "city"}
SEEDS_OF_PEOPLE = {"omega": 6, "k": 2, "epsilon0": 6.0}
CASES: dict[str, dict[str, Any]] = {
    "declared": {"domain": DECLARED},
    "declared, epsilon 8": {"domain": DECLARED, "epsilon": 8.0},
    "private": {"undeclared": "private"},
    "partly private": {"domain": {k: DECLARED[k] for k in ("city", "age")}, "undeclared": "private"},
    "split": {"domain": DECLARED, "split": (0.3, 0.3, 0.4)},
    "paper's learner": {"domain": DECLARED, "structure": "cfs"},
    "given arcs": {"domain": DECLARED, "structure": {"age": ["city"], "income": ["age", "city"]}},
    "independent": {"domain": DECLARED, "model": "independent"},
    "uniform": {"domain": DECLARED, "model": "uniform"},
    "seeds": {"domain": DECLARED, "omega": 5, "k": 3, "epsilon0": 2.0, "structure": {"age": ["city"]}},
    "people": {"domain": DECLARED, "person": "ticket", "rows_per_person": 3},
    "people, private": {"undeclared": "private", "person": "ticket", "rows_per_person": 2, "epsilon": 8.0},
    "people by a category": {
        "domain": WITHOUT_CITY,
        "person": "city",
        "rows_per_person": 40,
        "structure": "cfs",
    },
    "people, seeds": {**SEEDS_OF_PEOPLE, "domain": DECLARED, "person": "ticket", "rows_per_person": 2},
    "replacement": {"domain": DECLARED, "neighbours": "replace_one"},
    "seeds, range": {
        "domain": DECLARED,
        "omega": (4, 6),
        "k": 2,
        "epsilon0": 2.0,
        "structure": {"age": ["city"]},
    },
}


def fit(metadata: Any, table: pd.DataFrame, **options: Any) -> PlausibleDeniabilitySynthesizer:
    synth = PlausibleDeniabilitySynthesizer(copy.deepcopy(metadata), **options)
    synth.fit(table)
    return synth


def replayed(metadata: Any, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What two fits show, on two tables, with the same noisy answers."""
    answers: list[Any] = []
    with recorded(answers, again=False):
        first = fit(metadata, first_table(), **options)
        assert first.privacy_ledger().claims_privacy
        one = shown(first)
    with recorded(answers, again=True):
        other = shown(fit(metadata, other_table(), **options))
    return one, other


def check_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    for what, first in one.items():
        second = other[what]
        if what == "state":
            differing = sorted(k for k in {*first, *second} if first.get(k) != second.get(k))
            assert not differing, f"the object's state depends on the rows: {differing[:5]}"
        else:
            comparing.check_same(
                first, second, f"{what} depend(s) on the rows other than through noisy answers"
            )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("source", ["written", "detected"])
def test_what_leaves_depends_on_the_rows_through_noisy_answers_alone(case: str, source: str) -> None:
    metadata = metadata_from_columns(COLUMNS)
    if source == "detected":  # on the first table, and used on both
        metadata = detected(first_table())
    check_same(*replayed(metadata, **CASES[case]))


def test_detection_leaves_nothing_in_the_object() -> None:
    """No range, value, digit or missingness that SDV detects is anywhere in a fitted object."""
    table = first_table()
    table.loc[0, ["age", "income"]] = [109, 987_654.32]
    table.loc[1, "city"] = "Zz-only-here"
    metadata = detected(table)
    assert "987654.32" in json.dumps(metadata.to_dict(), default=str)
    synth = fit(metadata, table, domain=DECLARED)
    held = "\n".join(content for _, content in leaves(synth))
    for secret in ("987654.32", "Zz-only-here", "u17@example.org", "range_is_nullable", "high_cardinality"):
        assert secret not in held, secret


def keep_metadata(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sdv_base, "without_details", lambda metadata: metadata)


def show_rows_to_sdv(patch: pytest.MonkeyPatch) -> None:
    def all_rows(self: Any, frame: pd.DataFrame) -> pd.DataFrame:
        self._rows = frame
        return frame.copy()

    patch.setattr(PlausibleDeniabilitySynthesizer, "_shown_to_sdv", all_rows)


def keep_the_number_of_rows(patch: pytest.MonkeyPatch) -> None:
    honest = PlausibleDeniabilitySynthesizer._fit_rows

    def fit_rows(self: Any, table: pd.DataFrame, dtypes: Any) -> None:
        honest(self, table, dtypes)
        self._seen = len(table)

    patch.setattr(PlausibleDeniabilitySynthesizer, "_fit_rows", fit_rows)


def write_real_types(patch: pytest.MonkeyPatch) -> None:
    from sdv_plausible.sdv import stand_ins

    patch.setattr(stand_ins, "output_type", lambda attribute, stored: stored)


def look_twice(patch: pytest.MonkeyPatch) -> None:
    """A learner that finds its way to an exact count, and keeps it in its model."""
    honest = AdaptiveLearner.fit

    def fit_and_look(self: Any, rows: Queryable, *args: Any) -> Any:
        model = honest(self, rows, *args)
        model.rows = rows._rows.num_rows()
        return model

    patch.setattr(AdaptiveLearner, "fit", fit_and_look)


def write_down_exact_answers(patch: pytest.MonkeyPatch) -> None:
    """A transcript of what was true, not of what was answered: nothing but the saved object and the file has it."""
    honest, exact = Queryable._noisy, []

    def noisy(self: Queryable, found: np.ndarray, *how: Any) -> Any:
        exact.append(found.copy())
        return honest(self, found, *how)

    def note(self: Transcript, asked: Any, values: np.ndarray, scale: float, **how: Any) -> None:
        self._answers.append(NoisyAnswer(asked=asked, values=exact[-1].astype(int), scale=scale, **how))

    patch.setattr(Queryable, "_noisy", noisy)
    patch.setattr(Transcript, "note", note)


FAULTS = [
    keep_metadata,
    show_rows_to_sdv,
    keep_the_number_of_rows,
    write_real_types,
    look_twice,
    write_down_exact_answers,
]


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_side_doors_are_caught(fault: Callable[[pytest.MonkeyPatch], None]) -> None:
    def check() -> None:
        if fault is keep_metadata:
            test_detection_leaves_nothing_in_the_object()
        check_same(*replayed(metadata_from_columns(COLUMNS), domain=DECLARED, epsilon=8.0))

    with pytest.MonkeyPatch.context() as patch:
        fault(patch)
        with pytest.raises(
            (AssertionError, StopIteration)
        ):  # of another number of questions the answers run out
            check()
