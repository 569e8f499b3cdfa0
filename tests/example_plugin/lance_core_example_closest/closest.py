"""The search for the closest numbers, and an index of sorted numbers that answers it.

The file of an index has runs of rows, each in the order of its numbers, which are not null and not
NaN. The metadata ``runs`` has the number of the rows of each run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.hookspecs.indices import (
    IndexFolder,
    IndexOutput,
    IndexPart,
    IndexQuery,
    IndexRows,
    IndexType,
    OpenIndex,
    Precision,
    RowNumbers,
)
from lance_core.hookspecs.options import unknown_argument
from lance_core.hookspecs.searches import (
    AllowedRows,
    Hits,
    RankedIndex,
    RankedQuery,
    RankedSearch,
    best_of,
    merged,
)

Numbers = npt.NDArray[np.float64]

FILE = "numbers.lance"
_SCHEMA = pa.schema(
    [pa.field("number", pa.float64(), nullable=False), pa.field("row", pa.uint64(), nullable=False)]
)


class Closest(RankedSearch):
    """Makes a query of ``{"column": "x", "to": 4.2, "k": 3}``; ``to`` may be several numbers."""

    def query(self, value: Any, type_of: Callable[[str], pa.DataType]) -> RankedQuery:
        for name in value:
            if name not in ("column", "to", "k"):
                raise unknown_argument(name, ("column", "to", "k"))
        to, k = np.asarray(value["to"], np.float64), value.get("k", 10)
        if not _is_number(type_of(value["column"])) or not np.isfinite(to).all() or k < 1:
            raise InvalidInputError(f"closest={value!r}: finite numbers, of which k is above 0")
        return ClosestQuery(value["column"], np.atleast_1d(to), k, is_batch=to.ndim > 0)


class ClosestQuery(RankedQuery):
    """Ranks numbers by how far they are from each of ``to``."""

    score_name = "_gap"
    ascending = True

    def __init__(self, column: str, to: Numbers, k: int, *, is_batch: bool) -> None:
        self.column, self.to = column, to
        self.k = self.num_candidates = k
        self.num_queries, self.is_batch = len(to), is_batch

    def best(self, values: pa.Array, count: int) -> Sequence[Hits]:
        positions = np.arange(len(values))
        return [
            best_of(positions, self.scores(values, number), count, ascending=True)
            for number in range(self.num_queries)
        ]

    def scores(self, values: pa.Array, query: int) -> npt.NDArray[np.float32]:
        return self.gaps(_as_numbers(values), query)

    def gaps(self, numbers: Numbers, query: int) -> npt.NDArray[np.float32]:
        """The distance of each number from one of ``to``; NaN of NaN."""
        return np.abs(numbers - self.to[query]).astype(np.float32)

    def for_index(self, segments: Sequence[OpenIndex]) -> RankedQuery | None:
        is_ours = all(isinstance(one, OpenSortedNumbers) for one in segments)
        return self if is_ours else None


class Run(NamedTuple):
    """Rows in the order of their numbers."""

    numbers: Numbers
    rows: RowNumbers


class SortedNumbers(IndexType):
    """Ranks the rows of a column of integers or floats."""

    def accepts(self, kind: pa.DataType) -> bool:
        return _is_number(kind)

    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        return None  # it answers no filters

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        for name in parameters:
            raise InvalidInputError(f"unknown parameter {name!r}: there are none")

    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        return self.merge((), rows, output)

    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        lengths = []
        with output.create(FILE, _SCHEMA) as file:
            for numbers, own_rows in chain(_kept(parts), _added(rows)):
                order = np.lexsort((own_rows, numbers))
                columns = [pa.array(numbers[order]), pa.array(own_rows[order])]
                file.write(pa.table(columns, schema=_SCHEMA))
                lengths.append(len(numbers))
                output.progress("sort", sum(lengths), sum(lengths))
            file.add_metadata("runs", json.dumps(lengths))
        return b""

    def open(self, folder: IndexFolder, details: bytes) -> OpenIndex:
        file = folder.reader(FILE)
        try:
            lengths = [int(length) for length in json.loads(file.metadata["runs"])]
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptFileError(f"no metadata of sorted numbers: {error}") from None
        if sum(lengths) != file.num_rows or min(lengths, default=0) < 0:
            raise CorruptFileError(f"runs of {sum(lengths)} rows in a file of {file.num_rows}")
        table = file.read()
        columns = [table[name] for name in _SCHEMA.names]
        if any(
            column.type != kind or column.null_count
            for column, kind in zip(columns, _SCHEMA.types, strict=True)
        ):
            raise CorruptFileError("numbers are floats, rows are unsigned, and none is null")
        edges = np.cumsum(lengths)[:-1]
        parts = (np.split(column.to_numpy(), edges) for column in columns)
        runs = [Run(*run) for run in zip(*parts, strict=True)] if lengths else []
        if not all((run.numbers[1:] >= run.numbers[:-1]).all() for run in runs):
            raise CorruptFileError("the numbers of a run are not sorted")
        return OpenSortedNumbers(runs)


class OpenSortedNumbers(RankedIndex):
    """All runs in memory."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = runs

    @property
    def nbytes(self) -> int:
        return sum(run.numbers.nbytes + run.rows.nbytes for run in self.runs)

    def top(self, query: RankedQuery, count: int, allowed: AllowedRows | None) -> Sequence[Hits]:
        assert isinstance(query, ClosestQuery)  # `ClosestQuery.for_index` returns no other
        return [
            merged(
                [_top(run, query, n, count, allowed) for run in self.runs], count, ascending=True
            )
            for n in range(query.num_queries)
        ]

    def statistics(self) -> Mapping[str, Any]:
        return {"num_runs": len(self.runs)}


def _top(
    run: Run, query: ClosestQuery, number: int, count: int, allowed: AllowedRows | None
) -> Hits:
    """The best allowed rows of a run: those around the number, and more until there are enough."""
    middle, reach = int(np.searchsorted(run.numbers, query.to[number])), count + 8
    while True:
        start, stop = max(0, middle - reach), min(len(run.rows), middle + reach)
        rows, gaps = run.rows[start:stop], query.gaps(run.numbers[start:stop], number)
        outside = [
            gap for gap, at in ((gaps[:1], start > 0), (gaps[-1:], stop < len(run.rows))) if at
        ]
        if allowed is not None:
            mask = allowed.mask(rows)
            rows, gaps = rows[mask], gaps[mask]
        hits = best_of(rows, gaps, count, ascending=True)
        # Rows beyond the window may be as close as its first or last one, and precede in a tie.
        if not outside or (
            len(hits.rows) == count and hits.scores[-1] < np.concatenate(outside).min()
        ):
            return hits
        reach *= 4


def _added(rows: IndexRows | None) -> Iterator[Run]:
    """A run of each batch of new rows, so that memory is bounded."""
    for batch in () if rows is None else rows.batches():
        numbers = _as_numbers(batch.values)
        known = ~np.isnan(numbers)
        yield Run(numbers[known], batch.rows[known])


def _kept(parts: Sequence[IndexPart]) -> Iterator[Run]:
    """The runs of existing indices, with the rows where they are now."""
    for part in parts:
        assert isinstance(part.source, OpenSortedNumbers)
        for numbers, rows in part.source.runs:
            moved, is_kept = part.map.moved(rows)
            yield Run(numbers[is_kept], moved[is_kept])


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _as_numbers(values: pa.Array) -> Numbers:
    """The values as float64; nulls are NaN."""
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
