"""Conditions and values over columns of several chunks, which differ from column to column.

Arrow 22 finds wrong values of some kernels where the chunks of their arguments differ.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core as lance
from lance_core.dataset.expressions.filters import as_filter, as_value
from lance_core.encodings.arrow import combine_chunks
from lance_core.encodings.arrow.combine_chunks import with_few_chunks, with_joined_chunks


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: bool | None, right: bool | None) -> bool | None:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


A, B = pc.field("a"), pc.field("b")
MEANINGS: list[tuple[Any, Callable[[bool | None, bool | None], bool | None]]] = [
    ("a AND b", _and),
    ("a OR b", _or),
    ("NOT (b AND a)", lambda a, b: None if _and(a, b) is None else not _and(a, b)),
    ("coalesce(a, b)", lambda a, b: b if a is None else a),
    ("CASE WHEN a THEN a ELSE b END", lambda a, b: True if a else b),
    ("nullif(a, b)", lambda a, b: None if a is not None and a is b else a),
    ("a IS TRUE OR b", lambda a, b: _or(a is True, b)),
    (A & B, _and),
    (A | B, _or),
    (pc.coalesce(A, B), lambda a, b: b if a is None else a),
    (pc.if_else(A, A, B), lambda a, b: None if a is None else (True if a else b)),
]


def _values(chance: random.Random, count: int) -> list[bool | None]:
    """Runs with and without nulls."""
    values: list[bool | None] = []
    while len(values) < count:
        nulls = chance.choice([0, 0, 0.5, 1])
        run = chance.randrange(1, count + 1)
        values += [None if chance.random() < nulls else chance.random() < 0.5 for _ in range(run)]
    return values[:count]


def _cut(chance: random.Random, values: list[bool | None]) -> pa.ChunkedArray:
    """The values in chunks; whether they share one memory differs."""
    inner = sorted(chance.randrange(len(values) + 1) for _ in range(chance.randrange(4)))
    spans = list(zip([0, *inner], [*inner, len(values)], strict=True))
    whole = pa.array(values, pa.bool_())
    if chance.random() < 0.5:
        return pa.chunked_array([whole.slice(start, stop - start) for start, stop in spans])
    return pa.chunked_array([pa.array(values[start:stop], pa.bool_()) for start, stop in spans])


@pytest.mark.parametrize("few_rows", [1, 1 << 12])
def test_conditions_and_values_do_not_depend_on_the_chunks_of_columns(
    few_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(combine_chunks, "_FEW_ROWS", few_rows)
    chance = random.Random(13)
    schema = pa.schema([("a", pa.bool_()), ("b", pa.bool_())])
    planned = [(as_value(e, schema), as_filter(e, schema), meaning) for e, meaning in MEANINGS]
    for _ in range(60):
        count = chance.choice([1, 3, 8, 17, 70])
        a, b = _values(chance, count), _values(chance, count)
        data = pa.table({"a": _cut(chance, a), "b": _cut(chance, b)})
        for value, condition, meaning in planned:
            expected = [meaning(*pair) for pair in zip(a, b, strict=True)]
            assert value.evaluate(data).to_pylist() == expected
            assert condition.mask(data).tolist() == [one is True for one in expected]


def test_no_rows_and_constants_have_values_for_any_chunks() -> None:
    data = pa.table({"a": pa.chunked_array([[True], [None], [False]])})
    nothing = pa.table({"a": pa.chunked_array([], pa.bool_())})
    for text, expected in [("1 < 2", [True] * 3), ("a", [True, None, False]), ("'x'", ["x"] * 3)]:
        assert as_value(text, data.schema).evaluate(data).to_pylist() == expected
        assert as_value(text, data.schema).evaluate(nothing).to_pylist() == []
        assert as_value(text, data.schema).evaluate(data.slice(3)).to_pylist() == []


def test_a_delete_by_rows_read_one_by_one_keeps_rows_of_unknown_truth(uri: str) -> None:
    data = pa.table({"x": [1, 1, None], "b": pa.array([False, False, True])})
    dataset = lance.write_dataset(data, uri, data_storage_version="2.1")
    dataset.delete("NOT (b AND x > 0)")
    assert dataset.to_table().to_pylist() == [{"x": None, "b": True}]


def test_chunks_are_joined_where_they_are_short_and_one_array_holds_them() -> None:
    def words(first: int) -> pa.Array:
        return pa.array([f"word {first + n}" for n in range(100)]).dictionary_encode()

    def column(*chunks: pa.Array) -> pa.Table:
        small = pa.dictionary(pa.int8(), pa.string())
        return pa.table({"a": pa.chunked_array([chunk.cast(small) for chunk in chunks])})

    short = column(words(0), words(0))
    assert with_few_chunks(short)["a"].num_chunks == 1
    long = pa.table({"a": pa.chunked_array([range(5000), range(5000)])})
    assert with_few_chunks(long) is long
    assert with_joined_chunks(long)["a"].num_chunks == 1
    fitting = column(words(0)[:60], words(500)[:60])
    assert with_joined_chunks(fitting)["a"].to_pylist() == fitting["a"].to_pylist()
    assert with_joined_chunks(fitting)["a"].num_chunks == 1
    apart = column(words(0), words(500))
    assert with_joined_chunks(apart) is apart
    assert as_filter("a = 'word 501'", apart.schema).mask(apart).tolist().index(True) == 101
