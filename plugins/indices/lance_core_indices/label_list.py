"""The label list index: for each distinct item the rows whose lists contain it."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import to_numpy, to_scalar
from lance_core.hookspecs.concurrency import cached_property
from lance_core.hookspecs.indices import (
    EMPTY,
    HasAll,
    HasAny,
    IndexFileWriter,
    IndexFolder,
    IndexOutput,
    IndexPart,
    IndexQuery,
    IndexRows,
    IndexType,
    OpenIndex,
    Precision,
    RowMap,
    RowNumbers,
    RowSet,
    SearchResult,
    is_orderable,
)
from lance_core_indices.bitmaps.bitmap_file import BitmapFile
from lance_core_indices.bitmaps.build import check_no_parameters, sorted_groups, write_groups
from lance_core_indices.bitmaps.merging import (
    MergeSource,
    merge_blobs,
    merged_block_bytes,
    moved_set,
)

_NULLS_KEY = "lance:label_list_nulls"
"""The metadata with the number of the global buffer that has the rows of null lists."""


class OpenLabelList(OpenIndex):
    """An open label list index."""

    def __init__(self, folder: IndexFolder) -> None:
        self.file = BitmapFile(folder, folder.kind.value_type)
        self._buffer = self.file.reader.metadata.get(_NULLS_KEY)
        if self._buffer is None and folder.index_version > 0:
            raise CorruptFileError(f"the index file has no metadata {_NULLS_KEY!r}")

    @cached_property
    def null_lists(self) -> RowSet | None:
        """The rows of null lists; None if the index does not have them, as version 0."""
        if self._buffer is None:
            return None
        if not self._buffer.isdecimal():
            raise CorruptFileError(f"{_NULLS_KEY} is {self._buffer!r}")
        data = self.file.reader.global_buffer(int(self._buffer))
        return RowSet.from_tree_map(data.to_pybytes())

    @property
    def nbytes(self) -> int:
        return self.file.nbytes

    def search(self, query: IndexQuery, *, with_nulls: bool = False) -> SearchResult:
        assert isinstance(query, HasAny | HasAll)
        positions = self.file.places_in(query.values)
        if isinstance(query, HasAny):
            rows = self.file.union(positions)
        elif len(positions) < len(query.values.unique()):
            rows = EMPTY
        else:
            rows = functools.reduce(RowSet.__and__, self.file.sets(positions))
        return SearchResult(rows, self.null_lists if with_nulls else None, len(positions))

    def statistics(self) -> Mapping[str, Any]:
        return {"num_bitmaps": self.file.num_bitmaps}

    def prewarm(self) -> None:
        self.file.prewarm()


class LabelList(IndexType):
    """An index of lists with a set of rows for each distinct item."""

    def accepts(self, kind: pa.DataType) -> bool:
        is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        return is_list and is_orderable(kind.value_type)

    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        return Precision.EXACT if isinstance(query, HasAny | HasAll) else None

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        check_no_parameters("label list", parameters)

    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        return self.merge([], rows, output)

    def open(self, folder: IndexFolder, details: bytes) -> OpenIndex:
        return OpenLabelList(folder)

    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        nulls, sources, value_type = _NullLists(), [], pa.null()
        size = merged_block_bytes(len(parts) + 1)
        for part in parts:
            assert isinstance(part.source, OpenLabelList)
            value_type = part.source.file.kind
            null_lists, map_ = part.source.null_lists, part.map
            if null_lists is None:
                map_ = _NoneKept(map_)
            else:
                nulls.add(moved_set(null_lists, map_))
            sources.append(MergeSource(part.source.file.blocks(size), map_))
        if rows is not None:
            value_type = rows.type.value_type
            sources.append(MergeSource(sorted_groups(value_type, nulls.items(rows), output)))
        groups = sources[0].blocks if not parts and sources else merge_blobs(sources)
        write_groups(output, value_type, groups, nulls.write)
        return b""


class _NoneKept:
    """The map of an index without the rows of null lists: only its parameters can be merged."""

    def __init__(self, map_: RowMap) -> None:
        self._map = map_

    def moved(self, rows: RowNumbers) -> tuple[RowNumbers, npt.NDArray[np.bool_]]:
        new, is_live = self._map.moved(rows)
        if is_live.any():
            raise CorruptFileError(
                "a label list index of version 0 does not have the rows of null lists; "
                "replace it by a new index"
            )
        return new, is_live


class _NullLists:
    """The rows of null lists, collected while the items of the others are read."""

    def __init__(self) -> None:
        self._rows = EMPTY

    def add(self, rows: RowSet) -> None:
        self._rows |= rows

    def items(self, rows: IndexRows) -> Iterator[tuple[pa.Array, RowNumbers]]:
        """The items of all lists, each with the row of its list."""
        for lists, numbers in rows.batches():
            lengths = lists.value_lengths()
            if lists.null_count:
                self.add(RowSet.of(numbers[to_numpy(lists.is_null())]))
                lengths = lengths.fill_null(to_scalar(0, lengths.type))
            # The items of null lists are left out.
            yield lists.flatten(), np.repeat(numbers, to_numpy(lengths))

    def write(self, writer: IndexFileWriter) -> None:
        number = writer.add_global_buffer(self._rows.to_tree_map())
        writer.add_metadata(_NULLS_KEY, str(number))
