"""What tasks read of Parquet files are the cells that Dask reads. Planted: texts that are no UTF-8, read as they are."""

import pandas as pd
import pytest

from sdv_plausible.extensions.clusters.cluster_source import normalise_part
from sdv_plausible.extensions.clusters.dask_source import DaskSource

dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip(
    "sdv_plausible.extensions.clusters.dask_source", reason="of a Dask that reads otherwise"
)


def files(folder):
    """Two files of several row groups; texts are missing, few, many, and no UTF-8."""
    from pyarrow import parquet as pq

    few, many = ["f", None, "m", " m "] * 50, [f"t{i}" for i in range(200)]
    broken = pa.array([b"a", b"\xff", b"b", None] * 50, pa.binary()).view(pa.string())
    numbers = pa.array([*range(199), None])
    table = pa.table({"few": few, "many": many, "broken": broken, "number": numbers, "none": [None] * 200})
    for i in range(2):
        pq.write_table(table.slice(100 * i, 100), folder / f"{i}.parquet", row_group_size=30)
    return folder


@pytest.mark.parametrize("groups", [False, True, 2])
def test_cells_and_partitions_are_those_that_dask_reads(groups, tmp_path):
    table = dd.read_parquet(files(tmp_path), split_row_groups=groups)
    found = parquet.partitions_of(table)
    assert len(found) == table.npartitions > 1
    names, met = ["broken", "number", "few", "many", "none"], set()  # in another order than in the files
    for one, other in zip(found, table[names].to_delayed(), strict=True):
        ours, theirs = one.read(names), other.compute(scheduler="synchronous")
        assert list(ours.columns) == names
        met |= {name for name in names if ours[name].dtype == "category"}
        cells = [normalise_part(part, table[names].dtypes).astype(object) for part in (ours, theirs)]
        pd.testing.assert_frame_equal(*[part.where(part.notna(), None) for part in cells])
    assert {"few", "many"} <= met


def test_partitions_of_several_files_are_those_that_dask_reads(tmp_path):
    files(tmp_path)
    table = dd.read_parquet(tmp_path, split_row_groups=3, aggregate_files=True)
    rows = [part.read(["number"])["number"].tolist() for part in parquet.partitions_of(table)]
    theirs = [part.compute(scheduler="synchronous")["number"].tolist() for part in table.to_delayed()]
    assert str(rows) == str(theirs)
    assert max(len(part.pieces) for part in parquet.partitions_of(table)) > 1


def test_an_index_is_no_column_unless_dask_has_it_as_one(tmp_path):
    cells = {"number": [7, 8], "a": ["x", "y"]}
    pd.DataFrame(cells).set_index("number").to_parquet(tmp_path / "0.parquet")
    for index, names in ((None, ["a"]), (False, ["number", "a"])):
        table = dd.read_parquet(tmp_path, index=index)
        (one,) = parquet.partitions_of(table)
        assert list(table.columns) == list(one.read(names).columns) == names
        assert one.read(names).astype(object).to_dict("list") == {name: cells[name] for name in names}


def test_planted_texts_that_are_none_end_the_pass(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "has_invalid_utf8", lambda _: False)
    with pytest.raises((UnicodeDecodeError, pa.ArrowException)):
        parquet.partitions_of(dd.read_parquet(files(tmp_path)))[0].read(["broken"])


def test_what_is_more_than_files_is_left_alone(tmp_path):
    import dask

    table = dd.read_parquet(files(tmp_path))
    frame = pd.DataFrame({"a": ["x", "y"], "number": [1, 2]})
    frame.to_parquet(tmp_path / "by_folder", partition_cols=["a"])
    frame.astype({"a": "category"}).to_parquet(tmp_path / "categories.parquet")
    with dask.config.set({"dataframe.convert-string": False}):
        objects = dd.read_parquet(tmp_path / "0.parquet")
        assert parquet.partitions_of(objects) is None
    others = [
        table[table["number"] > 3],
        table.map_partitions(lambda part: part),
        table.partitions[1:],
        table.partitions[1:].optimize(fuse=False),
        dd.read_parquet(tmp_path / "categories.parquet", categories=["a"]),
        dd.read_parquet(tmp_path / "0.parquet", filters=[("few", "==", "f")]),
        dd.read_parquet(tmp_path / "0.parquet", dtype_backend="pyarrow"),
        dd.read_parquet(tmp_path / "0.parquet", filesystem="arrow"),
        dd.read_parquet(tmp_path / "by_folder"),
        dd.from_pandas(frame, npartitions=2),
    ]
    assert [parquet.partitions_of(other) for other in others] == [None] * len(others)


def test_a_dask_that_plans_otherwise_or_has_other_parameters_reads_by_itself(tmp_path, monkeypatch):
    table = dd.read_parquet(files(tmp_path))
    honest = DaskSource(table)
    assert honest._files is not None
    for piece in (None, "0.parquet", ("0.parquet", None), ("0.parquet", None, None, "more")):
        with monkeypatch.context() as patch:
            patch.setitem(
                table.expr._plan, "parts", [{"piece": piece} if piece else {"path": "0.parquet"}] * 2
            )
            found = DaskSource(table)
        assert found._files is None
        assert list(found.names) == list(honest.names)
    monkeypatch.setitem(parquet.DEFAULT_OPERANDS, "another", None)
    assert DaskSource(table)._files is None
