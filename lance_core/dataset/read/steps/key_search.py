"""The search for some keys in the rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.read.columns.projection import ROW_ADDRESS
from lance_core.dataset.read.fragments.fragment_reader import find_integers
from lance_core.dataset.read.fragments.run_reader import deleted_offsets, meta_values
from lance_core.dataset.read.steps.column_steps import StepColumns
from lance_core.encodings.decoding import RowRange, packed_rows

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import Span
    from lance_core.dataset.read.steps.scan_reads import ScanReads
    from lance_core.encodings.decoding import Int64Array, ValueMatches
    from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex


class KeyMatches(NamedTuple):
    """Rows that have one of some keys, in the order of the table."""

    addresses: npt.NDArray[np.uint64]
    keys: Int64Array
    """The number of each row's key."""


class FindKeys(Protocol):
    """The search for some keys.

    ``integers``: the keys if they are integers of the same bits as the values of the one field that
    is searched; None for other keys.
    """

    @property
    def integers(self) -> IntegerIndex | None: ...

    def __call__(self, data: pa.Table) -> ValueMatches:
        """The rows of ``data`` with one of the keys: ascending positions, and each key's number."""


def search_window(reads: ScanReads, find: FindKeys, span: Span) -> KeyMatches:
    """The live rows of ``span`` in which ``find`` finds keys.

    Deleted rows are searched, too: leaving them out before the search takes longer.
    """
    positions, keys = _matches(reads, find, span)
    if not len(positions):
        return KeyMatches(np.empty(0, np.uint64), keys)
    offsets = positions + span.start
    deleted = deleted_offsets(reads.snapshot, span.source)
    if deleted is not None and len(deleted):
        nearest = np.minimum(np.searchsorted(deleted, offsets), len(deleted) - 1)
        is_live = deleted[nearest] != offsets
        offsets, keys = offsets[is_live], keys[is_live]
    addresses = meta_values(reads.snapshot, span.source, ROW_ADDRESS, packed_rows(offsets))
    return KeyMatches(addresses, keys)


def _matches(reads: ScanReads, find: FindKeys, span: Span) -> ValueMatches:
    """The rows of ``span`` in which ``find`` finds keys, counted from the first one."""
    rows, fields = RowRange(span.start, span.stop), reads.columns.early.fields
    if find.integers is not None and span.run is None:
        matches = find_integers(reads.snapshot, span.fragment, fields[0], rows, find.integers)
        if matches is not None:
            return matches
    data = reads.all_rows.read(span.source, StepColumns(fields), rows)
    reads.sizer.observe_data(span.num_rows, data)
    return find(data)
