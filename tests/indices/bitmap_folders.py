"""Indices with bitmaps in memory: built from rows, or stored as the test wants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.version import FileVersion
from lance_core.index.base import IndexBatch, IndexType, OpenIndex, RowNumbers
from lance_core.index.files import IndexFolder, IndexOutput
from lance_core.plugins import get_manager
from lance_core.store.memory import MemoryStore
from lance_core.table.indices.row_set import RowSet

FILE = "bitmap_page_lookup.lance"


class Rows(NamedTuple):
    """Rows in batches of ``step``."""

    values: pa.Array
    numbers: RowNumbers
    step: int = 1000

    @property
    def type(self) -> pa.DataType:
        return self.values.type

    @property
    def num_rows(self) -> int:
        return len(self.numbers)

    def batches(self) -> Iterator[IndexBatch]:
        for start in range(0, len(self.values), self.step):
            part = slice(start, start + self.step)
            yield IndexBatch(self.values[part], self.numbers[part])


class Moved(NamedTuple):
    """Rows move to a higher fragment in the reverse order; those divisible by ``lost`` go away."""

    lost: int

    def moved(self, rows: RowNumbers) -> tuple[RowNumbers, npt.NDArray[np.bool_]]:
        return np.uint64(9 << 32) - rows, rows % np.uint64(self.lost) != 0


class Folder(NamedTuple):
    """A new folder of an index in memory."""

    store: MemoryStore
    output: IndexOutput

    def open(self, type_: IndexType, kind: pa.DataType, version: int = 0) -> OpenIndex:
        sizes, encodings = self.output.sizes, get_manager().encodings
        return type_.open(IndexFolder(self.store, "i", sizes, encodings, kind, version), b"")


def new_folder(version: FileVersion = FileVersion.V2_1) -> Folder:
    store = MemoryStore()
    return Folder(store, IndexOutput(store, "i", get_manager().encodings, version, []))


def build(
    type_: IndexType, rows: Rows, version: FileVersion = FileVersion.V2_1, index_version: int = 1
) -> OpenIndex:
    folder = new_folder(version)
    with folder.output:
        assert type_.build(rows, {}, folder.output) == b""
    return folder.open(type_, rows.type, index_version)


def stored(
    keys: pa.Array, blobs: pa.Array, names: tuple[str, str] = ("keys", "bitmaps"), **metadata: str
) -> Folder:
    """A folder with a file of these contents; ``__`` in metadata stands for a colon."""
    folder = new_folder()
    table = pa.table(dict(zip(names, (keys, blobs), strict=True)))
    with folder.output.create(FILE, table.schema) as file:
        file.write(table)
        for key, value in metadata.items():
            file.add_metadata(key.replace("__", ":"), value)
    return folder


def blobs_of(*rows: list[int]) -> pa.Array:
    """A blob for each list of row numbers."""
    return pa.array([RowSet.of(np.array(one, np.uint64)).to_tree_map() for one in rows])


def contents(index: Any) -> Mapping[Any, list[int]]:
    """The rows of each value of an open index."""
    found: dict[Any, list[int]] = {}
    for keys, blobs in index.file.blocks():
        for key, blob in zip(keys.to_pylist(), blobs.to_pylist(), strict=True):
            assert key not in found
            found[key] = RowSet.from_tree_map(blob).numbers().tolist()
    return found
