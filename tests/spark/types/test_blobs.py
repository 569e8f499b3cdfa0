"""Blob columns: what Spark gets of them, and how it writes them."""

from __future__ import annotations

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
from lance_core.errors import InvalidInputError, SchemaMismatchError
from tests.spark.conftest import read, write
from tests.spark.write.test_versions import WRITERS, scanned, stored

BYTES = "all_binary"
BLOBS = [b"few", None, b"x" * 70_000, b""]
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"}),
    ]
)
TABLE = pa.table([range(4), BLOBS], schema=SCHEMA)
KINDS = [("2.0", "lance_core"), ("2.1", "pylance"), ("2.2", "lance_core"), ("2.2", "pylance")]


def blobs(uri: object) -> list[bytes | None]:
    """What pylance finds in the column."""
    table = pylance.dataset(uri).to_table(columns=["blob"], blob_handling=BYTES)
    values: list[bytes | None] = table["blob"].to_pylist()
    return values


@pytest.fixture(params=KINDS, ids="-".join)
def uri(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    version, writer = request.param
    write_dataset: Callable[..., Any] = WRITERS[writer]
    write_dataset(TABLE, tmp_path / "t.lance", data_storage_version=version)
    return str(tmp_path / "t.lance")


def test_scans_describe_blobs(uri: str) -> None:
    schema, rows = scanned(uri)
    names = schema["blob"].dataType.fieldNames()  # type: ignore[attr-defined]
    assert names == pylance.dataset(uri).to_table()["blob"].type.names
    sizes = [value and int(value["size"]) for value in rows["blob"].to_pylist()]
    assert sizes[0::2] == [3, 70_000]


def test_bytes_are_read_and_written_as_blobs_again(uri: str) -> None:
    schema, rows = scanned(uri, blob_handling=BYTES)
    assert schema["blob"].dataType == st.BinaryType()
    assert rows["blob"].to_pylist() == BLOBS
    version = pylance.dataset(uri).data_storage_version
    stored(rows, schema, uri, "append")
    stored(rows, schema, f"{uri}.copy", "append", data_storage_version=version)
    assert blobs(uri) == 2 * BLOBS
    assert blobs(f"{uri}.copy") == BLOBS
    copy, original = pylance.dataset(f"{uri}.copy"), pylance.dataset(uri, version=1)
    assert copy.schema.field("blob").equals(original.schema.field("blob"), check_metadata=True)
    assert copy.take_blobs("blob", indices=[2])[0].readall() == BLOBS[2]


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_descriptions_are_not_taken_for_blobs(uri: str, mode: str) -> None:
    schema, rows = scanned(uri)
    with pytest.raises(InvalidInputError, match=r"'blob' has descriptions.*blob_handling"):
        stored(rows, schema, uri, mode)
    assert blobs(uri) == BLOBS


def test_blobs_in_structs_are_blobs_again(tmp_path: Path) -> None:
    clip = pa.struct([pa.field("name", pa.string()), lance_core.blob_field("blob")])
    storage = lance_core.blob_array(BLOBS)
    array = pa.StructArray.from_arrays(
        [pa.array(["a", "b", "c", None]), storage], fields=[clip.field(0), clip.field(1)]
    )
    uri = str(tmp_path / "t.lance")
    lance_core.write_dataset(pa.table({"clip": array}), uri)
    schema, rows = scanned(uri, blob_handling=BYTES)
    stored(rows, schema, uri, "append")
    stored(rows, schema, f"{uri}.copy", "append")
    for name, times in ((uri, 2), (f"{uri}.copy", 1)):
        table = lance_core.dataset(name).to_table(blob_handling=BYTES)
        assert [row["blob"] for row in table["clip"].to_pylist()] == times * BLOBS
        assert lance_core.dataset(name).take_blobs("clip.blob", indices=[2])[0].size() == 70_000
    schema, rows = scanned(uri, blob_handling=BYTES, columns="clip.blob")
    schema[0].name = "blob"
    stored(rows, schema, f"{uri}.flat", "append")
    assert blobs(f"{uri}.flat") == 2 * BLOBS


def test_only_bytes_fit_a_blob_column(uri: str) -> None:
    schema = st.StructType().add("id", "long").add("blob", "string")
    with pytest.raises(SchemaMismatchError, match="is string, the table has it as binary"):
        stored(pa.table({"id": [9], "blob": ["text"]}), schema, uri, "append")


def test_spark_makes_and_extends_blob_columns(spark: SparkSession, tmp_path: Path) -> None:
    uri = tmp_path / "t.lance"
    image = sf.when(sf.col("id") < 2, sf.repeat(sf.lit("x"), 70_000).cast("binary"))
    images = spark.range(3).select(
        "id", image.alias("blob", metadata={"lance-encoding:blob": True})
    )
    write(images.coalesce(1), uri)
    write(spark.range(3, 4).select("id", sf.lit(b"new").alias("blob")), uri)
    assert blobs(uri) == [b"x" * 70_000, b"x" * 70_000, None, b"new"]
    assert read(spark, uri, columns="blob").selectExpr("sum(blob.size)").first()[0] == 140_003  # type: ignore[index]
    whole = read(spark, uri, blob_handling=BYTES, filter="id = 3")
    assert whole.first() == (3, bytearray(b"new"))
