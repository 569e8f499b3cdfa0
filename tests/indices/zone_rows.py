"""Rows of several fragments for tests of indices of zones, and where a compaction moves them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.version import FileVersion
from lance_core.index.base import IndexType, OpenIndex, RowNumbers
from lance_core.index.files import IndexFolder, IndexOutput
from lance_core.plugins import get_manager
from lance_core.store.memory import MemoryStore
from tests.indices.bitmap_folders import Rows


def addresses(fragment: int, offsets: Sequence[int] | npt.NDArray[np.int64]) -> RowNumbers:
    return np.asarray(offsets, np.uint64) + np.uint64(fragment << 32)


def live_rows(values: pa.Array, fragment_rows: int, first: int, seed: int) -> Rows:
    """``values`` as the live rows of fragments; about a fifth of their rows are deleted."""
    random = np.random.default_rng(seed)
    count = len(values)
    live = np.flatnonzero(random.random(2 * count) < 0.8)[:count]
    numbers = (live // fragment_rows + first << 32) | live % fragment_rows
    return Rows(values, numbers.astype(np.uint64), step=7)


class Compaction(NamedTuple):
    """A map of ``kept`` rows, in their order, to the addresses ``now``."""

    kept: RowNumbers
    now: RowNumbers

    @classmethod
    def of(cls, kept: RowNumbers, fragment_rows: int, first: int) -> Compaction:
        number = np.arange(len(kept))
        now = (number // fragment_rows + first << 32) | number % fragment_rows
        return cls(kept, now.astype(np.uint64))

    def moved(self, rows: RowNumbers) -> tuple[RowNumbers, npt.NDArray[np.bool_]]:
        places = np.minimum(np.searchsorted(self.kept, rows), len(self.kept) - 1)
        return self.now[places], self.kept[places] == rows


class BuiltIndex(NamedTuple):
    """The files of an index in memory."""

    kind: IndexType
    type: pa.DataType
    output: IndexOutput
    store: MemoryStore
    details: bytes = b""

    @classmethod
    def empty(
        cls, kind: IndexType, type_: pa.DataType, version: FileVersion = FileVersion.V2_1
    ) -> BuiltIndex:
        store = MemoryStore()
        output = IndexOutput(store, "i", get_manager().encodings, version, [])
        return cls(kind, type_, output, store)

    @property
    def folder(self) -> IndexFolder:
        sizes = self.output.sizes
        return IndexFolder(self.store, "i", sizes, get_manager().encodings, self.type, 0)

    def open(self) -> OpenIndex:
        return self.kind.open(self.folder, self.details)


def build(
    kind: IndexType,
    rows: Rows,
    version: FileVersion = FileVersion.V2_1,
    **parameters: object,
) -> BuiltIndex:
    made = BuiltIndex.empty(kind, rows.type, version)
    return made._replace(details=kind.build(rows, parameters, made.output))
