"""Searches of columns without an index: which rows match, their scores, their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset import ScannerBuilder
from lance_core.errors import IndexWarning, InvalidInputError, UnsupportedFeatureError
from lance_core.query import (
    BooleanQuery,
    BoostQuery,
    CombinedFieldsQuery,
    FullTextOperator,
    FullTextQuery,
    MatchQuery,
    MultiMatchQuery,
    Occur,
    PhraseQuery,
)
from lance_core.table.fragments.fragment_list import FEW_FRAGMENTS
from tests.text.corpus import bm25, texts

pytestmark = pytest.mark.filterwarnings("ignore::lance_core.errors.IndexWarning")

ROWS = 300


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> lance.LanceDataset:
    own, other = texts(ROWS), texts(ROWS, seed=2)
    lists = [None if text is None else [text, None, "end"] for text in own]
    rows = pa.table(
        {
            "id": range(ROWS),
            "t": own,
            "u": pa.array(other, pa.large_string()),
            "l": pa.array(lists, pa.list_(pa.string())),
            "n": [row % 10 for row in range(ROWS)],
        }
    )
    path = tmp_path_factory.mktemp("search") / "t.lance"
    return lance.write_dataset(rows, path, max_rows_per_file=90)


def found(table: lance.LanceDataset, query: Any, **options: Any) -> dict[int, float]:
    rows = table.to_table(columns=["id"], full_text_query=query, **options)
    return dict(zip(rows["id"].to_pylist(), rows["_score"].to_pylist(), strict=True))


def split(column: list[str | None]) -> list[list[str]]:
    return [(text or "").replace(".", "").split() for text in column]


def scores(query: str, seed: int = 1) -> dict[int, float]:
    return bm25(split(texts(ROWS, seed=seed)), query.split())


def assert_equal(rows: dict[int, float], expected: dict[int, float]) -> None:
    assert rows == pytest.approx(expected, rel=1e-5, abs=1e-6)
    order = list(rows)
    assert order == sorted(order, key=lambda row: (-rows[row], row))


@pytest.mark.parametrize("query", ["w0", "w5 w17", "w59 w1 w1", "nothing", "", "..."])
def test_rows_with_any_word_are_ranked_by_bm25(table: lance.LanceDataset, query: str) -> None:
    assert_equal(found(table, MatchQuery(query, "t")), scores(query))


def test_a_limit_returns_the_head_of_all_rows(table: lance.LanceDataset) -> None:
    query = MatchQuery("w3 w4", "t")
    whole = list(found(table, query).items())
    for limit, offset in ((1, 0), (7, 0), (7, 3), (0, 0), (10_000, 5)):
        some = found(table, query, limit=limit, offset=offset)
        assert list(some.items()) == whole[offset : offset + limit]


def test_a_limit_leaves_no_fragment_out(tmp_path: Path) -> None:
    """A scan with a limit plans its first fragments; any may have the best rows."""
    count = 2 * FEW_FRAGMENTS
    rows = pa.table({"id": range(count), "t": ["house"] * (count - 2) + ["red house", "red"]})
    table = lance.write_dataset(rows, tmp_path / "t", max_rows_per_file=1)
    for _ in range(2):  # without an index, and with one
        assert list(found(table, MatchQuery("red", "t"), limit=1)) == [count - 1]
        assert list(found(table, MatchQuery("red", "t"), limit=5)) == [count - 1, count - 2]
        table.create_scalar_index("t", "INVERTED")


def test_all_words_may_be_needed(table: lance.LanceDataset) -> None:
    query = MatchQuery("w1 w2", "t", operator=FullTextOperator.AND, boost=2.0)
    documents = split(texts(ROWS))
    both = {row for row, words in enumerate(documents) if {"w1", "w2"} <= set(words)}
    expected = {row: 2 * score for row, score in scores("w1 w2").items() if row in both}
    assert_equal(found(table, query), expected)


@pytest.mark.parametrize("slop", [0, 1, 3])
def test_words_of_a_phrase_are_in_order(table: lance.LanceDataset, slop: int) -> None:
    phrase = ["w0", "w1", "w0"]

    def has_phrase(words: list[str]) -> bool:
        ends = {place for place, word in enumerate(words) if word == phrase[0]}
        for own in phrase[1:]:
            ends = {
                place
                for place, word in enumerate(words)
                if word == own and any(0 < place - end <= slop + 1 for end in ends)
            }
        return bool(ends)

    rows = {row for row, words in enumerate(split(texts(ROWS))) if has_phrase(words)}
    expected = {row: s for row, s in scores("w0 w1 w0").items() if row in rows}
    assert_equal(found(table, PhraseQuery("w0 w1 w0", "t", slop=slop)), expected)


def test_lists_are_one_document(table: lance.LanceDataset) -> None:
    documents = [words + ["end"] * (text is not None) for words, text in _with_texts()]
    assert_equal(found(table, MatchQuery("w2 end", "l")), bm25(documents, ["w2", "end"]))
    phrases = found(table, PhraseQuery("w0 end", "l"))
    assert set(phrases) == {r for r, words in enumerate(documents) if words[-2:] == ["w0", "end"]}


def _with_texts() -> list[tuple[list[str], str | None]]:
    own = texts(ROWS)
    return list(zip(split(own), own, strict=True))


def test_clauses_must_should_and_must_not(table: lance.LanceDataset) -> None:
    first, second, third = (MatchQuery(word, "t") for word in ("w1", "w4", "w2"))
    query = BooleanQuery([(Occur.MUST, first), (Occur.SHOULD, second), (Occur.MUST_NOT, third)])
    w1, w4, w2 = scores("w1"), scores("w4"), scores("w2")
    expected = {row: w1[row] + w4.get(row, 0) for row in w1 if row not in w2}
    assert_equal(found(table, query), expected)
    both = {row: w1[row] + w4[row] for row in w1 if row in w4}
    assert_equal(found(table, first & second), both)
    either = {row: w1.get(row, 0) + w4.get(row, 0) for row in {*w1, *w4}}
    assert_equal(found(table, first | second), either)
    assert list(found(table, first | second, limit=4)) == list(found(table, first | second))[:4]


def test_a_negative_query_lowers_scores(table: lance.LanceDataset) -> None:
    query = BoostQuery(MatchQuery("w3", "t"), MatchQuery("w1 w2", "u"), negative_boost=0.25)
    positive, negative = scores("w3"), scores("w1 w2", seed=2)
    expected = {row: score - 0.25 * negative.get(row, 0) for row, score in positive.items()}
    assert_equal(found(table, query), expected)


def test_the_best_of_several_columns_counts(table: lance.LanceDataset) -> None:
    own, other = scores("w7"), scores("w7", seed=2)
    expected = {r: max(own.get(r, 0), 3 * other.get(r, 0)) for r in {*own, *other}}
    query = MultiMatchQuery("w7", ["t", "u"], boosts=[1.0, 3.0])
    assert_equal(found(table, query), expected)
    assert list(found(table, query, limit=5)) == list(found(table, query))[:5]
    plain = {r: max(own.get(r, 0), other.get(r, 0)) for r in {*own, *other}}
    assert_equal(found(table, {"query": "w7", "columns": ["t", "u"]}), plain)


def test_columns_have_the_same_boost_by_default() -> None:
    assert MultiMatchQuery("w1", ["t", "u", "v"]).boosts == [1.0, 1.0, 1.0]


def test_a_filter_chooses_rows_before_they_are_ranked(table: lance.LanceDataset) -> None:
    documents = split(texts(ROWS))
    some = dict(enumerate(row for row in range(ROWS) if row % 10 == 4))
    own = bm25([documents[row] for row in some.values()], ["w1"])
    expected = {some[new]: score for new, score in own.items()}
    assert_equal(found(table, MatchQuery("w1", "t"), filter="n = 4"), expected)
    late = found(table, MatchQuery("w1", "t"), filter="n = 4", prefilter=False)
    assert late == {
        row: s for row, s in found(table, MatchQuery("w1", "t")).items() if row % 10 == 4
    }


def test_the_score_is_a_column_of_expressions(table: lance.LanceDataset) -> None:
    query = MatchQuery("w1", "t")
    rows = table.to_table(full_text_query=query, limit=3)
    assert rows.column_names == ["id", "t", "u", "l", "n", "_score"]
    assert rows.schema.field("_score").type == pa.float32()
    named = table.to_table(columns={"s": "_score", "id": "id"}, full_text_query=query, limit=3)
    assert named.column_names == ["s", "id", "_score"]
    plain = table.scanner(
        columns=["id"], full_text_query=query, disable_scoring_autoprojection=True
    )
    assert plain.to_table().column_names == ["id"]
    assert table.scanner(full_text_query=query).count_rows() == len(scores("w1"))


def test_a_search_without_an_index_warns(tmp_path: Path) -> None:
    table = lance.write_dataset(pa.table({"t": ["a b"]}), tmp_path / "t")
    with pytest.warns(IndexWarning, match="no text index"):
        assert table.to_table(full_text_query=MatchQuery("b", "t")).num_rows == 1
    assert "FlatMatchQuery" in table.scanner(full_text_query=MatchQuery("b", "t")).explain_plan()


@pytest.mark.parametrize(
    ("query", "error", "text"),
    [
        ("w1", InvalidInputError, "no column has a text index"),
        (MatchQuery("w1", "x"), ValueError, "x"),
        (MatchQuery("w1", "n"), InvalidInputError, "int64"),
        (BooleanQuery([]), InvalidInputError, "at least one"),
        (
            BooleanQuery([(Occur.MUST_NOT, MatchQuery("w1", "t"))]),
            InvalidInputError,
            "at least one",
        ),
        (PhraseQuery("w1 w2", "t", slop=-1), InvalidInputError, "negative"),
        (MatchQuery("w1", "t", fuzziness=9), InvalidInputError, "fuzziness"),
        (CombinedFieldsQuery("w1", ["t", "u"]), UnsupportedFeatureError, "Combined"),
        ({"query": "w1", "column": ["t"]}, TypeError, "columns"),
        ({"query": "w1", "columns": "t"}, TypeError, "list"),
        ({"query": MatchQuery("w1", "t"), "columns": ["u"]}, InvalidInputError, "names its own"),
        ({"query": '"w1 w2"', "columns": ["t", "u"]}, InvalidInputError, "phrase"),
        (3, TypeError, "text or a query"),
    ],
)
def test_wrong_queries_are_named(
    table: lance.LanceDataset, query: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        table.to_table(full_text_query=query)


def test_filters_name_words_of_a_text(table: lance.LanceDataset) -> None:
    rows = table.to_table(columns=["id"], filter="contains_tokens(t, 'w1, w0') AND n < 5")
    documents = split(texts(ROWS))
    both = [r for r, w in enumerate(documents) if {"w0", "w1"} <= set(w) and r % 10 < 5]
    assert rows["id"].to_pylist() == both
    others = table.to_table(columns=["id"], filter="NOT contains_tokens(t, 'w0')")
    without = [r for r, w in enumerate(documents) if "w0" not in w and texts(ROWS)[r] is not None]
    assert others["id"].to_pylist() == without
    assert table.count_rows("contains_tokens(t, 'W0')") == 0
    assert table.count_rows("contains_tokens(t, '')") == ROWS - 1


def test_one_search_at_a_time(table: lance.LanceDataset) -> None:
    nearest = {"column": "t", "q": [1.0]}
    with pytest.raises(InvalidInputError, match="full_text_query and nearest"):
        table.to_table(full_text_query="w1", nearest=nearest)


def test_deep_queries_are_refused(table: lance.LanceDataset) -> None:
    query: FullTextQuery = MatchQuery("w1", "t")
    for _ in range(40):
        query = BooleanQuery([(Occur.MUST, query)])
    with pytest.raises(InvalidInputError, match="nested"):
        table.to_table(full_text_query=query)


def test_a_builder_has_the_search(table: lance.LanceDataset) -> None:
    rows = ScannerBuilder(table).full_text_search("w9", columns=["t"]).to_scanner().to_table()
    assert rows.num_rows == len(scores("w9"))


def test_the_best_rows_of_equal_scores_are_the_first_ones(tmp_path: Path) -> None:
    rows = pa.table({"id": range(60), "t": ["w"] * 60})
    table = lance.write_dataset(rows, tmp_path / "t", enable_stable_row_ids=True)
    table.update({"t": "'w'"}, where="id < 9")  # moves them behind the others
    table.create_scalar_index("t", "INVERTED")
    whole = list(found(table, MatchQuery("w", "t")))
    assert whole == [*range(9, 60), *range(9)]
    assert list(found(table, MatchQuery("w", "t"), limit=5)) == whole[:5]
