"""Tables to index, and what an index of them finds."""

from __future__ import annotations

import pyarrow as pa

import lance_core as lance
from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of, open_index, spec_of
from lance_core.index.queries import IndexQuery, IsIn

KIND = "sorted_hash"


def numbers(start: int, count: int) -> pa.Table:
    """Rows with their number, null for every tenth, also as a member of a struct."""
    values = [None if n % 10 == 9 else n for n in range(start, start + count)]
    members = [{"b": n, "d.e": str(n)} if n % 2 else None for n in range(start, start + count)]
    return pa.table({"x": pa.array(values, pa.int64()), "Y": values, "s": members})


def new_table(uri: str, *, stable: bool = False) -> lance.LanceDataset:
    """100 rows in four fragments."""
    return lance.write_dataset(
        numbers(0, 100), uri, max_rows_per_file=25, enable_stable_row_ids=stable
    )


def found(dataset: lance.LanceDataset, name: str, query: IndexQuery | list[int]) -> set[int]:
    """The row numbers that all segments of an index return, deleted rows among them."""
    asked = IsIn(pa.array(query, pa.int64())) if isinstance(query, list) else query
    rows: set[int] = set()
    for index in indices_of(dataset.snapshot):
        spec = spec_of(index)
        if index.name == name and spec is not None:
            result = open_index(dataset.snapshot, index, spec).search(asked)
            rows.update(result.rows.numbers().tolist())
    return rows


def stored(dataset: lance.LanceDataset, values: list[int]) -> set[int]:
    """The addresses of the live rows with one of the values."""
    text = ", ".join(map(str, values))
    table = dataset.to_table(columns=[], filter=f"x IN ({text})", with_row_address=True)
    return set(table["_rowaddr"].to_pylist())


def coverage(dataset: lance.LanceDataset, name: str) -> list[list[int]]:
    """The fragments that each segment of an index covers."""
    (index,) = [one for one in dataset.describe_indices() if one.name == name]
    return [sorted(segment.fragment_ids) for segment in index.segments]
