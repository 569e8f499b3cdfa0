"""Hashes of keys against published values of XXH64, and against each other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core.dataset.write.merge_insert.inserted_keys import KeyBits
from lance_core.dataset.write.merge_insert.key_hashes import hash_keys
from lance_core.schema import Schema
from tests.each_case import each_case


@each_case(
    ("value", "expected"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"as", 0x1C330FB2D66BE179),
        (b"asd", 0x631C37CE72A97393),
        (b"asdf", 0x415872F599CEA71E),
        (
            b"Call me Ishmael. Some years ago--never mind how long precisely-",
            0x02A2E85470D6FD96,
        ),
    ],
)
def test_bytes_have_the_published_hash(value: bytes, expected: int) -> None:
    longer = [b"before", value, value * 9]
    for kind in (pa.binary(), pa.large_binary()):
        hashes = hash_keys([pa.chunked_array([pa.array(longer, kind)])])
        assert int(hashes[1]) == expected
        assert len(set(hashes.tolist())) == (3 if value else 2)


def test_a_whole_number_is_hashed_as_eight_bytes_whatever_its_type() -> None:
    expected = hash_keys([pa.chunked_array([pa.array([(5).to_bytes(8, "little")])])])
    for kind in (pa.int8(), pa.int32(), pa.uint64(), pa.timestamp("ms")):
        values = pa.chunked_array([pa.array([5, None], kind)])
        assert hash_keys([values])[0] == expected[0]


def test_each_value_of_a_tuple_ends_with_a_zero_byte() -> None:
    columns = [pa.chunked_array([pa.array(["z"])]), pa.chunked_array([pa.array([4])])]
    joined = pa.chunked_array([pa.array([b"z\0" + (4).to_bytes(8, "little") + b"\0"])])
    assert hash_keys(columns).tolist() == hash_keys([joined]).tolist()


def test_equal_keys_have_equal_hashes_in_any_form() -> None:
    texts = pa.array(["x", "y", None, "x" * 40])
    plain = hash_keys([pa.chunked_array([texts])])
    assert plain.tolist() == hash_keys([pa.chunked_array([texts.dictionary_encode()])]).tolist()
    sliced = pa.chunked_array([pa.concat_arrays([texts, texts]).slice(4)])
    assert plain.tolist() == hash_keys([sliced]).tolist()
    structs = pa.StructArray.from_arrays([texts, pa.array(np.arange(4))], ["a", "b"])
    assert len(set(hash_keys([pa.chunked_array([structs])]).tolist())) == 4
    assert len(set(hash_keys([pa.chunked_array([pa.array([[1], [2]])])]).tolist())) == 1


def test_dictionaries_have_the_hashes_of_their_values() -> None:
    for values in (pa.array([7, 8, None]), pa.array([b"ab", b"cd", None], pa.binary(2))):
        coded = hash_keys([pa.chunked_array([values.dictionary_encode()])])
        assert coded.tolist() == hash_keys([pa.chunked_array([values])]).tolist()
        assert len(set(coded.tolist())) == 3


def test_an_extension_type_has_the_hashes_of_its_storage() -> None:
    stored = pa.array([bytes([number]) * 16 for number in range(9)], pa.binary(16))
    uuids = pa.chunked_array([pa.ExtensionArray.from_storage(pa.uuid(), stored)])
    assert hash_keys([uuids]).tolist() == hash_keys([pa.chunked_array([stored])]).tolist()
    assert len(set(hash_keys([uuids]).tolist())) == 9


def test_a_null_number_has_the_hash_of_zero_whatever_lies_below_it() -> None:
    below = pa.array([0, 7]).buffers()[1]
    hidden = pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(b"\x01"), below])
    zero, null = hash_keys([pa.chunked_array([hidden])]).tolist()
    assert zero == null


def test_a_filter_of_keys_can_be_united_with_others() -> None:
    (field,) = Schema.from_arrow(pa.schema([("k", pa.int64())])).fields
    keys = pa.table({"k": range(100)})
    first, second, both = KeyBits([field]), KeyBits([field]), KeyBits([field])
    first.add(keys.slice(0, 60))
    second.add(keys.slice(60))
    both.add(keys)
    assert first.bitmap() != both.bitmap()
    first.unite(second.bitmap())
    assert first.bitmap() == both.bitmap()
