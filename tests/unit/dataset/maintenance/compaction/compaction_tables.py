"""Tables for tests of compactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import lance_core as lance
from lance_core.dataset.write.write import write_fragments


def table_of(uri: str, sizes: Sequence[int], **options: Any) -> lance.LanceDataset:
    """Fragments of these sizes, whose column ``i`` numbers all rows."""
    dataset = lance.write_dataset(pa.table({"i": pa.array([], pa.int64())}), uri, **options)
    fragments, start = [], 0
    for size in sizes:
        rows = pa.table({"i": range(start, start + size)})
        written = write_fragments(rows, dataset)
        assert isinstance(written, list)
        fragments += written
        start += size
    return lance.LanceDataset.commit(dataset, lance.LanceOperation.Append(fragments), 1)


def planned(dataset: lance.LanceDataset, options: Mapping[str, Any]) -> list[list[int]]:
    """The fragment ids of each task."""
    plan = lance.optimize.Compaction.plan(dataset, options)
    return [[fragment.id for fragment in task.fragments] for task in plan.tasks]


def data_files(uri: str) -> set[str]:
    """The names of all files of the table that hold data."""
    found = (path for path in Path(uri).rglob("*") if path.is_file())
    return {str(path) for path in found if path.parent.name not in ("_versions", "_transactions")}
