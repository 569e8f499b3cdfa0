"""Compare an index with the rows of its table."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.compute as pc

from lance_core import LanceDataset
from lance_core.errors import UnsupportedFeatureError
from lance_core.indices import IndexDescription

MAX_PROBLEMS = 1000
"""Rows of an index that a report names at most."""

SAMPLE = 256
"""Rows whose values are looked up in an index of scalars."""

_OF_EQUAL_VALUES = {"BTree", "Bitmap", "ZoneMap", "BloomFilter"}
"""Types of indices that find the rows with a value."""


def index_problems(table: LanceDataset, index: IndexDescription) -> Iterator[str]:
    """What an index has that its rows do not, one text for each problem.

    Its files can be read; if they could not, a scan would read rows instead. Raises
    `CorruptFileError` for damaged files, and `UnsupportedFeatureError` for an index that can be
    compared in no way.
    """
    if index.index_type not in _OF_EQUAL_VALUES:
        problems = table.verify_index(index.name, limit=MAX_PROBLEMS)
        yield from map(str, problems)
        return
    (column,) = index.field_names
    if "." in column:
        raise UnsupportedFeatureError("indices of parts of columns cannot be compared")
    rows = table.count_rows()
    sampled = table.sample(min(SAMPLE, rows), [column]).column(column)
    values = pc.unique(sampled.combine_chunks())
    for condition in (pc.field(column).isin(values.drop_null()), pc.field(column).is_null()):
        yield from _differences(table, column, condition)


def _differences(table: LanceDataset, column: str, condition: pc.Expression) -> Iterator[str]:
    """Rows that a scan with indices returns and one without does not, and the reverse."""
    by_index, by_scan = (
        table.scanner(
            columns=[column], filter=condition, with_row_address=True, use_scalar_index=uses
        ).to_table()
        for uses in (True, False)
    )
    for what, rows, others in (
        ("has by the index a value that it has not", by_index, by_scan),
        ("is not found by the index", by_scan, by_index),
    ):
        addresses = rows.column("_rowaddr").combine_chunks()
        others_of = others.column("_rowaddr").combine_chunks()
        only = addresses.filter(pc.invert(pc.is_in(addresses, others_of)))
        for address in only[:MAX_PROBLEMS].to_pylist():
            yield f"row {address & 0xFFFFFFFF} of fragment {address >> 32} {what}"
