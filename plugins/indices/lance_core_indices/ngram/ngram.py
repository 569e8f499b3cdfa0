"""`NGram`: the NGRAM index, which finds the rows that may contain a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.arrays import is_text
from lance_core.hookspecs.indices import (
    IndexFolder,
    IndexOutput,
    IndexPart,
    IndexQuery,
    IndexRows,
    IndexType,
    Precision,
)
from lance_core.hookspecs.options import shortened
from lance_core_indices.ngram.open_ngram import MovedPostings, OpenNGram, query_tokens
from lance_core_indices.ngram.postings import token_runs, write_postings


class NGram(IndexType):
    """The NGRAM index of strings."""

    def accepts(self, kind: pa.DataType) -> bool:
        return is_text(kind)

    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        """AT_MOST for queries whose text has a trigram.

        `IsNull` is not answered: an index may lack the entry of null rows, and other rows may be in
        that entry.
        """
        return Precision.AT_MOST if self.accepts(kind) and query_tokens(query) else None

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        for name in parameters:
            raise InvalidInputError(
                f"unknown parameter {shortened(str(name))}: an NGRAM index has no parameters"
            )

    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        write_postings(token_runs(rows, output), output)
        return b""

    def open(self, folder: IndexFolder, details: bytes) -> OpenNGram:
        return OpenNGram(folder)

    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        moved = [MovedPostings(part) for part in parts]
        added = () if rows is None else token_runs(rows, output)
        write_postings([*moved, *added], output)
        return b""
