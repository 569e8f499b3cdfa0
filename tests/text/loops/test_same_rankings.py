"""Searches of an index by the compiled loops and by numpy: the same rows, with the same scores."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.query import (
    BooleanQuery,
    FullTextOperator,
    FullTextQuery,
    MatchQuery,
    Occur,
    PhraseQuery,
)
from lance_core_text.loops.library import native, numpy_loops
from lance_core_text.postings.bit_packing import pack

ROWS = 6000
WORDS = 400


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> lance.LanceDataset:
    """Texts of words whose frequencies differ by a factor of 100, some with one word often."""
    random = np.random.default_rng(7)
    shares = 1 / np.arange(1, WORDS + 1) ** 0.8
    lengths = random.integers(1, 40, ROWS)
    words = random.choice(WORDS, size=lengths.sum(), p=shares / shares.sum())
    ends = np.cumsum(lengths)
    texts = [
        " ".join(f"w{word}" for word in words[end - length : end])
        for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
    ]
    for row in range(0, ROWS, 71):
        texts[row] += " w3" * (row % 900)
    path = tmp_path_factory.mktemp("rankings") / "t.lance"
    rows = pa.table({"t": texts, "n": range(ROWS)})
    made = lance.write_dataset(rows, path, max_rows_per_file=4000)
    made.create_scalar_index("t", "INVERTED", with_position=True, stem=False)
    made.delete("n % 97 = 5")
    return made


def match(text: str, **options: object) -> MatchQuery:
    return MatchQuery(text, "t", **options)  # type: ignore[arg-type]


AND = FullTextOperator.AND
MUST, SHOULD, MUST_NOT = Occur.MUST, Occur.SHOULD, Occur.MUST_NOT
QUERIES: dict[str, FullTextQuery] = {
    "rare": match("w399"),
    "common": match("w0"),
    "often": match("w3"),
    "two": match("w1 w200"),
    "three": match("w0 w7 w300 w7"),
    "missing": match("w5 nothing"),
    "boost": match("w5 w6", boost=0.3),
    "no boost": match("w5 w6", boost=0.0),
    "negative boost": match("w5 w6", boost=-2.0),
    "all": match("w0 w1 w2", operator=AND),
    "all of rare ones": match("w390 w2", operator=AND),
    "all of missing ones": match("w390 nothing", operator=AND),
    "fuzzy": match("w39", fuzziness=1),
    "fuzzy all": match("w39 w1", fuzziness=1, operator=AND, prefix_length=1),
    "phrase": PhraseQuery("w0 w1", "t"),
    "phrase of the same words": PhraseQuery("w3 w3 w3", "t"),
    "phrase with slop": PhraseQuery("w0 w9 w1", "t", slop=7),
    "phrase of one": PhraseQuery("w12", "t"),
    "must": BooleanQuery([(MUST, match("w4")), (SHOULD, match("w0 w3")), (MUST_NOT, match("w1"))]),
    "should": BooleanQuery([(SHOULD, match("w80")), (SHOULD, PhraseQuery("w1 w0", "t"))]),
    "must both": BooleanQuery([(MUST, match("w4 w5", boost=3.0)), (MUST, match("w6"))]),
}


@pytest.mark.parametrize("name", QUERIES)
def test_rankings(table: lance.LanceDataset, name: str) -> None:
    query = QUERIES[name]

    def found(limit: int | None, **options: object) -> pa.Table:
        return table.to_table(["n"], full_text_query=query, limit=limit, **options)  # type: ignore[arg-type]

    with numpy_loops():
        every = found(None)
        some = found(None, filter="n % 11 = 3")
    assert found(None).equals(every)
    assert found(None, filter="n % 11 = 3").equals(some)
    for limit in (1, 2, 10, 100):
        assert found(limit).equals(every.slice(0, limit))
        assert found(limit, filter="n % 11 = 3").equals(some.slice(0, limit))


def test_equal_scores_are_ordered_by_row(tmp_path: Path) -> None:
    rows = pa.table({"t": ["a b", "a"] * 700, "n": range(1400)})
    made = lance.write_dataset(rows, tmp_path / "t")
    made.create_scalar_index("t", "INVERTED", stem=False, remove_stop_words=False)
    for text in ("b", "a", "a b"):
        found = made.to_table(["n"], full_text_query=match(text), limit=7)["n"].to_pylist()
        first = 1 if text == "a" else 0
        assert found == list(range(first, first + 14, 2))


def block(documents: np.ndarray, times: np.ndarray) -> bytes:
    """A block of 128 documents as formats 1 and 2 have it."""
    deltas = np.diff(documents, prepend=documents[:1])
    parts = [bytes(4), int(documents[0]).to_bytes(4, "little")]
    for values in (deltas, times):
        width = int(values.max()).bit_length()
        parts += [bytes([width]), pack(values[None], width, 4).tobytes()]
    return b"".join(parts)


def prepare(data: bytes, count: int, documents: int, length: int = 1 << 40) -> None:
    offsets = np.array([0, len(data)])
    native.prepare_blocks(
        np.frombuffer(data, np.uint8),
        offsets,
        count,
        128,
        True,
        False,
        np.ones(documents, np.float32),
        np.full(documents, length),
        np.empty(1, np.uint32),
        np.empty(1, np.float32),
    )


def test_damaged_blocks_are_refused() -> None:
    """Bytes that are cut or changed are an error, or other numbers, and nothing else is read."""
    documents, times = np.arange(3, 131), np.arange(1, 129)
    data = block(documents, times)
    prepare(data, 128, 131)
    with pytest.raises(ValueError, match="not in the partition"):
        prepare(data, 128, 130)
    prepare(data, 128, 131, length=128)
    with pytest.raises(ValueError, match="more often than all terms"):
        prepare(data, 128, 131, length=127)
    for size in range(len(data)):
        with pytest.raises(ValueError, match="block"):
            prepare(data[:size], 128, 131)
    random = np.random.default_rng(0)
    refused = 0
    for _ in range(2000):
        damaged = bytearray(data)
        for place in random.integers(0, len(data), random.integers(1, 4)):
            damaged[place] = random.integers(256)
        try:
            prepare(bytes(damaged), 128, 131)
        except ValueError:
            refused += 1
    assert refused > 500
    for size in range(20):
        try:
            prepare(bytes(random.integers(0, 256, size, np.uint8)), 3, 1 << 20)
        except ValueError:
            refused += 1


def test_damaged_positions_are_refused() -> None:
    """Streams that are cut or changed are an error or other positions; nothing else is read."""
    times = np.tile([1, 3], 64)
    packed = block(np.arange(128), times)
    deltas = np.ones((2, 128), np.int64)  # those of a group each, of 256 positions
    stream = b"".join(b"\x01" + pack(one[None], 1, 4).tobytes() for one in deltas)

    def rank(stream: bytes) -> int:
        offsets = np.array([0, len(packed)])
        term = (
            np.frombuffer(packed, np.uint8),
            offsets,
            np.zeros(1, np.uint32),
            np.ones(1, np.float32),
            np.frombuffer(stream, np.uint8),
            np.array([0, len(stream)]),
            128,
            1.0,
        )
        return native.rank(
            [term, term],
            128,
            True,
            False,
            True,
            np.ones(128, np.float32),
            np.arange(128).astype(np.uint64),
            np.array([0, 1, 0, 2, 0, 1, 1, 1]),
            np.ones(1, np.float32),
            np.empty(128, np.float32),
            np.empty(128, np.int64),
        )

    assert rank(stream) == 64  # documents with three positions have two that follow each other
    for size in range(len(stream)):
        with pytest.raises(ValueError, match="stream"):
            rank(stream[:size])
    with pytest.raises(ValueError, match="stream"):
        rank(stream + b"\x00")
    random = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(stream)
        for place in random.integers(0, len(damaged), 2):
            damaged[place] = random.integers(256)
        with contextlib.suppress(ValueError):
            assert rank(bytes(damaged)) <= 128


def test_what_does_not_belong_together_is_an_error() -> None:
    norms, rows = np.ones(9, np.float32), np.arange(9).astype(np.uint64)
    scores, documents = np.empty(3, np.float32), np.empty(3, np.int64)
    term = (
        np.array([0, 0, 0, 0, 4, 1], np.uint8),
        np.array([0, 6]),
        np.array([4], np.uint32),
        np.ones(1, np.float32),
        None,
        None,
        1,
        2.0,
    )
    shape = np.array([1, 0, -1, 1, 0, 1])

    def rank(term: tuple[object, ...], shape: np.ndarray, rows: np.ndarray = rows) -> int:
        boosts = np.ones(1, np.float32)
        return native.rank(
            [term], 128, True, False, True, norms, rows, shape, boosts, scores, documents
        )

    assert rank(term, shape) == 1
    assert (documents[0], scores[0]) == (4, 1.0)
    for number, wrong in (
        (1, np.array([0, 7])),
        (1, np.array([2, 1])),
        (2, np.empty(0, np.uint32)),
        (3, np.ones(2, np.float32)),
        (6, 129),
        (6, -1),
    ):
        with pytest.raises(ValueError, match="belong together"):
            rank((*term[:number], wrong, *term[number + 1 :]), shape)
    for wrong in ([1, 0, -1, 2, 0, 1], [3, 0, -1, 1, 0, 1], [1, 0, -1, 1, 0, 2], [1, 0, -1, 1, 0]):
        with pytest.raises(ValueError, match="belong together"):
            rank(term, np.array(wrong))
    with pytest.raises(ValueError, match="belong together"):
        rank(term, shape, rows[:8].copy())
    with pytest.raises(ValueError, match="belong together"):
        rank(term[:7], shape)
    with pytest.raises(ValueError, match="belong together"):  # a phrase needs positions
        native.rank(
            [term, term],
            128,
            True,
            False,
            True,
            norms,
            rows,
            np.array([1, 1, 0, 2, 0, 1, 1, 1]),
            np.ones(1, np.float32),
            scores,
            documents,
        )
