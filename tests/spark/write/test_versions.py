"""Tables of every file version, ours and pylance's, are read, appended to, overwritten, copied."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance as pylance
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

import lance_core
from lance_core.errors import InvalidInputError, SchemaMismatchError, UnsupportedFeatureError
from lance_core_spark.source import LanceSource
from tests.examples import share
from tests.spark.conftest import read, write
from tests.spark.types.test_round_trips import CASES

VERSIONS = ("0.1", "2.0", "2.1", "2.2")
NULL_STRUCTS, MAPS = "2.1", "2.2"
POINTS = [{"x": None, "y": "q"}, {"x": 5, "y": "z"}]
POINT = pa.struct([("x", pa.uint8()), ("y", pa.large_string())])
SINCE: dict[str, dict[str, pa.Array]] = {
    NULL_STRUCTS: {
        "null_struct": pa.array([{"x": 1, "y": "p"}, None, {"x": None, "y": None}], POINT),
        "null_in_struct": pa.array(
            [{"s": {"x": 1, "y": "a"}}, {"s": None}, None], pa.struct([("s", POINT)])
        ),
        "list_of_null_structs": pa.array([[{"x": 1, "y": "p"}, None], None, []], pa.list_(POINT)),
    },
    MAPS: {
        "map": pa.array(
            [[("a", 1), ("b", None)], None, []], pa.map_(pa.large_string(), pa.uint8())
        ),
        "map_of_structs": pa.array(
            [[(1, {"x": 1, "y": "p"}), (2, None)], None, []], pa.map_(pa.int32(), POINT)
        ),
        "list_of_maps": pa.array(
            [[[("a", 1)], None], None, []], pa.list_(pa.map_(pa.string(), pa.int64()))
        ),
        "vector_of_structs": pa.array(
            [[{"x": 1, "y": "p"}, {"x": 2, "y": None}], None, POINTS],
            pa.list_(POINT, 2),
        ),
    },
}
WRITERS = {"lance_core": lance_core.write_dataset, "pylance": pylance.write_dataset}


def table_of(version: str) -> pa.Table:
    """All columns that files of the version can have."""
    columns = {name: case.array for name, case in CASES.items()}
    if version == "0.1":
        del columns["null"]
        del columns["large_string"], columns["large_binary"]
    for since, more in SINCE.items():
        columns |= more if version >= since else {}
    return pa.table({"id": range(3), **columns})


def scanned(uri: str, **options: str) -> tuple[st.StructType, pa.Table]:
    """What a task hands to Spark: the whole table."""
    source = LanceSource({"path": uri, **options})
    schema = source.schema()
    reader = pickle.loads(pickle.dumps(source.reader(schema)))
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return schema, pa.Table.from_batches(batches)


def stored(rows: pa.Table, schema: st.StructType, uri: str, mode: str, **options: str) -> None:
    """What Spark does to write rows by one task."""
    job = LanceSource({"path": uri, **options}).writer(schema, mode == "overwrite")
    task = pickle.loads(pickle.dumps(job))
    job.commit([pickle.loads(pickle.dumps(task.write(iter(rows.combine_chunks().to_batches()))))])


def of_pylance(uri: object, version: int | None = None) -> pa.Table:
    """All columns, one by one: pylance reads fixed size lists of structs only by themselves."""
    found = pylance.dataset(uri, version=version)
    columns = [found.to_table(columns=[name])[name] for name in found.schema.names]
    return pa.table(columns, schema=found.schema)


def plain(column: pa.ChunkedArray) -> list[Any]:
    """Values without their type: time zones, extension types."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks])
    if pa.types.is_timestamp(column.type) and column.type.tz:
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    values: list[Any] = column.to_pylist()
    return values


def differences(left: pa.Table, right: pa.Table) -> dict[str, Any]:
    assert left.column_names == right.column_names
    both = {name: (plain(left[name]), plain(right[name])) for name in left.column_names}
    return {name: pair for name, pair in both.items() if pair[0] != pair[1]}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("write_dataset", WRITERS.values(), ids=WRITERS)
def test_every_type_goes_to_spark_and_back(
    write_dataset: Callable[..., Any], version: str, tmp_path: Path
) -> None:
    table, uri = table_of(version), str(tmp_path / "t.lance")
    write_dataset(table, uri, data_storage_version=version)
    expected = of_pylance(uri)
    schema, rows = scanned(uri)
    assert differences(rows, expected) == {}
    stored(rows, schema, uri, "append")
    stored(rows, schema, f"{uri}.copy", "append", data_storage_version=version)
    for name, times in ((uri, 2), (f"{uri}.copy", 1)):
        assert pylance.dataset(name).data_storage_version == version
        for back in (of_pylance(name), lance_core.dataset(name).to_table()):
            assert differences(back, pa.concat_tables(times * [expected])) == {}
            assert back.schema.equals(expected.schema) or version == "0.1"


@pytest.mark.parametrize("version", share(VERSIONS, 2, 0))
def test_spark_reads_and_writes_it(spark: SparkSession, version: str, tmp_path: Path) -> None:
    uri = tmp_path / "t.lance"
    pylance.write_dataset(table_of(version), uri, data_storage_version=version)
    frame = read(spark, uri, rows_per_partition=2)
    assert frame.rdd.getNumPartitions() == 2
    write(frame, uri)
    some = read(spark, uri, columns="id, struct.b.c, string", filter="id > 0")
    assert sorted(row["id"] for row in some.collect()) == [1, 1, 2, 2]
    write(frame.where("id = 1"), uri, "overwrite")
    assert pylance.dataset(uri).data_storage_version == version
    assert differences(of_pylance(uri), of_pylance(uri, 1).slice(1, 1)) == {}


@pytest.mark.parametrize("mode", ["append", "overwrite"])
@pytest.mark.parametrize("name", ["legacy", "0.1", "2.0", "0.3", "2.1", "2.2", "stable"])
def test_the_file_version_is_chosen_by_name(name: str, mode: str, tmp_path: Path) -> None:
    number = {"legacy": "0.1", "0.3": "2.0", "stable": "2.2"}.get(name, name)
    schema, uri = st.StructType().add("id", "long"), str(tmp_path / "t.lance")
    if mode == "overwrite":
        lance_core.write_dataset(pa.table({"id": [0]}), uri, data_storage_version="2.1")
    nothing = pa.table({"id": pa.array([], pa.int64())})
    stored(nothing, schema, uri, mode, data_storage_version=name)
    assert pylance.dataset(uri).data_storage_version == number
    stored(pa.table({"id": [1]}), schema, uri, "append")
    assert pylance.dataset(uri).to_table()["id"].to_pylist() == [1]
    stored(pa.table({"id": [2]}), schema, uri, "overwrite")
    found = pylance.dataset(uri)
    assert (found.data_storage_version, found.count_rows()) == (number, 1)


@pytest.mark.parametrize(
    ("name", "error"),
    [("2.3", UnsupportedFeatureError), ("next", UnsupportedFeatureError), ("3", InvalidInputError)],
)
def test_other_versions_are_refused_before_any_task(
    name: str, error: type[Exception], tmp_path: Path
) -> None:
    source = LanceSource({"path": str(tmp_path / "t.lance"), "data_storage_version": name})
    with pytest.raises(error, match=f"file version '{name}'"):
        source.writer(st.StructType().add("id", "long"), False)
    assert not list(tmp_path.iterdir())


def test_values_that_a_legacy_dictionary_lacks_are_refused(tmp_path: Path) -> None:
    uri = str(tmp_path / "t.lance")
    words = pa.table({"w": pa.array(["a", "b", "a"]).dictionary_encode()})
    pylance.write_dataset(words, uri, data_storage_version="legacy")
    schema, _ = scanned(uri)
    stored(pa.table({"w": ["b", "a"]}), schema, uri, "append")
    assert pylance.dataset(uri).to_table()["w"].to_pylist() == ["a", "b", "a", "b", "a"]
    with pytest.raises(SchemaMismatchError, match="'c' is not in the dictionary"):
        stored(pa.table({"w": ["a", "c"]}), schema, uri, "append")


def test_metadata_of_a_column_chooses_its_encoding(spark: SparkSession, tmp_path: Path) -> None:
    """``alp`` comes from another distribution; tasks find it by its entry point."""
    price = sf.round(sf.col("id") * 0.01, 2)
    frame = spark.range(20_000).select(
        price.alias("price", metadata={"lance-encoding:encoding": "alp"}),
        sf.col("id").alias("id", metadata={"lance-encoding:compression": "none"}),
    )
    write(frame.coalesce(1), tmp_path / "t.lance")
    found = lance_core.dataset(tmp_path / "t.lance")
    assert found.schema.field("price").metadata == {b"lance-encoding:encoding": b"alp"}
    assert found.schema.field("id").metadata == {b"lance-encoding:compression": b"none"}
    with pytest.raises(Exception, match="upported"):
        pylance.dataset(tmp_path / "t.lance").to_table(columns=["price"])
    assert pylance.dataset(tmp_path / "t.lance").to_table(columns=["id"]).num_rows == 20_000
    copied = read(spark, tmp_path / "t.lance")
    write(copied, tmp_path / "copy.lance")
    prices = lance_core.dataset(tmp_path / "copy.lance").to_table(filter="id < 3")
    assert prices["price"].to_pylist() == [0.0, 0.01, 0.02]
    assert prices.schema.field("price").metadata == {b"lance-encoding:encoding": b"alp"}
