"""How texts become terms: analyzers, and filters of distinct words."""

from typing import Any

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError, InvalidTypeError, PluginNotFoundError
from lance_core_text import analyze
from lance_core_text.analyzers.analyze import analyze_texts
from lance_core_text.analyzers.columns import analyze_column
from lance_core_text.analyzers.filters import stop_words
from lance_core_text.analyzers.parameters import LANGUAGES, TextParameters
from lance_core_text.loops.library import numpy_loops

PLAIN = {"stem": False, "remove_stop_words": False, "lower_case": False, "ascii_folding": False}


def terms(text: str, **parameters: object) -> list[str]:
    return [token.term for token in analyze(text, **parameters)]


def test_default_terms_are_folded_stems_without_stop_words() -> None:
    text = "The quick Foxes' naïve Café, e-mail: foo_bar 3.14"
    assert terms(text) == ["quick", "fox", "naiv", "cafe", "e", "mail", "foo", "bar", "3", "14"]


def test_offsets_are_bytes_of_the_word_and_positions_count_dropped_words() -> None:
    text = "Größe of the Wörter"
    found = analyze(text, language="German", custom_stop_words=["of", "the"])
    data = text.encode()
    assert [data[token.start : token.stop].decode() for token in found] == ["Größe", "Wörter"]
    assert [token.position for token in found] == [0, 3]


@pytest.mark.parametrize("value", [None, 3, b"word", ["word"]])
def test_only_texts_are_analyzed(value: Any) -> None:
    with pytest.raises(InvalidTypeError, match="text must be a string"):
        analyze(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" .,;!", []),
        ("a1_b-c", ["a1", "b", "c"]),
        ("中文 日本語・テスト", ["中文", "日本語", "テスト"]),
        ("नमस्ते दुनिया", ["नमस", "ते", "दुनिया"]),  # the virama is no letter
        ("Ⓐb ½ ² Ⅷ \U0001d518x", ["Ⓐb", "½", "²", "Ⅷ", "\U0001d518x"]),
        ("a\u00a0b\u2003c", ["a", "b", "c"]),
    ],
)
def test_simple_words_are_runs_of_letters_and_digits(text: str, words: list[str]) -> None:
    assert terms(text, **PLAIN) == words


def test_words_end_with_their_text() -> None:
    texts = pa.array(["ab", None, "", "cd ef", "g"], pa.large_string())
    found = analyze_texts(texts, TextParameters.of(PLAIN))
    assert found.terms.take(pa.array(found.codes)).to_pylist() == ["ab", "cd", "ef", "g"]
    assert found.texts.tolist() == [0, 3, 3, 4]
    assert found.positions.tolist() == [0, 0, 1, 0]
    assert found.starts.tolist() == [0, 0, 3, 0]


def test_slices_of_columns_are_analyzed() -> None:
    texts = pa.array(["left out", "one two", "three"], pa.large_string()).slice(1)
    found = analyze_texts(texts, TextParameters.of(PLAIN))
    assert found.terms.to_pylist() == ["one", "two", "three"]


def test_whitespace_is_that_of_ascii() -> None:
    words = terms("a,b c\td\u00a0e\x0bf", base_tokenizer="whitespace", **PLAIN)
    assert words == ["a,b", "c", "d\u00a0e\x0bf"]


def test_raw_texts_are_one_word() -> None:
    assert terms("Hello World", base_tokenizer="raw", **PLAIN) == ["Hello World"]
    assert terms("", base_tokenizer="raw") == []


def test_raw_texts_are_those_of_their_rows() -> None:
    texts = pa.array(["a b", None, "", "é"], pa.large_string())
    found = analyze_texts(texts, TextParameters.of({**PLAIN, "base_tokenizer": "raw"}))
    assert found.texts.tolist() == [0, 3]
    assert found.positions.tolist() == [0, 0]
    assert [found.starts.tolist(), found.stops.tolist()] == [[0, 0], [3, 2]]


def test_offsets_of_words_are_ranges_without_compiled_loops() -> None:
    texts = pa.array(["ab", None, "cd éf"], pa.large_string())
    with numpy_loops():
        found = analyze_texts(texts, TextParameters.of(PLAIN))
    assert [found.starts.tolist(), found.stops.tolist()] == [[0, 0, 3], [2, 2, 6]]


def test_lists_with_nulls_and_empty_texts_are_one_text() -> None:
    lists = pa.array([["", None, "a", "", "b"], None, [], [None]], pa.list_(pa.string()))
    found = analyze_column(lists, TextParameters.of(PLAIN))
    assert found.texts.tolist() == [0, 0]
    assert found.starts.tolist() == [0, 3]


def test_ngrams_are_characters_across_spaces() -> None:
    given = {"base_tokenizer": "ngram", "min_ngram_length": 2, "max_ngram_length": 3}
    assert terms("aé b", **given) == ["ae", "ae ", "e ", "e b", " b"]
    assert terms("aé b", prefix_only=True, **given) == ["ae", "ae "]
    assert terms("a", **given) == []


CODE = {"base_tokenizer": "code", "ascii_folding": False, "lower_case": False}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("parseXMLFile(x.y)", ["0 parse", "1 XML", "2 File", "3 x", "4 y"]),
        ("snake_case __init__ _Ab_C", ["0 snake", "1 case", "2 __init__", "3 Ab", "4 C"]),
        ("utf8 0x1F é9", ["0 utf", "1 8", "2 0", "3 x", "4 1", "5 F", "6 é", "7 9"]),
        ("ÄöÜx a² xⅧ a日B", ["0 Äö", "1 Üx", "2 a²", "3 x", "4 Ⅷ", "5 a日B"]),
        ("a<<<=b-aB", ["0 a", "1 <<", "2 <=", "3 b", "4 -", "5 a", "6 B"]),
        ("@.#", []),
        ("== ==", ["0 ==", "1 =="]),
    ],
)
def test_identifiers_are_split_as_pylance_does(text: str, words: list[str]) -> None:
    given = {"split_identifiers": True, "preserve_original": False, "index_operators": True}
    found = analyze(text, **CODE, **given)
    assert [f"{token.position} {token.term}" for token in found] == words
    data = text.encode()
    assert [data[token.start : token.stop].decode() for token in found] == [w[2:] for w in words]


def test_whole_identifiers_have_the_position_of_their_first_part() -> None:
    texts = pa.array(["a = getX1()", None, "_getX"], pa.large_string())
    given = {"split_identifiers": True, "split_on_numerics": False, "index_operators": True}
    found = analyze_texts(texts, TextParameters.of({**CODE, **given}))
    words = found.terms.take(pa.array(found.codes)).to_pylist()
    assert words == ["a", "=", "getX1", "get", "X1", "_getX", "get", "X"]
    assert found.texts.tolist() == [0, 0, 0, 0, 0, 2, 2, 2]
    assert found.positions.tolist() == [0, 1, 2, 2, 3, 0, 0, 1]


def test_identifiers_without_parts_are_one_word() -> None:
    found = analyze("foo _bar_ baz", base_tokenizer="code", split_identifiers=True)
    assert [(token.start, token.stop, token.position) for token in found] == [
        (0, 3, 0),
        (4, 9, 1),
        (10, 13, 2),
    ]


def test_identifiers_are_whole_by_default() -> None:
    assert terms("The getUsers += snake_case", base_tokenizer="code") == [
        *("the", "getusers", "snake_case"),
    ]


def test_long_words_are_dropped_by_their_bytes() -> None:
    assert terms(f"{'a' * 39} {'b' * 40} {'é' * 20}", **PLAIN) == ["a" * 39]
    assert terms("b" * 50, max_token_length=None, **PLAIN) == ["b" * 50]


def test_stop_words_are_dropped_after_stems() -> None:
    assert terms("does doing") == ["doe"]


def test_lower_case_is_that_of_words() -> None:
    assert terms("ΟΔΟΣ İx", stem=False, ascii_folding=False) == ["οδος", "i̇x"]


def test_every_language_has_stems() -> None:
    for language in LANGUAGES:
        assert len(terms("nation nations", language=language)) <= 2
        assert stop_words(language) or language == "Tamil"


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"language": "Klingon"}, InvalidInputError, "Klingon"),
        ({"stemm": True}, TypeError, "'stem'"),
        ({"stem": 1}, TypeError, "stem must be bool"),
        ({"max_token_length": -1}, InvalidInputError, "negative"),
        ({"min_ngram_length": 4}, InvalidInputError, "at most max_ngram_length"),
        ({"split_identifiers": True}, InvalidInputError, "base_tokenizer='code'"),
        ({"custom_stop_words": [1]}, TypeError, "strings"),
        ({"base_tokenizer": "simpel"}, PluginNotFoundError, "simple"),
    ],
)
def test_wrong_parameters_are_named(given: dict, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        analyze("x", **given)


def test_parameters_survive_the_metadata_of_an_index() -> None:
    parameters = TextParameters.of({"language": "French", "custom_stop_words": ["x"]})
    assert TextParameters.from_json(parameters.to_json()) == parameters
    with pytest.raises(NotImplementedError, match="shape"):
        TextParameters.from_json('{"shape": 1}')


def test_stop_words_with_and_without_vowel_signs() -> None:
    """Stems have no vowel signs, and stop words are dropped after stems."""
    assert terms("تِي ذي هذان", language="Arabic") == []
    assert {"și", "ţi", "îți"} & stop_words("Romanian") >= {"și", "îți"}
