"""Statistics of a version, from its manifest and from the page tables of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.imports.on_demand import lazy_module
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.dataset.maintenance.indices import statistics as indices
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.dataset.values import listings
else:
    indices = lazy_module("lance_core.dataset.maintenance.indices.statistics")


@dataclass
class FieldStatistics:
    """The bytes of a field's pages in the data files."""

    id: int
    bytes_on_disk: int


@dataclass
class DataStatistics:
    """Statistics of every field, parents first."""

    fields: list[FieldStatistics]


@short_tracebacks
class LanceStats:
    """Statistics of one version, returned by `LanceDataset.stats`."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def dataset_stats(self, max_rows_per_group: int = 1024) -> listings.DatasetStats:
        """Counts of fragments, deleted rows, and fragments below ``max_rows_per_group`` rows."""
        snapshot = self._snapshot
        fragments = snapshot.manifest.fragments
        live = [snapshot.live_rows(fragment) for fragment in fragments]
        stored = [snapshot.physical_rows(fragment) for fragment in fragments]
        return {
            "num_deleted_rows": sum(stored) - sum(live),
            "num_fragments": len(fragments),
            "num_small_files": sum(rows < max_rows_per_group for rows in stored),
        }

    def data_stats(self) -> DataStatistics:
        """The bytes of each field in all fragments."""
        fields = {field.id: field for field in self._snapshot.schema.walk()}
        sizes = dict.fromkeys(fields, 0)
        for fragment in self._snapshot.manifest.fragments:
            for file in fragment.files:
                reader = self._snapshot.reader(file)
                for field_id, column in file.columns().items():
                    if field_id in sizes:
                        sizes[field_id] += reader.field_bytes(fields[field_id], column)
        return DataStatistics([FieldStatistics(id_, size) for id_, size in sizes.items()])

    def index_stats(self, index_name: str) -> dict[str, Any]:
        """Statistics of an index, and of each of its segments; reads files of the index.

        Counts of fragments and rows with and without the index; ``segments`` (and ``indices``,
        which is the same) have what the type of index knows, for example ``num_pages``. Raises
        `IndexNotFoundError`, and `CorruptFileError` for damaged files.
        """
        return indices.index_statistics(self._snapshot, index_name)
