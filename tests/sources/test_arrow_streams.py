"""Streams and functions that open them: read anew for every pass, refused where that cannot be."""

import sqlite3
from functools import partial

import pandas as pd
import pytest
from tables import COLUMNS, DECLARED, SEED, Streamed, table

from sdv_plausible import Budget, PlausibleDeniabilitySynthesizer, fit_source, metadata_of
from sdv_plausible.sources.source_types import open_source
from sdv_plausible.table.declared.column_types import column_types

pa = pytest.importorskip("pyarrow")
FRAME = table(400)
ARROW = pa.Table.from_pandas(FRAME, preserve_index=False)
TYPES = column_types(None, COLUMNS)


def rows_of(source, rows=150):
    return [len(part) for part in open_source(source, TYPES, rows).parts(["age"])]


def test_pieces_are_of_the_size_that_is_asked_for():
    assert rows_of(lambda: ARROW.to_batches(400)) == [150, 150, 100]
    assert sum(rows_of(Streamed(ARROW))) == 400
    assert rows_of(lambda: ARROW.slice(0, 0)) == []
    polars = pytest.importorskip("polars")  # whose views of texts are texts
    frame = Streamed(polars.from_pandas(FRAME).to_arrow(compat_level=polars.CompatLevel.newest()))
    assert sum(rows_of(frame)) == 400


def test_what_can_be_read_once_or_is_no_batch_is_refused():
    for once in (ARROW.to_reader(), iter(ARROW.to_batches())):
        with pytest.raises(ValueError, match=r"can be read only once.*lambda"):
            open_source(once, TYPES)
    for given, says in (
        (list, "no record batch"),
        (lambda: [FRAME], "returned a DataFrame"),
        (lambda: [(1, 2)], "returned a tuple"),
    ):
        with pytest.raises(ValueError, match=says):
            open_source(given, TYPES)


def test_batches_of_two_schemas_cost_no_budget(tmp_path):
    FRAME.assign(age=FRAME["age"].where(FRAME.index != 377)).to_csv(tmp_path / "t.csv", index=False)

    def chunks():
        with pd.read_csv(tmp_path / "t.csv", chunksize=100) as parts:
            for part in parts:
                yield pa.RecordBatch.from_pandas(part.convert_dtypes(), preserve_index=False)

    first, *others = (pa.Table.from_batches([part]) for part in ARROW.to_batches(200))
    wider = [part.append_column("more", pa.array([1] * len(part))) for part in others]
    budget = Budget(3, 1e-8, tmp_path / "budget.json")
    assert fit_source(chunks, COLUMNS, DECLARED).ledger.claims_privacy
    for batches in (
        [first, *wider],
        [ARROW, pa.Table.from_pandas(FRAME.astype({"age": float}), preserve_index=False)],
    ):
        with pytest.raises(ValueError, match="use one schema for all batches"):
            fit_source(lambda batches=batches: batches, COLUMNS, DECLARED, budget=budget)
    assert budget.charged()["epsilon"] == 0


def once(size):
    """A function whose rows were opened outside it."""
    left = ARROW.to_batches(size)

    def draining():
        while left:
            yield left.pop(0)

    return draining


def shared():
    batches = iter(ARROW.to_batches(100))
    return lambda: (batch for batch in batches)


def exported_once():
    reader = ARROW.to_reader(100)
    return lambda: reader


@pytest.mark.parametrize("given", [lambda: once(100), lambda: once(400), shared, exported_once])
@pytest.mark.parametrize("door", ["fit_source", "synthesizer", "voted"])
def test_a_function_that_gives_its_rows_once_is_refused_before_a_draw(given, door, tmp_path):
    budget = Budget(3, 1e-8, tmp_path / "budget.json")
    synth = PlausibleDeniabilitySynthesizer(metadata_of(COLUMNS), domain=DECLARED, budget=budget)
    fit = {
        "synthesizer": synth.fit,
        "voted": partial(fit_source, domain={}, types="voted", budget=budget),
        "fit_source": partial(fit_source, metadata=COLUMNS, domain=DECLARED, budget=budget),
    }[door]
    with pytest.raises(ValueError, match=r"can be read only once.*lambda"):
        fit(given())
    assert budget.charged()["epsilon"] == 0


def test_a_function_that_runs_dry_later_stops_the_fit():
    """Control: one that never gives a row gives them anew."""
    for passes, declared in ((1, DECLARED), (2, DECLARED), (1, {}), (2, {}), (3, {})):
        opened = []

        def drying(opened=opened, passes=passes):
            opened.append(1)
            return ARROW.to_batches(100) if len(opened) <= 2 + passes else [ARROW.slice(0, 0)]

        with pytest.raises(RuntimeError, match="another number of rows"):
            fit_source(drying, COLUMNS, declared, epsilon=1000)  # so much that pairs, too, are asked
    assert fit_source(lambda: [ARROW.slice(0, 0)], COLUMNS, DECLARED).ledger.claims_privacy


def test_a_database_through_its_own_cursor(tmp_path):
    schema = pa.schema([("age", pa.int64()), ("sex", pa.string()), ("city", pa.string())])
    names = schema.names
    with sqlite3.connect(tmp_path / "people.db") as database:
        FRAME[names].to_sql("people", database, index=False)

    def people():
        with sqlite3.connect(tmp_path / "people.db") as database:
            cursor = database.execute("SELECT age, sex, city FROM people")
            while rows := cursor.fetchmany(70):
                yield pa.RecordBatch.from_pylist([dict(zip(names, r, strict=True)) for r in rows], schema)

    declared = {name: COLUMNS[name] | DECLARED[name] for name in names}
    found = fit_source(people, domain=declared, random_state=SEED, allow_no_claim=True)
    whole = fit_source(ARROW, domain=declared, random_state=SEED, allow_no_claim=True)
    assert found.answers.answers[0].values.tolist() == whole.answers.answers[0].values.tolist()
    assert found.ledger.entries == whole.ledger.entries
