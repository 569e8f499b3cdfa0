"""`TextIndex`: the index type of text indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
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
from lance_core_text.analyzers.columns import is_list, is_text
from lance_core_text.inverted_index import InvertedIndex
from lance_core_text.postings.index_files import is_by_element
from lance_core_text.write.build import build, merge
from lance_core_text.write.parameters import BuildParameters


class TextIndex(IndexType):
    """Text indices; they rank rows and answer no filters."""

    is_of_json = True
    is_of_list_members = True

    def accepts(self, kind: pa.DataType) -> bool:
        return is_text(kind) or bool(pa.types.is_large_binary(kind))

    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        return None

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        BuildParameters.of(parameters)

    def check_column(self, kind: pa.DataType, parameters: Mapping[str, Any]) -> None:
        if not BuildParameters.of(parameters).by_element:
            return
        if not is_list(kind):
            raise InvalidInputError(
                f"document_granularity='list_element' is for lists: values have the type {kind}"
            )
        if is_list(kind.value_type):
            raise UnsupportedFeatureError("text indices of the elements of lists in lists")

    def details_of(self, parameters: Mapping[str, Any]) -> bytes:
        return BuildParameters.of(parameters).details()

    def version_of(self, details: bytes) -> int | None:
        # Releases that do not know documents of elements ignore indices of the version 3.
        parsed = parse_details_message(InvertedIndexDetails, details)
        number = int(parsed.posting_format_version)
        return (3 if is_by_element(details) else number) or None

    def name_suffix(self, details: bytes) -> str:
        return "list_element_idx" if is_by_element(details) else "idx"

    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        return build(rows, BuildParameters.of(parameters), output)

    def open(self, folder: IndexFolder, details: bytes) -> OpenIndex:
        return InvertedIndex(folder, details)

    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        return merge(parts, rows, output)
