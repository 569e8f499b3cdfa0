"""Hashes of keys against published values of XXH64, and against each other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core.dataset.write.merge_insert.key_hashes import hash_keys
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
