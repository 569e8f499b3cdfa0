"""Options of single columns: which column they name, and the field that it gets."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import types as st

import lance_core
from lance_core.errors import InvalidInputError
from lance_core_spark.options.column_options import with_column_options
from lance_core_spark.options.data_source_options import DataSourceOptions
from lance_core_spark.source import LanceSource
from lance_core_spark.types.stored_fields import stored_field

ITEM = st.StructType().add("v", st.ArrayType(st.FloatType())).add("b", "binary")
SCHEMA = (
    st.StructType()
    .add("Id", "long")
    .add("v", st.ArrayType(st.FloatType()))
    .add("text", "string")
    .add("blob", "binary")
    .add("x", "float")
    .add("s", ITEM)
    .add("items", st.ArrayType(ITEM))
    .add("at", "timestamp")
    .add("big", st.DecimalType(20, 0))
    .add("small", "short")
    .add("a.b", "long")
)


def fields(**options: str) -> dict[str, pa.Field]:
    write = DataSourceOptions.parse({"path": "t.lance", **options}).write
    schema = with_column_options(SCHEMA, write.columns)
    return {column.name: stored_field(column) for column in schema}


def vector(size: int, item: pa.DataType | None = None) -> pa.DataType:
    return pa.list_(pa.field("item", item or pa.float32()), size)


@pytest.mark.parametrize(
    ("options", "column", "expected"),
    [
        ({"v.arrow.fixed-size-list.size": "3"}, "v", vector(3)),
        (
            {"v.arrow.fixed-size-list.size": "3", "V.Arrow.Float16": "TRUE"},
            "v",
            vector(3, pa.float16()),
        ),
        ({"x.arrow.float16": "true"}, "x", pa.float16()),
        ({"text.arrow.large_var_char": "true"}, "text", pa.large_string()),
        ({"id.arrow.type": "uint32"}, "Id", pa.uint32()),
        ({"small.arrow.type": "uint8"}, "small", pa.uint8()),
        ({"big.arrow.type": "uint64"}, "big", pa.uint64()),
        ({"blob.arrow.type": "large_binary"}, "blob", pa.large_binary()),
        ({"at.arrow.type": "timestamp[ns]"}, "at", pa.timestamp("ns", "UTC")),
        ({"`a.b`.arrow.type": "int32"}, "a.b", pa.int32()),
        ({"lance.encoding.column.blob": "blob"}, "blob", pa.large_binary()),
    ],
    ids=str,
)
def test_the_type_is_chosen(options: dict[str, str], column: str, expected: pa.DataType) -> None:
    assert fields(**options)[column].type == expected


def test_members_of_structs_are_named_by_path() -> None:
    found = fields(**{"s.v.arrow.fixed-size-list.size": "2", "items.b.lance.encoding": "blob"})
    assert found["s"].type.field("v").type == vector(2)
    inner = found["items"].type.value_type.field("b")
    assert (inner.type, inner.metadata) == (pa.large_binary(), {b"lance-encoding:blob": b"true"})
    assert found["items"].type.value_type.field("v").type == pa.list_(pa.float32())


def test_the_encoding_is_stored_with_the_field() -> None:
    found = fields(
        **{
            "text.lance.compression": "zstd",
            "text.lance.compression-level": "7",
            "lance.structural-encoding.column.text": "fullzip",
            "x.lance.bss": "on",
            "id.lance.rle-threshold": "0.5",
        }
    )
    assert found["text"].metadata == {
        b"lance-encoding:compression": b"zstd",
        b"lance-encoding:compression-level": b"7",
        b"lance-encoding:structural-encoding": b"fullzip",
    }
    assert found["x"].metadata == {b"lance-encoding:bss": b"on"}
    assert found["Id"].metadata == {b"lance-encoding:rle-threshold": b"0.5"}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"w.arrow.float16": "true"}, r"w\.arrow\.float16.*no column of this name.*known:"),
        ({"texts.lance.compression": "zstd"}, "did you mean 'text'"),
        ({"text.lance.compression": "zip"}, r"column text: lance\.compression is 'zip'"),
        ({"text.lance.compression-level": "-1"}, "compression-level is '-1'"),
        ({"text.lance.rle-threshold": "2"}, "rle-threshold is '2'"),
        ({"text.lance.encoding": "blob"}, "only encoding is 'blob', of a binary column"),
        ({"blob.lance.encoding": "x"}, "'x'"),
        ({"v.arrow.fixed-size-list.size": "0"}, r"column v: arrow\.fixed-size-list\.size is '0'"),
        ({"x.arrow.fixed-size-list.size": "2"}, "is for arrays"),
        ({"id.arrow.float16": "true"}, "is for float, not int64"),
        ({"x.arrow.float16": "yes"}, "not true or false"),
        ({"id.arrow.large_var_char": "true"}, "is for strings"),
        ({"id.arrow.type": "uint23"}, "'uint23': did you mean 'uint32'"),
        ({"id.arrow.type": "large_string"}, "cannot store values of type int64"),
        ({"id.arrow.typo": "uint8"}, "unknown option 'id.arrow.typo'"),
    ],
    ids=str,
)
def test_bad_options_are_errors_before_any_task(
    options: dict[str, str], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        LanceSource({"path": str(tmp_path / "t"), **options}).writer(SCHEMA, False)
    assert not (tmp_path / "t").exists()


def test_a_table_gets_them_and_keeps_them(tmp_path: Path) -> None:
    uri = str(tmp_path / "t.lance")
    schema = st.StructType().add("id", "integer").add("v", st.ArrayType(st.FloatType()))
    rows = pa.record_batch({"id": pa.array([1], pa.int32()), "v": [[1.0, 2.0]]})
    options = {"id.arrow.type": "uint8", "v.arrow.fixed-size-list.size": "2"}
    for given in (options, {"casts": "checked"}):
        job = LanceSource({"path": uri, **given}).writer(schema, False)
        job.commit([job.write(iter([rows]))])
    table = lance_core.dataset(uri).to_table()
    assert table.schema.types == [pa.uint8(), vector(2)]
    assert table.to_pylist() == 2 * [{"id": 1, "v": [1.0, 2.0]}]
    twice = st.StructType().add("a", "long").add("A", "long")
    with pytest.raises(InvalidInputError, match="several columns: a, A"):
        LanceSource({"path": f"{uri}2", "a.arrow.type": "int8"}).writer(twice, False)
