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
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
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


def structs(rows: int, seed: int) -> pa.Table:
    """The texts of `table` in structs in lists, some of which are null, and in lists in lists."""
    lists = table(rows, seed, pa.list_(pa.string()))["l"].to_pylist()
    members = [
        own and [None if text == "" else {"y": 1, "x": text} for text in own] for own in lists
    ]
    nested = [own and [own[:1], None, own[1:]] for own in lists]
    struct = pa.struct({"y": pa.int64(), "x": pa.string()})
    columns = {
        "id": range(rows),
        "s": pa.array(members, pa.large_list(struct)),
        "ll": pa.array(nested, pa.list_(pa.list_(pa.string()))),
    }
    return pa.table(columns)


@pytest.mark.parametrize(("builder", "other"), [(lance, lance_core), (lance_core, lance)])
@pytest.mark.parametrize("granularity", [None, LIST_ELEMENT])
def test_texts_in_structs_in_lists_are_searched_in_the_index_of_the_other(
    tmp_path: Path, builder: Any, other: Any, granularity: Any
) -> None:
    uri = str(tmp_path / "t")
    lance_core.write_dataset(structs(ROWS, 1), uri, max_rows_per_file=70)
    options = {} if granularity is None else {"document_granularity": granularity}
    builder.dataset(uri).create_scalar_index("s.x", "INVERTED", with_position=True, **options)
    name = "s.x_idx" if granularity is None else "s.x_list_element_idx"
    for library in (lance, lance_core):
        (index,) = library.dataset(uri).describe_indices()
        assert (index.name, index.field_names) == (name, ["s.item.x"])
    assert_same_members(uri)
    lance_core.write_dataset(structs(40, 2), uri, mode="append")
    other.dataset(uri).optimize.optimize_indices(num_indices_to_merge=0)
    other.dataset(uri).delete("id % 11 = 3")
    assert_same_members(uri)
    other.dataset(uri).optimize.compact_files()
    assert_same_members(uri)


def assert_same_members(uri: str) -> None:
    for text in ("w0", "w1 w2"):
        found = []
        for library, column in ((lance, "s.x"), (lance_core, "s.x"), (lance_core, "s.item.x")):
            query = library.query.MatchQuery(text, column)
            table = library.dataset(uri).to_table(["id"], full_text_query=query)
            rows = (
                (row["id"], *row.get("_doc_index", ()), row["_score"]) for row in table.to_pylist()
            )
            found.append(sorted(rows))
        assert found[0]
        assert found[1] == found[2]
        assert [row[:-1] for row in found[1]] == [row[:-1] for row in found[0]]
        ours, theirs = ([row[-1] for row in own] for own in found[:2])
        assert ours == pytest.approx(theirs, rel=1e-5)


@pytest.mark.filterwarnings("ignore::lance_core.errors.IndexWarning")
@pytest.mark.parametrize("column", ["s.x", "ll"])
def test_both_find_the_same_texts_in_nested_lists_without_an_index(
    tmp_path: Path, column: str
) -> None:
    uri = str(tmp_path / "t")
    lance_core.write_dataset(structs(ROWS, 1), uri)
    found = []
    for library in (lance, lance_core, lance_core):
        query = library.query.MatchQuery("w0 w5", column)
        table = library.dataset(uri).to_table(["id"], full_text_query=query)
        found.append({row["id"]: row["_score"] for row in table.to_pylist()})
        if len(found) == 2:  # an index that pylance does not build for lists in lists
            lance_core.dataset(uri).create_scalar_index(column, "INVERTED", stem=False)
    assert found[1] == pytest.approx(found[0], rel=1e-5)
    assert found[2].keys() == found[1].keys()


def test_elements_of_lists_in_lists_and_other_indices_in_lists_are_refused(tmp_path: Path) -> None:
    dataset = lance_core.write_dataset(structs(ROWS, 1), tmp_path / "t")
    for name in ("ll", "s.x"):
        with pytest.raises(UnsupportedFeatureError, match=r"in lists|not a struct"):
            dataset.create_scalar_index(
                name,
                "INVERTED" if name == "ll" else "LABEL_LIST",
                **({"document_granularity": "list_element"} if name == "ll" else {}),
            )
    query = lance_core.query.MatchQuery("w0", "ll", document_granularity=LIST_ELEMENT)
    with pytest.raises(UnsupportedFeatureError, match="lists in lists"):
        dataset.to_table(full_text_query=query)
    with pytest.raises(InvalidInputError, match=r"'s\.z'|s\.z"):
        dataset.to_table(full_text_query=lance_core.query.MatchQuery("w0", "s.z"))
