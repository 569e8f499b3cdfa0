"""NGRAM indices have exactly the trigrams of their rows, and no query loses a row."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from pyroaring import BitMap64

from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.index.base import IndexBatch, IndexPart, Precision, RowNumbers
from lance_core.index.files import IndexFolder, IndexOutput
from lance_core.index.queries import Contains, IsIn, IsNull, MatchesRegex, StartsWith
from lance_core.plugins import get_manager
from lance_core.store.memory import MemoryStore
from lance_core.table.indices.row_set import RowSet
from lance_core_indices.ngram import NGram, postings, trigrams
from lance_core_indices.ngram.open_ngram import OpenNGram
from lance_core_indices.ngram.required_literals import required_literals
from lance_core_indices.ngram.treemaps import treemaps
from lance_core_indices.ngram.trigrams import tokens_of
from tests.each_case import each_case

NGRAM = NGram()
FILE = "ngram_postings.lance"
WORDS = [
    "",
    "ab",
    "abc",
    "Hello World",
    "naïve CAFÉ",
    "Straße",
    "ﬁne ㎯",
    "a\u0301bcd",
    "x\U0001d400yz",
]
WORDS += ["\U0001d415" * 3, "日本語abc", "0123 456-789", "İstanbul", "ŁÓDŹ", "aaaa" * 9, "q\0wer"]


class Rows(NamedTuple):
    """Rows of one batch for each array."""

    arrays: list[pa.Array]
    numbers: RowNumbers
    type: pa.DataType = pa.string()

    @property
    def num_rows(self) -> int:
        return len(self.numbers)

    def batches(self) -> Iterator[IndexBatch]:
        start = 0
        for array in self.arrays:
            yield IndexBatch(array, self.numbers[start : start + len(array)])
            start += len(array)


class Folder(NamedTuple):
    store: MemoryStore
    output: IndexOutput

    def open(self) -> OpenNGram:
        store, sizes = self.store, self.output.sizes
        folder = IndexFolder(store, "i", sizes, get_manager().encodings, pa.string(), 0)
        return NGRAM.open(folder, b"")


def folder(version: FileVersion = FileVersion.V2_1) -> Folder:
    store = MemoryStore()
    return Folder(store, IndexOutput(store, "i", get_manager().encodings, version, []))


def build(rows: Rows, version: FileVersion = FileVersion.V2_1) -> OpenNGram:
    new = folder(version)
    with new.output:
        assert NGRAM.build(rows, {}, new.output) == b""
    return new.open()


def stored(tokens: Any, blobs: Any, kinds: tuple[Any, Any] = (pa.uint32(), pa.binary())) -> Folder:
    new = folder()
    schema = pa.schema([pa.field("tokens", kinds[0]), pa.field("posting_list", kinds[1])])
    with new.output.create(FILE, schema) as file:
        file.write(
            pa.record_batch([pa.array(tokens, kinds[0]), pa.array(blobs, kinds[1])], schema=schema)
        )
    return new


def texts_of(seed: int, size: int, kind: pa.DataType | None = None) -> pa.Array:
    choose = random.Random(seed)
    texts = [
        None if choose.random() < 0.1 else "".join(choose.choices(WORDS, k=2)) for _ in range(size)
    ]
    return pa.array(texts, kind or pa.string())


def postings_of(index: OpenNGram) -> dict[int, list[int]]:
    tokens, rows = index.postings(0, trigrams.MAX_TOKEN)
    found: dict[int, list[int]] = {}
    for token, row in zip(tokens.tolist(), rows.tolist(), strict=True):
        found.setdefault(token, []).append(row)
    return found


def expected(array: pa.Array, numbers: npt.NDArray[np.uint64]) -> dict[int, list[int]]:
    found: dict[int, set[int]] = {}
    for text, row in zip(array.to_pylist(), numbers.tolist(), strict=True):
        for token in {0} if text is None else tokens_of(text):
            found.setdefault(token, set()).add(row)
    return {token: sorted(rows) for token, rows in found.items()}


def token(text: str) -> int:
    values = [int(c) + 1 if c.isdigit() else ord(c) - ord("a") + 11 for c in text]
    return values[0] * 37 * 37 + values[1] * 37 + values[2]


@each_case(
    "text, windows",
    [
        ("Hello", ["hel", "ell", "llo"]),
        ("ab-cd ef", []),
        ("0a9Z", ["0a9", "a9z"]),
        ("Straße", ["str", "tra", "ras", "ass", "sse"]),
        ("ﬁX", ["fix"]),
        ("㎯a", ["rad", "ads", "ds2", "s2a"]),
        ("a\u0301bcd", ["bcd"]),
        ("İstan", ["sta", "tan"]),
        ("éèê", ["eee"]),
        ("日本語abc", ["abc"]),
        ("aaaaa", ["aaa"]),
        ("", []),
    ],
)
def test_tokens_are_windows_of_the_folded_text(text: str, windows: list[str]) -> None:
    assert tokens_of(text) == set(map(token, windows))


def test_capitals_that_stay_have_values_modulo_256() -> None:
    assert tokens_of("\U0001d415" * 3) == {0}
    assert tokens_of("\U0001d400bc") == {235 * 37 * 37 + 12 * 37 + 13}
    assert tokens_of("\U0001d400" * 3 + "\U0001d414" * 3) <= set(range(trigrams.MAX_TOKEN + 1))


def test_texts_that_are_no_unicode_are_refused() -> None:
    data = [None, pa.py_buffer(np.array([0, 4], np.int32)), pa.py_buffer(b"ab\xff\xfe")]
    broken = pa.Array.from_buffers(pa.string(), 1, data)
    with pytest.raises(InvalidInputError, match="UTF-8"):
        build(Rows([broken], np.arange(1, dtype=np.uint64)))


@each_case("kind", [pa.string(), pa.large_string()])
@each_case("version", [FileVersion.V2_0, FileVersion.V2_2])
def test_an_index_has_the_tokens_of_each_row(kind: pa.DataType, version: FileVersion) -> None:
    numbers = np.arange(900, dtype=np.uint64)
    numbers[300:] += np.uint64((5 << 32) - 40)
    array = texts_of(1, 910, kind).slice(7, 900)
    batches = [array.slice(0, 500), array.slice(500, 0), array.slice(500)]
    found = build(Rows(batches, numbers, kind), version)
    assert postings_of(found) == expected(array, numbers)
    assert found.statistics() == {"num_ngrams": len(expected(array, numbers))}
    assert found.nbytes > 0
    assert postings_of(build(Rows([], numbers[:0], kind))) == {}
    assert not build(Rows([], numbers[:0], kind)).search(Contains("abc")).rows


def test_runs_in_files_and_groups_of_tokens_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng(3).permutation(3_000).astype(np.uint64) << np.uint64(20)
    array = texts_of(2, 3_000)
    whole = postings_of(build(Rows([array], numbers)))
    assert whole == expected(array, numbers)
    monkeypatch.setattr(postings, "MAX_RUN", 5_000)
    monkeypatch.setattr(postings, "MAX_ROWS", 100)
    monkeypatch.setattr(postings, "MAX_GROUP", 1_000)
    monkeypatch.setattr(trigrams, "MAX_SLICE_BYTES", 2_000)
    assert postings_of(build(Rows([array], numbers))) == whole


@each_case("high", [1 << 16, 1 << 21, 1 << 34, 1 << 60])
@each_case("count", [0, 1, 50, 60_000])
def test_blobs_are_those_of_a_roaring_bitmap(high: int, count: int) -> None:
    random_numbers = np.random.default_rng(count)
    pairs = np.stack(
        [random_numbers.integers(0, 3, count), random_numbers.integers(0, high, count)]
    )
    tokens, rows = np.unique(pairs, axis=1).astype(np.uint64)
    found, blobs = treemaps(tokens.astype(np.uint32), rows)
    blobs.validate(full=True)
    assert found.tolist() == np.unique(tokens).tolist()
    for one, blob in zip(found, blobs.to_pylist(), strict=True):
        assert blob == BitMap64(rows[tokens == one].tolist()).serialize()
        assert RowSet.from_treemap(blob).to_treemap() == blob


QUERIES = [
    (Contains("Wor"), re.compile("Wor")),
    (Contains("ABC"), re.compile("ABC")),
    (Contains("CAFÉabc"), re.compile("CAFÉabc")),
    (Contains("ﬁn"), re.compile("ﬁn")),
    (Contains("\U0001d415" * 3), re.compile("\U0001d415" * 3)),
    (Contains("aaaa" * 30), re.compile("a{120}")),
    (StartsWith("Straße"), re.compile(r"\AStraße")),
    (MatchesRegex("Hel+o.*aï?ve"), re.compile("Hel+o.*aï?ve")),
    (MatchesRegex("[0-3]+ 456"), re.compile("[0-3]+ 456")),
]


def test_no_search_loses_a_row() -> None:
    array, numbers = texts_of(5, 2_000), np.arange(2_000, dtype=np.uint64) + np.uint64(1 << 33)
    index = build(Rows([array], numbers))
    for attempt in range(3):
        for query, pattern in QUERIES:
            matches = [
                text is not None and bool(pattern.search(text)) for text in array.to_pylist()
            ]
            assert NGRAM.precision(query, pa.string(), b"") is Precision.AT_MOST
            found = index.search(query, with_nulls=True)
            assert found.nulls is None
            assert found.rows.contains(numbers[matches]).all()
            assert len(found.rows.numbers()) < len(numbers) / 2
        if attempt == 1:
            index.prewarm()
    assert not index.search(Contains("zzz")).rows
    assert index.search(Contains("Hello")).num_pages == 3


@each_case(
    "query",
    [
        *[Contains("ab"), Contains("a-b-c"), StartsWith("日本語"), Contains("a\u0301b"), IsNull()],
        *[MatchesRegex(p) for p in ("ab*c", "abc|d", "(?i)abc", "(abc)+", "ab[c]", "[abc", "")],
        IsIn(pa.array(["abc"])),
    ],
)
def test_queries_without_a_trigram_are_not_answered(query: Any) -> None:
    assert NGRAM.precision(query, pa.string(), b"") is None


def test_only_strings_can_be_indexed_and_parameters_do_not_exist() -> None:
    kinds = [pa.string(), pa.large_string(), pa.binary(), pa.int64(), pa.list_(pa.string())]
    assert [NGRAM.accepts(kind) for kind in kinds] == [True, True, False, False, False]
    assert NGRAM.precision(Contains("abc"), pa.binary(), b"") is None
    NGRAM.check_parameters({})
    with pytest.raises(InvalidInputError, match=r"'size'.*no parameters"):
        NGRAM.check_parameters({"size": 3})


def test_every_match_of_a_pattern_has_its_required_literals() -> None:
    choose = random.Random(11)
    pieces = ["a", "b", "é", "\\.", "\\-", ".", "a*", "b+", "b+?", "a?", "b{0}", "a{1,2}", "[ab]"]
    pieces += [
        "[^]a]",
        "(a|b)",
        "(?:ab|a)",
        "(ab)*",
        "\\w",
        "^",
        "$",
        "((a)b|b)+",
        "[.)]",
        "(a[)|]?)",
    ]
    count = 0
    for _ in range(4_000):
        pattern = "".join(choose.choices(pieces, k=choose.randint(1, 7)))
        text = "".join(choose.choices("ab.-é)", k=choose.randint(1, 9)))
        if re.search(pattern, text):
            literals = required_literals(pattern)
            assert all(literal in text for literal in literals), (pattern, text, literals)
            count += bool(literals)
    assert count > 100
    assert required_literals("ab+cd(x|y)ef\\.g") == ["ab", "bcd", "ef.g"]
    refused = [
        "a|b",
        "(?i)a",
        "a**",
        "a++",
        "(a",
        "a)",
        "\\x41b",
        "a{b",
        "[[:alpha:]]b",
        "\\pLa",
        "a\\",
    ]
    assert [required_literals(pattern) for pattern in refused] == [[]] * len(refused)


class Shifted(NamedTuple):
    """Drops every third row, and reverses the order of the others."""

    def moved(self, rows: RowNumbers) -> tuple[RowNumbers, npt.NDArray[np.bool_]]:
        return np.uint64(1 << 35) - rows, rows % np.uint64(3) != 0


class Same(NamedTuple):
    def moved(self, rows: RowNumbers) -> tuple[RowNumbers, npt.NDArray[np.bool_]]:
        return rows, np.ones(len(rows), np.bool_)


def test_a_merge_has_the_rows_that_remain_and_new_ones() -> None:
    arrays = [texts_of(seed, 400) for seed in (1, 2, 3)]
    numbers = np.split(np.arange(1_200, dtype=np.uint64), 3)
    first, second = (build(Rows([a], n)) for a, n in zip(arrays[:2], numbers[:2], strict=True))
    new = folder()
    parts = [IndexPart(first, Shifted()), IndexPart(second, Same())]
    assert NGRAM.merge(parts, Rows(arrays[2:], numbers[2]), new.output) == b""
    moved, kept = Shifted().moved(numbers[0])
    array = pa.concat_arrays([arrays[0].filter(pa.array(kept)), *arrays[1:]])
    assert postings_of(new.open()) == expected(array, np.concatenate([moved[kept], *numbers[1:]]))
    moved_only = folder()
    NGRAM.merge(parts[:1], None, moved_only.output)
    left = arrays[0].filter(pa.array(kept))
    assert postings_of(moved_only.open()) == expected(left, moved[kept])


def blob(*rows: int) -> bytes:
    return BitMap64(rows).serialize()


def test_other_writers_may_leave_out_the_order_and_the_null_token() -> None:
    runs = BitMap64(range(10, 5_000))
    runs.run_optimize()
    index = stored([token("bcd"), token("abc")], [blob(1, 2, 1 << 40), runs.serialize()]).open()
    assert index.search(Contains("abc")).rows.numbers().tolist() == list(range(10, 5_000))
    assert index.search(Contains("bcd")).rows.numbers().tolist() == [1, 2, 1 << 40]
    assert not index.search(Contains("abcd")).rows
    assert set(postings_of(index)) == {token("abc"), token("bcd")}


@each_case(
    "tokens, blobs, kinds",
    [
        ([1], [b"x"], (pa.uint64(), pa.binary())),
        ([1], ["x"], (pa.uint32(), pa.string())),
        ([1], [b"x"], (pa.uint32(), pa.large_binary())),
        ([1, None], [blob(1)] * 2, (pa.uint32(), pa.binary())),
        ([1, 1], [blob(1)] * 2, (pa.uint32(), pa.binary())),
        ([1 << 31], [blob(1)], (pa.uint32(), pa.binary())),
        ([token("abc")], [None], (pa.uint32(), pa.binary())),
        ([token("abc")], [b""], (pa.uint32(), pa.binary())),
        ([token("abc")], [blob(1) + b"\0"], (pa.uint32(), pa.binary())),
        (
            [token("abc")],
            [RowSet.from_treemap(blob(1, 1 << 32)).to_tree_map()],
            (pa.uint32(), pa.binary()),
        ),
    ],
)
def test_damaged_files_are_refused(tokens: Any, blobs: Any, kinds: Any) -> None:
    new = stored(tokens, blobs, kinds)
    with pytest.raises(CorruptFileError, match="ngram_postings") as raised:
        new.open().search(Contains("abc"))
    assert raised.value.field in {"tokens", "posting_list"}


def test_a_file_without_the_columns_is_refused() -> None:
    new = folder()
    with new.output.create(FILE, pa.schema([pa.field("tokens", pa.uint32())])):
        pass
    with pytest.raises(CorruptFileError, match="missing"):
        new.open()
