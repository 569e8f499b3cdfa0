"""Blobs are written before the pages that describe them; these have the layout of their kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core._pb.encodings_v2_1_pb2 import PageLayout
from lance_core.encodings.context import EncodeContext
from lance_core.encodings.dispatch import field_encoder
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.version import FileVersion
from lance_core.errors import UnsupportedFeatureError
from lance_core.plugins import get_manager
from lance_core.schema import Schema, align_batch, given_to_files
from lance_core.schema.blobs.fields import BLOB_V2, GIVEN_V2
from tests.each_case import each_case

MARK = {"lance-encoding:blob": "true"}
V1 = pa.field("b", pa.large_binary(), metadata=MARK)
V2 = pa.field("b", GIVEN_V2, metadata={"ARROW:extension:name": BLOB_V2})


class Places:
    """Remembers what it is given, in the order in which it comes."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def pack(self, data: pa.Array, rows: Any, sizes: Any, limit: int) -> Any:
        self.calls.append(("pack", data.take(pa.array(rows)).to_pylist(), limit))
        assert sizes.tolist() == [len(data[row].as_py()) for row in rows.tolist()]
        return np.full(len(rows), len(self.calls)), np.cumsum(sizes) - sizes

    def dedicate(self, payload: pa.Buffer) -> int:
        self.calls.append(("dedicate", payload.to_pybytes()))
        return len(self.calls)

    def refer(self, uris: pa.Array, path: str) -> Any:
        self.calls.append(("refer", uris.to_pylist(), path))
        return np.where(np.asarray(uris.is_valid()), 7, 0).astype(np.uint32), uris


def encode(
    field: pa.Field, array: pa.Array, version: FileVersion, places: Places | None = None
) -> tuple[list[EncodedPage], list[bytes]]:
    """The pages of an array and what was written outside of pages, each at a multiple of 64."""
    written: list[bytes] = []

    def write_buffer(buffer: pa.Buffer) -> int:
        written.append(buffer.to_pybytes())
        return 64 * (len(written) - 1)

    schema = Schema.from_arrow(pa.schema([field]))
    schema = Schema(tuple(map(given_to_files, schema.fields)))
    batch = align_batch(pa.record_batch([array], schema=pa.schema([field])), schema)
    context = EncodeContext(version, get_manager().encodings, write_buffer, blobs=places)
    encoder = field_encoder(schema.fields[0], context)
    pages = [*encoder.write(batch.column(0)), *encoder.flush()]
    assert encoder.num_columns == len({page.column for page in pages})
    return pages, written


@each_case("version", [FileVersion.V2_1, FileVersion.V2_2])
@each_case("values", [[b"a" * 5000, None, b"", b"b" * 5000], [None, None], [b"", b""]])
def test_blobs_of_version_1_have_pages_of_their_own_layout(
    version: FileVersion, values: list[bytes | None]
) -> None:
    (page,), written = encode(V1, pa.array(values, pa.large_binary()), version)
    layout = PageLayout.FromString(page.encoding)
    assert layout.WhichOneof("layout") == "blob_layout"
    inner = layout.blob_layout.inner_layout
    assert inner.mini_block_layout.value_compression.packed_struct.bits_per_value == [64, 64]
    assert written == [value for value in values if value]
    stored = np.frombuffer(page.buffers[1], np.uint64)[1:][: 2 * len(values)].reshape(-1, 2)
    places = iter(range(0, 6400, 64))
    expected = [
        (1 << 16, 0) if value is None else (next(places), len(value)) if value else (0, 0)
        for value in values
    ]
    assert stored.tolist() == [list(pair) for pair in expected]


def test_levels_of_null_structs_are_told_apart_from_null_blobs() -> None:
    struct = pa.field("s", pa.struct([V1]))
    array = pa.array([{"b": None}, None, {"b": b""}], struct.type)
    (page,), _ = encode(struct, array, FileVersion.V2_1)
    stored = np.frombuffer(page.buffers[1], np.uint64)[1:7].reshape(-1, 2)
    assert stored.tolist() == [[1 << 16, 0], [2 << 16, 0], [0, 0]]


@each_case("kind", [pa.list_, pa.large_list, lambda item: pa.map_(pa.string(), item)])
def test_blobs_of_version_1_in_lists_are_refused(kind: Any) -> None:
    field = pa.field("l", kind(V1.with_name("value")))
    version = FileVersion.V2_2 if pa.types.is_map(field.type) else FileVersion.V2_1
    with pytest.raises(UnsupportedFeatureError, match="blobs in lists"):
        encode(field, pa.array([], field.type), version)


def test_blobs_in_lists_of_fixed_size_are_refused() -> None:
    field = pa.field("l", pa.list_(pa.struct([V2]), 2))
    with pytest.raises(UnsupportedFeatureError, match="lists of fixed size"):
        encode(field, pa.array([], field.type), FileVersion.V2_2, Places())


def test_blobs_of_version_2_are_placed_in_the_order_of_their_rows() -> None:
    field = V2.with_metadata(
        {
            **V2.metadata,
            b"lance-encoding:blob-inline-size-threshold": b"4",
            b"lance-encoding:blob-dedicated-size-threshold": b"8",
            b"lance-encoding:blob-pack-file-size-threshold": b"99",
        }
    )
    data = [b"in", b"pack1", b"dedicated", None, b"pack22", b"", b"dedicate2", b"here"]
    rows = [None if value is None else {"data": value} for value in data]
    rows += [{"uri": "s3://bucket/key", "position": 3, "size": 4}]
    places = Places()
    (page,), written = encode(field, pa.array(rows, GIVEN_V2), FileVersion.V2_2, places)
    assert places.calls == [
        ("pack", [b"pack1"], 99),
        ("dedicate", b"dedicated"),
        ("pack", [b"pack22"], 99),
        ("dedicate", b"dedicate2"),
        ("refer", [*[None] * 8, "s3://bucket/key"], "b"),
    ]
    assert b"".join(written).replace(b"H", b"") == b"inhere"
    layout = PageLayout.FromString(page.encoding)
    fields = layout.full_zip_layout.value_compression.variable_packed_struct.fields
    assert [one.bits_per_value or one.bits_per_length for one in fields] == [8, 64, 64, 32, 32]


def test_only_items_that_are_in_lists_are_written() -> None:
    field = pa.field("l", pa.list_(V2.with_name("item")))
    rows = [[{"data": b"gone"}], [{"data": b"one"}, {"data": b"two"}], None, [{"data": b"gone"}]]
    array = pa.array(rows, field.type).slice(1, 2)
    _, written = encode(field, array, FileVersion.V2_2, Places())
    assert b"gone" not in b"".join(written)
    assert b"one" in b"".join(written)
