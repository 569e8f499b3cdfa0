"""`upper`, `lower` and `initcap` follow Unicode's full case mapping."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lance_core_functions import letter_case
from tests.each_case import each_case
from tests.unit.dataset.expressions.sql_tables import rows, values

TEXTS = [
    *("abc", "", None, "straße", "ﬁn", "ὈΔΥΣΣΕΎΣ", "ΣΑΣ Σ.Σ", "İstanbul", "ŉ ΐ ǰ", "ǅ", "日本語"),
    *("\U000f0000x\U000f0001", "\U000f0001\U000f0001ß\U000f0000", "ß\0ß", "e\u0301A\u0308"),
]
LATER = {"\u019b": "\ua7dc", "\u0264": "\ua7cb", "\U00010d70": "\U00010d50"}
"""Letters that got an upper case after Unicode 14."""


@each_case("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_upper_and_lower_are_those_of_python(kind: pa.DataType) -> None:
    data = pa.table({"s": pa.array(TEXTS, pa.string()).cast(kind)})
    assert values("upper(s)", data) == [None if text is None else text.upper() for text in TEXTS]
    assert values("lower(s)", data) == [None if text is None else text.lower() for text in TEXTS]
    assert rows("upper(s) = 'STRASSE'", data) == [3]
    assert rows("lower(s) = 'ὀδυσσεύς'", data) == [5]


def test_dictionaries_and_constants_are_mapped_alike() -> None:
    data = pa.table({"s": pa.array(["ß", None, "ß", "Σ"]).dictionary_encode()})
    assert values("upper(s)", data) == ["SS", None, "SS", "Σ"]
    assert values("lower('ΌΣ') || s", data) == ["όςß", None, "όςß", "όςΣ"]


def test_letters_newer_than_python_are_mapped() -> None:
    data = pa.table({"s": [f"a{letter}ß" for letter in LATER], "u": list(LATER.values())})
    assert values("upper(s)", data) == [f"A{upper}SS" for upper in LATER.values()]
    assert values("lower(u)", data) == list(LATER)


@each_case(
    "text, expected",
    [
        ("hello WORLD o'neil foo_bar 1st x-y", "Hello World O'Neil Foo_Bar 1st X-Y"),
        ("straße ﬁn ǆ", "Straße FIn Ǆ"),
        ("ΌΣΟΣ", "Όσοσ"),
        ("e\u0301a", "E\u0301A"),
        ("ⓐb", "Ⓐb"),
        ("", ""),
    ],
)
def test_initcap_begins_words_after_all_but_letters_and_digits(text: str, expected: str) -> None:
    data = pa.table({"s": [text, None, "ab", text]})
    assert values("initcap(s)", data) == [expected, None, "Ab", expected]


def test_arrow_maps_only_characters_that_it_maps_as_python_does() -> None:
    every = [chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000]
    texts = pa.array(every)
    for special, kernel, of_text in (
        (letter_case._NOT_UPPER, pc.utf8_upper, str.upper),
        (letter_case._NOT_LOWER, pc.utf8_lower, str.lower),
    ):
        plain = texts.filter(pc.invert(pc.match_substring_regex(texts, special)))
        assert len(plain) > 30_000
        assert kernel(plain).to_pylist() == list(map(of_text, plain.to_pylist()))
