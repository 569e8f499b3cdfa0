"""Pages that are encoded alike are read as one, with the values and errors of single pages."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.v2_1.fast import page_runs
from lance_core.encodings.v2_1.pages.page_dictionaries import PageItems
from lance_core.encodings.v2_1.selection import dictionary
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError
from lance_core.schema import Schema
from lance_core_testing.encodings.stored_field import StoredField
from tests.each_case import each_case
from tests.unit.encodings.v2_1.conftest import REGISTRY

RNG = np.random.default_rng(3)
ROWS = 400
PAGES = 10


@pytest.fixture(autouse=True)
def _small_pages_have_dictionaries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dictionary, "MIN_VALUES", 10)


def lists(values: pa.Array, lengths: list[int | None]) -> pa.Array:
    """Lists of the first values, of these lengths; None is a null."""
    ends = np.cumsum([0, *(length or 0 for length in lengths)])
    mask = pa.array([length is None for length in lengths])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values[: ends[-1]], mask=mask)


LENGTHS = [(2, None, 0, 5, 1)[i % 5] for i in range(ROWS)]
INTEGERS = pa.array(RNG.integers(0, 100, 2 * ROWS), pa.int32())
NULLABLE = pa.array([None if i % 7 == 2 else i % 50 for i in range(2 * ROWS)], pa.int64())
WORDS = pa.array([f"{i * 7919 % 1000:05}"[: i % 6] for i in range(2 * ROWS)])
FEW = [
    None if i % 7 == 2 else (1 << (40 + i // 150)) * (1 + i % (3 + i // 200))
    for i in range(2 * ROWS)
]
ITEMS = pa.array(FEW, pa.int64())  # of which each page has a dictionary of its own
FEW_WORDS = pa.array(
    [
        None if i % 7 == 2 else "abcdefg"[: i % (3 + i // 200)] * (1 + i // 120)
        for i in range(2 * ROWS)
    ]
)
TEXTS = pa.array([None if i % 9 == 2 else f"text {i * 7919 % 1000} " * 200 for i in range(ROWS)])
STRUCTS = pa.StructArray.from_arrays([INTEGERS, NULLABLE, WORDS], ["a", "b", "c"])
ARRAYS = {
    "integers": INTEGERS[:ROWS],
    "nullable": NULLABLE[:ROWS],
    "booleans": pa.array([i % 3 == 0 for i in range(ROWS)]),
    "words": WORDS[:ROWS],
    "structs": STRUCTS[:ROWS],
    "lists": lists(INTEGERS, LENGTHS),
    "lists of structs": lists(STRUCTS, LENGTHS),
    "items of dictionaries": ITEMS[:ROWS],
    "lists of items": lists(ITEMS, LENGTHS),
    "lists of items with others": lists(
        pa.StructArray.from_arrays([INTEGERS, ITEMS], ["a", "b"]), LENGTHS
    ),
    "words of dictionaries": FEW_WORDS[:ROWS],
    "lists of words": lists(FEW_WORDS, LENGTHS),
    "texts with symbols": TEXTS,
    "dictionary column": WORDS[:ROWS].dictionary_encode(),
    "long lists": lists(INTEGERS, [8 if i % 100 == 3 else 0 for i in range(ROWS)]),
}
DICTIONARIES = ["items of dictionaries", "lists of items"]
WANTED = [
    RowRange(0, ROWS),
    RowRange(41, 42),
    RowRange(45, 395),
    RowRange(80, 160),
    RowIndices(np.array([0, 399])),
    RowIndices(np.array([3, 39, 40, 41, 118, 119, 120, 121, 122, 350])),
    RowIndices(np.flatnonzero(np.arange(ROWS) % 2)),
    RowIndices(np.array([*range(30, 60), 399])),
]


def stored(array: pa.Array, version: str = "2.2") -> StoredField:
    """The array in ten pages for each leaf."""
    (field,) = Schema.from_arrow(pa.schema([pa.field("x", array.type)])).fields
    parts = [array[i : i + ROWS // PAGES] for i in range(0, ROWS, ROWS // PAGES)]
    return StoredField.write(field, parts, REGISTRY, FileVersion(version), flush_bytes=1)


KEPT: dict[str, StoredField] = {}


@each_case("gap", [0, 1 << 40])
@each_case("rows", WANTED, ids=range(len(WANTED)))
@each_case("name", ARRAYS)
def test_rows_of_many_pages_are_those_that_were_written(
    name: str, rows: RowRange | RowIndices, gap: int
) -> None:
    array = ARRAYS[name]
    if name not in KEPT:
        KEPT[name] = stored(array)
    # Pages whose chunks nobody has read.
    field = replace(KEPT[name], columns=copy.deepcopy(KEPT[name].columns))
    assert len(field.pages_of(0)) == PAGES
    expected = (
        array[rows.start : rows.stop] if isinstance(rows, RowRange) else array.take(rows.values)
    )
    for _ in range(2):  # chunks are not known, and known
        found = field.read(rows, gap)
        assert pa.concat_arrays(found).to_pylist() == expected.to_pylist()


@pytest.mark.fast_path
@each_case("name", ["integers", "lists", "lists of structs", *DICTIONARIES])
def test_pages_that_are_alike_give_one_array_in_one_round(name: str) -> None:
    field = stored(ARRAYS[name])
    assert len(field.read(RowRange(0, ROWS))) == 1
    assert field.asked == 1


@pytest.mark.fast_path
@pytest.mark.parametrize("name", ["integers", "lists"])
def test_pages_are_read_apart_if_together_they_are_large(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_runs, "MAX_RUN_ITEMS", 150)
    found = stored(ARRAYS[name]).read(RowRange(0, ROWS))
    assert 1 < len(found) < PAGES
    assert pa.concat_arrays(found).to_pylist() == ARRAYS[name].to_pylist()


@pytest.mark.fast_path
def test_pages_that_differ_in_their_encoding_are_read_apart() -> None:
    field, other = stored(ARRAYS["integers"]), stored(pa.array([5] * ROWS, pa.int32()))
    (column,), (constant,) = field.columns, other.columns
    pages = [*column.pages[:4], *constant.pages[4:6], *column.pages[6:]]
    field.columns = [replace(column, pages=tuple(pages))]
    found = field.read(RowRange(0, ROWS))
    assert len(found) == 1 + 2 + 1
    values = pa.concat_arrays(found)
    assert values[:160] == ARRAYS["integers"][:160]
    assert values[160:240].to_pylist() == [5] * 80


@each_case("name", ["integers", "lists"])
@each_case("part", [0, 1], ids=["words", "chunks"])
def test_damage_is_reported_at_the_page_that_has_it(name: str, part: int) -> None:
    field = stored(ARRAYS[name])
    damaged = field.columns[0].pages[6].buffers[part]
    data = bytearray(field.data)
    data[damaged.start : damaged.stop] = b"\xff" * damaged.length
    field.data = bytes(data)
    alone = [RowRange(240, 280), RowRange(0, ROWS)]
    texts = []
    for rows in alone:
        with pytest.raises(CorruptFileError) as raised:
            field.read(rows)
        texts.append(str(raised.value))
    assert texts[0] == texts[1]


def test_an_index_beyond_the_dictionary_of_its_page_is_an_error() -> None:
    runs = PageItems.of(np.array([2, 5]), np.array([1, 2])).runs(
        np.arange(3), np.array([2, 1, 1]), slice(0, 4)
    )
    assert runs.joined(np.array([0, 1, 4, 0], np.uint8)).tolist() == [0, 1, 6, 2]
    with pytest.raises(CorruptFileError, match="index 2 is outside of the dictionary of 2"):
        runs.joined(np.array([0, 2, 4, 0], np.uint8))
