"""`BTree`: the BTREE type of index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.arrays import from_numpy
from lance_core.hookspecs.indices import (
    IndexBatch,
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
    StartsWith,
    is_orderable,
)
from lance_core.hookspecs.options import hint
from lance_core_indices.btree.layout import DEFAULT_BATCH_SIZE, write_pages
from lance_core_indices.btree.open_btree import OpenBTree
from lance_core_indices.btree.value_sort import ValueSort

ZONE_SIZE = "zone_size"

_MAX_ZONE_SIZE = 1 << 24
"""Maximum rows of a page: a search reads whole pages."""


class BTree(IndexType):
    """All values in ascending order; answers comparisons, ranges and prefixes exactly."""

    def accepts(self, kind: pa.DataType) -> bool:
        """See `IndexType.accepts`."""
        return is_orderable(kind)

    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        """See `IndexType.precision`."""
        if isinstance(query, IsIn | InRange | IsNull):
            return Precision.EXACT
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        return Precision.EXACT if is_text and isinstance(query, StartsWith) else None

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        """See `IndexType.check_parameters`."""
        for name, value in parameters.items():
            if name != ZONE_SIZE:
                known = hint(str(name), [ZONE_SIZE])
                raise InvalidInputError(f"a BTREE index has no parameter {name!r}{known}")
            if type(value) is not int or not 0 < value <= _MAX_ZONE_SIZE:
                raise InvalidInputError(
                    f"{ZONE_SIZE} must be a number of rows from 1 to {_MAX_ZONE_SIZE}, "
                    f"got {value!r}"
                )

    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        """See `IndexType.build`."""
        self.check_parameters(parameters)
        sort = ValueSort(rows.type, output.scratch)
        _add(sort, rows, output)
        size = parameters.get(ZONE_SIZE, DEFAULT_BATCH_SIZE)
        write_pages(output, rows.type, size, sort.batches(), rows.num_rows)
        return b""

    def open(self, folder: IndexFolder, details: bytes) -> OpenIndex:
        """See `IndexType.open`."""
        return OpenBTree(folder)

    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        """See `IndexType.merge`."""
        first = _open_btree(parts[0])
        num_rows = sum(_open_btree(part).num_rows for part in parts)
        if len(parts) == 1 and rows is None:
            write_pages(output, first.kind, first.batch_size, _moved(parts[0], 1), num_rows)
            return b""
        sort = ValueSort(first.kind, output.scratch)
        for part in parts:
            sort.add_sorted(_moved(part, len(parts)))
        if rows is not None:
            num_rows += rows.num_rows
            _add(sort, rows, output)
        write_pages(output, first.kind, first.batch_size, sort.batches(), num_rows)
        return b""


def _add(sort: ValueSort, rows: IndexRows, output: IndexOutput) -> None:
    done, total = 0, rows.num_rows
    for values, numbers in rows.batches():
        sort.add(values, numbers)
        done += len(numbers)
        output.progress("sort", done, total)


def _moved(part: IndexPart, num_parts: int) -> Iterator[IndexBatch]:
    """The rows of an index that the new one has, in order of their values.

    ``num_parts``: how many indices are read at the same time.
    """
    for values, rows in _open_btree(part).batches(num_parts):
        moved, is_kept = part.map.moved(rows)
        if is_kept.all():
            yield IndexBatch(values, moved)
        elif is_kept.any():
            yield IndexBatch(values.filter(from_numpy(is_kept)), moved[is_kept])


def _open_btree(part: IndexPart) -> OpenBTree:
    assert isinstance(part.source, OpenBTree)
    return part.source
