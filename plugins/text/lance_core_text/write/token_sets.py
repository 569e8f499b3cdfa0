"""How the terms of a partition are written: a sorted column beside their numbers, or a transducer.

A term has the number of its posting list. Terms come in ascending order, part by part.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.arrays import from_numpy, from_values
from lance_core_text.postings.token_set import (
    FST_BYTES,
    FST_SIZE,
    FST_TERM_BYTES,
    NUMBER_COLUMN,
    TERM_COLUMN,
)
from lance_core_text.write.encode_fst import encode_fst


class TokenSetWriter(Protocol):
    """Makes the rows of the file of terms; ``schema``: its columns."""

    schema: pa.Schema

    def add(self, terms: pa.Array) -> pa.RecordBatch | None:
        """The rows of further terms, None if they are written at the end."""

    def finish(self) -> pa.RecordBatch | None:
        """The rows that are left."""


class SortedColumn:
    """Terms and numbers, one a row."""

    schema = pa.schema(
        [
            pa.field(TERM_COLUMN, pa.string(), nullable=False),
            pa.field(NUMBER_COLUMN, pa.uint32(), nullable=False),
        ]
    )

    def __init__(self) -> None:
        self._num_terms = 0

    def add(self, terms: pa.Array) -> pa.RecordBatch:
        numbers = np.arange(self._num_terms, self._num_terms + len(terms), dtype=np.uint32)
        self._num_terms += len(terms)
        columns = [terms.cast(pa.string()), from_numpy(numbers)]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def finish(self) -> None:
        return None


class Transducer:
    """One row with all terms, their number and the sum of their bytes.

    The terms are in memory until the end.
    """

    schema = pa.schema(
        [
            pa.field(FST_BYTES, pa.large_binary(), nullable=False),
            pa.field(FST_SIZE, pa.uint32(), nullable=False),
            pa.field(FST_TERM_BYTES, pa.uint64(), nullable=False),
        ]
    )

    def __init__(self) -> None:
        self._parts = [from_values([], pa.large_binary())]

    def add(self, terms: pa.Array) -> None:
        self._parts.append(terms.cast(pa.large_binary()))

    def finish(self) -> pa.RecordBatch:
        keys = pa.concat_arrays(self._parts)
        num_bytes = pc.sum(pc.binary_length(keys)).as_py() or 0
        row: list[Any] = [encode_fst(keys), len(keys), num_bytes]
        columns = [
            from_values([value], field.type) for value, field in zip(row, self.schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)
