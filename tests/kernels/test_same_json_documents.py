"""JSON documents are the same by compiled loops as in Python, whatever they are."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from random import Random

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core.errors import CorruptFileError, InvalidInputError, UnsupportedFeatureError
from lance_core.plugins import get_manager
from lance_core.schema.json import loops
from lance_core.schema.json.binary import decode
from lance_core.schema.json.encoding import encode, encode_json
from lance_core.schema.json.loops import JsonLoop
from lance_core.schema.json.values import decode_json
from lance_core_kernels import _native
from lance_core_kernels import json_documents as compiled

KERNELS = get_manager().encodings.kernels

ORDINARY = [
    *("0", "-0", "-1", "127", "128", "-128", "-129", "65535", "65536", "4294967296", "-32769"),
    *("18446744073709551615", "-9223372036854775808", "-0.0", "1.5", "0.1", "1E-5", "1e-7", "1e22"),
    *("2.5e-05", "123456789.123456789", "5e-324", "1e999", "-1e999", "1.7976931348623157e308"),
    *('"\\u00e9\\ud83d\\ude00\\/\\b\\u0001"', '"é€😀\x7f"', '""', "true", " null ", "[]", "{ }"),
    *('[1, [2, {"b":"x","a":[false]}],3]', '{"b":1,"":2,"ab":3,"a":4}', "[" * 100 + "]" * 100),
]
LEFT_OUT = [
    *("", "{", "[1,]", '{"a":1,"a":2}', '{"a":1,"b":2,"a":2}', "01", "1.", "1e", "-", "+1", ".5"),
    *('"\\ud83d"', '"\\udc00"', '"a\x01"', "nul", "nulll", "[1 2]", '{"a" 1}', "{a:1}", '"\\x"'),
    *('"\\u12g4"', "NaN", "-Infinity", "1 2", '"abc', "\ufeff1", "\u00a01", "[,1]", '"\\'),
    *("[" * 200 + "]" * 200, "18446744073709551616", "-9223372036854775809", "1" * 400),
]

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**65)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def joined(parts: list[bytes]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return np.frombuffer(b"".join(parts), np.uint8), offsets


def results(loop: JsonLoop, parts: list[bytes]) -> list[bytes | None]:
    """What the loop makes of each document; None for those that it leaves out."""
    made, edges, rest = loop(*joined(parts))
    left_out = set(rest.tolist())
    return [
        None if i in left_out else bytes(made[edges[i] : edges[i + 1]]) for i in range(len(parts))
    ]


def test_ordinary_documents_are_converted() -> None:
    stored = results(compiled.encode_json, [text.encode() for text in ORDINARY])
    assert stored == list(map(encode, ORDINARY))
    texts = results(compiled.decode_json, list(map(encode, ORDINARY)))
    assert texts == [decode(encode(text)).encode() for text in ORDINARY]


def test_others_are_left_out() -> None:
    texts = [text.encode() for text in LEFT_OUT] + [b'"\xff"', b'"\xc0\x80"', b'"\xed\xa0\x80"']
    assert results(compiled.encode_json, [*texts, b"1"]) == [None] * len(texts) + [encode("1")]
    stored = [encode('"\\ud83d"'), encode("[" * 200 + "]" * 200), b"", encode("1") + b"x"]
    assert results(compiled.decode_json, stored) == [None] * 4


@given(st.lists(documents, max_size=4), st.randoms(use_true_random=False))
def test_documents_and_damaged_ones_agree_with_python(values: list[object], random: Random) -> None:
    texts = [json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") for value in values]
    stored = []
    for text, made in zip(texts, results(compiled.encode_json, texts), strict=True):
        stored.append(encode(text.decode()))
        assert made in (stored[-1], None)
    damaged = []
    for raw in stored:
        octets = bytearray(raw)
        octets[random.randrange(len(octets))] = random.randrange(256)
        damaged.append(bytes(octets))
    both = [*stored, *damaged]
    for raw, text in zip(both, results(compiled.decode_json, both), strict=True):
        if text is not None:
            assert decode(raw).encode() == text


@given(
    st.lists(
        st.floats()
        | st.floats(-1e6, 1e6)
        | st.floats(1e-5, 1)
        | st.floats(-1e6, 1e6).map(lambda number: round(number, 5))
        | st.integers(-60, 60).map(lambda power: 2.0**power)
    )
)
def test_floats_have_the_digits_of_python(numbers: list[float]) -> None:
    stored = [struct.pack(">IIBd", 0x20000000, 2 << 28 | 9, 0x60, number) for number in numbers]
    assert results(compiled.decode_json, stored) == [decode(raw).encode() for raw in stored]


@pytest.mark.parametrize("batch", [1, 1 << 20])
def test_arrays_keep_nulls_and_documents_that_are_left_out(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "BATCH_BYTES", batch)
    texts = [*ORDINARY, None, '"\\ud83d"', "[" * 300 + "]" * 300, None, "7"]
    for type_ in (pa.string(), pa.large_string(), pa.string_view()):
        array = pa.array(["x", *texts], type_)[1:]
        stored = encode_json(array, "j", loops=KERNELS)
        assert stored == encode_json(array, "j")
        assert decode_json(stored[2:], "j", KERNELS).equals(decode_json(stored[2:], "j"))
    assert encode_json(pa.array([], pa.string()), "j", loops=KERNELS).equals(
        pa.array([], pa.large_binary())
    )


@pytest.mark.parametrize("text", ["{", '{"a":1,"a":1}', "NaN"])
def test_errors_are_those_of_python(text: str) -> None:
    array = pa.array(["1", None, text, "2"])
    with pytest.raises(InvalidInputError) as expected:
        encode_json(array, "s.j")
    with pytest.raises(InvalidInputError) as error:
        encode_json(array, "s.j", loops=KERNELS)
    assert str(error.value) == str(expected.value)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"\x20", CorruptFileError),
        (struct.pack(">II", 0x20000000, 7 << 28), UnsupportedFeatureError),
        (struct.pack(">IIB", 0x20000000, 2 << 28 | 1, 0x70), UnsupportedFeatureError),
        (struct.pack(">II", 0x20000000, 1 << 28 | 1) + b"\xff", CorruptFileError),
    ],
)
def test_wrong_bytes_are_refused(raw: bytes, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        decode_json(pa.array([raw], pa.large_binary()), "j", KERNELS)


@pytest.mark.parametrize("loop", [compiled.encode_json, compiled.decode_json])
def test_offsets_are_checked(loop: JsonLoop) -> None:
    data = np.frombuffer(b"123", np.uint8)
    for offsets in ([0, 4], [2, 1], [-1, 2]):
        with pytest.raises(InvalidInputError, match="not within"):
            loop(data, np.array(offsets))


@pytest.mark.parametrize("loop", [_native.encode_json, _native.decode_json])
def test_a_document_that_finds_no_room_is_left_out(loop: Callable[..., int]) -> None:
    stored = encode('{"a":"b","c":[1]}') if loop is _native.decode_json else b'{"a":"b","c":[1]}'
    offsets = np.array([0, len(stored)])
    for size in range(17):
        edges, rest = np.empty(2, np.int64), np.empty(1, np.int64)
        room = np.empty(size, np.uint8)
        done = loop(np.frombuffer(stored, np.uint8), offsets, room, edges, rest)
        assert done == (size < 17 or loop is _native.encode_json)
    with pytest.raises(ValueError, match="belong"):
        loop(stored, offsets, room, edges, np.empty(2, np.int64))
