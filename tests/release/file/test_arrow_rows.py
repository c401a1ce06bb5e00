"""Rows as Arrow tables: those of the frames, whatever the columns; read back as values."""

import io
from typing import Any

import pytest
from releases import CASES, shared

from sdv_plausible.release.file.release_sampling import PartRequest, _arrow_array, parquet_bytes

pa = pytest.importorskip("pyarrow")


def by_way_of_frames(call: PartRequest, number: int) -> Any:
    frame, whole = call.part(number), call.release["rules"].whole(call.release["domain"])
    return pa.table({str(name): _arrow_array(frame[name], whole) for name in frame.columns})


@pytest.mark.parametrize("case", CASES)
def test_rows_are_those_of_the_frames(case):
    import pyarrow.parquet as pq

    call = PartRequest.of(shared(case).release(allow_no_claim=True)._sampling_arguments(), 300, 200, 1)
    for number in range(2):
        found = pq.read_table(io.BytesIO(call.parquet(number)))
        expected, domain = by_way_of_frames(call, number), call.release["domain"]
        assert found.equals(expected.cast(found.schema))  # which refuses missing cells where none may be
        if not call.release["rules"].rule_set:
            full = {a.name for a in domain if not a.nullable}
            assert {field.name for field in found.schema if not field.nullable} == full
        assert not any(pa.types.is_dictionary(field.type) for field in found.schema)


def test_texts_are_stored_once():
    """A dictionary goes into the file as it is, with values that no row has: they are the domain's."""
    long = [letter * 10_000 for letter in "abc"]
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None] * 1000, pa.int8()), long)
    content = parquet_bytes(pa.table({"x": coded}))
    assert len(content) < 100_000
    assert pa.parquet.read_table(io.BytesIO(content))["x"].to_pylist() == [long[0], long[1], None] * 1000
