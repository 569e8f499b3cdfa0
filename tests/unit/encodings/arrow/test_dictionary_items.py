"""Dictionary arrays cut to the items that their rows use."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.dictionary_items import has_dictionaries, with_used_items
from lance_core.encodings.arrow.take import take_rows


def words(indices: list[int | None], items: list[str | None], ordered: bool = False) -> pa.Array:
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, pa.uint8()), pa.array(items, pa.string()), ordered=ordered
    )


def numbered(first: int) -> list[str]:
    return [f"word {number}" for number in range(first, first + 200)]


def test_only_items_that_rows_use_are_left_and_values_stay() -> None:
    for array, items in [
        (words([3, None, 1, 3], ["a", "b", "c", "d"]), ["b", "d"]),
        (words([3, None, 1, 3], ["a", "b", "c", "d"], ordered=True), ["b", "d"]),
        (words([0, 1, 2], ["a", "b", "c"]).slice(1, 1), ["b"]),
        (words([None, None], ["a"]), []),
        (words([], ["a"]), []),
        (words([None], []), []),
        (words([0, 1, 2], ["a", None, "c"]), ["a", "c"]),
    ]:
        (cut,) = with_used_items(pa.chunked_array([array])).chunks
        cut.validate(full=True)
        assert cut.type == array.type
        assert cut.to_pylist() == array.to_pylist()
        assert cut.dictionary.to_pylist() == items


def test_nested_dictionaries_have_the_items_of_the_rows_of_a_slice() -> None:
    flat = words([0, 1, 2, 3, None, 1], ["a", "b", "c", "d"])
    offsets = pa.array([0, 2, 3, 5, 6], pa.int32())
    lists = pa.ListArray.from_arrays(offsets, flat, mask=pa.array([False, False, True, False]))
    keys = pa.array(list("uvwxyz"))
    for array, leaf in [
        (lists.slice(1), lambda one: one.values),
        (
            pa.StructArray.from_arrays([flat, keys], ["x", "y"]).slice(1, 2),
            lambda one: one.field(0),
        ),
        (
            pa.StructArray.from_arrays([lists], ["x"], mask=pa.array([False, True, False, False])),
            lambda one: one.field(0).values,
        ),
        (pa.MapArray.from_arrays(offsets, keys, flat).slice(1, 1), lambda one: one.items),
    ]:
        chunked = pa.chunked_array([array])
        (cut,) = with_used_items(chunked).chunks
        cut.validate(full=True)
        assert cut.to_pylist() == array.to_pylist()
        assert set(leaf(cut).dictionary.to_pylist()) <= {"a", "b", "c", "d"}
        assert len(leaf(cut).dictionary) <= 4
    (cut,) = with_used_items(pa.chunked_array([lists.slice(3)])).chunks
    assert cut.values.dictionary.to_pylist() == ["b"]


def test_what_has_no_dictionary_stays_as_it_is() -> None:
    for array in (pa.array([1, 2]), pa.array([["a"]]), pa.array([{"x": 1}])):
        column = pa.chunked_array([array])
        assert not has_dictionaries(column.type)
        assert with_used_items(column) is column


def test_rows_are_taken_from_dictionaries_that_do_not_fit_together() -> None:
    chunks = [words(list(range(200)), numbered(1000 * place)) for place in range(3)]
    lists = [pa.ListArray.from_arrays(pa.array(range(201), pa.int32()), one) for one in chunks]
    table = pa.table({"a": pa.chunked_array(chunks), "b": pa.chunked_array(lists), "i": range(600)})
    rows = pa.array([599, 0, None, 250, 0])
    taken = take_rows(table, rows)
    taken.validate(full=True)
    assert taken["a"].to_pylist() == ["word 2199", "word 0", None, "word 1050", "word 0"]
    assert taken["b"].to_pylist() == [["word 2199"], ["word 0"], None, ["word 1050"], ["word 0"]]
    assert taken["i"].to_pylist() == rows.to_pylist()
    backwards = pa.array(np.arange(600)[::-1].copy())
    assert take_rows(table, backwards).to_pylist() == table.to_pylist()[::-1]
