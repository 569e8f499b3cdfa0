"""Text indices of the elements of lists, here and in pylance: the same elements and scores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import lance.query
import numpy as np
import pyarrow as pa
import pytest

import lance_core
import lance_core.query
from lance_core.errors import IndexWarning, InvalidInputError, UnsupportedFeatureError
from tests.text.corpus import texts

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

ROWS = 120

LIST_ELEMENT = lance.query.DocumentGranularity.LIST_ELEMENT


def table(rows: int, seed: int, list_type: pa.DataType) -> pa.Table:
    """Lists of up to four texts; some lists are null or empty, and some elements are."""
    lengths = np.random.default_rng(seed).integers(0, 5, rows).tolist()
    elements = iter(texts(sum(lengths) + 6, seed, longest=8))
    lists: list[Any] = [[next(elements) for _ in range(length)] for length in lengths]
    lists[7] = None
    return pa.table({"id": range(rows), "l": pa.array(lists, list_type)})


def create(library: ModuleType, path: Path, list_type: pa.DataType) -> str:
    lance_core.write_dataset(table(ROWS, 1, list_type), path, max_rows_per_file=70)
    library.dataset(str(path)).create_scalar_index(
        "l", "INVERTED", document_granularity=LIST_ELEMENT, with_position=True
    )
    return str(path)


def queries(module: ModuleType) -> Iterator[Any]:
    match, both = module.MatchQuery, module.FullTextOperator.AND
    must, should, never = module.Occur.MUST, module.Occur.SHOULD, module.Occur.MUST_NOT
    yield match("w0", "l")
    yield match("w0", "l", document_granularity=module.DocumentGranularity.LIST_ELEMENT)
    yield match("w1 w2", "l", operator=both, boost=2.0)
    yield module.PhraseQuery("w1 w0", "l")
    clauses = [(must, match("w1", "l")), (should, match("w4", "l")), (never, match("w2", "l"))]
    yield module.BooleanQuery(clauses)
    yield module.BoostQuery(match("w3", "l"), match("w1 w2", "l"), negative_boost=0.3)


def assert_same(uri: str) -> None:
    theirs, ours = lance.dataset(uri), lance_core.dataset(uri)
    pairs = zip(queries(lance.query), queries(lance_core.query), strict=True)
    for their_query, our_query in pairs:
        for options in ({}, {"filter": "id % 3 = 0", "prefilter": True}):
            expected = theirs.to_table(["id"], full_text_query=their_query, **options)
            found = ours.to_table(["id"], full_text_query=our_query, **options)
            assert found.schema == expected.schema
            assert scores(found) == pytest.approx(scores(expected), rel=1e-5)
            assert scores(found)
            head = ours.to_table(["id"], full_text_query=our_query, limit=7, **options)
            assert head == found.slice(0, 7)


def scores(found: pa.Table) -> dict[tuple[int, int], float]:
    rows = found.to_pylist()
    return {(row["id"], *row["_doc_index"]): row["_score"] for row in rows}


@pytest.mark.parametrize(
    ("builder", "other", "list_type"),
    [
        (lance, lance_core, pa.list_(pa.string())),
        (lance_core, lance, pa.large_list(pa.large_string())),
    ],
)
def test_each_searches_and_changes_the_index_of_the_other(
    tmp_path: Path, builder: Any, other: Any, list_type: pa.DataType
) -> None:
    uri = create(builder, tmp_path / "t", list_type)
    for library in (lance, lance_core):
        (index,) = library.dataset(uri).describe_indices()
        assert (index.name, index.segments[0].index_version) == ("l_list_element_idx", 3)
    assert_same(uri)
    lance_core.write_dataset(table(40, 2, list_type), uri, mode="append")
    builder.dataset(uri).optimize.optimize_indices(num_indices_to_merge=0)
    assert len(lance_core.dataset(uri).describe_indices()[0].segments) == 2
    assert_same(uri)
    other.dataset(uri).delete("id % 11 = 3")
    other.dataset(uri).optimize.compact_files()
    assert_same(uri)
    other.dataset(uri).optimize.optimize_indices(num_indices_to_merge=5)
    assert_same(uri)


@pytest.mark.filterwarnings("ignore::lance_core.errors.IndexWarning")
def test_both_find_the_same_elements_without_an_index(tmp_path: Path) -> None:
    uri = str(tmp_path / "t")
    lance_core.write_dataset(table(ROWS, 1, pa.list_(pa.string())), uri)
    found = []
    for library in (lance, lance_core):
        query = library.query.MatchQuery("w0 w5", "l", document_granularity=LIST_ELEMENT)
        found.append(library.dataset(uri).to_table(["id"], full_text_query=query))
    assert found[1].schema == found[0].schema
    assert scores(found[1]) == pytest.approx(scores(found[0]), rel=1e-5)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (lambda q: q.MatchQuery("w0", "l", document_granularity=q.DocumentGranularity.ROW), "gran"),
        (lambda q: q.MatchQuery("w0", "t", document_granularity=LIST_ELEMENT), "(?i)list"),
        (lambda q: q.MatchQuery("w0", "l") & q.MatchQuery("w0", "t"), "(?i)row"),
        (lambda q: "w0", "index"),
    ],
)
def test_both_refuse_the_same_queries(tmp_path: Path, query: Any, text: str) -> None:
    uri = str(tmp_path / "t")
    rows = table(ROWS, 1, pa.list_(pa.string())).append_column("t", pa.array(["w0"] * ROWS))
    lance_core.write_dataset(rows, uri)
    lance_core.dataset(uri).create_scalar_index(
        "l", "INVERTED", document_granularity="list_element"
    )
    for library in (lance, lance_core):
        with pytest.raises((ValueError, TypeError), match=text):
            library.dataset(uri).to_table(full_text_query=query(library.query))


def test_an_index_of_texts_in_structs_in_lists_stays_as_it_is(tmp_path: Path) -> None:
    structs = pa.array([[{"x": "w0 w1"}, {"x": "w2"}]] * 5)
    uri = str(tmp_path / "t")
    lance_core.write_dataset(pa.table({"s": structs, "t": ["w0"] * 5}), uri)
    lance.dataset(uri).create_scalar_index("s.x", "INVERTED")
    lance_core.dataset(uri).create_scalar_index("t", "INVERTED")
    lance_core.write_dataset(pa.table({"s": structs, "t": ["w0"] * 5}), uri, mode="append")
    ours = lance_core.dataset(uri)
    with pytest.warns(IndexWarning, match=r"index 's\.x_idx' is not optimized: .*lists"):
        ours.optimize.optimize_indices()
    with pytest.raises(UnsupportedFeatureError, match="not a struct"):
        ours.create_scalar_index("s.item.x", "INVERTED")
    with pytest.raises(InvalidInputError, match="not a struct"):
        ours.to_table(full_text_query="w0")
    query = lance_core.query.MatchQuery("w0", "t")
    assert lance_core.dataset(uri).to_table(full_text_query=query).num_rows == 10
    their_query = lance.query.MatchQuery("w0", "s.x")
    assert lance.dataset(uri).to_table(full_text_query=their_query).num_rows == 10
