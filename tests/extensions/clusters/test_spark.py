"""Spark itself: its executors count what pandas counts here, and what they keep is given up."""

from collections import Counter
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from sparks import Cells, Numbers, needs_spark, partitions, persisted, session
from tables import COLUMNS, DECLARED, SEED, document, table

from sdv_plausible import Budget, Person, PlausibleDeniabilitySynthesizer, fit_source
from sdv_plausible.extensions.clusters.shuffled_rows import RowChoice
from sdv_plausible.extensions.clusters.spark_source import SparkSource
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.sources.source import SourceError
from sdv_plausible.sources.source_columns import RowCountTask, SourceColumns
from sdv_plausible.sources.source_types import engine_of, open_source
from sdv_plausible.table.declared.column_types import column_types

pytestmark = [pytest.mark.slow, needs_spark]
FRAME = table(2_000)
TYPES = column_types(DECLARED, COLUMNS)


@pytest.fixture(scope="module")
def spark():
    """Two cores of this machine; a task may fail three times."""
    with session("local[2,4]") as found:
        yield found


def fitted(source, **options):
    return fit_source(source, COLUMNS, DECLARED, random_state=SEED, allow_no_claim=True, **options)


def test_a_fit_is_that_of_the_same_cells_here(spark):
    found = partitions(spark, FRAME)
    assert engine_of(found)[0].name == "Spark DataFrame"
    assert document(fitted(found)) == document(fitted(FRAME))
    assert persisted(spark) == 0


def test_value_sets_are_learned_there(spark):
    def learned(source):
        return fit_source(source, COLUMNS, random_state=SEED, allow_no_claim=True, epsilon=8.0)

    assert document(learned(partitions(spark, FRAME))) == document(learned(FRAME))


def test_sums_alone_come_back(spark, monkeypatch):
    """Also of the synthesizer, which would take a frame of Spark's into memory if it were not read in parts."""
    source, back = partitions(spark, FRAME), []
    kind = type(source)
    whole = kind.toArrow

    def told(self):
        found = whole(self)
        back.append((found.column_names, len(found)))
        return found

    monkeypatch.setattr(kind, "toArrow", told)
    monkeypatch.setattr(kind, "toPandas", None)
    metadata = metadata_from_columns(COLUMNS)
    synth = PlausibleDeniabilitySynthesizer(
        metadata, epsilon=1000, domain=DECLARED
    )  # it takes several passes
    synth.fit(source)
    assert all(rows == 0 or (names == ["number", "pickled"] and rows <= 3) for names, rows in back)
    assert sum(rows > 0 for _, rows in back) >= 3


def test_a_partition_that_counts_twice_is_seen(spark):
    """Planted: a source that adds one of its partitions again."""

    class Twice(SparkSource):
        def _columns(self, names):
            chosen = super()._columns(names)
            return chosen.union(chosen.limit(100).coalesce(1))

    source = partitions(spark, FRAME)
    assert SparkSource(source, TYPES).total(RowCountTask(), ["age"]) == len(FRAME)
    assert Twice(source, TYPES).total(RowCountTask(), ["age"]) == len(FRAME) + 100


CELLS = {  # Spark's type, and cells beside one that is missing
    "byte": ("byte", [1, -128, 127]),
    "short": ("short", [1, 2, 3]),
    "int": ("int", [1, 2**31 - 1, 0]),
    "long": ("long", [1, -(2**63), 2**63 - 1]),
    "float": ("float", [1.5, float("inf"), 2.0**25]),
    "double": ("double", [1.0, float("nan"), 1e300]),
    "decimal": ("decimal(10,2)", [Decimal("1.70"), Decimal("-3.25"), Decimal("0.00")]),
    "long decimal": ("decimal(38,0)", [Decimal("9" * 38), Decimal(1), Decimal(0)]),
    "boolean": ("boolean", [True, False, True]),
    "string": ("string", ["a", " b ", "9" * 1_000]),
    "figures": ("string", ["1", "2.50", "1990-01-05"]),
    "date": ("date", [date(1990, 1, 5), date(1, 1, 1), date(9999, 12, 31)]),
    "moment": ("timestamp", [datetime(1990, 1, 5, 12, tzinfo=timezone.utc), datetime(2020, 7, 1, 23, 30, tzinfo=timezone.utc)]),
    "plain moment": ("timestamp_ntz", [datetime(1990, 1, 5, 12), datetime(2020, 3, 8, 2, 30)]),
    "binary": ("binary", [b"a", b"\xff\xfe"]),
    "nothing": ("void", []),
}  # fmt: skip
SDTYPES = ("categorical", "numerical", "datetime", "boolean", "id")


def of_cells(spark):
    """A column of each type; a cell in every row, by turns, and every fourth is missing."""
    rows = [
        tuple((cells * 12 + [None])[i % (len(cells) + 1)] if i % 4 else None for _, cells in CELLS.values())
        for i in range(40)
    ]
    kinds = ", ".join(f"`{name}` {kind}" for name, (kind, _) in CELLS.items())
    return spark.createDataFrame(rows, kinds).repartition(3)


@pytest.mark.parametrize("sdtype", SDTYPES)
def test_cells_are_read_as_those_that_spark_writes_to_parquet(spark, tmp_path, sdtype):
    """Whatever the session's time zone; what is refused there is refused here, in the same words."""
    source = of_cells(spark)
    source.drop("nothing").write.parquet(str(tmp_path / "rows"))  # which Parquet of Spark cannot hold
    met = 0
    for name in CELLS:
        if name == "nothing":
            continue
        form = {"datetime_format": "%Y-%m-%d"} if sdtype == "datetime" and CELLS[name][0] == "string" else {}
        types = column_types(None, {name: {"sdtype": sdtype, **form}})
        found = [counted(held, name, types) for held in (source, tmp_path / "rows")]
        assert found[0] == found[1], name
        met += not isinstance(found[0], str)
    assert met >= {"categorical": 13, "numerical": 9, "datetime": 4, "boolean": 13, "id": 15}[sdtype]


def counted(source, name, types):
    """Values, where they can be asked; else why not."""
    try:
        opened = open_source(source, types)
        if not types[name].is_modelled:
            return opened.total(RowCountTask(), [name]), str(opened.empty([name]).dtypes[name])
        values, counts, missing = SourceColumns(opened, RuleSet(), [name]).value_counts(name)
    except ValueError as error:
        return str(error)
    kind = opened.empty([name]).dtypes[name]
    return dict(zip(map(repr, values), counts.tolist(), strict=True)), missing, str(kind)


def test_a_column_of_nothing_is_missing(spark):
    types = column_types({"nothing": {"range_values": ["a"]}}, {"nothing": {"sdtype": "categorical"}})
    found = SourceColumns(open_source(of_cells(spark), types), RuleSet(), ["nothing"])
    assert found.value_counts("nothing")[2] == 40


@pytest.mark.parametrize("kind", ["array<int>", "map<string,int>", "struct<a:int>", "variant"])
def test_nested_cells_are_refused_by_name_before_a_budget_pays(spark, tmp_path, kind):
    made = spark.createDataFrame(FRAME[["age", "sex"]])
    made = made.selectExpr(
        "age", "sex", "parse_json('1') n" if kind == "variant" else f"cast(null as {kind}) n"
    )
    budget = Budget(1.5, 1e-8, tmp_path / "budget.json")
    types = {name: COLUMNS[name] for name in ("age", "sex")}
    words = {name: DECLARED[name] for name in types}
    with pytest.raises(ValueError, match="'n' is stored as"):
        fit_source(made, {**types, "n": {"sdtype": "categorical"}}, words, budget=budget)
    assert budget.charged()["epsilon"] == 0
    fit_source(made, types, words, budget=budget)  # undeclared, it does no harm


def test_names_that_spark_takes_for_others(spark):
    names = {"age": "a.b", "sex": "Sex", "city": "sex", "wage": "`wage`", "born": "c0", "key": "k e y"}
    frame = FRAME.rename(columns=names)
    columns = {names[name]: words for name, words in COLUMNS.items()}
    declared = {names[name]: words for name, words in DECLARED.items()}
    spark.conf.set("spark.sql.caseSensitive", "true")  # or such a table cannot be made
    source = partitions(spark, frame)
    spark.conf.set("spark.sql.caseSensitive", "false")
    options = {"random_state": SEED, "allow_no_claim": True}
    assert document(fit_source(source, columns, declared, **options)) == document(
        fit_source(frame, columns, declared, **options)
    )


def test_columns_of_one_name_are_refused(spark):
    made = spark.createDataFrame(FRAME[["age", "sex"]])
    with pytest.raises(ValueError, match=r"several columns named \['sex'\]"):
        open_source(made.select("age", "sex", "sex"), column_types(None, {"sex": COLUMNS["sex"]}))


@pytest.mark.parametrize("number", [1, 3, 40])
def test_parts_have_numbers_and_coins_of_their_own(spark, number):
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
    source = SparkSource(partitions(spark, FRAME, number), TYPES, 300)
    found = source.total(Numbers(KeyedRNG.from_os_entropy()), ["age"])
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    numbers, rows, drawn = zip(*found, strict=True)
    assert sum(rows) == len(FRAME)
    assert max(rows) <= 300
    assert len({*numbers}) == len({*drawn}) == len(found) >= max(number, 7)
    assert max(numbers) < 2**32


def failing(folder, message, times):
    """A function that passes batches on, and fails the first times that a partition is read."""

    def read(batches):

        from pyspark import TaskContext

        mark = Path(folder) / str(TaskContext.get().partitionId())
        mark.mkdir(exist_ok=True)
        tried = len(list(mark.iterdir()))
        yield from batches
        if tried < times:
            (mark / str(tried)).touch()
            raise OSError(message)

    return read


def test_a_task_that_fails_is_run_again(spark, tmp_path):
    source = partitions(spark, FRAME)
    lost = source.mapInArrow(failing(str(tmp_path), "a worker's disk", 1), source.schema)
    assert document(fitted(lost)) == document(fitted(FRAME))
    assert Counter(len([*mark.iterdir()]) for mark in tmp_path.iterdir()) == {1: 3}


def test_one_that_goes_on_failing_ends_the_fit_and_quotes_no_cell(spark, tmp_path):
    source = partitions(spark, FRAME)
    lost = source.mapInArrow(failing(str(tmp_path), "k17 was here", 9), source.schema)
    with pytest.raises(SourceError, match="reading failed") as caught:
        fitted(lost)
    assert "k17" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert persisted(spark) == 0


VISITS = pd.concat([FRAME.assign(key=[f"k{i % 700}" for i in range(len(FRAME))]), FRAME.iloc[[0] * 9]])


def test_a_choice_of_persons_rows_is_the_same_however_the_rows_lie(spark):
    """Also of rows that are equal: tasks may run again, on rows in another order. Another key: another choice."""

    def chosen(number, key):
        source = SparkSource(partitions(spark, VISITS.sample(frac=1, random_state=number), number), TYPES)
        found = source.select(RowChoice("key", 2, key), ["key", "age", "city"])
        rows = found.total(Cells(), ["key", "age", "city"])
        people = found.total(Cells(), ["key"])
        source.close()
        assert people == {whose: min(2, n) for whose, n in everyone.items()}
        return rows

    everyone = SparkSource(partitions(spark, VISITS), TYPES).total(Cells(), ["key"])
    assert max(everyone.values()) == 12
    assert chosen(2, b"one") == chosen(5, b"one") != chosen(5, b"other")
    assert persisted(spark) == 0


def test_people_are_protected_and_nothing_is_left(spark):
    found = fit_source(partitions(spark, VISITS), COLUMNS, DECLARED, person=Person("key", rows=2))
    assert found.ledger.claims_privacy
    assert persisted(spark) == 0
