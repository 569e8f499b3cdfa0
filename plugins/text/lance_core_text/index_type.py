"""`TextIndex`: the index type of text indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_core.errors import UnsupportedFeatureError
from lance_core.hookspecs.indices import (
    IndexFolder,
    IndexNotWrittenError,
    IndexOutput,
    IndexPart,
    IndexQuery,
    IndexRows,
    IndexType,
    OpenIndex,
    Precision,
)
from lance_core_text.analyzers.columns import is_text
from lance_core_text.inverted_index import InvertedIndex


class TextIndex(IndexType):
    """Text indices; they rank rows and answer no filters."""

    def accepts(self, kind: pa.DataType) -> bool:
        return is_text(kind)

    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        return None

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        raise UnsupportedFeatureError(f"indices of type {parameters['kind']} are not built yet")

    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        raise IndexNotWrittenError("text indices are not built yet")

    def open(self, folder: IndexFolder, details: bytes) -> OpenIndex:
        return InvertedIndex(folder, details)

    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        raise IndexNotWrittenError("text indices are not written yet")
