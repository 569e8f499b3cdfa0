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
from lance_core_testing import IndexTypeTests
from lance_core_testing.index_samples import SampleMap, SampleRows
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
    kit.parameters = getattr(kind, "given", {})  # type: ignore[misc]
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


class HoldsAllRows(SortedHash):
    """Sorts all rows at once."""

    def build(self, rows: Any, parameters: Any, output: Any) -> bytes:
        batches = list(rows.batches())
        values = pa.concat_arrays([batch.values for batch in batches])
        numbers = np.concatenate([batch.rows for batch in batches])
        return super().build(SampleRows(values, numbers, len(numbers)), parameters, output)


class HoldsAllRuns(SortedHash):
    """Makes every run before it writes the first."""

    def build(self, rows: Any, parameters: Any, output: Any) -> bytes:
        batches = [batch for batch in rows.batches() if len(batch.rows)]

        class Held:
            type = rows.type
            num_rows = rows.num_rows

            def batches(self) -> Any:
                return iter(batches)

        return super().build(Held(), parameters, output)


class Sized(SortedHash):
    """Without a defect, and with a parameter."""

    given: Mapping[str, Any] = {"size": 3}

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        super().check_parameters({name: 0 for name in parameters if name != "size"})

    def build(self, rows: Any, parameters: Any, output: Any) -> bytes:
        super().build(rows, {}, output)
        return str(parameters.get("size", 1)).encode()

    def merge(self, parts: Any, rows: Any, output: Any) -> bytes:
        super().merge(parts, rows, output)
        return str(parts[0].source.parameters["size"]).encode() if parts else b""

    def open(self, folder: Any, details: bytes) -> Any:
        opened = super().open(folder, b"")
        reported, statistics = self.reported(details), self.statistics(details)

        class Opened(OpenSortedHash):
            parameters = reported

        opened.__class__ = Opened
        opened.statistics = lambda: {**statistics}
        return opened

    def reported(self, details: bytes) -> Mapping[str, Any]:
        return {"size": int(details)}

    def statistics(self, details: bytes) -> Mapping[str, Any]:
        return {"size": int(details)}


class ReportsTheDefault(Sized):
    def reported(self, details: bytes) -> Mapping[str, Any]:
        return {"size": 1}


class ReportsNoParameter(Sized):
    def reported(self, details: bytes) -> Mapping[str, Any]:
        return {}


class ReportsATextOfTheParameter(Sized):
    def reported(self, details: bytes) -> Mapping[str, Any]:
        return {"size": details.decode()}


class StatisticsOfTheDefault(Sized):
    def statistics(self, details: bytes) -> Mapping[str, Any]:
        return {"size": 1}


class Exact(SortedHash):
    """Without a defect: no two samples have equal hashes."""

    def precision(self, query: Any, kind: pa.DataType, details: bytes) -> Precision | None:
        return None if super().precision(query, kind, details) is None else Precision.EXACT

    def open(self, folder: Any, details: bytes) -> Any:
        opened = super().open(folder, details)
        search = opened.search

        def exact(query: Any, *, with_nulls: bool = False) -> SearchResult:
            found = search(query, with_nulls=with_nulls)
            is_open = with_nulls and isinstance(query, IsIn)
            return SearchResult(found.rows, self.nulls_of(opened.nulls)) if is_open else found

        opened.search = exact
        return opened

    def nulls_of(self, nulls: Any) -> Any:
        return nulls


class NotIsTwoValued(Exact):
    def nulls_of(self, nulls: Any) -> Any:
        return EMPTY


class NullsOfTheFirstFragment(Exact):
    def nulls_of(self, nulls: Any) -> Any:
        numbers = nulls.numbers()
        return type(nulls).of(numbers[numbers < 1 << 32])


class LosesNullBatches(Exact):
    """Skips a batch without hashes, and with it its nulls."""

    def build(self, rows: Any, parameters: Any, output: Any) -> bytes:
        values = rows.values
        chosen = [
            np.arange(start, min(start + rows.batch_rows, len(values)))
            for start in range(0, len(values), rows.batch_rows)
            if values.slice(start, rows.batch_rows).null_count < rows.batch_rows
        ]
        mask = np.zeros(len(values), np.bool_)
        for part in chosen:
            mask[part] = True
        return super().build(rows.where(mask), parameters, output)


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
    *defects_of("test_building_an_index_takes_bounded_memory", HoldsAllRows, HoldsAllRuns),
    *defects_of(
        "test_given_parameters_are_reported",
        *(ReportsTheDefault, ReportsNoParameter, ReportsATextOfTheParameter),
        StatisticsOfTheDefault,
    ),
    *defects_of(
        "test_exact_answers_tell_true_false_and_null_apart",
        *(NotIsTwoValued, NullsOfTheFirstFragment, LosesNullBatches),
    ),
    *defects_of("test_damaged_files_raise_an_error_of_the_library", ErrorsOfItsOwn),
    *defects_of("test_threads_may_search_at_the_same_time", SharedState),
    *defects_of(
        "test_an_open_index_has_a_size_and_statistics", StatisticsOfNumpy, StatisticsByChance
    ),
    *defects_of("test_unknown_parameters_are_refused", AnyParameter),
]

OF_RESULTS = (
    "test_queries_find_what_a_plain_evaluation_finds",
    "test_given_parameters_are_reported",
    "test_exact_answers_tell_true_false_and_null_apart",
)
"""Tests that catch wrong parameters and nulls, which the types without a defect must pass."""
