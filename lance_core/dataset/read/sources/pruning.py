"""Pruning: a filtered scan does not read rows whose statistics exclude the filter.

The manifest has the bounds of meta columns, such as row ids and row versions. Files of version 0.1
have statistics of stored columns, for batches of rows; newer files have none. Pruning never changes
a result: see `lance_core.dataset.expressions.sql.interval_analysis`. Bounds include deleted rows,
which makes pruning less effective, but not wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.dataset.read.columns.projection import META_COLUMNS
from lance_core.dataset.read.fragments.meta_columns import fragment_bounds, meta_bounds
from lance_core.dataset.read.sources.fragment_spans import FragmentSpans
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.imports.on_demand import lazy_module

if TYPE_CHECKING:
    import numpy.typing as npt

    from lance_core.datafile.page_statistics import PageStatistics, ValueBounds
    from lance_core.dataset.expressions.filters import Filter
    from lance_core.dataset.expressions.sql import interval_analysis
    from lance_core.dataset.expressions.sql.interval_analysis import Bounds
    from lance_core.dataset.expressions.sql.nodes.node import ColumnNode, Node
    from lance_core.dataset.read.fragments.span import Span
    from lance_core.dataset.read.sources import row_selection
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.schema import Field
    from lance_core.table.fragments.fragment import Fragment
else:
    row_selection = lazy_module("lance_core.dataset.read.sources.row_selection")
    interval_analysis = lazy_module("lance_core.dataset.expressions.sql.interval_analysis")

Path = tuple[str, ...]


class Skipped(NamedTuple):
    """The rows of a fragment after pruning: ascending row ranges with gaps between them.

    ``num_runs``: number of runs of rows with statistics; ``num_skipped``: how many were excluded.
    """

    ranges: Sequence[tuple[int, int]]
    num_runs: int = 0
    num_skipped: int = 0


def rows_left(
    snapshot: Snapshot, fragment: Fragment, condition: Filter, start: int, stop: int
) -> Skipped:
    """The physical rows from ``start`` to ``stop`` (exclusive) that may satisfy ``condition``."""
    whole = Skipped([(start, stop)] if stop > start else [])
    if stop <= start or not _has_statistics(fragment):
        return whole
    node = condition_node(condition)
    by_path = {} if node is None else _statistics(snapshot, fragment, condition.columns)
    if node is None or not by_path:
        return whole
    # Files of one fragment may have batches of different lengths.
    edges = np.unique(np.concatenate([known.statistics.edges for known in by_path.values()]))
    edges = np.unique(np.clip(edges, start, stop))
    keep = _may_pass(node, by_path, edges[:-1])
    return Skipped(_ranges(edges, keep), len(keep), int(np.count_nonzero(~keep)))


def spans_left(
    snapshot: Snapshot, condition: Filter, spans: Sequence[Span], *, with_deleted: bool = False
) -> Sequence[Span]:
    """The ``spans`` that may have rows for which ``condition`` is true, by their meta columns.

    ``with_deleted``: True if deleted rows count too.
    """
    names = set(map(itemgetter(0), condition.columns)).intersection(META_COLUMNS)
    if names:
        names -= set(snapshot.schema.names)
    node = condition_node(condition) if names and spans else None
    if node is None:
        return spans
    spans = row_selection.selected_spans(snapshot, node, spans, names)
    if not spans:
        return spans
    bounds = {name: _meta_bounds(snapshot, name, spans, with_deleted) for name in names}
    may_pass = interval_analysis.may_be_true(node, lambda c: bounds.get(c.path[0]), len(spans))
    if may_pass.all():
        return spans
    return tuple(spans[number] for number in np.flatnonzero(may_pass).tolist())


def _meta_bounds(
    snapshot: Snapshot, name: str, spans: Sequence[Span], with_deleted: bool
) -> Bounds:
    ends = None
    if isinstance(spans, FragmentSpans) and not with_deleted:
        ends = fragment_bounds(snapshot, name, spans.first, spans.stop)
    if ends is None:
        bounds = [
            meta_bounds(snapshot, span.fragment, name, span.start, span.stop)
            if span.stop > span.start
            else (0, 0)
            for span in spans
        ]
        columns = np.array(bounds, np.uint64).T.copy()
        ends = columns[0], columns[1]
    lowest, highest = map(from_numpy, ends)
    never = np.zeros(len(spans), np.bool_)
    return interval_analysis.Bounds(lowest, highest, never, never)


def condition_node(condition: Filter) -> Node | None:
    """The node of an SQL condition that cannot fail, else None.

    A condition that can fail must be evaluated for all rows to report the error.
    """
    from lance_core.dataset.expressions.sql.expression import SqlExpression

    sql = condition.condition
    return (
        sql.node
        if isinstance(sql, SqlExpression) and interval_analysis.cannot_fail(sql.node)
        else None
    )


def _has_statistics(fragment: Fragment) -> bool:
    return any(file.version_facts.has_page_statistics for file in fragment.files)


class _FieldStatistics(NamedTuple):
    field: Field
    statistics: PageStatistics


def _statistics(
    snapshot: Snapshot, fragment: Fragment, columns: Sequence[Path]
) -> dict[Path, _FieldStatistics]:
    """The statistics in this fragment, for the ``columns`` that have any."""
    homes = fragment.file_of_field()
    by_file: dict[int, list[tuple[Path, Field]]] = {}
    for path in columns:
        field = field_at(snapshot, path)
        home = None if field is None else homes.get(field.id)
        if field is None or home is None:
            continue
        if fragment.files[home].version_facts.has_page_statistics:
            by_file.setdefault(home, []).append((path, field))
    by_path: dict[Path, _FieldStatistics] = {}
    for number, fields in by_file.items():
        reader = snapshot.reader(fragment.files[number])
        statistics = reader.page_statistics([field for _, field in fields])
        if statistics is not None and reader.num_rows == snapshot.physical_rows(fragment):
            present = [(path, field) for path, field in fields if field.id in statistics.fields]
            by_path.update((path, _FieldStatistics(field, statistics)) for path, field in present)
    return by_path


def field_at(snapshot: Snapshot, path: Path) -> Field | None:
    """The field at ``path`` if all its parents are structs, else None."""
    siblings: Sequence[Field] = snapshot.file.manifest.schema.fields
    current: Field | None = None
    for name in path:
        if current is not None and not current.is_struct:
            return None
        for current in siblings:
            if current.name == name:
                break
        else:
            return None
        siblings = current.children
    return current


def _may_pass(
    node: Node, statistics_of: Mapping[Path, _FieldStatistics], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """For each run of rows (``starts``: first rows), True if some row may satisfy the condition."""

    def bounds_of(column: ColumnNode) -> Bounds | None:
        known = statistics_of.get(column.path)
        if known is None:
            return None
        runs = np.searchsorted(known.statistics.edges, starts, side="right") - 1
        sizes = np.diff(known.statistics.edges)
        return _bounds(known.statistics.fields[known.field.id], known.field, runs, sizes)

    return interval_analysis.may_be_true(node, bounds_of, len(starts))


def _bounds(
    statistics: ValueBounds,
    field: Field,
    runs: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
) -> Bounds:
    """The bounds of ``runs``. A bound without bytes is null, even if it is an empty value."""
    from lance_core.encodings.arrow.strings import is_variable

    lowest, highest = (
        statistics.lowest.take(pa.array(runs)),
        statistics.highest.take(pa.array(runs)),
    )
    never = np.zeros(len(runs), np.bool_)
    if not field.nullable or not is_variable(field.storage_type):
        return interval_analysis.Bounds(lowest, highest, never, never)
    null_counts = statistics.null_counts[runs]
    may_be_null = (null_counts > 0) | np.asarray(lowest.is_null())
    return interval_analysis.Bounds(lowest, highest, may_be_null, null_counts >= sizes[runs])


def _ranges(edges: npt.NDArray[np.int64], keep: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The runs to keep as row ranges; adjacent runs are merged."""
    changes = np.flatnonzero(np.diff(np.concatenate([[False], keep, [False]])))
    borders = edges[changes].tolist()
    return list(zip(borders[::2], borders[1::2], strict=True))
