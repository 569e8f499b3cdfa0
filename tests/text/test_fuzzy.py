"""Words that match terms a few edits away, with an index and without one."""

from __future__ import annotations

import functools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core as lance
from lance_core.query import FullTextOperator, MatchQuery
from lance_core_text.postings.vocabulary import Vocabulary
from lance_core_text.queries.fuzzy import Fuzziness


@functools.cache
def distance(first: str, second: str) -> int:
    """The edits from one to the other, by the definition."""
    if not first or not second:
        return len(first) + len(second)
    changed = distance(first[1:], second[1:]) + (first[0] != second[0])
    return min(changed, distance(first[1:], second) + 1, distance(first, second[1:]) + 1)


def vocabulary(terms: set[str]) -> Vocabulary:
    array = pa.array(sorted(terms), pa.large_string())
    return Vocabulary(array.take(pc.sort_indices(array)))


@pytest.mark.parametrize("edits", [1, 2, 3])
def test_terms_near_a_word_are_those_by_the_definition(edits: int) -> None:
    random = np.random.default_rng(edits)
    terms = {"".join(random.choice(list("abé中"), size=n)) for n in random.integers(1, 8, 400)}
    own = vocabulary(terms)
    for word in ["ab", "éa中b", "x", "aaaaaaa", *sorted(terms)[::60]]:
        for most in (0, 1, 3):
            near, prefix = own.near(word, edits, most), min(most, len(word))
            expected = {
                term: distance(term, word)
                for term in terms
                if distance(term, word) <= edits and term[:prefix] == word[:prefix]
            }
            assert dict(zip(near.terms, near.distances, strict=True)) == expected


def test_no_terms_have_none_near() -> None:
    assert vocabulary(set()).near("a", 1, 0).terms == []


def test_automatic_edits_and_the_nearest_terms() -> None:
    automatic = Fuzziness(None)
    assert [automatic.edits_of("x" * n) for n in (1, 2, 3, 5, 6)] == [0, 0, 1, 1, 2]
    own = [vocabulary({"fox", "fix", "foxy", "box", "ox"})]
    assert Fuzziness(1, 3).terms_near("fox", own) == ("fox", "box", "fix")
    assert Fuzziness(1, 0).terms_near("fax", own) == ("fax",)


@pytest.mark.parametrize("indexed", [True, False])
def test_misspelt_words_are_found(tmp_path: Path, indexed: bool) -> None:
    texts = ["libraries open", "a library", "librarian here", "the liberty", "nothing"]
    table = pa.table({"id": range(5), "t": texts})
    dataset = lance.write_dataset(table, tmp_path / "t", max_rows_per_file=2)
    if indexed:
        dataset.create_scalar_index("t", "INVERTED")

    def rows(text: str, **options: Any) -> list[int]:
        query = MatchQuery(text, "t", **options)
        with warnings.catch_warnings():
            warnings.simplefilter("error" if indexed else "ignore")
            found = lance.dataset(dataset.uri).to_table(["id"], full_text_query=query)
        return sorted(found["id"].to_pylist())

    assert rows("libary") == []
    assert rows("libary", fuzziness=1) == ([0, 1] if indexed else [1])
    assert 1 in rows("library", fuzziness=2)
    assert rows("libary", fuzziness=1, prefix_length=4) == []
    both = rows("libary opne", fuzziness=2, operator=FullTextOperator.AND)
    assert both == ([0] if indexed else [])


def test_rows_without_an_index_are_expanded_as_well(tmp_path: Path) -> None:
    path = tmp_path / "t"
    dataset = lance.write_dataset(pa.table({"id": [0, 1], "t": ["grey cat", "dog"]}), path)
    dataset.create_scalar_index("t", "INVERTED", stem=False)
    lance.write_dataset(pa.table({"id": [2, 3], "t": ["gray cat", "grab"]}), path, mode="append")
    query = MatchQuery("gray", "t", fuzziness=1)
    found = lance.dataset(path).to_table(["id"], full_text_query=query)
    assert sorted(found["id"].to_pylist()) == [0, 2, 3]
