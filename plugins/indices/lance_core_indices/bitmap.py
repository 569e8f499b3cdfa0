"""The bitmap index: for each distinct value the rows that have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_core.hookspecs.indices import (
    EMPTY,
    IndexFolder,
    IndexOutput,
    IndexPart,
    IndexQuery,
    IndexRows,
    IndexType,
    InRange,
    IsIn,
    IsNull,
    OpenIndex,
    Precision,
    SearchResult,
    StartsWith,
    is_orderable,
)
from lance_core_indices.bitmaps.bitmap_file import BitmapFile, Int64Array
from lance_core_indices.bitmaps.build import check_no_parameters, sorted_groups, write_groups
from lance_core_indices.bitmaps.merging import MergeSource, merge_blobs, merged_block_bytes


class OpenBitmap(OpenIndex):
    """An open bitmap index."""

    def __init__(self, folder: IndexFolder) -> None:
        self.file = BitmapFile(folder, folder.kind)

    @property
    def nbytes(self) -> int:
        return self.file.nbytes

    def search(self, query: Any, *, with_nulls: bool = False) -> SearchResult:
        if isinstance(query, IsNull):
            return SearchResult(self.file.null_rows(), EMPTY if with_nulls else None, 1)
        positions = self._positions(query)
        nulls = self.file.null_rows() if with_nulls else None
        return SearchResult(self.file.union(positions), nulls, len(positions))

    def _positions(self, query: Any) -> Int64Array:
        if isinstance(query, IsIn):
            return self.file.places_in(query.values)
        if isinstance(query, InRange):
            return self.file.places_between(query)
        assert isinstance(query, StartsWith)
        return self.file.places_with_prefix(query.prefix)

    def statistics(self) -> Mapping[str, Any]:
        return {"num_bitmaps": self.file.num_bitmaps}

    def prewarm(self) -> None:
        self.file.prewarm()


class Bitmap(IndexType):
    """An index with a set of rows for each distinct value: for columns with few of them."""

    def accepts(self, kind: pa.DataType) -> bool:
        return is_orderable(kind)

    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        if isinstance(query, StartsWith):
            is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
            return Precision.EXACT if is_text else None
        return Precision.EXACT if isinstance(query, IsIn | InRange | IsNull) else None

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        check_no_parameters("bitmap", parameters)

    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        write_groups(output, rows.type, sorted_groups(rows.type, rows.batches(), output))
        return b""

    def open(self, folder: IndexFolder, details: bytes) -> OpenIndex:
        return OpenBitmap(folder)

    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        value_type, sources, size = pa.null(), [], merged_block_bytes(len(parts) + 1)
        for part in parts:
            assert isinstance(part.source, OpenBitmap)
            value_type = part.source.file.kind
            sources.append(MergeSource(part.source.file.blocks(size), part.map))
        if rows is not None:
            value_type = rows.type
            sources.append(MergeSource(sorted_groups(value_type, rows.batches(), output)))
        write_groups(output, value_type, merge_blobs(sources))
        return b""
