"""Defects of index types: each the example's index type with one thing wrong."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from lance_core_example_sorted_hash import SPEC
from lance_core_example_sorted_hash.sorted_hash import OpenSortedHash, SortedHash

from lance_core.errors import LanceError
from lance_core.index.base import IndexPart, IndexType, Precision, SearchResult
from lance_core.index.queries import IsIn
from lance_core.table.indices.row_set import EMPTY
from lance_core.testing import IndexTypeTests
from lance_core.testing.index_samples import SampleMap, SampleRows
from tests.conformance.planted.runner import Defect, defects_of


class Good(IndexTypeTests):
    """The tests of the example, with few columns."""

    spec = SPEC

    def samples(self) -> Mapping[str, pa.Array]:
        return {"int16": super().samples()["int16"]}


def tested(kind: type[IndexType]) -> IndexTypeTests:
    """The tests of a defective type."""
    kit = Good()
    kit.spec = dataclasses.replace(SPEC, factory=kind)
    return kit


class OnlyTheFirstBatch(SortedHash):
    def build(self, rows: Any, parameters: Any, output: Any) -> bytes:
        first = SampleRows(rows.values[: rows.batch_rows], rows.rows[: rows.batch_rows])
        return super().build(first, parameters, output)


class NoSuchRows(SortedHash):
    def build(self, rows: Any, parameters: Any, output: Any) -> bytes:
        return super().build(SampleRows(rows.values, rows.rows + 9), parameters, output)


class ExactByHash(SortedHash):
    """It says that rows of equal hashes have equal values, and finds more."""

    def precision(self, query: Any, kind: pa.DataType, details: bytes) -> Precision | None:
        return None if super().precision(query, kind, details) is None else Precision.EXACT

    def open(self, folder: Any, details: bytes) -> Any:
        opened = super().open(folder, details)
        search = opened.search

        def more(query: Any, *, with_nulls: bool = False) -> SearchResult:
            found = search(query, with_nulls=with_nulls)
            if not isinstance(query, IsIn):
                return found
            return SearchResult(found.rows | opened.nulls, opened.nulls)

        opened.search = more
        return opened


class ExactWithoutNulls(SortedHash):
    def precision(self, query: Any, kind: pa.DataType, details: bytes) -> Precision | None:
        return None if super().precision(query, kind, details) is None else Precision.EXACT


class NullsAreForgotten(SortedHash):
    def open(self, folder: Any, details: bytes) -> Any:
        opened = super().open(folder, details)
        opened.nulls = EMPTY
        return opened


class FailsWithoutRows(SortedHash):
    def build(self, rows: Any, parameters: Any, output: Any) -> bytes:
        next(rows.batches())
        return super().build(rows, parameters, output)


def _with_maps(parts: Any, change: Any) -> list[IndexPart]:
    return [IndexPart(part.source, change(part.map)) for part in parts]


class RowsStayWhereTheyWere(SortedHash):
    def merge(self, parts: Any, rows: Any, output: Any) -> bytes:
        return super().merge(
            _with_maps(parts, lambda m: SampleMap(m.before, m.before)), rows, output
        )


class DroppedRowsAreKept(SortedHash):
    def merge(self, parts: Any, rows: Any, output: Any) -> bytes:
        class Everything:
            def __init__(self, rows: Any) -> None:
                self.moved = lambda some: (rows.moved(some)[0], np.ones(len(some), np.bool_))

        return super().merge(_with_maps(parts, Everything), rows, output)


class NewRowsAreForgotten(SortedHash):
    def merge(self, parts: Any, rows: Any, output: Any) -> bytes:
        return super().merge(parts, None if parts else rows, output)


class OnlyTheFirstPart(SortedHash):
    def merge(self, parts: Any, rows: Any, output: Any) -> bytes:
        return super().merge(parts[:1], rows, output)


class ParametersAreLost(SortedHash):
    def build(self, rows: Any, parameters: Any, output: Any) -> bytes:
        super().build(rows, parameters, output)
        return b"1"


class OtherParameters(SortedHash):
    def open(self, folder: Any, details: bytes) -> Any:
        class Opened(OpenSortedHash):
            parameters = {"no_such_parameter": 1}  # noqa: RUF012

        opened = super().open(folder, details)
        opened.__class__ = Opened
        return opened


class AnyParameter(SortedHash):
    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        pass


class ErrorsOfItsOwn(SortedHash):
    def open(self, folder: Any, details: bytes) -> Any:
        try:
            return super().open(folder, details)
        except LanceError as error:
            raise KeyError(str(error)) from error


class SharedState(SortedHash):
    def open(self, folder: Any, details: bytes) -> Any:
        opened = super().open(folder, details)
        search, asked = opened.search, [None]

        def racing(query: Any, *, with_nulls: bool = False) -> SearchResult:
            asked[0] = query
            time.sleep(0.001)
            return search(asked[0], with_nulls=with_nulls)

        opened.search = racing
        return opened


class StatisticsOfNumpy(SortedHash):
    def open(self, folder: Any, details: bytes) -> Any:
        opened = super().open(folder, details)
        opened.statistics = lambda: {"num_runs": np.int64(1)}
        return opened


_numbers = itertools.count()


class StatisticsByChance(SortedHash):
    def open(self, folder: Any, details: bytes) -> Any:
        opened: OpenSortedHash = super().open(folder, details)  # type: ignore[assignment]
        opened.statistics = lambda: {"n": next(_numbers)}  # type: ignore[method-assign]
        return opened


ALL: list[Defect] = [
    *defects_of(
        "test_queries_find_what_a_plain_evaluation_finds",
        *(OnlyTheFirstBatch, NoSuchRows, ExactByHash, ExactWithoutNulls, NullsAreForgotten),
    ),
    *defects_of(
        "test_an_index_may_have_no_rows_or_only_nulls_or_no_nulls",
        FailsWithoutRows,
    ),
    *defects_of(
        "test_a_merge_has_the_rows_that_are_kept_where_they_are_now_and_new_rows",
        *(RowsStayWhereTheyWere, DroppedRowsAreKept, NewRowsAreForgotten, OnlyTheFirstPart),
        ParametersAreLost,
    ),
    *defects_of("test_an_index_is_built_with_the_parameters_of_another", OtherParameters),
    *defects_of("test_damaged_files_raise_an_error_of_the_library", ErrorsOfItsOwn),
    *defects_of("test_threads_may_search_at_the_same_time", SharedState),
    *defects_of(
        "test_an_open_index_has_a_size_and_statistics", StatisticsOfNumpy, StatisticsByChance
    ),
    *defects_of("test_unknown_parameters_are_refused", AnyParameter),
]
