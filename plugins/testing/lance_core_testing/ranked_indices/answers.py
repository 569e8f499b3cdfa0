"""Tests of the answers of queries and of open indices."""

from __future__ import annotations

import json
import math
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError, LanceError
from lance_core.hookspecs.indices import (
    IndexQuery,
    IsNull,
    OpenIndex,
    SearchResult,
    UnansweredQueryError,
)
from lance_core.hookspecs.searches import Hits
from lance_core.plugins import get_manager
from lance_core_testing.built_index import FOLDER
from lance_core_testing.index_samples import SampleRows, queries_for
from lance_core_testing.memory_bound import bounded_memory, measured_memory
from lance_core_testing.mutants import mutants
from lance_core_testing.ranked_indices.subject import (
    RankedSubject,
    allowed_of,
    check_equal,
    check_order,
    ranked,
)
from lance_core_testing.threads import race_threads

COUNTS = (1, 7, 60)
"""Numbers of rows to find."""

SHARES = (0.0, 0.01, 0.1, 0.5, 0.9, 1.0)
"""Shares of rows that may be returned."""

MUTANTS = 12
"""Damaged copies of each file."""

MAX_SPARE_BYTES = 1 << 20
"""Bytes of an open index that its ``nbytes`` need not count: objects of constant size."""


class _Unranked(OpenIndex):
    """An index that answers filters."""

    nbytes = 0

    def search(self, query: IndexQuery, *, with_nulls: bool = False) -> SearchResult:
        raise UnansweredQueryError

    def statistics(self) -> dict[str, int]:
        return {}


class QueryTests(RankedSubject):
    """A query ranks the values of a column by itself."""

    def test_scores_are_those_of_the_definition(self) -> None:
        values = self.values()
        scored = 0
        for target in self.targets():
            rows = self._sample()
            naive = self._naive(rows, target)
            query = self._query(target)
            for part, part_values in (("", values), ("of a slice", values.slice(37, 200))):
                first = 37 if part else 0
                scores = query.scores(part_values, 0)
                assert scores.dtype == np.float32, f"scores of type {scores.dtype}"
                for position, score in enumerate(scores.tolist()):
                    expected = naive.get(int(rows.rows[first + position]), math.nan)
                    is_same = np.isclose(
                        score, expected, self.tolerance, self.tolerance, equal_nan=True
                    )
                    assert is_same, (
                        f"score {part} of {part_values[position]}: {score} instead of {expected}"
                    )
            scored += len(naive)
        assert scored, "no value has a score: provide other `values`"
        ties = len(values) - len(set(map(str, values.drop_null().to_pylist())))
        assert ties > values.null_count, "`values` has no equal values"

    def test_a_query_finds_the_best_values_by_itself(self) -> None:
        values = self.values()
        positions = SampleRows(values, np.arange(len(values), dtype=np.uint64))
        targets = list(self.targets())
        answers = self._query(targets).best(values, 9)
        assert len(answers) == len(targets), f"{len(answers)} answers to {len(targets)} queries"
        for target, together in zip(targets, answers, strict=True):
            expected = self._exact(positions, target)
            check_equal("one of several queries", ranked(together), expected[:9])
            for count in (*COUNTS, len(values) + 5):
                (hits,) = self._query(target).best(values, count)
                check_order(hits, ascending=self._query(target).ascending)
                check_equal(f"the best {count}", ranked(hits), expected[:count])
        for without_values in (values[:0], pa.nulls(20, values.type)):
            assert [len(hits.rows) for hits in self._query(targets).best(without_values, 3)] == [
                0
            ] * len(targets)

    def test_an_index_that_does_not_rank_is_not_searched(self) -> None:
        assert self._query(self.targets()[0]).for_index([_Unranked()]) is None


class AnswerTests(RankedSubject):
    """An open index ranks its rows."""

    def test_an_index_finds_the_best_rows(self) -> None:
        rows = self._sample()
        for batch_rows in (100, 10_000):
            opened = self._opened(self._build(SampleRows(rows.values, rows.rows, batch_rows)))
            self._check_whole(f"batches of {batch_rows} rows", opened, rows)
        for target in self.targets():
            (every,) = self._top(opened, target, len(rows.values))
            for count in COUNTS:
                (hits,) = self._top(opened, target, count)
                self._check_same(f"the best {count}", hits, ranked(every)[:count], every)

    def test_rows_that_are_not_allowed_never_cost_results(self) -> None:
        rows = self._sample()
        opened = self._opened(self._build(rows))
        random = np.random.default_rng(5)
        for target in list(self.targets())[:2]:
            (every,) = self._top(opened, target, len(rows.values))
            near = np.isin(rows.rows, every.rows[: len(every.rows) // 2])
            masks = [(share, random.random(len(rows.rows)) < share) for share in SHARES]
            for share, chosen in (*masks, (0.5, ~near)):
                left = rows.rows[chosen]
                expected = [pair for pair in ranked(every) if pair[0] in set(left.tolist())]
                for count in (*COUNTS, len(rows.values)):
                    for stated in (share, 1.0 - share):
                        allowed = allowed_of(rows.rows, chosen, stated)
                        (hits,) = self._top(opened, target, count, allowed)
                        what = f"{count} of {share:.0%} allowed rows, stated as {stated:.1%}"
                        self._check_same(what, hits, expected[:count], every)

    def test_several_queries_are_answered_as_each_is(self) -> None:
        rows = self._sample()
        opened = self._opened(self._build(rows))
        targets = [*self.targets(), self.targets()[0]]
        chosen = np.arange(len(rows.rows)) % 2 == 0
        for allowed in (None, allowed_of(rows.rows, chosen, 0.5)):
            together = self._top(opened, targets, 20, allowed)
            for target, hits in zip(targets, together, strict=True):
                (alone,) = self._top(opened, target, 20, allowed)
                self._check_same("one of several queries", hits, ranked(alone), alone)

    def test_threads_may_search_at_the_same_time(self) -> None:
        rows = self._sample()
        opened = self._opened(self._build(rows))
        targets = self.targets()
        alone = [self._top(opened, target, 15)[0] for target in targets]

        def search(number: int) -> int:
            for _ in range(3):
                (hits,) = self._top(opened, targets[number % len(targets)], 15)
                own = alone[number % len(targets)]
                self._check_same("beside other threads", hits, ranked(own), own)
            return 0

        race_threads(search, 4)

    def _check_same(
        self, what: str, hits: Hits, expected: list[tuple[int, float]], every: Hits
    ) -> None:
        """The expected rows; approximate scores may differ a little from those of ``every``."""
        if self.is_exact:
            check_equal(what, ranked(hits), expected)
            return
        assert len(hits.rows) == len(expected), f"{what}: {len(hits.rows)}, not {len(expected)}"
        scores = [score for _, score in expected]
        near = np.allclose(hits.scores, scores, self.tolerance, self.tolerance)
        assert near, f"{what}: scores {hits.scores[:5]} instead of {scores[:5]}"
        of_all = dict(ranked(every))
        own = [of_all.get(row, math.nan) for row in hits.rows.tolist()]
        assert np.allclose(hits.scores, own, self.tolerance, self.tolerance), f"{what}: other rows"


class FileTests(RankedSubject):
    """The files of an index, what is said of it, and its memory."""

    max_build_bytes: ClassVar[int] = 96 << 20
    """Maximum bytes of memory while an index of few rows is built or searched when damaged."""

    def test_the_same_rows_give_the_same_files_and_answers(self) -> None:
        rows = self._sample()
        first, second = self._build(rows), self._build(rows)
        assert first.files == second.files, "two builds of the same rows differ"
        assert first.details == second.details
        opened, again = self._opened(first), self._opened(second)
        for target in self.targets():
            answer = ranked(self._top(opened, target, 30)[0])
            assert answer == ranked(self._top(opened, target, 30)[0]), "two answers differ"
            assert answer == ranked(self._top(again, target, 30)[0])

    def test_damaged_files_raise_an_error_of_the_library(self) -> None:
        rows = self._sample()
        built = self._build(rows)
        for file in built.sizes:
            path = f"{FOLDER}/{file}"
            data = bytes(built.store.get(path))
            for mutant in (*mutants(data, MUTANTS, 18, hot=len(data) // 2), None):
                if mutant is None:
                    built.store.delete(path)
                else:
                    built.store.put(path, mutant.data)
                what = f"{file}, {'missing' if mutant is None else mutant.kind}"
                with bounded_memory(what, len(data), self.max_build_bytes):
                    is_used = self._use_damaged(what, built, rows)
                assert mutant is not None or not is_used, f"{what}: no error"
            built.store.put(path, data)

    def _use_damaged(self, what: str, built: object, rows: SampleRows) -> bool:
        """Search an index with damage; True without an error, which has to be of the library."""
        try:
            opened = self._type().open(
                self._folder(built.store, {}, rows.type),  # type: ignore[attr-defined]
                built.details,  # type: ignore[attr-defined]
            )
            opened.statistics()
            opened.prewarm()
            for target in self.targets():
                self._top(opened, target, 20)
        except LanceError:
            return False
        except Exception as error:
            raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
        return True

    def test_an_open_index_has_the_memory_and_statistics_that_it_states(self) -> None:
        rows = self._sample()
        built = self._build(rows)
        with measured_memory() as measured:
            opened = self._opened(built)
            opened.prewarm()
            for target in self.targets():
                self._top(opened, target, 10)
        assert measured.peak <= 2 * opened.nbytes + MAX_SPARE_BYTES, (
            f"an open index takes {measured.peak} bytes, and `nbytes` is {opened.nbytes}"
        )
        assert opened.nbytes >= 8 * (len(rows.rows) - rows.values.null_count) // 2, (
            f"`nbytes` is {opened.nbytes}: less than the row numbers take"
        )
        text = json.dumps(dict(opened.statistics()))
        assert text == json.dumps(dict(opened.statistics()))

    def test_filters_are_not_answered(self) -> None:
        rows = self._sample()
        built = self._build(rows)
        opened = self._opened(built)
        numbers = pa.array([1, 2, 3])
        for query in (IsNull(), *queries_for(numbers)):
            if self._type().precision(query, rows.type, built.details) is None:
                with pytest.raises(UnansweredQueryError):
                    opened.search(query)

    def test_unknown_parameters_are_refused(self) -> None:
        with pytest.raises((InvalidInputError, TypeError), match="no_such_parameter"):
            self._type().check_parameters({**self.parameters, "no_such_parameter": 1})
        self._type().check_parameters(self.parameters)

    def test_the_type_and_the_search_are_found_by_their_names(self) -> None:
        manager = get_manager()
        assert manager.index_type(self.spec.name) == self.spec
        assert manager.index_type_of(self.spec.details_url) == self.spec
        assert manager.search(self.search.name) == self.search
