"""`Prefilter`: what the indices of a table contribute to a scan with a filter."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.concurrency.lru_cache import LruCache
from lance_core.dataset.expressions.filters import Filter
from lance_core.dataset.expressions.sql.expression import SqlExpression
from lance_core.dataset.expressions.sql.nodes.node import unknown
from lance_core.dataset.read.fragments.span import Span
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.sources.fragment_spans import FragmentSpans
from lance_core.dataset.read.sources.prefilter.candidate_rows import (
    CandidateRows,
    FailedSearchError,
    candidate_rows,
)
from lance_core.dataset.read.sources.prefilter.conditions import (
    ColumnLookup,
    Conjunct,
    conjuncts_of,
)
from lance_core.dataset.read.sources.prefilter.searches import Choice, Search, SearchTree, choose
from lance_core.dataset.read.sources.prefilter.stored_indices import missing_plugins
from lance_core.dataset.read.sources.prefilter.usable_indices import (
    UsableIndex,
    usable_indices,
    warn_of_failure,
)
from lance_core.dataset.read.sources.pruning import field_at
from lance_core.dataset.read.sources.row_source import RowSource, SpanRows
from lance_core.encodings.arrow.combine_chunks import combine_chunks
from lance_core.imports.on_demand import lazy_module
from lance_core.index.base import UnansweredQueryError
from lance_core.index.queries import IsIn
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from pyroaring import BitMap

    from lance_core.dataset.expressions.sql.nodes.node import Node
    from lance_core.dataset.read.scan_metrics import ScanMetrics
    from lance_core.dataset.read.sources.prefilter import search_text
    from lance_core.dataset.snapshot.snapshot import Snapshot
else:
    search_text = lazy_module("lance_core.dataset.read.sources.prefilter.search_text")


MAX_CHOICES = 64
"""Maximum conditions for which the choice of indices is cached, for each version of a table."""

_Planned: TypeAlias = "tuple[Sequence[Conjunct], Choice | None]"


class Prefilter:
    """The searches for the filter of one scan; their result is computed once, at the first use.

    A part of the filter that fails for a row which the searches exclude is not evaluated for it.

    ``condition``: the filter. ``skips_others``: the scan returns no rows of fragments without index
    coverage.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        condition: Filter,
        parts: Sequence[Conjunct],
        choice: Choice,
        *,
        skips_others: bool = False,
    ) -> None:
        self.choice: Choice | None = choice
        self._snapshot = snapshot
        self._condition = condition
        self._parts = parts
        self._skips_others = skips_others
        self._failed: set[str] = set()
        self._lock = ForkSafeLock()
        self._answer: CandidateRows | None = None

    @property
    def answer(self) -> CandidateRows | None:
        """The result of the searches; None if the indices that could answer cannot be read."""
        with self._lock:
            while self.choice is not None and self._answer is None:
                try:
                    self._answer = candidate_rows(self._snapshot, self.choice.tree)
                except FailedSearchError as failure:
                    if not isinstance(failure.error, UnansweredQueryError):
                        warn_of_failure(self._snapshot, failure.index.name, failure.error)
                    self._failed.add(failure.index.name)
                    if len(self._failed) >= tuning().indices.max_failures:
                        self.choice = None
                        break
                    self.choice = _choice(self._snapshot, self._parts, self._failed)
            return self._answer

    @property
    def rest(self) -> Filter | None:
        """The condition that the scan tests for the rows of the searches; None for none.

        Only SQL is taken apart; other conditions are tested as a whole.
        """
        if self.choice is None or not self.choice.rest:
            return None
        is_whole = len(self.choice.rest) == sum(len(part.nodes) for part in self._parts)
        if is_whole or not isinstance(self._condition.condition, SqlExpression):
            return self._condition
        return self.choice.rest_filter

    @property
    def text(self) -> str:
        """The searches, for explanations of the plan."""
        return "--" if self.choice is None else search_text.tree_text(self.choice.tree)

    @property
    def index_names(self) -> Sequence[str]:
        """The names of the searched indices, each once."""
        return () if self.choice is None else tuple(dict.fromkeys(_names(self.choice.tree)))

    @property
    def rest_text(self) -> str:
        """The conditions that no index answers, for explanations of the plan."""
        nodes = () if self.choice is None else self.choice.unanswered
        return search_text.conditions_text(nodes)

    def sections(self, spans: Sequence[Span], metrics: ScanMetrics | None) -> Sequence[SpanRows]:
        """The rows of ``spans`` to read, in parts that are scanned one after the other.

        Consecutive spans with index coverage, of which only the rows that the indices returned are
        read, and consecutive spans without.
        """
        if metrics is None:
            answer = self.answer
        else:
            with metrics.index.timed():
                answer = self.answer
        if answer is None or self.choice is None:
            return [SpanRows(spans, self._condition)]
        if metrics is not None:
            metrics.index.ranges_scanned += answer.num_pages
            metrics.loads.append(answer.loads)
            metrics.index.returned(self._num_rows(answer), 0)
        parts: list[tuple[bool, list[Span]]] = []
        for is_covered, span in self._spans(answer, spans):
            if not parts or parts[-1][0] is not is_covered:
                parts.append((is_covered, []))
            parts[-1][1].append(span)
        rest = self.rest
        sections = []
        for is_covered, part in parts:
            condition = rest if is_covered else self._condition
            sections.append(SpanRows(tuple(part), condition, is_covered))
        return sections

    def _num_rows(self, answer: CandidateRows) -> int:
        """The number of rows that the searches returned."""
        snapshot = self._snapshot
        return sum(
            snapshot.physical_rows(snapshot.fragment(id_)) if bitmap is None else len(bitmap)
            for id_, bitmap in answer.rows.bitmaps.items()
        )

    def _spans(self, answer: CandidateRows, spans: Sequence[Span]) -> Iterator[tuple[bool, Span]]:
        """The spans to read in the order of ``spans``, and True if indices cover them."""
        bitmaps = answer.rows.bitmaps
        if isinstance(spans, FragmentSpans):
            spans = self._some_spans(answer, spans)
        for span in spans:
            id_ = span.fragment.id
            if id_ not in answer.fragments:
                if not self._skips_others:
                    yield False, span
            elif id_ in bitmaps:
                chosen = bitmaps[id_]
                if chosen is None or chosen.range_cardinality(span.start, span.stop):
                    yield True, Span(span.fragment, span.start, span.stop, span.run, chosen)

    def _some_spans(self, answer: CandidateRows, spans: FragmentSpans) -> Sequence[Span]:
        """The spans of fragments with rows to read; does not look at each of many fragments."""
        existing: BitMap = usable_indices(self._snapshot).fragments
        ids = set(answer.rows.bitmaps)
        if not self._skips_others:
            ids.update(existing - answer.fragments)
        positions_of = self._snapshot.fragment_positions
        positions = sorted(map(positions_of.__getitem__, ids))
        first, stop = spans.first, spans.stop
        if first or stop < len(positions_of):
            positions = [at - first for at in positions if first <= at < stop]
        return list(map(spans.__getitem__, positions))


@dataclass(frozen=True, eq=False)
class IndexedRows(RowSource):
    """The rows of spans that satisfy a condition, with indices that find some of them."""

    search: Prefilter | None = None

    def sections(self, metrics: ScanMetrics | None) -> Sequence[SpanRows]:
        assert self.search is not None
        return self.search.sections(self.spans, metrics)

    def of_spans(self, spans: Sequence[Span]) -> IndexedRows:
        return IndexedRows(spans, self.filter, search=self.search)


def indexed_rows(
    snapshot: Snapshot, spans: Sequence[Span], condition: Filter, *, skips_others: bool
) -> RowSource:
    """The rows of ``spans`` that satisfy ``condition``, by the search of indices if some help.

    ``skips_others``: True if the scan returns no rows of fragments without index coverage.
    """
    search = _prefilter_of(snapshot, condition, skips_others)
    if search is None:
        return SpanRows(spans, condition)
    return IndexedRows(spans, condition, search=search)


def _prefilter_of(snapshot: Snapshot, condition: Filter, skips_others: bool) -> Prefilter | None:
    """The prefilter of a scan, None if no index can answer a part of ``condition``."""
    node = condition.condition.node
    if node is None:
        return None
    if isinstance(condition.condition, SqlExpression):
        # Planning takes as long as reading a row, and the nodes of SQL text are cached, too.
        per_node: LruCache[Node, _Planned] | None = snapshot.caches.get(Choice)
        if per_node is None:
            per_node = snapshot.caches[Choice] = LruCache(MAX_CHOICES)
        parts, choice = per_node.get(node, lambda: _planned(snapshot, _conjuncts(node)))
    else:
        parts, choice = _planned(snapshot, conjuncts_of(node))
    if choice is None:
        return None
    return Prefilter(snapshot, condition, parts, choice, skips_others=skips_others)


def prefilter_of_keys(
    snapshot: Snapshot, condition: Filter, keys: Mapping[str, pa.ChunkedArray]
) -> Prefilter | None:
    """The prefilter of a scan for rows whose columns have some of the values ``keys``.

    Values are compared by their bits. ``condition``, which may exclude more rows, is tested for the
    rows that are found. None if none of the columns has an index.
    """
    parts = []
    for name, column in keys.items():
        field, data_type = field_at(snapshot, (name,)), column.type
        is_other = field is None or field.storage_type != data_type
        if is_other or pa.types.is_nested(data_type) or pa.types.is_dictionary(data_type):
            continue
        # Arrow may take different NaN for equal.
        distinct = column if pa.types.is_floating(data_type) else column.unique()
        values = combine_chunks(pa.chunked_array([distinct.drop_null()], data_type))
        if len(values):
            lookup = ColumnLookup((name,), values.type, IsIn(values), implied=True)
            parts.append(Conjunct((unknown(name),), lookup))
    choice = _choice(snapshot, parts, ())
    return None if choice is None else Prefilter(snapshot, condition, parts, choice)


def unused_indices(snapshot: Snapshot, condition: Filter) -> str:
    """The indices of columns of ``condition`` whose plugin is missing, and what would provide it.

    A text for explanations of the plan; "" if there are none.
    """
    if snapshot.file.index_section is None:
        return ""
    fields = [field_at(snapshot, path) for path in condition.columns]
    usable = usable_indices(snapshot)
    unused = [
        stored
        for id_ in dict.fromkeys(field.id for field in fields if field is not None)
        for stored in usable.of_missing_plugins(snapshot, id_)
    ]
    names = ", ".join(dict.fromkeys(stored.name for stored in unused))
    return f"{names}{missing_plugins(unused)}"


def _names(tree: SearchTree) -> Iterator[str]:
    if isinstance(tree, Search):
        yield tree.index.name
    else:
        for part in tree.parts:
            yield from _names(part)


_conjuncts = lru_cache(maxsize=MAX_CHOICES)(conjuncts_of)
"""The parts of the conditions of SQL, for all tables and their versions."""


def _planned(snapshot: Snapshot, parts: Sequence[Conjunct]) -> _Planned:
    return parts, _choice(snapshot, parts, ())


def _choice(
    snapshot: Snapshot, parts: Sequence[Conjunct], failed: Collection[str]
) -> Choice | None:
    usable = usable_indices(snapshot)

    def indices_of(lookup: ColumnLookup) -> Sequence[UsableIndex]:
        field = field_at(snapshot, lookup.path)
        if field is None or field.storage_type != lookup.column_kind:
            return ()
        candidates = usable.of_field(snapshot, field.id)
        if not failed:
            return candidates
        return [index for index in candidates if index.name not in failed]

    return choose(parts, indices_of)
