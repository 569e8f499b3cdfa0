"""The bytes of each encoding, as pylance 14.0.2 writes them for the same rows."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pytest
from google.protobuf import text_format

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, ColumnEncoding
from lance_core_testing.encodings.stored_field import StoredField

Store = Callable[..., StoredField]

FLAT = "flat {{ bits_per_value: {bits} buffer {{ buffer_index: {at} }} }}"


def flat(bits: int, at: int = 0) -> str:
    return FLAT.format(bits=bits, at=at)


def valid(values: str) -> str:
    return f"nullable {{ no_nulls {{ values {{ {values} }} }} }}"


def gaps(at: int, values: str) -> str:
    return f"nullable {{ some_nulls {{ validity {{ {flat(1, at)} }} values {{ {values} }} }} }}"


def binary(at: int, adjustment: int, compression: str = "") -> str:
    content = f"flat {{ bits_per_value: 8 buffer {{ buffer_index: {at + 1} }} {compression} }}"
    adjusted = f"null_adjustment: {adjustment}"
    return f"binary {{ indices {{ {valid(flat(64, at))} }} bytes {{ {content} }} {adjusted} }}"


def dictionary(index_bits: int, items: str, count: int) -> str:
    parts = f"indices {{ {valid(flat(index_bits))} }} items {{ {items} }}"
    return f"dictionary {{ {parts} num_dictionary_items: {count} }}"


def u64(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in numbers)


ALL_NULLS = "nullable { all_nulls { } }"
DESCRIPTIONS = (
    f"packed_struct {{ inner {{ {valid(flat(64))} }} inner {{ {valid(flat(64))} }} buffer {{ }} }}"
)
FSL = pa.list_(pa.int32(), 2)
PACKED = pa.struct({"a": pa.int64(), "b": pa.list_(pa.float32(), 2)})
ZSTD, LZ4 = ({"lance-encoding:compression": scheme} for scheme in ("zstd", "lz4"))
LEVEL = ZSTD | {"lance-encoding:compression-level": "7"}

# name: array, metadata, encoding, buffers
CASES: dict[str, tuple[pa.Array, dict[str, str], str, list[bytes]]] = {
    "int16": (pa.array([1, -2], pa.int16()), {}, valid(flat(16)), [b"\x01\x00\xfe\xff"]),
    "decimal128": (
        pa.array([Decimal(1)], pa.decimal128(10, 2)),
        {},
        valid(flat(128)),
        [u64(100, 0)],
    ),
    "some nulls": (
        pa.array([b"abc", None, b"xyz"], pa.binary(3)),
        {},
        gaps(0, flat(24, 1)),
        [b"\x05", b"abc\0\0\0xyz"],
    ),
    "all nulls": (pa.nulls(3, pa.float64()), {}, ALL_NULLS, []),
    "type null": (pa.nulls(3), {}, ALL_NULLS, []),
    "bool": (pa.array([True, False, True, True] * 3), {}, valid(flat(1)), [b"\xdd\x0d"]),
    "fixed size list": (
        pa.array([[1, 2], [3, 4]], FSL),
        {},
        valid(f"fixed_size_list {{ dimension: 2 items {{ {valid(flat(32))} }} }}"),
        [b"".join(n.to_bytes(4, "little") for n in (1, 2, 3, 4))],
    ),
    "fixed size list, nulls inside and outside": (
        pa.array([[1, 2], None, [3, None]], FSL),
        {},
        gaps(0, f"fixed_size_list {{ dimension: 2 items {{ {gaps(1, flat(32, 2))} }} }}"),
        [b"\x05", b"\x13", b"".join(n.to_bytes(4, "little") for n in (1, 2, 0, 0, 3, 0))],
    ),
    "fixed size list of bool": (
        pa.array([[True, None], None, [False, True]], pa.list_(pa.bool_(), 2)),
        {},
        gaps(0, f"fixed_size_list {{ dimension: 2 items {{ {gaps(1, flat(1, 2))} }} }}"),
        [b"\x05", b"\x31", b"\x21"],
    ),
    "fixed size list of nulls": (
        pa.array([[None, None]] * 3, FSL),
        {},
        valid(f"fixed_size_list {{ dimension: 2 items {{ {ALL_NULLS} }} }}"),
        [],
    ),
    "string": (
        pa.array(["hello", None, "", "x"]),
        {},
        binary(0, 7),
        [u64(5, 5 + 7, 5, 6), b"hellox"],
    ),
    "large_binary": (
        pa.array([b"\xff", b"ab"], pa.large_binary()),
        {},
        binary(0, 4),
        [u64(1, 3), b"\xffab"],
    ),
    "string of nulls": (pa.nulls(2, pa.string()), {}, binary(0, 1), [u64(1, 1), b""]),
    "zstd": (
        pa.array(["hello" * 20, None, "x"]),
        ZSTD,
        binary(0, 102, 'compression { scheme: "zstd" }'),
        [
            u64(100, 202, 101),
            u64(101) + b"(\xb5/\xfd em\x00\x000hellox\x01\x00\x8c\xa9h\x01",
        ],
    ),
    "zstd with a level": (
        pa.array(["a" * 500, "b"], pa.large_string()),
        LEVEL,
        binary(0, 502, 'compression { scheme: "zstd" level: 7 }'),
        [
            u64(500, 501),
            u64(501) + b"(\xb5/\xfd`\xf5\x00M\x00\x00\x10ab\x01\x00\xf0\xa8N\x08",
        ],
    ),
    "lz4": (
        pa.array([b"hello" * 20, None, b"x"]),
        LZ4,
        binary(0, 102, 'compression { scheme: "lz4" }'),
        [u64(100, 202, 101), b"e\x00\x00\x00_hello\x05\x00HPellox"],
    ),
    "few distinct strings": (
        pa.array(["b", "aa", None, "b"] * 25),
        {},
        dictionary(8, binary(1, 4), 2),
        [b"\x01\x02\x00\x01" * 25, u64(1, 3), b"baa"],
    ),
    "100 null strings": (
        pa.nulls(100, pa.string()),
        {},
        dictionary(8, binary(1, 1), 1),
        [bytes(100), u64(1), b""],
    ),
    "Arrow dictionary": (
        pa.array(["a", "b", "a", None]).dictionary_encode(),
        {},
        dictionary(32, binary(1, 3), 3),
        [b"".join(n.to_bytes(4, "little") for n in (0, 1, 0, 2)), u64(1, 2, 5), b"ab"],
    ),
    "Arrow dictionary of nulls": (
        pa.DictionaryArray.from_arrays(pa.nulls(2, pa.int16()), pa.array([5, 6])),
        {},
        dictionary(16, ALL_NULLS, 1),
        [bytes(4)],
    ),
    "packed struct": (
        pa.array([{"a": 1, "b": [1, 2]}, {"a": 2, "b": [3, 4]}], PACKED),
        {"packed": "true"},
        f"packed_struct {{ inner {{ {valid(flat(64))} }} inner {{ "
        + valid(f"fixed_size_list {{ dimension: 2 items {{ {valid(flat(32))} }} }}")
        + " } buffer { } }",
        [
            bytes.fromhex("01000000000000000000803f00000040")
            + bytes.fromhex("02000000000000000000404000008040")
        ],
    ),
    "blob": (
        pa.array([b"abc", None, b"", b"x" * 70], pa.large_binary()),
        {"lance-encoding:blob": "true"},
        DESCRIPTIONS,
        [u64(0, 3, 1, 0, 0, 0, 64, 70)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_page_has_its_bytes(name: str, store: Store) -> None:
    array, metadata, encoding, buffers = CASES[name]
    (page,) = store(array, metadata=metadata).pages
    expected = text_format.Parse(encoding, ArrayEncoding())
    assert ArrayEncoding.FromString(page.encoding) == expected
    assert [bytes(buffer) for buffer in page.buffers] == buffers
    assert page.num_rows == len(array)


def test_blobs_lie_before_their_page_and_mark_their_column(store: Store) -> None:
    array, metadata, _, _ = CASES["blob"]
    stored = store(array, metadata=metadata)
    assert stored.data[:134] == b"abc".ljust(64, b"H") + b"x" * 70
    assert stored.columns[0].encoding == ColumnEncoding.FromString(bytes.fromhex("1a040a020a00"))


def test_lists_have_a_column_of_ends(store: Store) -> None:
    stored = store(pa.array([[1, 2], None, [], [3]], pa.list_(pa.int8())))
    ends, items = stored.pages
    expected = text_format.Parse(
        f"list {{ offsets {{ {valid(flat(64))} }} null_offset_adjustment: 4 num_items: 3 }}",
        ArrayEncoding(),
    )
    assert ArrayEncoding.FromString(ends.encoding) == expected
    assert [bytes(buffer) for buffer in ends.buffers] == [u64(2, 2 + 4, 2, 3)]
    assert (ends.column, ends.num_rows, items.column, items.num_rows) == (0, 4, 1, 3)
    assert bytes(items.buffers[0]) == b"\x01\x02\x03"
    values = ColumnEncoding.FromString(b"\x0a\x00")
    assert [column.encoding for column in stored.columns] == [values, values]


def test_structs_have_a_header_without_buffers(store: Store) -> None:
    stored = store(pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": None}]))
    (header,) = stored.pages_of(0)
    assert ArrayEncoding.FromString(header.encoding) == text_format.Parse(
        "struct {}", ArrayEncoding()
    )
    assert (list(header.buffers), header.num_rows) == ([], 2)
    assert [len(stored.pages_of(column)) for column in (0, 1, 2)] == [1, 1, 1]
