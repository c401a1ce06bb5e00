"""Replay: the noisy answers of one fit, given over a wholly different table, give the very same object and rows.

Under a claim everything that leaves may depend on the rows through noisy answers alone. So the answers of a first fit are
recorded, and given again while a second fit runs on a table with other values, another number of rows, other missing cells and
other storage of numbers. Metadata object and schema are the same. Whatever then differs has come through a side door.

The comparison is exact (nothing is drawn), so that it has no false alarm; planted side doors are caught surely.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import guarded
import numpy as np
import pandas as pd
import pytest
import ruled
from cases import each_once, fast_and_slow
from replaying import check_same, leaves, recorded

from sdv_plausible import PlausibleDeniabilitySynthesizer
from sdv_plausible.fitting.fit import Fit
from sdv_plausible.fitting.plan import ExpectedNoise
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import NoisyAnswer, Transcript
from sdv_plausible.sdv.metadata import detect_metadata, metadata_from_columns
from sdv_plausible.table.learned import private_columns, private_domain
from sdv_plausible.table.learned.raw_queries import FrequentValues
from tests.flat import values

# The other table is outside every declaration on purpose: the holder is warned of it, and nothing leaves.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.* (most cells are outside|cells are missing although):UserWarning"
)

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
    days = pd.to_timedelta(rng.integers(0, 9000, n), unit="D")
    start = pd.Series(pd.Timestamp("2003-01-01") + days).astype("M8[s]")
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


Change = Callable[[pd.DataFrame], pd.DataFrame]


def as_they_are(table: pd.DataFrame) -> pd.DataFrame:
    return table


def in_categories(table: pd.DataFrame) -> pd.DataFrame:
    return table.astype({"city": "category", "grade": "category"})


def in_arrow(table: pd.DataFrame) -> pd.DataFrame:
    days = table["start"].dt.strftime("%Y-%m-%d")
    return table.assign(start=days).convert_dtypes(dtype_backend="pyarrow")


def without_some(table: pd.DataFrame) -> pd.DataFrame:
    return table.mask(table.index.to_series() % 3 == 0)


def numbers(table: pd.DataFrame) -> Any:
    return pd.factorize(table["ticket"])[0]


# Whose types columns have is schema, and so is that a modelled one is of categories: what is done to both tables. All else
# that is done to the other one makes no difference: which cells are missing, and the types of columns that are invented.
STORAGES: dict[str, tuple[Change, Change]] = {
    "missing ids": (as_they_are, without_some),
    "ids of categories": (
        in_categories, lambda table: in_categories(table).astype(dict.fromkeys(("id", "ticket", "email"), "category")),
    ),
    "whole numbers as ids": (as_they_are, lambda table: table.assign(id=range(len(table)), ticket=numbers(table))),
    "halves as ids": (as_they_are, lambda table: table.assign(ticket=numbers(table) / 2, email=None)),
    "nullable": (
        lambda table: table.convert_dtypes(),
        lambda table: without_some(table.astype({"ticket": str})).convert_dtypes(),
    ),
    "arrow": (in_arrow, lambda table: in_arrow(table.assign(id=numbers(table)))),
    "no row": (as_they_are, lambda table: table.iloc[:0]),
}  # fmt: skip


def published(n: int = 300) -> pd.DataFrame:
    """A table of some of the columns, whose dependence is that of the first table."""
    rows = first_table(n).sample(frac=1, random_state=3, ignore_index=True)
    return rows[["city", "grade", "age", "income"]].assign(member=rows["grade"] > 2)


def shown(synth: PlausibleDeniabilitySynthesizer) -> dict[str, Any]:
    """What leaves a fitted synthesizer."""
    rows = synth.sample(60)
    given = {"conditioned": synth.sample_remaining_columns(pd.DataFrame({"member": [True] * 3})).to_csv()}
    return {
        **told(synth),
        "rows": rows.to_csv(),
        "types": rows.dtypes.astype(str).to_dict(),
        **(given if synth._sampler.samples_conditions else {}),
        "release file": synth.release().to_bytes(),
        "state": dict(leaves(synth)),  # with the ledger
    }


def told(synth: PlausibleDeniabilitySynthesizer) -> dict[str, Any]:
    """What a fitted synthesizer says of itself, its rows apart."""
    return {
        "entries": list(map(repr, synth.privacy_ledger().entries)),
        "metadata": json.dumps(synth.get_metadata().to_dict(), sort_keys=True, default=str),
        "parameters": {k: re.sub(" at 0x[0-9a-f]+", "", repr(v)) for k, v in synth.get_parameters().items()},
    }


def in_full(synth: PlausibleDeniabilitySynthesizer) -> dict[str, Any]:
    """All of it, in every form; what is computed from the ledger takes its time."""
    abouts = ("table",) if synth._fit_template.settings.neighbours.rows > 1 else ("table", "population")
    return {
        **shown(synth),
        "ledger": synth.privacy_ledger().to_json(),
        "plan": str(synth.plan(100)),
        "repr": repr(synth).split(" object at ")[0],
        "readable release file": synth.release().to_bytes(readable=True),
        "margins": synth.margins(["city", "age"]).to_csv(),
        "tables": [table.to_csv() for about in abouts for table in synth.sample_multiple(2, 20, about=about)],
    }


def detected(table: pd.DataFrame) -> Any:
    """What SDV detects in a table, with the semantic types of ``COLUMNS`` where it found others."""
    metadata = detect_metadata(table)
    document = metadata.to_dict()
    columns = document["tables"]["table"]["columns"]
    for name, spec in COLUMNS.items():
        same = columns[name]["sdtype"] == spec["sdtype"] != "datetime"  # whose ranges need its format
        columns[name] = {**(columns[name] if same else {}), **spec}
    return type(metadata).load_from_dict(document)


SEEDS_OF_PEOPLE = {"omega": 6, "k": 2, "epsilon0": 6.0}
ARCS = {"age": ["city"], "income": ["age", "city"]}
SEEDS = {"k": 2, "epsilon0": 2.0, "structure": {"age": ["city"]}}
OPTIONS: dict[str, dict[str, Any]] = {
    "epsilon 8": {"domain": DECLARED, "epsilon": 8.0, "delta": 1e-6, "max_bins": 20},
    "private": {"undeclared": "private"},
    "partly private": {"domain": {k: DECLARED[k] for k in ("city", "age")}, "undeclared": "private"},
    "written": {"domain": "written"},
    "split": {"domain": DECLARED, "split": (0.3, 0.3, 0.4)},
    "seeds": {**SEEDS, "domain": DECLARED, "omega": 5},
    "seeds, range": {**SEEDS, "domain": DECLARED, "omega": (4, 6)},
    "voted": {"types": "voted", "epsilon": 25.0, "person": "ticket", "rows_per_person": 2},
    "people, private": {"person": "ticket", "rows_per_person": 2, "epsilon": 8.0},
    "people by a category": {
        "domain": {name: spec for name, spec in DECLARED.items() if name != "city"},
        "person": "city", "rows_per_person": 40, "structure": "cfs",
    },
    "people, seeds": {**SEEDS_OF_PEOPLE, "domain": DECLARED, "person": "ticket", "rows_per_person": 2},
    "published table": {"domain": DECLARED, "epsilon": 3.0, "public": published(), "public_source": "an office"},
    "noise as printed": {"domain": DECLARED, "noise": "paper", "accounting": "paper", "epsilon": 50.0},
    "as SDV writes": {
        "domain": DECLARED, "model": "independent", "enforce_min_max_values": False, "enforce_rounding": False,
        "locales": ["en_GB"],
    },
}  # fmt: skip
CASES: dict[str, dict[str, Any]] = {
    **{f"model {name}": {"domain": DECLARED, **case} for name, case in guarded.models(ARCS).items()},
    **{
        f"protects a {name}": {"domain": DECLARED, **guarded.parameters_of(unit)}
        for name, unit in guarded.UNITS.items()
        if name != "row"
    },
    **OPTIONS,
}
ROW_BY_ROW: dict[str, dict[str, Any]] = {
    "randomised": {"omega": 6, "hidden_omega": False},
    "laplace": {"omega": (5, 6), "hidden_omega": True, "threshold_noise": "laplace", "gamma": 2.0},
    "counting": {"omega": 6, "max_plausible": 60, "max_check_plausible": 150, "seed_free_share": 0.4},
}
RANDOMISED = {
    "test": "randomized", "domain": DECLARED, "model": "independent", "k": 20, "epsilon0": 1.0,
    "row_cap": 20, "least_rows": 100, "delta": 1e-4,
}  # fmt: skip
WRITTEN = {name: {**spec, **DECLARED.get(name, {})} for name, spec in COLUMNS.items()}


def fit(metadata: Any, table: pd.DataFrame, **options: Any) -> PlausibleDeniabilitySynthesizer:
    synth = PlausibleDeniabilitySynthesizer(copy.deepcopy(metadata), **values(**options))
    synth.fit(table)
    return synth


Seen = Callable[[Any], dict[str, Any]]


def replayed(
    metadata: Any, first: pd.DataFrame, *others: pd.DataFrame, see: Seen = shown, **options: Any
) -> None:
    """Compare what fits show, on other tables, with the same noisy answers."""
    answers: list[Any] = []
    with recorded(answers, again=False):
        fitted = fit(metadata, first, **options)
        assert fitted.privacy_ledger().claims_privacy
        one = see(fitted)
    for other in others:
        with recorded(answers, again=True):
            two = see(fit(metadata, other, **options))
        check_same(one, two)


def check(case: dict[str, Any], source: str = "written", see: Seen = shown) -> None:
    """Of metadata that was written by hand, or detected on the first table and used on both."""
    written = WRITTEN if case.get("domain") == "written" else COLUMNS
    metadata = detected(first_table()) if source == "detected" else metadata_from_columns(written)
    replayed(metadata, first_table(), other_table(), see=see, **case)


@pytest.mark.parametrize("case", CASES)
def test_what_leaves_depends_on_the_rows_through_noisy_answers_alone(case: str) -> None:
    check(CASES[case], see=in_full if case in ("epsilon 8", "people, seeds") else shown)


@pytest.mark.parametrize("planted", [False, True])
def test_two_looks_at_categories_depend_on_noisy_answers_alone(
    planted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the second shares, and how many rows hold no learned value. Planted: of the true number of rows."""
    monkeypatch.setattr(private_domain, "MANY", 2)
    looks: list[float] = []
    ask, learn = Queryable.ask_frequent, private_columns.learn_categories

    def asked(self: Queryable, question: Any, share: float, failure: float) -> Any:
        looks.extend([share] * isinstance(question, FrequentValues))
        return ask(self, question, share, failure)

    def by_the_rows(rows: Queryable, plan: Any, size: Any) -> Any:
        return learn(rows, plan, (9.0 * rows._rows.num_rows(), size[1]))  # so many that all are not found

    monkeypatch.setattr(Queryable, "ask_frequent", asked)
    if planted:
        monkeypatch.setattr(private_columns, "learn_categories", by_the_rows)
        with pytest.raises(AssertionError):
            check(CASES["private"])
    else:
        check(CASES["private"])
    assert len(looks) == 8
    assert (looks[:4] == looks[4:]) is not planted


@pytest.mark.parametrize(
    "case", fast_and_slow(["epsilon 8", "private", "people by a category"], lambda case: case == "private")
)
def test_so_it_does_with_metadata_that_was_detected(case: str) -> None:
    check(CASES[case], "detected")


STORED = each_once(["private", "protects a person"], STORAGES)


@pytest.mark.parametrize(
    ("case", "storage"), fast_and_slow(STORED, lambda _, storage: storage in ("arrow", "no row"))
)
def test_storage_and_missing_ids_make_no_difference(case: str, storage: str) -> None:
    """Of the first table's rows, too: what differs then are the types of columns and which cells are missing."""
    both, alone = STORAGES[storage]
    others = (alone(other_table()), alone(first_table()))
    replayed(metadata_from_columns(COLUMNS), both(first_table()), *others, **CASES[case])


def broken_rules() -> pd.DataFrame:
    """Other rows of the table with rules, which break them: every column is shuffled by itself."""
    rng = np.random.default_rng(3)
    shuffled = lambda column: column.sample(frac=1, random_state=rng, ignore_index=True)  # noqa: E731
    return ruled.table(170, seed=4).apply(shuffled)


@pytest.mark.parametrize("storage", ["numpy", "arrow"])
def test_rules_of_all_kinds_leave_nothing_of_the_rows(storage: str) -> None:
    def see(synth: PlausibleDeniabilitySynthesizer) -> dict[str, Any]:
        return {**told(synth), "rows": synth.sample(50).to_csv(), "release file": synth.release().to_bytes()}

    options = {"domain": ruled.DOMAIN, "rules": ruled.RULES, "max_bins": 6, "epsilon": 4.0}
    metadata = metadata_from_columns(ruled.COLUMNS)
    stored = ruled.STORAGES[storage]
    replayed(metadata, stored(ruled.table()), stored(broken_rules()), see=see, **options)


@pytest.mark.parametrize("case", ROW_BY_ROW)
def test_what_the_row_by_row_tests_say_beside_their_rows(case: str) -> None:
    """Rows pass by noise of their own, and the object holds records: all else depends on the noisy number of seeds."""
    options = {**RANDOMISED, **ROW_BY_ROW[case]}
    replayed(metadata_from_columns(COLUMNS), first_table(), other_table(), see=told, **options)


def test_detection_leaves_nothing_in_the_object() -> None:
    """No range, value, digit or missingness that SDV detects is anywhere in a fitted object; moments as text are split."""
    for moment in (False, True):
        table = first_table()
        if moment:
            hours = pd.to_timedelta(np.arange(len(table)), unit="h")
            table["moment"] = (pd.Timestamp("2020-01-01") + hours).strftime("%Y-%m-%d %H:%M:%S")
        table.loc[0, ["age", "income"]] = [109, 987_654.32]
        table.loc[1, "city"] = "Zz-only-here"
        metadata = detected(table)
        assert "987654.32" in json.dumps(metadata.to_dict(), default=str)
        synth = fit(metadata, table, domain=DECLARED)
        assert bool(synth._fit_template.column_specs.columns) == moment
        held = "\n".join(content for _, content in leaves(synth))
        for secret in (
            "987654.32",
            "Zz-only-here",
            "u17@example.org",
            "range_is_nullable",
            "high_cardinality",
        ):
            assert secret not in held, secret


def show_rows_to_sdv(patch: pytest.MonkeyPatch) -> None:
    def all_rows(self: Any, frame: pd.DataFrame) -> pd.DataFrame:
        self._rows = frame
        return frame.copy()

    patch.setattr(PlausibleDeniabilitySynthesizer, "_shown_to_sdv", all_rows)


def write_down_exact_answers(patch: pytest.MonkeyPatch) -> None:
    """A transcript of what was true, not of what was answered: nothing but the saved object and the file has it."""
    honest, exact = Queryable._noisy, []

    def noisy(self: Queryable, found: np.ndarray, *how: Any) -> Any:
        exact.append(found.copy())
        return honest(self, found, *how)

    def note(self: Transcript, asked: Any, values: np.ndarray, scale: float, **how: Any) -> None:
        true = exact[-1].astype(int) if exact[-1].shape == values.shape else values  # of found values, some
        self._answers.append(NoisyAnswer(asked=asked, values=true, scale=scale, **how))

    patch.setattr(Queryable, "_noisy", noisy)
    patch.setattr(Transcript, "note", note)


def warn_of_the_true_number_of_rows(patch: pytest.MonkeyPatch) -> None:
    """What the ledger says of noise, at the number of rows in the table and not at the one that was answered."""
    honest = Fit._learn_domain

    def learned(self: Fit, rows: Any, *rest: Any) -> Any:
        patch.setattr(ExpectedNoise, "rows_of", lambda *_: len(rows))
        return honest(self, rows, *rest)

    patch.setattr(Fit, "_learn_domain", learned)


FAULTS = show_rows_to_sdv, warn_of_the_true_number_of_rows, write_down_exact_answers


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_side_doors_are_caught(fault: Callable[[pytest.MonkeyPatch], None]) -> None:
    """More of them are in test_named_mutants.py; metadata that is kept whole is in test_detected_metadata.py."""
    with pytest.MonkeyPatch.context() as patch:
        fault(patch)
        with pytest.raises(AssertionError):
            check(CASES["epsilon 8"])
