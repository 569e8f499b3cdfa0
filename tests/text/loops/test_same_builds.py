"""From texts to posting lists, by the compiled loops and by numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core_text.analyzers.analyze import analyze_texts
from lance_core_text.analyzers.parameters import TextParameters
from lance_core_text.loops.encoding import BlockEncoder
from lance_core_text.loops.inversion import inverted
from lance_core_text.loops.library import native, numpy_loops
from lance_core_text.postings.blocks import BlockLayout
from lance_core_text.write.encode_blocks import BlockBounds, encode_blocks
from lance_core_text.write.encode_fst import encode_fst
from lance_core_text.write.encode_impacts import encode_impacts
from lance_core_text.write.encode_positions import encode_streams

LETTERS = "aAbßéÉΣΩ中国𝄞½ \t\v.,_-0٣\u0301\u200d"
TEXTS = st.lists(st.one_of(st.none(), st.text(LETTERS, max_size=30)), max_size=8)


def word_arrays(count: int) -> list[np.ndarray]:
    """Codes, texts, positions, starts and stops of words, and the starts of distinct ones."""
    return [np.zeros(count, np.int32) for _ in range(3)] + [np.zeros(count, np.int64)] * 3


def equal(found: Any, expected: Any) -> bool:
    arrays = zip(found[1:], expected[1:], strict=True)
    return found[0].equals(expected[0]) and all(np.array_equal(*pair) for pair in arrays)


@given(
    texts=TEXTS,
    analyzer=st.sampled_from(["simple", "whitespace"]),
    lower_case=st.booleans(),
    longest=st.sampled_from([None, 3, 40]),
    places=st.booleans(),
)
def test_terms(
    texts: list[str | None], analyzer: str, lower_case: bool, longest: int | None, places: bool
) -> None:
    given = {"base_tokenizer": analyzer, "lower_case": lower_case, "max_token_length": longest}
    parameters = TextParameters.of(given)
    column = pa.array([None, "a b", *texts], pa.large_string()).slice(2)
    found = analyze_texts(column, parameters, with_offsets=places)
    with numpy_loops():
        assert equal(found, analyze_texts(column, parameters, with_offsets=places))


def test_many_distinct_words() -> None:
    column = pa.array([f"w{n} w{n % 977} x{n // 3}" for n in range(9000)], pa.large_string())
    found = analyze_texts(column, TextParameters())
    assert len(found.terms) == 9000 + 3000
    with numpy_loops():
        assert equal(found, analyze_texts(column, TextParameters()))


@pytest.mark.parametrize(
    "text", [b"a\xc3", b"\xe4\xb8", b"\xf0\x9d\x84", b"\xff\xff\xff\xff", b"b\x80"]
)
def test_texts_that_are_no_utf_8_are_split_without_other_bytes(text: bytes) -> None:
    data = np.frombuffer(text, np.uint8).copy()
    kinds, points = np.zeros(256, np.uint8), np.ones(0x110000, np.bool_)
    kinds[ord("a") : ord("z") + 1], kinds[0xC0:] = 1, 2
    words, count = word_arrays(4), np.empty(5, np.int64)
    size = native.split_words(data, np.array([0, len(data)]), kinds, points, *words, count)
    assert size in (0, 1)


@given(seed=st.integers(0, 999), count=st.integers(0, 90), terms=st.integers(1, 12))
def test_posting_lists(seed: int, count: int, terms: int) -> None:
    random = np.random.default_rng(seed)
    numbers = random.integers(0, terms, count).astype(np.int32)
    documents = np.sort(random.integers(0, 20, count)).astype(np.int32)
    positions = np.arange(count, dtype=np.int32)
    ranks = random.permutation(terms).astype(np.int64)
    for own in (positions, None):
        found = inverted(numbers, documents, own, ranks)
        with numpy_loops():
            expected = inverted(numbers, documents, own, ranks)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@given(
    seed=st.integers(0, 999),
    lengths=st.lists(st.sampled_from([1, 2, 100, 127, 128, 129, 256, 300, 4200]), max_size=5),
    layout=st.sampled_from([BlockLayout(), BlockLayout(128, True, True), BlockLayout(256, False)]),
    most=st.sampled_from([1, 3, 900, 1 << 28]),
)
def test_bytes_of_lists(seed: int, lengths: list[int], layout: BlockLayout, most: int) -> None:
    random = np.random.default_rng(seed)
    counts, total = np.array(lengths, np.int64), sum(lengths)
    documents = [np.cumsum(random.integers(1, 1 + random.choice([2, 999]), n)) for n in lengths]
    own = np.concatenate([np.empty(0), *documents]).astype(np.int32)
    times = np.ones(total, np.int32)
    some = random.random(total) < 0.05
    times[some] = random.integers(1, most, some.sum(), endpoint=True)
    bounds = BlockBounds.of(counts, layout.size)
    scores = random.random(len(bounds.counts)).astype(np.float32)
    rounded = random.integers(0, 90, total).astype(np.uint8)
    frequencies = np.minimum(times, 400)
    places = random.integers(0, 1000, frequencies.sum())
    first = np.repeat(np.cumsum(frequencies) - frequencies, frequencies)
    positions = (np.cumsum(places) - (np.cumsum(places) - places)[first]).astype(np.int32)

    def encoded() -> list[list[int]]:
        found = [
            encode_blocks(bounds, own, times, scores, layout),
            encode_impacts(bounds, own, times, rounded),
            encode_streams(bounds, frequencies, positions),
        ]
        return [part.tolist() for parts in found for part in parts]

    ours = encoded()
    with numpy_loops():
        assert encoded() == ours


def test_what_does_not_belong_together_is_an_error() -> None:
    words = word_arrays(2)
    kinds, points = np.ones(256, np.uint8), np.empty(0, np.bool_)
    data, count = np.zeros(3, np.uint8), np.empty(3, np.int64)

    def split(offsets: list[int], kinds: np.ndarray = kinds, data: np.ndarray = data) -> int:
        return native.split_words(data, np.array(offsets), kinds, points, *words, count)

    assert split([0, 3]) == 1
    for offsets in ([0, 4], [-1, 3], [2, 1]):
        with pytest.raises(ValueError, match="belong together"):
            split(offsets)
    for own in (
        {"kinds": kinds[:255].copy()},
        {"kinds": 2 * kinds},
        {"data": np.zeros(9, np.uint8)},
    ):
        with pytest.raises(ValueError, match="belong together"):
            split([0, 3], **own)
    for numbers, codes in (([1], [0, 0, 1]), ([1], [0, 0, -1]), ([1], [0, 0])):
        with pytest.raises(ValueError, match="belong together"):
            native.replace_codes(np.array(numbers), np.array(codes, np.int32), *word_arrays(3)[1:5])
    out = [np.zeros(1, np.int64), *(np.zeros(2, np.int32) for _ in range(3))]
    for numbers, documents, ranks in (
        ([0, 1], [0, 0], [0]),
        ([0, -1], [0, 0], [0]),
        ([0, 0], [1, 0], [0]),
        ([0, 0], [0, 0], [1]),
        ([0], [0], [0]),
    ):
        with pytest.raises(ValueError, match="belong together"):
            native.invert(
                np.array(numbers, np.int32),
                np.array(documents, np.int32),
                np.zeros(len(numbers), np.int32),
                np.array(ranks),
                *out,
            )
    documents, one = np.arange(3, dtype=np.int32), np.ones(1, np.float32)
    for counts, of_lists in (([2], [1]), ([3], [2]), ([3], [0]), ([129], [1]), ([3, 0], [2])):
        encoder = BlockEncoder(documents, documents, np.array(counts), np.array(of_lists))
        with pytest.raises(ValueError, match="belong together"):
            encoder.blocks(one, BlockLayout())
        with pytest.raises(ValueError, match="belong together"):
            encoder.streams(documents)
        with pytest.raises(ValueError, match="belong together"):
            encoder.impacts(documents.astype(np.uint8))
    encoder = BlockEncoder(documents, documents, np.array([3]), np.array([1]))
    with pytest.raises(ValueError, match="belong together"):
        encoder.blocks(np.ones(2, np.float32), BlockLayout())
    for count in (2, 4):  # positions are as many as frequencies say, here 3
        with pytest.raises(ValueError, match="belong together"):
            encoder.streams(np.arange(count))
    with pytest.raises(ValueError, match="belong together"):
        encoder.impacts(np.zeros(2, np.uint8))


@pytest.mark.parametrize("letters", [b"ab", b"aeinrst", bytes(range(80)), bytes(range(256))])
def test_transducers_have_the_same_bytes(letters: bytes) -> None:
    random = np.random.default_rng(len(letters))
    sizes = random.integers(1, 9, 6_000).tolist()
    every = {bytes(random.choice(list(letters), size).tolist()) for size in sizes}
    every |= {b"", letters, letters[1:] * 40, *(bytes([letter]) for letter in letters)}
    for count in (0, 1, 2, len(every)):
        keys = pa.array(sorted(every)[:count], pa.large_binary())
        compiled = encode_fst(keys)
        with numpy_loops():
            assert encode_fst(keys) == compiled
    for part in (keys[:50], keys[50:90]):
        assert encode_fst(part) == encode_fst(pa.array(part.to_pylist(), pa.large_binary()))


@pytest.mark.parametrize("keys", [[b"b", b"a"], [b"a", b"a"], [b"ab", b"a"], [b"", b""]])
def test_keys_of_transducers_ascend(keys: list[bytes]) -> None:
    with pytest.raises(ValueError, match="ascend"):
        encode_fst(pa.array(keys, pa.large_binary()))


def test_offsets_of_transducers_are_checked() -> None:
    letters = np.empty(0, np.uint8)
    for offsets in ([0, 3], [0, 2, 1], [-1, 1], []):
        with pytest.raises(ValueError, match="belong together"):
            native.write_transducer(np.zeros(2, np.uint8), np.array(offsets, np.int64), letters)
