"""What the author of a search states of it, and the plain evaluation of its queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.indices import OpenIndex, RowNumbers
from lance_core.hookspecs.searches import (
    AllowedRows,
    Hits,
    RankedIndex,
    RankedQuery,
    RankedSearch,
    SearchSpec,
)
from lance_core.hookspecs.stores import resolve_factory
from lance_core_testing.built_index import BuiltIndex, IndexBuilder
from lance_core_testing.index_samples import SampleRows, sample_rows

COLUMN = "value"
"""The column that is searched."""

Scores = npt.NDArray[np.float32]
Ranked = list[tuple[int, float]]
"""Rows with their scores, best first."""


class RankedSubject(IndexBuilder):
    """A search, and a type of index whose open indices answer it. Set ``spec`` and ``search``.

    ``is_exact``: False if `RankedIndex.top` has approximate scores, which a query refines by the
    values of the column. ``tolerance``: relative error of scores, and of approximate scores of the
    same rows in different calls.
    """

    search: ClassVar[SearchSpec]
    is_exact: ClassVar[bool] = True
    tolerance: ClassVar[float] = 1e-6

    def values(self) -> pa.Array:
        """A column to search, of several hundred rows.

        Some values are null, some have no score, and some are equal to others.
        """
        raise NotImplementedError

    def targets(self) -> Sequence[Any]:
        """What to search for, at least three different ones."""
        raise NotImplementedError

    def argument(self, targets: Any, k: int) -> Any:
        """The argument of a scan that searches the column ``value``.

        ``targets``: one of `targets`, or a list of them for several queries. Indices must look at
        all of their rows, and approximate scores be refined.
        """
        raise NotImplementedError

    def naive_score(self, value: Any, target: Any) -> float:
        """The score of one value as Python has it, by the definition; NaN if it has none."""
        raise NotImplementedError

    def _sample(self) -> SampleRows:
        return sample_rows(self.values())

    def _query(self, targets: Any, k: int = 10) -> RankedQuery:
        """The query for targets, as a scan makes it."""
        made: RankedSearch = resolve_factory(self.search.factory, self.search.name)()
        type_ = self.values().type
        return made.query(self.argument(targets, k), _OneColumn(type_))

    def _opened(self, built: BuiltIndex) -> RankedIndex:
        opened = self._open(built)
        assert isinstance(opened, RankedIndex), f"{opened!r} is not a RankedIndex"
        return opened

    def _top(
        self, opened: OpenIndex, targets: Any, count: int, allowed: AllowedRows | None = None
    ) -> list[Hits]:
        """The answers of an open index, checked for what holds for all answers."""
        query = self._query(targets, count).for_index([opened])
        assert query is not None, "`for_index` refuses an index of the type"
        assert isinstance(opened, RankedIndex)
        answers = list(opened.top(query, count, allowed))
        assert len(answers) == query.num_queries, f"{len(answers)} answers"
        for hits in answers:
            check_order(hits, ascending=query.ascending)
            assert len(hits.rows) <= count, f"{len(hits.rows)} rows instead of {count}"
        return answers

    def _naive(self, rows: SampleRows, target: Any) -> dict[int, float]:
        """The score of each row that has one, by the row number."""
        values = rows.values.to_pylist()
        scores = [
            math.nan if value is None else self.naive_score(value, target) for value in values
        ]
        pairs = zip(rows.rows.tolist(), scores, strict=True)
        return {row: score for row, score in pairs if not math.isnan(score)}

    def _exact(self, rows: SampleRows, target: Any) -> Ranked:
        """All rows that have a score, best first, with the scores of the query."""
        query = self._query(target)
        scores = query.scores(rows.values, 0)
        pairs = zip(rows.rows.tolist(), scores.tolist(), strict=True)
        sign = 1 if query.ascending else -1
        known = [(row, score) for row, score in pairs if not math.isnan(score)]
        return sorted(known, key=lambda pair: (sign * pair[1], pair[0]))

    def _refined(self, rows: SampleRows, hits: Hits, target: Any) -> Ranked:
        """The rows of an answer with the scores of the query, best first."""
        chosen = dict.fromkeys(hits.rows.tolist(), 0)
        missing = chosen.keys() - set(rows.rows.tolist())
        assert not missing, f"rows that the index was not built of: {sorted(missing)[:5]}"
        return [pair for pair in self._exact(rows, target) if pair[0] in chosen]

    def _check_whole(self, what: str, opened: OpenIndex, rows: SampleRows) -> int:
        """An index answers with all rows that have a score, in the right order."""
        compared = 0
        for target in self.targets():
            expected = self._exact(rows, target)
            (hits,) = self._top(opened, target, len(rows.values) + 5)
            answer = ranked(hits)
            if not self.is_exact:
                answer = self._refined(rows, hits, target)
            check_equal(what, answer, expected)
            compared += len(expected)
        return compared


def ranked(hits: Hits) -> Ranked:
    """Hits as pairs."""
    return list(zip(hits.rows.tolist(), hits.scores.tolist(), strict=True))


def check_order(hits: Hits, *, ascending: bool) -> None:
    """Rows are unsigned and unique, best first, ties ascend, and no score is NaN."""
    assert hits.scores.dtype == np.float32, f"scores of type {hits.scores.dtype}"
    assert hits.rows.dtype.kind in "ui", f"rows of type {hits.rows.dtype}"
    assert len(hits.rows) == len(hits.scores), "as many rows as scores"
    assert len(np.unique(hits.rows)) == len(hits.rows), "a row is returned twice"
    assert not np.isnan(hits.scores).any(), "a score is NaN"
    keys = hits.scores if ascending else -hits.scores
    order = np.lexsort((hits.rows, keys))
    assert (order == np.arange(len(order))).all(), (
        f"hits are best first, and rows of equal scores ascend: {ranked(hits)[:8]}"
    )


def check_equal(what: str, actual: Ranked, expected: Ranked) -> None:
    """Fail with the first difference."""
    assert len(actual) == len(expected), f"{what}: {len(actual)} rows instead of {len(expected)}"
    for position, (own, other) in enumerate(zip(actual, expected, strict=True)):
        assert own == other, f"{what}: {own} instead of {other} at {position}"


def allowed_of(rows: RowNumbers, chosen: npt.NDArray[np.bool_], share: float) -> AllowedRows:
    """The chosen ones of ``rows``, all of an index; other rows must not be asked for."""
    known = dict(zip(rows.tolist(), chosen.tolist(), strict=True))

    def mask(numbers: RowNumbers) -> npt.NDArray[np.bool_]:
        unknown = [number for number in numbers.tolist() if number not in known]
        assert not unknown, f"`mask` is asked for rows that the index has not: {unknown[:5]}"
        return np.array([known[number] for number in numbers.tolist()], np.bool_)

    return AllowedRows(mask, share)


class _OneColumn:
    """The `SearchedColumns` of a version with one column, which has no index."""

    def __init__(self, type_: pa.DataType) -> None:
        self._kind = type_

    def __call__(self, path: str) -> pa.DataType:
        return {COLUMN: self._kind}[path]

    def short_path(self, path: str) -> str:
        return path

    def is_json(self, path: str) -> bool:
        return False

    def indexed(self, details_url: str) -> Mapping[str, Sequence[bytes]]:
        return {}

    def scan(self, **options: Any) -> pa.Table:
        raise AssertionError("a query is made without scans")
