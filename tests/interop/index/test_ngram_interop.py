"""NGRAM indices of both libraries have the same bytes and give the same rows."""

from __future__ import annotations

import random
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance.file import LanceFileReader

import lance_core
from tests.each_case import each_case

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

NUM_FOLDING = 0x20000
"""Code points above these are not folded; some of them are tried."""

QUERIES = [
    *("contains(s, 'abc')", "contains(s, 'aBc')", "contains(s, 'Straße')", "contains(s, 'ﬁx')"),
    *("contains(s, '\U0001d415\U0001d415\U0001d415')", "contains(s, 'ab')", "contains(s, '㎯')"),
    *("contains(s, 'abc') AND i > 300", "contains(s, 'abc') OR s IS NULL", "s IS NULL"),
    *("NOT contains(s, 'abc')", "contains(s, 'abc') OR contains(s, 'naï')", "s LIKE 'abc%naï%'"),
    *("starts_with(s, 'naï')", "starts_with(s, 'na')", "regexp_match(s, 'ab[cd]naï') IS NOT NULL"),
    *("regexp_match(s, 'abc|naï') IS NOT NULL", "regexp_match(s, '(?i)ABC') IS NOT NULL"),
]


def code_points() -> list[str]:
    """Each code point between ASCII characters, and texts of several random ones."""
    points = [chr(point) for point in range(NUM_FOLDING) if not 0xD800 <= point < 0xE000]
    points += map(chr, range(NUM_FOLDING, 0x110000, 997))
    choose = random.Random(0)
    ranges = [(48, 123), (0xC0, 0x250), (0x1E00, 0x1F00), (0x2100, 0x2190), (0x1D400, 0x1D800)]
    folding = [chr(point) for start, stop in ranges for point in range(start, stop)]
    mixed = ["".join(choose.choices(folding, k=choose.randint(0, 12))) for _ in range(800)]
    return [f"q7{point}7z" for point in points] + mixed


def texts(seed: int, size: int) -> list[str | None]:
    choose = random.Random(seed)
    words = [
        "abc",
        "ABC",
        "naïve",
        "straSSE",
        "Straße",
        "ﬁx",
        "\U0001d415" * 3,
        "m/s² ㎯",
        " ",
        "dé-",
    ]
    return [
        None if choose.random() < 0.1 else "".join(choose.choices(words, k=choose.randint(0, 3)))
        for _ in range(size)
    ]


def stored(uri: Path) -> pa.Table:
    (path,) = uri.glob("_indices/*/ngram_postings.lance")
    return LanceFileReader(str(path)).read_all().to_table()


def test_every_code_point_has_the_tokens_that_pylance_gives_it(tmp_path: Path) -> None:
    data = pa.table({"s": pa.array([*code_points(), None, ""], pa.large_string())})
    found = []
    for library in (lance, lance_core):
        uri = tmp_path / library.__name__
        lance.write_dataset(data, uri, max_rows_per_file=70_000)
        library.dataset(str(uri)).create_scalar_index("s", "NGRAM")
        found.append(stored(uri))
    assert found[0].equals(found[1])
    assert found[0].schema.equals(found[1].schema, check_metadata=True)
    assert found[0].num_rows > 1_000


@each_case("stable", [False, True])
@each_case("version", ["2.0", "2.2"])
def test_both_libraries_find_the_same_rows_with_either_index(
    tmp_path: Path, stable: bool, version: str
) -> None:
    data = pa.table({"i": np.arange(900), "s": pa.array(texts(1, 900))})
    more = pa.table({"i": np.arange(900, 1_000), "s": pa.array(texts(2, 100))})
    options = {"max_rows_per_file": 300, "enable_stable_row_ids": stable}
    for builder in (lance, lance_core):
        uri = str(tmp_path / builder.__name__)
        lance.write_dataset(data, uri, data_storage_version=version, **options)
        lance.dataset(uri).update({"s": "s || 'abc'"}, where="i % 17 = 3")
        builder.dataset(uri).create_scalar_index("s", "NGRAM")
        lance.dataset(uri).delete("i % 10 = 4")
        lance.write_dataset(more, uri, mode="append")
        theirs, ours = lance.dataset(uri), lance_core.dataset(uri)
        assert "ScalarIndexQuery" in theirs.scanner(filter=QUERIES[0]).explain_plan()
        for query in QUERIES:
            plain = theirs.scanner(filter=query, use_scalar_index=False).to_table()
            assert theirs.to_table(filter=query).sort_by("i").equals(plain.sort_by("i")), query
            assert ours.to_table(filter=query).sort_by("i").equals(plain.sort_by("i")), query
        statistics = theirs.stats.index_stats("s_idx")["indices"]
        assert statistics == [{"num_ngrams": stored(Path(uri)).num_rows}]
        assert ours.stats.index_stats("s_idx")["indices"] == statistics


def test_each_library_optimizes_and_compacts_indices_of_the_other(tmp_path: Path) -> None:
    data = pa.table({"i": np.arange(600), "s": pa.array(texts(1, 600))})
    more = pa.table({"i": np.arange(600, 800), "s": pa.array(texts(2, 200))})
    indices = []
    for first, second in ((lance, lance_core), (lance_core, lance), (lance, lance)):
        uri = tmp_path / f"{first.__name__}-{second.__name__}"
        lance.write_dataset(data, uri, max_rows_per_file=200)
        first.dataset(str(uri)).create_scalar_index("s", "NGRAM")
        lance.write_dataset(more, uri, mode="append")
        lance.dataset(uri).delete("i % 7 = 2")
        table = second.dataset(str(uri))
        table.optimize.optimize_indices()
        second.dataset(str(uri)).optimize.compact_files()
        theirs, ours = lance.dataset(uri), lance_core.dataset(str(uri))
        for query in QUERIES:
            plain = theirs.scanner(filter=query, use_scalar_index=False).to_table()
            assert theirs.to_table(filter=query).equals(plain), query
            assert ours.to_table(filter=query).equals(plain), query
        path = max(uri.glob("_indices/*/*.lance"), key=lambda file: file.stat().st_mtime_ns)
        indices.append(LanceFileReader(str(path)).read_all().to_table())
    assert indices[1].equals(indices[2])
