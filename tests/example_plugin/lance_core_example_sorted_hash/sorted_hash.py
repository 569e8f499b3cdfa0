"""Sorted hashes of integers.

The file has runs of rows, each in the order of the hashes. The metadata ``runs`` has the number of
the rows of each run, and a global buffer has the rows with nulls.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.hookspecs.indices import (
    EMPTY,
    IndexFolder,
    IndexOutput,
    IndexPart,
    IndexQuery,
    IndexRows,
    IndexType,
    IsIn,
    IsNull,
    OpenIndex,
    Precision,
    RowSet,
    SearchResult,
)
from lance_core.hookspecs.options import hint

Numbers = npt.NDArray[np.uint64]

FILE = "hashes.lance"
_SCHEMA = pa.schema([pa.field(name, pa.uint64(), nullable=False) for name in ("hash", "row")])
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _hashes(values: pa.Array) -> Numbers:
    """The hash of each value, none of which is null: the last steps of SplitMix64."""
    mixed: Numbers = values.to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64).copy()
    for shift, factor in zip((30, 27), _FACTORS, strict=True):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * factor
    return mixed ^ (mixed >> np.uint64(31))


class SortedHash(IndexType):
    """Answers ``=`` and ``IN`` with the rows of equal hashes, and ``IS NULL`` exactly."""

    def accepts(self, kind: pa.DataType) -> bool:
        return bool(pa.types.is_integer(kind))

    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        if isinstance(query, IsNull):
            return Precision.EXACT
        return Precision.AT_MOST if isinstance(query, IsIn) else None

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        for name in parameters:
            raise InvalidInputError(f"unknown parameter {name!r}{hint(name, ())}")

    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        return self.merge((), rows, output)

    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        nulls, runs = [EMPTY], []
        with output.create(FILE, _SCHEMA) as file:
            for hashes, numbers, null_rows in itertools.chain(_kept(parts), _added(rows)):
                nulls.append(RowSet.of(null_rows))
                if len(hashes):
                    file.write(pa.table([pa.array(hashes), pa.array(numbers)], schema=_SCHEMA))
                    runs.append(len(hashes))
                output.progress("hash", sum(runs), sum(runs))
            buffer = file.add_global_buffer(RowSet.union(nulls).to_tree_map())
            file.add_metadata("runs", json.dumps(runs))
            file.add_metadata("nulls", str(buffer))
        return b""

    def open(self, folder: IndexFolder, details: bytes) -> OpenIndex:
        file = folder.reader(FILE)
        try:
            runs = [int(run) for run in json.loads(file.metadata["runs"])]
            buffer = int(file.metadata["nulls"])
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptFileError(f"no metadata of sorted hashes: {error}") from None
        if sum(runs) != file.num_rows or min(runs, default=0) < 0:
            raise CorruptFileError(f"runs of {sum(runs)} rows in a file of {file.num_rows}")
        table = file.read()
        columns = (table[name] for name in _SCHEMA.names)
        if any(column.type != pa.uint64() or column.null_count for column in columns):
            raise CorruptFileError("hashes and rows are unsigned numbers and not null")
        nulls = RowSet.from_tree_map(file.global_buffer(buffer).to_pybytes())
        return OpenSortedHash(table["hash"].to_numpy(), table["row"].to_numpy(), runs, nulls)


class OpenSortedHash(OpenIndex):
    """The hashes and rows of all runs in memory."""

    def __init__(self, hashes: Numbers, rows: Numbers, runs: Sequence[int], nulls: RowSet) -> None:
        edges = np.cumsum(runs)[:-1]
        self.runs = list(zip(np.split(hashes, edges), np.split(rows, edges), strict=True))
        self.nulls = nulls

    @property
    def nbytes(self) -> int:
        return sum(hashes.nbytes + rows.nbytes for hashes, rows in self.runs)

    def search(self, query: IndexQuery, *, with_nulls: bool = False) -> SearchResult:
        if isinstance(query, IsNull):
            return SearchResult(self.nulls, EMPTY if with_nulls else None, len(self.runs))
        assert isinstance(query, IsIn)
        wanted = _hashes(query.values)
        found = [rows[np.isin(hashes, wanted)] for hashes, rows in self.runs]
        return SearchResult(RowSet.of(np.concatenate([np.empty(0, np.uint64), *found])))

    def statistics(self) -> Mapping[str, Any]:
        return {"num_runs": len(self.runs)}


def _kept(parts: Sequence[IndexPart]) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """The runs of existing indices, with the rows where they are now."""
    for part in parts:
        assert isinstance(part.source, OpenSortedHash)
        numbers, is_kept = part.map.moved(part.source.nulls.numbers())
        yield np.empty(0, np.uint64), np.empty(0, np.uint64), numbers[is_kept]
        for hashes, rows in part.source.runs:
            numbers, is_kept = part.map.moved(rows)
            yield hashes[is_kept], numbers[is_kept], np.empty(0, np.uint64)


def _added(rows: IndexRows | None) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """The runs of new rows: one for each batch, so that memory is bounded."""
    for batch in () if rows is None else rows.batches():
        is_null = np.asarray(batch.values.is_null())
        hashes = _hashes(batch.values.drop_null())
        order = np.argsort(hashes)
        yield hashes[order], batch.rows[~is_null][order], batch.rows[is_null]
