"""Random rows of a table, with few reads."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

import lance_core
from lance_core import LanceDataset

T = TypeVar("T")


def maybe_sample(
    dataset: str | Path | LanceDataset,
    n: int,
    columns: Sequence[str] | dict[str, str] | str,
    batch_size: int = 10240,
    max_takes: int = 2048,
    filt: str | None = None,
) -> Iterator[pa.RecordBatch]:
    """``n`` random rows of a table, or all rows if it has no more, in batches.

    Up to ``max_takes`` rows are random each; more are that many runs of consecutive rows, one in
    each equal part of the table, so that few places are read. With a filter ``filt``, the ids of
    all rows that pass are read first, 8 bytes each, and random ones of them taken.
    """
    table = lance_core.dataset(dataset) if isinstance(dataset, str | Path) else dataset
    names = [columns] if isinstance(columns, str) else columns
    rows = table.count_rows()
    if n >= rows:
        return iter(table.to_batches(columns=names, batch_size=batch_size, filter=filt))
    if filt is not None:
        return _passing(table, n, names, filt, batch_size)
    chosen = _runs(rows, n, max_takes)
    parts = (chosen[start : start + batch_size] for start in range(0, len(chosen), batch_size))
    return (b for part in parts for b in table.take(part, names).combine_chunks().to_batches())


def _runs(rows: int, n: int, max_takes: int) -> Any:
    """The positions of ``n`` rows, an array of numpy."""
    numbers = np.random.default_rng()
    if n <= max_takes:
        return numbers.choice(rows, n, replace=False)
    edges = np.arange(max_takes + 1) * rows // max_takes
    lengths = np.diff(np.arange(max_takes + 1) * n // max_takes)
    starts = edges[:-1] + numbers.integers(0, np.diff(edges) - lengths + 1)
    within = np.arange(n) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(starts, lengths) + within


def _passing(
    table: LanceDataset, n: int, columns: Any, filt: str, batch_size: int
) -> Iterator[pa.RecordBatch]:
    """``n`` of the rows that pass, in the order of the table."""
    ids = table.to_table(columns=[], filter=filt, with_row_id=True).column("_rowid").to_numpy()
    if n < len(ids):
        ids = np.sort(np.random.default_rng().choice(ids, n, replace=False))
    for start in range(0, len(ids), batch_size):
        positions = ids[start : start + batch_size].tolist()
        rows = table._take_rows(positions, columns)  # noqa: SLF001 - pylance's name for it
        yield from rows.combine_chunks().to_batches()


def reservoir_sampling(stream: Iterable[T], k: int) -> list[T]:
    """``k`` random items of ``stream`` in its order, all of a shorter one; each is as likely."""
    numbers = np.random.default_rng()
    waiting: list[tuple[float, int, T]] = []
    for turn, item in enumerate(stream):
        entry = (float(numbers.random()), turn, item)
        if len(waiting) < k:
            heapq.heappush(waiting, entry)
        elif waiting:
            heapq.heappushpop(waiting, entry)
    return [item for _, _, item in sorted(waiting, key=lambda entry: entry[1])]
