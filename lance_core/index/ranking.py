"""Ranked searches: the rows that answer a query best, such as the nearest vectors.

A plugin provides a search by an argument of scans (`SearchSpec`, for example ``nearest``): it makes
a `RankedQuery` from the value of the argument. The query ranks the values of a column by itself,
and indices of the column that implement `RankedIndex` rank many rows without reading their values.

The core does the rest. It masks deleted rows, rows that a filter excludes and rows that an index
must not answer for *before* they are ranked, so that they never cost results; it ranks the rows
that no index covers by their values, unites the answers, and reads the columns of the best rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.index.base import OpenIndex, RowNumbers, SearchResult, UnansweredQueryError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.index.queries import IndexQuery

Scores: TypeAlias = npt.NDArray[np.float32]

Elements: TypeAlias = npt.NDArray[np.uint32]
"""Positions of elements in the lists of their rows, from 0 on."""

ValueBatches: TypeAlias = Iterable[tuple[pa.Array, npt.NDArray[Any]]]
"""Many rows: values, as for `RankedQuery.best`, and the numbers or addresses of their rows."""


class Hits(NamedTuple):
    """Rows with their scores, best first; rows of equal scores ascend.

    ``rows``: row numbers of an index, or positions in an array of values. ``elements``: of a query
    that ranks elements of lists, the position of each hit in the list of its row, which may have
    several hits; those of equal scores and rows ascend by it.
    """

    rows: npt.NDArray[Any]
    scores: Scores
    elements: Elements | None = None

    def take(self, chosen: Any) -> Hits:
        """The hits that a mask, a slice or an array of positions chooses."""
        elements = None if self.elements is None else self.elements[chosen]
        return Hits(self.rows[chosen], self.scores[chosen], elements)


NO_HITS = Hits(np.empty(0, np.uint64), np.empty(0, np.float32))
"""No rows."""


@dataclass(frozen=True, slots=True, eq=False)
class AllowedRows:
    """The rows that an index may return.

    ``mask`` returns, for any row numbers of the index, True for those that are allowed; its cost
    grows with their number. ``share``: about how many of the rows of the index are allowed, from 0
    to 1. An index of which most rows are allowed ranks first and masks the best ones, and masks
    first where few are.
    """

    mask: Callable[[RowNumbers], npt.NDArray[np.bool_]]
    share: float = 1.0


class SearchedColumns(Protocol):
    """The columns of the searched version.

    A path leads into structs and lists. The value of a field in lists is the list of its values in
    a row; a path may leave out the elements of lists.
    """

    def __call__(self, path: str) -> pa.DataType:
        """The storage type of the column at a path; raises `InvalidInputError` without one."""

    def is_json(self, path: str) -> bool:
        """True if the column at a path has JSON documents; raises as a call does."""

    def short_path(self, path: str) -> str:
        """The path without the elements of lists; raises as a call does."""

    def indexed(self, details_url: str) -> Mapping[str, Sequence[bytes]]:
        """The columns with indices whose details have this type, in their order.

        By `short_path`, the details of each segment of these indices.
        """

    def scan(self, **options: Any) -> pa.Table:
        """The result of another scan of the version, with the arguments of a scanner."""


class RankedQuery(ABC):
    """One or several queries that rank the rows of a column. Immutable and thread-safe.

    A query of ``parts`` combines the rows of other queries, which may have other columns.
    """

    column: str
    """The path of the column to search."""
    k: int
    """Rows to return for each query, at least 1."""
    num_queries: int = 1
    """Queries that are answered at once."""
    is_batch: bool = False
    """True adds a column ``query_index`` before the others, also for a single query."""
    score_name: str
    """The name of the column with the score, of type float32, such as ``_distance``."""
    element_name: str | None = None
    """The name of the column with `Hits.elements`; None if rows are ranked, not elements."""
    ascending: bool
    """True if the lowest score is the best one, as for distances; False if the highest is."""
    num_candidates: int
    """Rows that an index returns for each query; more than `k` if they are ranked again."""
    refines: bool = False
    """True if rows that an index returns are ranked again by the values of the column."""
    best_score: float | None = None
    """The best score that results may have; None for any."""
    uses_indices: bool = True
    """False if all rows are ranked by their values."""
    ranks_deep: bool = False
    """True if indices return hundreds of rows in about the time of a few."""
    is_final: bool = False
    """True if indices return the scores of results: rows of an index are never ranked again."""
    parts: Sequence[RankedQuery] = ()
    """Queries, one each, that are answered instead of this one; see `combined`."""

    @abstractmethod
    def best(self, values: pa.Array, count: int) -> Sequence[Hits]:
        """The ``count`` best of ``values``, by position, for each query; exact scores.

        ``values`` have the storage type of the column and may have any length. Nulls and values
        without a score are left out, so that there may be fewer.
        """

    @abstractmethod
    def scores(self, values: pa.Array, query: int) -> Scores:
        """The exact score of each value for one of the queries; NaN for a value without one."""

    def accepts(self, scores: Scores) -> npt.NDArray[np.bool_]:
        """True for the scores that results may have; `Hits` may have others."""
        return np.ones(len(scores), np.bool_)

    def for_index(self, segments: Sequence[OpenIndex]) -> RankedQuery | None:
        """This query as an index of the column answers it; None if it cannot.

        ``segments``: the opened index, at least one; they stay the same objects while they are
        cached. The query that is returned replaces this one, also for rows that the index does not
        cover: it has what the user left to the index, such as the metric. Raises
        `InvalidInputError` if the index shows that the query is invalid, and `CorruptFileError`:
        all rows are then ranked by their values.
        """
        return self if all(isinstance(segment, RankedIndex) for segment in segments) else None

    def tuned(self) -> RankedQuery:
        """This query, of `for_index`, right before the index is searched; itself by default.

        What has to be measured is measured here and not for a plan that is only shown. Where it
        fails, all rows are ranked by their values.
        """
        return self

    def without_index(self) -> RankedQuery:
        """This query, of `for_index`, if all rows are ranked by their values after all."""
        return self

    def up_to(self, count: int) -> RankedQuery:
        """This query if only the ``count`` best rows are needed: it may have a lower `k`."""
        return self

    def rank(self, batches: ValueBatches, count: int) -> Sequence[Hits]:
        """The ``count`` best rows of ``batches`` for each query, with exact scores.

        By default the best ones of all batches are united; a query whose scores depend on all rows
        does otherwise.
        """
        best = [NO_HITS] * self.num_queries
        for values, rows in batches:
            for number, hits in enumerate(self.best(values, count)):
                known, more = best[number], hits._replace(rows=rows[hits.rows])
                if len(known.rows):
                    more = merged([known, more], count, ascending=self.ascending)
                best[number] = more
        return best

    def combined(self, hits: Sequence[Hits]) -> Hits:
        """The best rows of the answers to `parts`, each with all of its rows, by address."""
        raise NotImplementedError

    def step(self, index_name: str | None) -> tuple[str, str]:
        """The name and the text of a step of a plan: the search of an index, or of all rows."""
        if index_name is None:
            return "RankedScan", f"k={self.k}"
        return "RankedIndexSearch", f"name={index_name}, k={self.k}"


class RankedIndex(OpenIndex):
    """An opened index that ranks its rows."""

    @abstractmethod
    def top(self, query: RankedQuery, count: int, allowed: AllowedRows | None) -> Sequence[Hits]:
        """The best ``count`` rows of the index for each query.

        All rows are allowed if ``allowed`` is None. An index that looks at a part of its rows goes
        on until it has ``count`` allowed rows or has looked at all, unless the query forbids it;
        fewer rows than exist are returned in no other case. Scores may be approximate. Raises
        `CorruptFileError` for damaged files.
        """

    def search(self, query: IndexQuery, *, with_nulls: bool = False) -> SearchResult:
        """Filters are not answered."""
        raise UnansweredQueryError


class RankedSearch(ABC):
    """A search that scans have an argument for. It has no state."""

    count_key: str | None = None
    """The key of the number of rows in a value that is a dictionary; the limit of a scan, if it has
    one, is the default."""

    @abstractmethod
    def query(self, value: Any, type_of: SearchedColumns) -> RankedQuery:
        """The query from the value of the argument.

        ``type_of`` returns the storage type of the column at a path, and which columns have an
        index. Raises `InvalidInputError` for invalid values, ``TypeError`` for unknown names in
        them.
        """


def merged(parts: Sequence[Hits], count: int, *, ascending: bool) -> Hits:
    """The best ``count`` rows of ``parts``; ties by row number. NaN scores are left out."""
    if len(parts) == 1:
        (part,) = parts
        return best_of(part.rows, part.scores, count, ascending=ascending, elements=part.elements)
    rows = np.concatenate([part.rows for part in parts]) if parts else np.empty(0, np.uint64)
    scores = np.concatenate([part.scores for part in parts]) if parts else np.empty(0, np.float32)
    of_hits = [part.elements for part in parts if part.elements is not None]
    elements = np.concatenate(of_hits) if of_hits else None
    return best_of(rows, scores, count, ascending=ascending, elements=elements)


_MANY_KEYS = 1 << 9
"""Keys from which on they are sorted by counting."""

_BLOCK_ROWS = 64
"""Keys of which only the lowest counts when a limit for the lowest of all is sought."""


def lowest(keys: npt.NDArray[Any], count: int, margin: float = 0.0) -> npt.NDArray[np.intp]:
    """The positions, ascending, of the ``count`` lowest of ``keys``, and of all that equal them.

    Also of those that are at most ``margin`` above the highest of these. NaN are left out.
    """
    near = np.arange(len(keys))
    whole = len(keys) // _BLOCK_ROWS
    if whole > 2 * count:
        # The count-th lowest of some keys is not below that of all, so that the others are compared
        # with it instead of with each other.
        blocks = keys[: whole * _BLOCK_ROWS].reshape(whole, _BLOCK_ROWS)
        limit = np.partition(np.fmin.reduce(blocks, axis=1), count - 1)[count - 1]
        if not np.isnan(limit):
            near = np.flatnonzero(keys <= limit + margin)
            keys = keys[near]
    limit = np.partition(keys, count - 1)[count - 1] if len(keys) > count else np.nan
    there = ~np.isnan(keys) if np.isnan(limit) else keys <= limit + margin
    return near[there]


def best_of(
    rows: npt.NDArray[Any],
    scores: npt.NDArray[Any],
    count: int,
    *,
    ascending: bool,
    elements: Elements | None = None,
) -> Hits:
    """The best ``count`` of ``rows`` with these scores, and ``elements`` if they have some.

    Ties by row number, then by element; NaN are left out.
    """
    hits = Hits(rows, scores if ascending else -scores, elements)
    if len(rows) > count or np.isnan(hits.scores).any():
        hits = hits.take(lowest(hits.scores, count))
    if not _is_ordered(hits.rows, hits.scores):
        hits = hits.take(_order(hits)[:count])
    if len(hits.rows) > count:
        hits = hits.take(slice(count))
    scores = hits.scores if ascending else -hits.scores
    return hits._replace(scores=scores.astype(np.float32, copy=False))


def _order(hits: Hits) -> npt.NDArray[np.intp]:
    """The order of ascending scores; of equal ones, that of rows, then of elements."""
    rows, keys, elements = hits
    if keys.dtype != np.float32 or len(keys) < _MANY_KEYS or not (rows[1:] > rows[:-1]).all():
        return np.lexsort((rows, keys) if elements is None else (elements, rows, keys))
    # Integers that ascend as the keys, sorted by their lower half, then by the upper one: numpy
    # sorts numbers of 16 bits by counting them, and leaves equal ones in their order.
    bits = (keys + np.float32(0)).view(np.uint32)  # without a negative zero
    bits ^= np.where(bits >> 31, np.uint32(0xFFFFFFFF), np.uint32(1 << 31))
    order = np.argsort(bits.astype(np.uint16), kind="stable")
    upper = (bits >> 16).astype(np.uint16)[order]
    return order[np.argsort(upper, kind="stable")]


def _is_ordered(rows: npt.NDArray[Any], keys: npt.NDArray[Any]) -> bool:
    """True if ``keys`` ascend, and ``rows`` where keys are equal: hits that are united often do."""
    if len(keys) and keys[0] > keys[-1]:
        return False
    equal = keys[1:] == keys[:-1]
    return bool(((keys[1:] > keys[:-1]) | (equal & (rows[1:] > rows[:-1]))).all())
