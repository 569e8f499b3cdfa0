"""Whatever is written to a column of a 2.0 file is read back, by range and by row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lance_core.encodings import v2_0
from lance_core.encodings.decoding import RowIndices, RowRange, Rows
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion
from lance_core.schema import Schema
from lance_core_testing.encodings.stored_field import StoredField
from tests.examples import examples
from tests.strategies import arrays, types

REGISTRY = EncodingRegistry(("built-in", spec) for spec in v2_0.specs())
GAPS = st.sampled_from([0, 16, 1 << 40])

compressions = st.sampled_from(["", "zstd", "lz4", "fsst", "none"])
steady = settings(
    max_examples=examples(25),
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


def stored(draw: st.DrawFn) -> tuple[StoredField, pa.Array]:
    """A column of any type, written in slices, with many or few pages."""
    type_ = draw(types())
    whole = draw(arrays(type_))
    skip = draw(st.integers(0, 3))
    array = whole.slice(skip)
    cuts = sorted(draw(st.lists(st.integers(0, len(array)), max_size=3)))
    parts = [array.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, len(array)], strict=True)]
    metadata = {"lance-encoding:compression": draw(compressions)}
    (field,) = Schema.from_arrow(pa.schema([pa.field("x", type_, metadata=metadata)])).fields
    limits = {
        "flush_bytes": draw(st.sampled_from([1, 100, 8 << 20])),
        "max_page_bytes": draw(st.sampled_from([64, 32 << 20])),
        "dictionary_threshold": draw(st.sampled_from([3, 100])),
    }
    return StoredField.write(field, parts, REGISTRY, FileVersion.V2_0, **limits), array


columns = st.composite(stored)()


@st.composite
def selections(draw: st.DrawFn, count: int) -> Rows:
    if draw(st.booleans()):
        start = draw(st.integers(0, count))
        return RowRange(start, draw(st.integers(start, count)))
    rows = draw(st.sets(st.integers(0, count - 1))) if count else set()
    return RowIndices(np.array(sorted(rows), np.int64))


@given(columns, st.data())
@steady
def test_rows_come_back(column: tuple[StoredField, pa.Array], data: st.DataObject) -> None:
    field, array = column
    check(field.read(RowRange(0, len(array))), array)
    for _ in range(3):
        rows = data.draw(selections(len(array)))
        indices = range(rows.start, rows.stop) if isinstance(rows, RowRange) else rows.values
        wanted = [array[int(i)].as_py() for i in indices]
        got = field.read(rows, gap=data.draw(GAPS))
        assert [value for part in got for value in part.to_pylist()] == wanted


def check(parts: list[pa.Array], array: pa.Array) -> None:
    for part in parts:
        part.validate(full=True)
        assert part.type == array.type
        assert len(part)
    got = [value for part in parts for value in part.to_pylist()]
    assert got == array.to_pylist()
