"""Fast paths and the plain way write the same bytes, and read the same values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lance_core.datafile import FileReader, FileWriter
from lance_core.datafile.column_map import column_of
from lance_core.datafile.file_output import FileOptions
from lance_core.encodings.arrow.ordered_rows import AnyRows, OrderedRows
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.version import FileVersion
from lance_core.fast_paths import plain_mode
from lance_core.plugins import get_manager
from lance_core.schema import Schema
from lance_core.store.memory import MemoryStore, Objects
from tests.examples import examples
from tests.strategies import nullable_arrays, nullable_types

T = TypeVar("T")

PATH = "data/x.lance"
BATCH = 23
"""Rows that are written at a time: a page, if pages are small."""

VERSIONS = [FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2]
SHORT = [pa.int64(), pa.int32(), pa.string(), pa.float64(), pa.bool_(), pa.date32()]


def both(action: Callable[[], T]) -> tuple[T, T]:
    """What ``action`` returns by fast paths, and plainly."""
    fast = action()
    with plain_mode():
        return fast, action()


@st.composite
def columns(draw: st.DrawFn, num_rows: int) -> pa.Array:
    """A column of few pages of one kind, or of alternating kinds: constant, null, and others."""
    type_ = draw(st.sampled_from(SHORT))
    values = np.random.default_rng(draw(st.integers(0, 1 << 30))).integers(0, 50, num_rows)
    parts = draw(st.lists(st.sampled_from(["values", "one", "nulls", "some"]), min_size=1))
    is_part = np.arange(num_rows) // BATCH % len(parts)
    rows: list[int | None] = values.tolist()
    for number, part in enumerate(parts):
        for row in np.flatnonzero(is_part == number).tolist():
            if part == "one":
                rows[row] = 7
            elif part == "nulls" or (part == "some" and row % 5 == 0):
                rows[row] = None
    if pa.types.is_boolean(type_):
        return pa.array([None if row is None else row % 2 == 1 for row in rows])
    if pa.types.is_string(type_):
        return pa.array([None if row is None else f"text {row}" for row in rows], type_)
    return pa.array(rows, pa.int32()).cast(type_)


@st.composite
def tables(draw: st.DrawFn, version: FileVersion) -> tuple[pa.Table, FileOptions]:
    """A table: few columns of many pages, or many columns of one."""
    is_wide = draw(st.booleans())
    num_rows = draw(st.integers(1, 60) if is_wide else st.integers(1, 900))
    count = draw(st.integers(30, 80) if is_wide else st.integers(1, 3))
    few = [draw(columns(num_rows)) for _ in range(min(count, 6))]
    parts = [few[number % len(few)] for number in range(count)]
    if version is not FileVersion.V2_0:
        for _ in range(draw(st.integers(0, 2))):
            nested = draw(nullable_types() if version is FileVersion.V2_2 else lists())
            some = draw(nullable_arrays(nested, 12).filter(len))
            repeated = pa.concat_arrays([some] * (1 + num_rows // len(some)))
            parts.append(repeated.slice(0, num_rows))
    table = pa.table({f"c{number}": part for number, part in enumerate(parts)})
    cache = 8 << 20 if is_wide else draw(st.sampled_from([1, 2000]))
    return table, FileOptions(version=version, data_cache_bytes=cache)


def lists() -> st.SearchStrategy[pa.DataType]:
    """Nested types of 2.1."""
    leaves = st.sampled_from([pa.int32(), pa.bool_(), pa.string()])
    structs = leaves.map(lambda leaf: pa.struct({"a": leaf, "b": pa.list_(leaf)}))
    return st.builds(pa.list_, leaves) | st.builds(pa.large_list, leaves) | structs


@st.composite
def rows_of(draw: st.DrawFn, count: int) -> AnyRows:
    """Some rows: a range, ascending, or in any order with repetitions."""
    first = draw(st.integers(0, count - 1))
    kind = draw(st.sampled_from(["range", "all", "ascending", "any"]))
    if kind == "all":
        return RowRange(0, count)
    if kind == "range":
        return RowRange(first, draw(st.integers(first, count)))
    step = draw(st.integers(1, 40))
    values = np.arange(first, count, step)
    if kind == "ascending":
        return RowIndices(values)
    places = np.append(np.arange(len(values))[::-1], 0)
    return OrderedRows(RowIndices(values), places)


def written(table: pa.Table, options: FileOptions) -> bytes:
    store = MemoryStore(Objects())
    registry = get_manager().encodings
    target = store.open_writer(PATH)
    file = FileWriter(target, Schema.from_arrow(table.schema), options, registry=registry)
    for batch in table.to_batches(max_chunksize=BATCH):
        file.write_batch(batch)
    file.finish()
    return store.get(PATH).to_pybytes()


def read(data: bytes, rows: Sequence[AnyRows], names: Sequence[str]) -> list[pa.Table]:
    """Each of the ``rows`` of one open file, whose columns may be known from the reads before."""
    store = MemoryStore(Objects())
    store.put(PATH, data)
    file = FileReader.open(store, PATH, registry=get_manager().encodings)
    places = column_of(file.schema.fields, file.version)
    fields = [field for field in file.schema.fields if field.name in names]
    return [
        pa.table(file.read(fields, places, some), [field.name for field in fields]) for some in rows
    ]


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@given(st.data())
@settings(max_examples=examples(13), suppress_health_check=list(HealthCheck), print_blob=True)
def test_both_ways_agree(version: FileVersion, data: st.DataObject) -> None:
    table, options = data.draw(tables(version))
    fast, plain = both(lambda: written(table, options))
    assert fast == plain
    rows = [data.draw(rows_of(len(table))) for _ in range(3)]
    names = table.column_names
    if data.draw(st.booleans()):
        names = [data.draw(st.sampled_from(names))]
    for one, other, some in zip(*both(lambda: read(fast, rows, names)), rows, strict=True):
        one.validate(full=True)
        assert one.equals(other)
        # Arrow takes no lists of structs of some kinds; their values are compared as objects.
        whole = table.select(names).to_pylist()
        assert one.to_pylist() == [whole[row] for row in some.numbers.tolist()]
