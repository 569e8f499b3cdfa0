"""`InnerDataset`: what libraries use of the dataset in pylance's compiled module.

They have it as ``dataset._ds``. Its other members are those of the dataset itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from lance_core.dataset.values.fragment_metadata import DataFile, file_of
from lance_core.dataset.write.existing_file import described_file
from lance_core.table.manifest.file import serialized_manifest


class InnerDataset:
    """Methods of the compiled dataset that the public one does not have, or has as properties."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dataset, name)

    def version(self) -> int:
        """The number of the open version."""
        return int(self._dataset.version)

    def latest_version(self) -> int:
        """The number of the newest version in the store."""
        return int(self._dataset.latest_version)

    def serialized_manifest(self) -> bytes:
        """The message ``Manifest`` of the open version, which is read from the store."""
        snapshot = self._dataset.snapshot
        return serialized_manifest(snapshot.root.store.get(snapshot.location.path))

    def count_fragments(self) -> int:
        """The number of fragments."""
        return len(self._dataset.fragment_ids())

    def count_deleted_rows(self) -> int:
        """The number of deleted rows in all fragments."""
        return sum(fragment.num_deletions for fragment in self._dataset.get_fragments())

    def data_file(self, path: str, base_id: int | None = None) -> DataFile:
        """What `DataFile.create` returns."""
        return file_of(described_file(self._dataset.snapshot, path, base_id)[0])

    def take_scan(
        self,
        row_slices: Iterable[tuple[int, int]],
        columns: Sequence[str] | None = None,
        batch_readahead: int = 10,
    ) -> pa.RecordBatchReader:
        """A batch for each range of positions (start, end) in ``row_slices``, in their order.

        ``batch_readahead`` has no effect. Raises `InvalidInputError` for a range past the end.
        """
        names = None if columns is None else list(columns)
        schema = self._dataset.scanner(names).projected_schema
        rows = (range(start, end) for start, end in row_slices)
        batches = (
            batch
            for indices in rows
            for batch in self._dataset.take(indices, names).combine_chunks().to_batches()
        )
        return pa.RecordBatchReader.from_batches(schema, batches)
