"""Terms near a word, and places of terms, by the compiled loops and by numpy."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core_text.loops.library import native, numpy_loops
from lance_core_text.loops.near_terms import index_of
from lance_core_text.postings.vocabulary import Vocabulary

TERMS = st.lists(st.text("abcé中𝄞", min_size=1, max_size=9), max_size=60, unique=True)


def sorted_terms(terms: list[str]) -> pa.Array:
    ordered = sorted(terms, key=str.encode)
    return pa.array(["", *ordered], pa.large_string()).slice(1)


@given(
    terms=TERMS,
    word=st.text("abcé中𝄞", min_size=1, max_size=9),
    edits=st.integers(0, 4),
    prefix=st.sampled_from([0, 1, 2, 20]),
)
def test_near_terms(terms: list[str], word: str, edits: int, prefix: int) -> None:
    own = sorted_terms(terms)
    found = Vocabulary(own).near(word, edits, prefix)
    with numpy_loops():
        assert Vocabulary(own).near(word, edits, prefix) == found
        assert Vocabulary(own).near(word, edits, prefix, 2).terms == found.terms[:2]


@given(terms=TERMS, word=st.text("abcé中𝄞", max_size=9))
def test_places(terms: list[str], word: str) -> None:
    own = sorted_terms(terms)
    expected = own.to_pylist().index(word) if word in terms else None
    assert index_of(own, word) == expected
    with numpy_loops():
        assert index_of(own, word) == expected


def test_what_does_not_belong_together_is_an_error() -> None:
    letters, offsets, shared = np.zeros(5, np.uint32), np.array([0, 2, 5]), np.zeros(2, np.uint16)
    found, distances = np.empty(2, np.int64), np.empty(2, np.int64)
    for wrong in ([0, 2, 6], [0, 3, 2], [-1, 2, 5]):
        with pytest.raises(ValueError, match="belong together"):
            native.count_shared(letters, np.array(wrong), shared)
        with pytest.raises(ValueError, match="belong together"):
            native.near_terms(letters, np.array(wrong), shared, letters[:1], 1, 0, found, distances)
    with pytest.raises(ValueError, match="belong together"):
        native.near_terms(letters, offsets, shared, letters[:1], 9, 0, found, distances)
    with pytest.raises(ValueError, match="belong together"):
        native.near_terms(letters, offsets, shared, letters[:1], 1, 0, found[:1], distances)
    with pytest.raises(ValueError, match="belong together"):
        native.find_term(np.zeros(3, np.uint8), np.array([0, 9]), b"a")
