"""`TextIndex`: the index type of text indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_core.hookspecs.indices import (
    IndexFolder,
    IndexOutput,
    IndexPart,
    IndexQuery,
    IndexRows,
    IndexType,
    InvertedIndexDetails,
    OpenIndex,
    Precision,
    parse_details_message,
)
from lance_core_text.analyzers.columns import is_text
from lance_core_text.inverted_index import InvertedIndex
from lance_core_text.write.build import build, merge
from lance_core_text.write.parameters import BuildParameters


class TextIndex(IndexType):
    """Text indices; they rank rows and answer no filters."""

    is_of_json = True

    def accepts(self, kind: pa.DataType) -> bool:
        return is_text(kind) or bool(pa.types.is_large_binary(kind))

    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        return None

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        BuildParameters.of(parameters)

    def details_of(self, parameters: Mapping[str, Any]) -> bytes:
        return BuildParameters.of(parameters).details()

    def version_of(self, details: bytes) -> int | None:
        parsed = parse_details_message(InvertedIndexDetails, details)
        return int(parsed.posting_format_version) or None

    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        return build(rows, BuildParameters.of(parameters), output)

    def open(self, folder: IndexFolder, details: bytes) -> OpenIndex:
        return InvertedIndex(folder, details)

    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        return merge(parts, rows, output)
