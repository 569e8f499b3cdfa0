"""Tables for tests of compactions."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import lance_core as lance
from lance_core.dataset.write.commit_change import commit_change
from lance_core.dataset.write.write import write_fragments
from lance_core.table.indices.index_metadata import (
    IndexDetails,
    IndexMetadata,
    encode_fragment_ids,
    fragment_bitmap,
)
from lance_core.table.transactions.operations import CreateIndex


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


def with_index(
    dataset: lance.LanceDataset, fragments: list[int] | None, kind: str, version: int = 0
) -> None:
    """Commit the metadata of an index that covers these fragments (None: unknown ones)."""
    ids = b"" if fragments is None else encode_fragment_ids(fragment_bitmap(fragments))
    details = IndexDetails(f"/lance.table.{kind}IndexDetails")
    index = IndexMetadata(uuid.uuid4(), kind, (0,), dataset.version, ids, details, version)
    dataset.move_to(commit_change(dataset.snapshot, CreateIndex((index,), ())))
