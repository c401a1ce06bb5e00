"""The noisy answers in a release file: query, values, noise and the entry that paid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args, overload

import numpy as np

from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.queries.count_queries import MAX_SCORE, Axis, QueryRecord, shape
from sdv_plausible.queries.transcript import ALL_ROWS, SCALES, Noise, NoisyAnswer
from sdv_plausible.release.file.document_nodes import DocumentNode
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME
from sdv_plausible.table.cells.cell_documents import write_value
from sdv_plausible.table.columns.domain import Domain

MAX_ROWS = 10**12  # more rows would keep a default sample() running forever
PARTS = (ALL_ROWS, "structure", "parameters", "learning", "seeds")
MIN_GRANULARITY = 2.0**-20  # finest granularity in a file
MAX_EXACT_STEPS = 2**53  # largest number of steps that a double represents exactly
MIN_SCALE, MAX_SCALE = 1e-100, 1e100  # the square and its inverse fit into a double
_FIELDS = ("kind", "tables", "columns", "details", "values", "noise", "scale", "paid_by", "rows")


@dataclass(frozen=True, eq=False)
class AnswersSection(Sequence[NoisyAnswer]):
    """All noisy answers about the rows, in order."""

    answers: tuple[NoisyAnswer, ...]  # in order; axes refer to columns by index
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[NoisyAnswer]:
        return iter(self.answers)

    @overload
    def __getitem__(self, index: int) -> NoisyAnswer: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[NoisyAnswer, ...]: ...

    def __getitem__(self, index: int | slice) -> NoisyAnswer | tuple[NoisyAnswer, ...]:
        return self.answers[index]

    def columns_of(self, answer: NoisyAnswer) -> tuple[str, ...]:
        """Names of the columns of a query, each once, in order."""
        numbers = dict.fromkeys(axis.column for axes in answer.asked.tables for axis in axes)
        return answer.asked.columns or tuple(self.names[j] for j in numbers)

    def about(self, *columns: str, kind: str | None = None) -> tuple[NoisyAnswer, ...]:
        """Answers to queries about exactly these columns, of one kind or of all.

        Examples
        --------
        >>> release.answers.about("age", kind="counts")             # doctest: +SKIP
        """
        return tuple(
            answer
            for answer in self.answers
            if set(self.columns_of(answer)) == set(columns) and kind in (None, answer.asked.kind)
        )

    def number_of_rows(self) -> int:
        """Noisy number of rows of the table, at least 0, from the answers; no new query."""
        from sdv_plausible.release.intervals.measured_counts import number_of_rows

        total = number_of_rows(self.answers, len(self.names))
        if total > MAX_ROWS:
            raise Refused.saying(
                "num_rows",
                f"num_rows must be given: the noisy answers give {total:,} rows, which no table has",
            )
        return total


def write_answers(answers: Sequence[NoisyAnswer], domain: Domain) -> dict[str, Any]:
    """Answers as a section: a list of shared axes, and answers that refer to axes by index."""
    axes: dict[tuple[int, bytes], int] = {}
    shared: list[Axis] = []
    documents = []
    for answer in answers:
        for axis in (axis for table in answer.asked.tables for axis in table):
            if axes.setdefault(_axis_key(axis), len(shared)) == len(shared):
                shared.append(axis)
        documents.append(_write(answer, axes))
    axis_documents = [
        {"column": domain.names[a.column], "buckets": np.asarray(a.buckets, dtype=np.int64)} for a in shared
    ]
    return {"axes": axis_documents, "asked": documents}


def _axis_key(axis: Axis) -> tuple[int, bytes]:
    return axis.column, np.asarray(axis.buckets, dtype=np.int64).tobytes()


def _write(answer: NoisyAnswer, axes: dict[tuple[int, bytes], int]) -> dict[str, Any]:
    values, optional = answer.values, {}
    if answer.granularity != 1:
        values = np.rint(values / answer.granularity).astype(np.int64)
        optional = {"granularity": answer.granularity}
    return {
        "kind": answer.asked.kind,
        "tables": [[axes[_axis_key(axis)] for axis in table] for table in answer.asked.tables],
        "columns": list(answer.asked.columns),
        "details": {name: _write_detail(value) for name, value in sorted(answer.asked.details.items())},
        "values": values,
        "noise": answer.noise,
        "scale": answer.scale,
        "paid_by": list(answer.paid_by),
        "rows": answer.rows,
        **optional,
    }


def _write_detail(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (list, tuple)):
        return [write_value(item) for item in value]
    return None if value is None else write_value(value)


def read_answers(node: DocumentNode, domain: Domain) -> AnswersSection:
    """Read and check the section of the answers."""
    f = node.fields(("axes", "asked"))
    axes = [_read_axis(item, domain) for item in f["axes"].items(1_000_000)]
    items = f["asked"].items(1_000_000)
    answers = AnswersSection(tuple(_read(item, axes, domain) for item in items), domain.names)
    if any(attribute.provenance == "private" for attribute in domain):
        from sdv_plausible.table.learned.lost_mass import answers_fault

        fault = answers_fault(domain, answers)
        if fault is not None:
            raise f["asked"].refuse(fault)
    used_axes = {_axis_key(axis) for answer in answers for table in answer.asked.tables for axis in table}
    if len(used_axes) < len(axes):
        raise f["axes"].refuse("must be those of the queries, each once")
    return answers


def _read_axis(node: DocumentNode, domain: Domain) -> Axis:
    f = node.fields(("column", "buckets"))
    column = f["column"].lookup({name: j for j, name in enumerate(domain.names)})
    cardinality = domain.cardinalities[column]
    buckets = f["buckets"].array("whole", (cardinality,))
    if (buckets < 0).any() or (buckets >= cardinality).any():
        raise f["buckets"].refuse(f"must be buckets below {cardinality}, the number of codes")
    return Axis(column, buckets)


def _read(node: DocumentNode, axes: list[Axis], domain: Domain) -> NoisyAnswer:
    has_granularity = isinstance(node.value, dict) and "granularity" in node.value
    f = node.fields((*_FIELDS, "granularity") if has_granularity else _FIELDS)
    names = {name: name for name in domain.names}
    tables = tuple(
        tuple(axes[number.whole(0, len(axes) - 1)] for number in table.items(100_000))
        for table in f["tables"].items(1_000_000)
    )
    query = QueryRecord(
        kind=f["kind"].text(LONGEST_NAME),
        tables=tables,
        columns=tuple(item.lookup(names) for item in f["columns"].items(100_000)),
        details={name: _read_detail(item) for name, item in f["details"].entries(100).items()},
    )
    sides: tuple[int | None, ...] = (None,)
    if query.kind == "counts":
        if len(tables) != 1:
            raise f["tables"].refuse("must be one table of counts")
        sides = tuple(shape(tables[0]))
    elif query.kind == "distances":
        sides = (len(tables),)
    elif query.kind == "products":
        sides = (len(tables),)
        _check_scores(f["details"], query)
    values = f["values"].array("whole", sides)
    if SCALES in query.details:
        scales = query.details[SCALES]
        are_valid = isinstance(scales, tuple) and all(
            isinstance(scale, float) and MIN_SCALE <= scale <= MAX_SCALE for scale in scales
        )
        if not are_valid or len(scales) != values.size:
            raise f["details"].refuse(
                f"must have as scales a number from {MIN_SCALE} to {MAX_SCALE} for each value"
            )
    paid_by = tuple(item.text(LONGEST_NAME) for item in f["paid_by"].items(1000))
    if len({*paid_by}) < len(paid_by) or any(len({*map(_axis_key, table)}) < len(table) for table in tables):
        raise node.refuse("must name no axis of a table, and no entry that pays, twice")
    noise, granularity = f["noise"].choice(get_args(Noise)), 1.0
    if has_granularity:
        granularity = _read_granularity(f["granularity"], noise)
        if ((values > MAX_EXACT_STEPS) | (values < -MAX_EXACT_STEPS)).any():
            raise f["values"].refuse("must be at most 2^53 steps: doubles hold no more of them exactly")
        values = values * granularity
    return NoisyAnswer(
        asked=query,
        values=values,
        noise=noise,
        scale=float(f["scale"].number(MIN_SCALE, MAX_SCALE)),
        paid_by=paid_by,
        rows=f["rows"].choice(PARTS),
        granularity=granularity,
    )


def _check_scores(node: DocumentNode, query: QueryRecord) -> None:
    """Refuse scores that are not one of at most ``MAX_SCORE`` for every bucket of pairs of columns."""
    if not query.tables or any(len(axes) != 2 or axes[0].column == axes[1].column for axes in query.tables):
        raise node.refuse("must be scores of pairs of columns")
    sizes = {axis.column: axis.size for axes in query.tables for axis in axes}
    if any(axis.size != sizes[axis.column] for axes in query.tables for axis in axes):
        raise node.refuse("must be scores of one axis for each column")
    scores = query.details.get("scores")
    if not isinstance(scores, np.ndarray) or scores.shape != (sum(sizes.values()),):
        raise node.refuse("must have as scores a whole number for each bucket")
    if not ((scores >= -MAX_SCORE) & (scores <= MAX_SCORE)).all():  # abs(-2^63) is negative
        raise node.refuse(f"must have scores of at most {MAX_SCORE}")


def _read_granularity(node: DocumentNode, noise: str) -> float:
    """Granularity other than 1 of an answer."""
    granularity = float(node.number(MIN_GRANULARITY, 0.5))
    if math.frexp(granularity)[0] != 0.5 or noise != "discrete gaussian":
        raise node.refuse("must be a power of two below 1, of discrete Gaussian noise")
    return granularity


def _read_detail(node: DocumentNode) -> Any:
    if isinstance(node.value, list):
        return tuple(item.cell() for item in node.items())
    if isinstance(node.value, dict) and "dtype" in node.value:
        return node.array("whole", (None,))
    return node.optional(DocumentNode.cell)
