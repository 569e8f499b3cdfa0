"""Everything that holds rows can be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
import pytest

import lance_core as lance
from lance_core.dataset.write.input import to_reader
from lance_core.errors import InvalidInputError, LanceError, SchemaMismatchError

TABLE = pa.table({"i": pa.array(range(10)), "s": [f"s{n}" for n in range(10)]})
SCHEMA = TABLE.schema


class Capsule:
    """Anything with the Arrow stream protocol."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


class Frame:
    """A data frame of another library, which has both the protocol and rows to loop over."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[str]:
        return iter(["i", "s"])


KINDS: dict[str, Callable[[], Any]] = {
    "table": lambda: TABLE,
    "chunked table": lambda: pa.concat_tables([TABLE.slice(0, 3), TABLE.slice(3)]),
    "batch": lambda: TABLE.to_batches()[0],
    "reader": TABLE.to_reader,
    "dict": TABLE.to_pydict,
    "row dicts": TABLE.to_pylist,
    "iterator of row dicts": lambda: iter(TABLE.to_pylist()),
    "iterator of batches": lambda: iter(TABLE.to_batches(max_chunksize=3)),
    "list of batches": lambda: TABLE.to_batches(max_chunksize=3),
    "iterator of tables": lambda: iter([TABLE.slice(0, 4), TABLE.slice(4)]),
    "pyarrow dataset": lambda: pads.dataset(TABLE),
    "pyarrow scanner": lambda: pads.dataset(TABLE).scanner(),
    "stream protocol": Capsule,
    "frame": Frame,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_rows_is_written(uri: str, kind: str) -> None:
    dataset = lance.write_dataset(KINDS[kind](), uri)
    assert dataset.to_table().cast(SCHEMA).equals(TABLE)
    assert lance.write_dataset(KINDS[kind](), uri, mode="append").count_rows() == 20


def test_tables_and_scans_are_written_to_other_tables(uri: str) -> None:
    source = lance.write_dataset(TABLE, uri)
    assert lance.write_dataset(source, uri + "2").to_table().equals(TABLE)
    scanner = source.scanner(["s"], filter="i > 7")
    assert lance.write_dataset(scanner, uri + "3").to_table()["s"].to_pylist() == ["s8", "s9"]


def test_a_table_can_be_written_to_itself(uri: str) -> None:
    dataset = lance.write_dataset(TABLE, uri, max_rows_per_file=3)
    assert lance.write_dataset(dataset, dataset, mode="append").count_rows() == 20
    half = dataset.scanner(filter="i < 5")
    assert lance.write_dataset(half, uri, mode="overwrite").to_table().equals(TABLE.slice(0, 5))


def test_a_schema_decides_where_the_data_does_not(uri: str) -> None:
    schema = pa.schema([pa.field("i", pa.int8()), pa.field("s", pa.large_string(), True)])
    expected = TABLE.cast(schema)
    for kind in ("dict", "row dicts", "iterator of batches", "iterator of tables"):
        found = to_reader(KINDS[kind](), schema).read_all()
        assert found.to_pylist() == expected.to_pylist()
        assert found.schema.equals(schema), kind


def test_no_rows_need_a_schema(uri: str) -> None:
    with pytest.raises(InvalidInputError, match="schema"):
        lance.write_dataset([], uri)
    with pytest.raises(LanceError):
        lance.dataset(uri)
    assert lance.write_dataset(iter([]), uri, SCHEMA).to_table().equals(TABLE.slice(0, 0))


@pytest.mark.parametrize(
    "data", [None, 5, "text", [1, 2], ["a"], [None], object(), [{"i": 1}, 5], b"x"]
)
def test_what_holds_no_rows_is_refused(uri: str, data: Any) -> None:
    for schema in (None, SCHEMA):
        with pytest.raises(InvalidInputError):
            lance.write_dataset(data, uri, schema)
    with pytest.raises(LanceError):
        lance.dataset(uri)


@pytest.mark.parametrize(
    ("data", "schema"),
    [
        ({"i": ["x"]}, pa.schema({"i": pa.int64()})),
        ({"i": [1], "s": [1, 2]}, None),
        ([{"i": "x"}], pa.schema({"i": pa.int64()})),
        ([{"i": 1}, {"i": "x"}], None),
    ],
)
def test_values_that_do_not_fit_are_refused(uri: str, data: Any, schema: Any) -> None:
    with pytest.raises(InvalidInputError):
        lance.write_dataset(data, uri, schema)


@pytest.mark.parametrize(
    "second",
    [
        pa.table({"other": [1]}),
        pa.table({"i": ["x"], "s": ["y"]}),
        pa.table({"s": ["y"]}),
        "text",
    ],
)
def test_batches_that_differ_from_the_first_are_refused(uri: str, second: Any) -> None:
    with pytest.raises(InvalidInputError):
        lance.write_dataset(iter([TABLE, second]), uri)
    with pytest.raises(LanceError):
        lance.dataset(uri)


def test_batches_are_cast_where_that_loses_nothing(uri: str) -> None:
    wide = pa.table({"i": [300], "s": ["x"]})
    narrow = pa.schema({"i": pa.int8(), "s": pa.string()})
    with pytest.raises(SchemaMismatchError):
        lance.write_dataset(iter([wide]), uri, narrow)
    parts = iter([TABLE, TABLE.cast(narrow)])
    assert lance.write_dataset(parts, uri).to_table().equals(pa.concat_tables([TABLE, TABLE]))
