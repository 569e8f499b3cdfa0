"""Binary JSON: bytes found in files of the reference implementation, and round trips."""

from __future__ import annotations

import contextlib
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core.errors import CorruptFileError, InvalidInputError, UnsupportedFeatureError
from lance_core.schema.json.binary import decode
from lance_core.schema.json.encoding import encode, encode_json
from lance_core.schema.json.values import decode_json
from tests.each_case import each_case

GOLDEN = {
    "null": "2000000000000000",
    "true": "2000000040000000",
    "false": "2000000030000000",
    "0": "200000002000000100",
    "1": "20000000200000025001",
    "-1": "200000002000000240ff",
    "-128": "20000000200000024080",
    "300": "200000002000000350012c",
    "-300": "200000002000000340fed4",
    "70000": "20000000200000055000011170",
    "-5000000000": "200000002000000940fffffffed5fa0e00",
    "18446744073709551615": "200000002000000950ffffffffffffffff",
    "-9223372036854775808": "2000000020000009408000000000000000",
    "1.5": "2000000020000009603ff8000000000000",
    "-0.0": "2000000020000009608000000000000000",
    '"s"': "200000001000000173",
    '""': "2000000010000000",
    "[]": "80000000",
    "{}": "40000000",
    '[1,"a",null,[2]]': "800000042000000210000001000000005000000a50016180000001200000025002",
    '{"a":{"c":[true]},"b":1}': "4000000210000001100000015000001520000002616240000001100000015000"
    "00086380000001400000005001",
    '{"aa":3,"b":4,"z":1,"é":2}': "40000004100000021000000110000001100000022000000220000002200000"
    "022000000261616 27ac3a95003500450015002".replace(" ", ""),
}


@each_case(("text", "data"), GOLDEN.items())
def test_bytes_are_those_of_the_reference(text: str, data: str) -> None:
    assert encode(text).hex() == data
    assert decode(bytes.fromhex(data)) == text


def test_keys_are_sorted_and_blanks_dropped() -> None:
    assert decode(encode(' { "b" : 1, "a" : [ ] } ')) == '{"a":[],"b":1}'


@each_case(
    ("text", "kept"),
    [
        ("18446744073709551616", "1.8446744073709552e+19"),
        ("1" + "0" * 5000, "1e999"),
        ("1e400", "1e999"),
        ("-1e400", "-1e999"),
        ("1e-400", "0.0"),
        ("1e3", "1000.0"),
    ],
)
def test_numbers_beyond_64_bits_become_floats(text: str, kept: str) -> None:
    assert decode(encode(text)) == kept
    assert json.loads(kept) == float(text)
    assert decode_json(pa.array([encode(text)], pa.large_binary()), "j").to_pylist() == [kept]


@each_case(
    ("text", "data"),
    [
        ('"\\ud83d"', "20000000900000065c7564383364"),
        ('"\\uD83Dx"', "20000000900000075c756438336478"),
        ('"\\\\ud83d"', "20000000100000065c7564383364"),
        ('"\\\\\\udc00"', "20000000900000085c5c5c7564633030"),
    ],
)
def test_lone_surrogates_are_marked_escapes(text: str, data: str) -> None:
    stored = encode(text)
    assert stored.hex() == data
    assert decode(stored) == text.lower()
    assert decode_json(pa.array([stored], pa.large_binary()), "j").to_pylist() == [text.lower()]


@each_case(
    "text",
    [
        '{"\\ud83d":"\\udc00\\ud800","\\\\ud83d":1}',
        '["\\ud83d\\"\\n\\\\\\u0000é",["\\\\ud83d\\\\ude00","😀"]]',
        '{"":null}',
        '"\u2028\x7f\\u0000/"',
        "[5e-324,-0.0,1.0,1,1.7976931348623157e+308]",
    ],
)
def test_strings_and_numbers_keep_their_meaning(text: str) -> None:
    stored = encode(text)
    several = pa.array([stored, encode("[" * 50 + text + "]" * 50)], pa.large_binary())
    for again in (decode(stored), decode_json(several, "j")[0].as_py()):
        assert json.loads(again) == json.loads(text)
    assert json.loads(decode_json(several, "j")[1].as_py()[50:-50]) == json.loads(text)


NESTED = [
    "[" * 10_000 + "]" * 10_000,
    '{"a":' * 10_000 + "1" + "}" * 10_000,
    '[{"b":[],"c":' * 4_999 + '{"":"\\ud800\\\\"}' + "}]" * 4_999,
]


@each_case("text", NESTED, ids=lambda text: text[:12])
def test_ten_thousand_levels_come_back(text: str) -> None:
    stored = encode(text)
    assert decode(stored) == text
    assert decode_json(pa.array([stored], pa.large_binary()), "j").to_pylist() == [text]


def test_nested_and_flat_values_have_the_same_bytes() -> None:
    text = ' { "b" : [ 1 , -2.5 , { } , [ ] ] , "a" : { "\\u00e4" : null , "x" : "\\ud83d" } } '
    deep = encode("[" * 300 + text + "]" * 300)
    assert deep.endswith(encode(text))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_every_value_comes_back(value: object) -> None:
    again = json.loads(decode(encode(json.dumps(value))))
    assert again == value
    assert json.dumps(again, sort_keys=True) == json.dumps(value, sort_keys=True)


@each_case(
    "text",
    [
        "",
        "{",
        "{a}",
        "[1,]",
        "NaN",
        "Infinity",
        '{"a":1,"a":2}',
        "'a'",
        "[" * 100_000,
        "[" * 10_001 + "]" * 10_001,
        "[" * 300 + "1" + "]" * 299,
        "[" * 300 + "1" + "]" * 301,
        "[" * 300 + "1 2" + "]" * 300,
        "[" * 300 + "1," + "]" * 300,
        "[" * 300 + "NaN" + "]" * 300,
        "[" * 300 + "{1:2}" + "]" * 300,
        "[" * 300 + '{"a" 2}' + "]" * 300,
        "[" * 300 + '{"a":1,"\\u0061":2}' + "]" * 300,
        "[" * 300 + '{"a":1,}' + "]" * 300,
        "[" * 300 + "{" + "]" * 300,
    ],
    ids=lambda text: text[:12],
)
def test_what_is_not_json_is_refused_with_the_field(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"field s\.j, row 1 of its batch: "):
        encode_json(pa.array(["1", text]), "s.j")


def test_text_that_is_not_utf8_is_refused_with_the_field() -> None:
    texts = pa.array([b"\xff"]).view(pa.string())
    with pytest.raises(InvalidInputError, match="field j: text is not UTF-8"):
        encode_json(texts, "j")


@each_case(
    "data",
    [
        "",
        "20",
        "00000000",
        "60000001",
        "20000000",
        "80000001200000002000000000000000",
        "9fffffff",
        "5fffffff",
        "2000000010000001",
        "2000000010000001ff",
        "20000000200000020000",
        "200000002000000241",
        "20000000200000015001",
        "400000010000000000000000",
        "800000015000000420000000",
    ],
)
def test_broken_bytes_are_corruption_of_the_field(data: str) -> None:
    raw = bytes.fromhex(data)
    with pytest.raises(CorruptFileError, match=r"field 'j'"):
        decode_json(pa.array([raw], pa.large_binary()), "j")


def test_endless_nesting_is_corruption() -> None:
    data = b"\x80\x00\x00\x00"
    for _ in range(10_000):
        data = b"\x80\x00\x00\x01" + (0x50000000 | len(data)).to_bytes(4, "big") + data
    with pytest.raises(CorruptFileError, match="deeper"):
        decode(data)


@pytest.mark.parametrize("data", ["2000000060000000", "200000002000000270ff"])
def test_kinds_that_the_reference_never_writes_are_not_supported(data: str) -> None:
    with pytest.raises(UnsupportedFeatureError):
        decode(bytes.fromhex(data))


@given(st.binary(max_size=60))
def test_garbage_never_raises_anything_else(data: bytes) -> None:
    with contextlib.suppress(CorruptFileError, UnsupportedFeatureError):
        json.loads(decode(data))


def test_nulls_stay_nulls() -> None:
    stored = encode_json(pa.array(["1", None], pa.string_view()), "j")
    assert stored.null_count == 1
    assert decode_json(stored, "j").to_pylist() == ["1", None]


def test_many_values_are_decoded_as_each_of_them() -> None:
    texts = [
        '{"a":1,"b":[true,null,"x\\"y",{"c":1e-7}],"ä":{}}',
        "[]",
        "[" * 150 + '{"deep":-1.5}' + "]" * 150,
        '"text"',
        "18446744073709551615",
    ]
    stored = pa.array([encode(text) for text in texts] + [None], pa.large_binary())
    assert decode_json(stored, "j").to_pylist() == [*texts, None]
    assert decode_json(stored.slice(1, 2), "j").to_pylist() == texts[1:3]
