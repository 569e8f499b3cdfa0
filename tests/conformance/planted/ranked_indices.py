"""Defects of searches and ranked indices: each the example's with one thing wrong."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from lance_core_example_closest import SEARCH, SPEC
from lance_core_example_closest.closest import (
    Closest,
    ClosestQuery,
    OpenSortedNumbers,
    Run,
    SortedNumbers,
)

from lance_core.errors import LanceError
from lance_core.hookspecs.indices import EMPTY, IndexPart, SearchResult
from lance_core.hookspecs.searches import Hits, RankedSearch
from lance_core_testing import RankedIndexTests
from lance_core_testing.index_samples import SampleMap, SampleRows
from tests.conformance.planted.runner import Defect, defects_of
from tests.conformance.test_ranked_index import TestSortedNumbers


class Good(TestSortedNumbers):
    """The tests of the example."""

    __test__ = False


def tested(make: Callable[[], Any]) -> RankedIndexTests:
    """The tests of a defective type or search."""
    kit = Good()
    if isinstance(make, type) and issubclass(make, RankedSearch):
        kit.search = dataclasses.replace(SEARCH, factory=make)  # type: ignore[misc]
    else:
        kit.spec = dataclasses.replace(SPEC, factory=make)
    return kit


class Ranks(SortedNumbers):
    """A type whose open indices answer with `answer`, by default as they should."""

    def open(self, folder: Any, details: bytes) -> Any:
        opened = super().open(folder, details)
        right = opened.top

        def top(query: Any, count: int, allowed: Any) -> Sequence[Hits]:
            return self.answer(right, query, count, allowed)

        opened.top = top
        return opened

    def answer(self, right: Any, query: Any, count: int, allowed: Any) -> Sequence[Hits]:
        found: Sequence[Hits] = right(query, count, allowed)
        return [self.hits(one, count) for one in found]

    def hits(self, hits: Hits, count: int) -> Hits:
        return hits


class MaskIsIgnored(Ranks):
    def answer(self, right: Any, query: Any, count: int, allowed: Any) -> Sequence[Hits]:
        return right(query, count, None)


class MasksTheBestAfterwards(Ranks):
    def answer(self, right: Any, query: Any, count: int, allowed: Any) -> Sequence[Hits]:
        found = right(query, count, None)
        if allowed is None:
            return found
        masks = [allowed.mask(one.rows) for one in found]
        return [Hits(h.rows[m], h.scores[m]) for h, m in zip(found, masks, strict=True)]


class TrustsTheShare(Ranks):
    """Looks at as many rows as should be enough if the share was right."""

    def answer(self, right: Any, query: Any, count: int, allowed: Any) -> Sequence[Hits]:
        if allowed is None:
            return right(query, count, None)
        many = right(query, int(count / max(allowed.share, 0.01)) + 3, None)
        found = []
        for hits in many:
            mask = allowed.mask(hits.rows)
            found.append(Hits(hits.rows[mask][:count], hits.scores[mask][:count]))
        return found


class AsksForRowsOfOthers(Ranks):
    def answer(self, right: Any, query: Any, count: int, allowed: Any) -> Sequence[Hits]:
        if allowed is not None:
            allowed.mask(np.arange(5, dtype=np.uint64) + np.uint64(77 << 32))
        return right(query, count, allowed)


class TooFewRows(Ranks):
    def hits(self, hits: Hits, count: int) -> Hits:
        return Hits(hits.rows[:50], hits.scores[:50])


class TooManyRows(Ranks):
    def answer(self, right: Any, query: Any, count: int, allowed: Any) -> Sequence[Hits]:
        return right(query, count + 1, allowed)


class WorstFirst(Ranks):
    def hits(self, hits: Hits, count: int) -> Hits:
        return Hits(hits.rows[::-1], hits.scores[::-1])


class TiesDescend(Ranks):
    def hits(self, hits: Hits, count: int) -> Hits:
        order = np.lexsort((-hits.rows.astype(np.int64), hits.scores))
        return Hits(hits.rows[order], hits.scores[order])


class AnyRowsOfATie(Ranks):
    """Of the rows that are equally close as the last one, it returns the last instead of first."""

    def answer(self, right: Any, query: Any, count: int, allowed: Any) -> Sequence[Hits]:
        found = []
        for hits in right(query, 1 << 20, allowed):
            order = np.lexsort((-hits.rows.astype(np.int64), hits.scores))[:count]
            rows, scores = hits.rows[order], hits.scores[order]
            order = np.lexsort((rows, scores))
            found.append(Hits(rows[order], scores[order]))
        return found


class ARowTwice(Ranks):
    def hits(self, hits: Hits, count: int) -> Hits:
        return Hits(np.append(hits.rows[:1], hits.rows)[:count], _first_twice(hits.scores)[:count])


def _first_twice(scores: Any) -> Any:
    return np.append(scores[:1], scores)


class InfiniteNumbersAreLost(Ranks):
    def hits(self, hits: Hits, count: int) -> Hits:
        is_finite = np.isfinite(hits.scores)
        return Hits(hits.rows[is_finite], hits.scores[is_finite])


class CoarseScores(Ranks):
    def hits(self, hits: Hits, count: int) -> Hits:
        return Hits(hits.rows, hits.scores.astype(np.float16).astype(np.float32))


class ScoresIn64Bits(Ranks):
    def hits(self, hits: Hits, count: int) -> Hits:
        return Hits(hits.rows, hits.scores.astype(np.float64))  # type: ignore[arg-type]


class OnlyTheFirstQuery(Ranks):
    def answer(self, right: Any, query: Any, count: int, allowed: Any) -> Sequence[Hits]:
        found = right(query, count, allowed)
        return [found[0]] * len(found)


class OneAnswerForAll(Ranks):
    def answer(self, right: Any, query: Any, count: int, allowed: Any) -> Sequence[Hits]:
        return right(query, count, allowed)[:1]


class AnswersAreCached(Ranks):
    """By query and count, whatever the mask is."""

    def open(self, folder: Any, details: bytes) -> Any:
        self.known: dict[Any, Any] = {}
        return super().open(folder, details)

    def answer(self, right: Any, query: Any, count: int, allowed: Any) -> Sequence[Hits]:
        key = tuple(query.to), count
        if key not in self.known:
            self.known[key] = right(query, count, allowed)
        return self.known[key]


class SharedState(Ranks):
    asked: Any = None

    def answer(self, right: Any, query: Any, count: int, allowed: Any) -> Sequence[Hits]:
        self.asked = query
        time.sleep(0.001)
        return right(self.asked, count, allowed)


class OnlyTheFirstBatch(SortedNumbers):
    def build(self, rows: Any, parameters: Any, output: Any) -> bytes:
        some = slice(rows.batch_rows)
        return super().build(SampleRows(rows.values[some], rows.rows[some]), parameters, output)


class NanIsANumber(SortedNumbers):
    def build(self, rows: Any, parameters: Any, output: Any) -> bytes:
        values = pa.compute.if_else(pa.compute.is_nan(rows.values), 0.0, rows.values)
        return super().build(SampleRows(values, rows.rows, rows.batch_rows), parameters, output)


class NullIsZero(SortedNumbers):
    def build(self, rows: Any, parameters: Any, output: Any) -> bytes:
        values = rows.values.fill_null(0.0)
        return super().build(SampleRows(values, rows.rows, rows.batch_rows), parameters, output)


class FailsWithoutRows(SortedNumbers):
    def build(self, rows: Any, parameters: Any, output: Any) -> bytes:
        next(rows.batches())
        return super().build(rows, parameters, output)


_numbers = itertools.count()


class FilesByChance(SortedNumbers):
    def build(self, rows: Any, parameters: Any, output: Any) -> bytes:
        super().build(rows, parameters, output)
        return str(next(_numbers)).encode()


def _with_maps(parts: Any, change: Any) -> list[IndexPart]:
    return [IndexPart(part.source, change(part.map)) for part in parts]


class RowsStayWhereTheyWere(SortedNumbers):
    def merge(self, parts: Any, rows: Any, output: Any) -> bytes:
        stay = _with_maps(parts, lambda m: SampleMap(m.before, m.before))
        return super().merge(stay, rows, output)


class DroppedRowsAreKept(SortedNumbers):
    def merge(self, parts: Any, rows: Any, output: Any) -> bytes:
        class Everything:
            def __init__(self, rows: Any) -> None:
                self.moved = lambda some: (rows.moved(some)[0], np.ones(len(some), np.bool_))

        return super().merge(_with_maps(parts, Everything), rows, output)


class NewRowsAreForgotten(SortedNumbers):
    def merge(self, parts: Any, rows: Any, output: Any) -> bytes:
        return super().merge(parts, None if parts else rows, output)


class OnlyTheFirstPart(SortedNumbers):
    def merge(self, parts: Any, rows: Any, output: Any) -> bytes:
        return super().merge(parts[:1], rows, output)


class MovesTheSource(SortedNumbers):
    """Changes the open index that it merges, which others search."""

    def merge(self, parts: Any, rows: Any, output: Any) -> bytes:
        details = super().merge(parts, rows, output)
        for part in parts:
            moved = [(run, *part.map.moved(run.rows)) for run in part.source.runs]
            part.source.runs = [Run(run.numbers[keep], now[keep]) for run, now, keep in moved]
        return details


class DetailsAreLost(SortedNumbers):
    def merge(self, parts: Any, rows: Any, output: Any) -> bytes:
        super().merge(parts, rows, output)
        return b"moved" if parts else b""


class ErrorsOfItsOwn(SortedNumbers):
    def open(self, folder: Any, details: bytes) -> Any:
        try:
            return super().open(folder, details)
        except LanceError as error:
            raise KeyError(str(error)) from error


class EmptyWithoutFiles(SortedNumbers):
    def open(self, folder: Any, details: bytes) -> Any:
        try:
            return super().open(folder, details)
        except LanceError:
            return OpenSortedNumbers([])


class NothingInMemory(SortedNumbers):
    """It says so."""

    def open(self, folder: Any, details: bytes) -> Any:
        class Opened(OpenSortedNumbers):
            nbytes = 0  # type: ignore[assignment]

        return Opened(super().open(folder, details).runs)  # type: ignore[attr-defined]


class KeepsEveryAnswer(Ranks):
    def open(self, folder: Any, details: bytes) -> Any:
        self.kept: list[Any] = []
        return super().open(folder, details)

    def hits(self, hits: Hits, count: int) -> Hits:
        self.kept.append(np.ones(1 << 18))
        return hits


class StatisticsByChance(SortedNumbers):
    def open(self, folder: Any, details: bytes) -> Any:
        opened: Any = super().open(folder, details)
        opened.statistics = lambda: {"n": next(_numbers)}
        return opened


class AnswersFilters(SortedNumbers):
    def open(self, folder: Any, details: bytes) -> Any:
        opened: Any = super().open(folder, details)
        opened.search = lambda query, **_: SearchResult(EMPTY)
        return opened


class AnyParameter(SortedNumbers):
    def check_parameters(self, parameters: Any) -> None:
        pass


class Asks(Closest):
    """A search whose queries are `Query`."""

    Query: type[ClosestQuery] = ClosestQuery

    def query(self, value: Any, type_of: Any) -> Any:
        made: Any = super().query(value, type_of)
        made.__class__ = self.Query
        return made


class ScoresOfTheWholeColumn(Asks):
    class Query(ClosestQuery):
        def scores(self, values: pa.Array, query: int) -> Any:
            whole = pa.Array.from_buffers(values.type, len(values), values.buffers())
            return super().scores(whole, query)


class NullsHaveAScore(Asks):
    class Query(ClosestQuery):
        def scores(self, values: pa.Array, query: int) -> Any:
            return super().scores(values.fill_null(0.0), query)


class SignedScores(Asks):
    class Query(ClosestQuery):
        def gaps(self, numbers: Any, query: int) -> Any:
            return (numbers - self.to[query]).astype(np.float32)


class LastValuesOfATie(Asks):
    class Query(ClosestQuery):
        def best(self, values: pa.Array, count: int) -> Any:
            turned = super().best(values.take(np.arange(len(values))[::-1]), count)
            return [Hits(len(values) - 1 - hits.rows, hits.scores) for hits in turned]


class OneQueryOnly(Asks):
    class Query(ClosestQuery):
        def best(self, values: pa.Array, count: int) -> Any:
            return super().best(values, count)[:1]


class AsManyAsThereAre(Asks):
    """Rows without a score fill the answer."""

    class Query(ClosestQuery):
        def best(self, values: pa.Array, count: int) -> Any:
            scores = [self.scores(values, number) for number in range(self.num_queries)]
            orders = [np.argsort(one, kind="stable")[:count] for one in scores]
            return [Hits(o, s[o]) for o, s in zip(orders, scores, strict=True)]


class SearchesAnyIndex(Asks):
    class Query(ClosestQuery):
        def for_index(self, segments: Any) -> Any:
            return self


BEST = "test_an_index_finds_the_best_rows"
MASKS = "test_rows_that_are_not_allowed_never_cost_results"
SEVERAL = "test_several_queries_are_answered_as_each_is"
SCORES = "test_scores_are_those_of_the_definition"
ALONE = "test_a_query_finds_the_best_values_by_itself"
MOVES = "test_a_moved_index_has_the_rows_that_are_kept_where_they_are_now"

ALL: list[Defect] = [
    *defects_of(MASKS, MaskIsIgnored, MasksTheBestAfterwards, TrustsTheShare, AsksForRowsOfOthers),
    *defects_of(MASKS, AnswersAreCached),
    *defects_of(
        BEST,
        *(TooFewRows, TooManyRows, WorstFirst, TiesDescend, AnyRowsOfATie, ARowTwice),
        *(InfiniteNumbersAreLost, CoarseScores, ScoresIn64Bits, OnlyTheFirstBatch),
        *(NanIsANumber, NullIsZero),
    ),
    *defects_of(SEVERAL, OnlyTheFirstQuery, OneAnswerForAll),
    *defects_of("test_threads_may_search_at_the_same_time", SharedState),
    *defects_of("test_an_index_may_have_no_rows_or_only_nulls_or_one_row", FailsWithoutRows),
    *defects_of("test_the_same_rows_give_the_same_files_and_answers", FilesByChance),
    *defects_of(MOVES, RowsStayWhereTheyWere, DroppedRowsAreKept, MovesTheSource, DetailsAreLost),
    *defects_of("test_new_rows_join_an_index", NewRowsAreForgotten),
    *defects_of("test_segments_of_one_training_are_merged", OnlyTheFirstPart),
    *defects_of("test_damaged_files_raise_an_error_of_the_library", ErrorsOfItsOwn),
    *defects_of("test_damaged_files_raise_an_error_of_the_library", EmptyWithoutFiles),
    *defects_of(
        "test_an_open_index_has_the_memory_and_statistics_that_it_states",
        *(NothingInMemory, KeepsEveryAnswer, StatisticsByChance),
    ),
    *defects_of("test_filters_are_not_answered", AnswersFilters),
    *defects_of("test_unknown_parameters_are_refused", AnyParameter),
    *defects_of(SCORES, ScoresOfTheWholeColumn, NullsHaveAScore, SignedScores),
    *defects_of(ALONE, LastValuesOfATie, OneQueryOnly, AsManyAsThereAre),
    *defects_of("test_an_index_that_does_not_rank_is_not_searched", SearchesAnyIndex),
]
