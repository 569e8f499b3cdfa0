"""`Join`: the join of a source with one version of a table, and the decisions about all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from lance_core.dataset.expressions.filters import as_filter
from lance_core.dataset.read.columns.projection import ROW_ADDRESS
from lance_core.dataset.read.scan import scan_batches
from lance_core.dataset.read.scan_options import ScanOptions, plan_scan
from lance_core.dataset.read.steps.key_search import KeyMatches
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write import deletions
from lance_core.dataset.write.merge_insert.decide import Decision, UpdateCondition, decide
from lance_core.dataset.write.merge_insert.keys import KeyIndex
from lance_core.dataset.write.merge_insert.plan import MergePlan
from lance_core.dataset.write.merge_insert.source import Source
from lance_core.dataset.write.merge_insert.spill import SpilledRows
from lance_core.dataset.write.merge_insert.target import (
    Addresses,
    addresses_of,
    find_keys,
    index_search,
)
from lance_core.encodings.arrow.numpy_values import to_numpy
from lance_core.errors import UnsupportedFeatureError
from lance_core.store.temporary_folder import TemporaryFolder


class Join:
    """The join of a source with one version of the table."""

    def __init__(
        self,
        snapshot: Snapshot,
        plan: MergePlan,
        source: Source,
        folder: TemporaryFolder,
        budget: float,
    ) -> None:
        """Raises `MergeError` and `InvalidInputError` for invalid conditions."""
        if ROW_ADDRESS in snapshot.schema.names:
            raise UnsupportedFeatureError(
                f"merge_insert does not support tables with a column named {ROW_ADDRESS!r}"
            )
        self.snapshot, self.plan, self.source = snapshot, plan, source
        self._folder, self._budget = folder, budget
        self._condition = None
        if plan.condition is not None:
            schema = source.part(0).schema
            self._condition = UpdateCondition(snapshot, schema, plan.condition)
        self._unmatched = None
        if plan.deletes_unmatched:
            condition = plan.unmatched_condition
            self._unmatched = deletions.plan_of(
                snapshot, "true" if condition is None else condition
            )

    def decisions(self) -> Iterator[Decision]:
        """The decisions about each part of the source."""
        spilled = None if self.source.spilled is None else self._spilled_keys()
        for number in range(self.source.num_parts):
            rows = self.source.part(number)
            columns = rows.select(list(self.plan.on)).columns
            index = KeyIndex(columns, self.snapshot.root.registry.kernels)
            if spilled is None:
                few = rows if self.plan.use_index else None
                matches = find_keys(self.snapshot, self.plan.on, index, source=few)
            else:
                matches = _matches(index, spilled.part(number))
            yield decide(self.plan, rows, index, matches, self._condition)

    @property
    def searched_indices(self) -> Sequence[str]:
        """The names of the indices that find the keys of the first part of the source."""
        if not self.plan.use_index or self.source.spilled is not None:
            return ()
        anything = as_filter("true", self.snapshot.schema_with_descriptions.to_arrow())
        search = index_search(self.snapshot, self.plan.on, self.source.part(0), anything)
        return () if search is None else search.index_names

    def unmatched(self, decisions: Sequence[Decision]) -> Addresses:
        """The addresses of the target rows to delete because the source does not have their key."""
        none = np.empty(0, np.uint64)
        if self._unmatched is None or deletions.constant(self._unmatched) is False:
            return none
        rows = addresses_of(deletions.find(self.snapshot, self._unmatched))
        matched = np.concatenate([none, *(decision.matched for decision in decisions)])
        return np.setdiff1d(rows, matched, assume_unique=True)

    def _spilled_keys(self) -> SpilledRows:
        """The keys and addresses of all target rows, in the same partitions as the source."""
        names = list(self.plan.on)
        options = ScanOptions(columns=names, with_row_address=True)
        scan = plan_scan(self.snapshot, options)
        arrow = scan.projection.schema.remove_metadata()
        name = f"target-{self.snapshot.version}"
        with SpilledRows(self._folder, name, arrow, self.plan.on, self._budget) as spilled:
            for batch in scan_batches(self.snapshot, scan):
                spilled.write(pa.Table.from_batches([batch], arrow))
        return spilled


def _matches(index: KeyIndex, target: pa.Table) -> KeyMatches:
    """The rows of a partition of the target whose key is in ``index``."""
    matches = index.find(target.columns[:-1])
    addresses = to_numpy(target.column(ROW_ADDRESS))
    return KeyMatches(addresses[matches.rows], matches.members)
