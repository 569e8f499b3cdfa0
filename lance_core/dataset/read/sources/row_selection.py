"""Scans of few rows by id or address: ``_rowid = 7``, ``_rowaddr IN (…)``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.expressions.sql.nodes.node import (
    And,
    CallNode,
    ColumnNode,
    Compare,
    Constant,
    InList,
    Node,
    Or,
)
from lance_core.dataset.read.columns.projection import ROW_ADDRESS, ROW_ID
from lance_core.dataset.read.fragments.span import Span
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.sources.fragment_spans import FragmentSpans
from lance_core.dataset.read.sources.row_locations import Selector, locations_with
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.table.row_ids.row_id_index import OFFSET_BITS

Uint64s = npt.NDArray[np.uint64]


_SELECTORS = {ROW_ID: Selector.IDS, ROW_ADDRESS: Selector.ADDRESSES}


def selected_spans(
    snapshot: Snapshot, node: Node, spans: Sequence[Span], names: Collection[str]
) -> Sequence[Span]:
    """The parts of ``spans`` that have all rows with the ids or addresses that ``node`` names.

    ``names``: the meta columns in the condition. Deleted rows may be among the rows. Returns
    ``spans`` if the condition names too many rows or none.
    """
    for name, selector in _SELECTORS.items():
        numbers = _numbers(node, name) if name in names else None
        if numbers is not None and len(numbers) <= tuning().rows.max_named:
            locations = locations_with(snapshot, selector, numbers)
            spans = tuple(_parts(snapshot, spans, np.unique(locations)))
    return spans


def _parts(
    snapshot: Snapshot, spans: Sequence[Span], locations: npt.NDArray[np.int64]
) -> Iterator[Span]:
    """The spans around ``locations``, which ascend."""
    by_position: dict[int, list[int]] = {}
    for location in locations.tolist():
        by_position.setdefault(location >> OFFSET_BITS, []).append(location & 0xFFFFFFFF)
    if isinstance(spans, FragmentSpans):
        positions = [position for position in by_position if spans.first <= position < spans.stop]
        spans = [spans[position - spans.first] for position in positions]
    for span in spans:
        position = snapshot.fragment_positions[span.fragment.id]
        offsets = np.array(by_position.get(position, ()), np.int64)
        offsets = offsets[(offsets >= span.start) & (offsets < span.stop)]
        if len(offsets):
            cuts = np.flatnonzero(np.diff(offsets) > tuning().rows.max_gap) + 1
            for run in np.split(offsets, cuts):
                yield Span(span.fragment, int(run[0]), int(run[-1]) + 1)


def _numbers(node: Node, name: str) -> Uint64s | None:
    """All values of the column ``name`` for which ``node`` may be true; None if not known."""
    if not isinstance(node, CallNode):
        return None
    if isinstance(node.operator, And | Or):
        left, right = (_numbers(argument, name) for argument in node.arguments)
        if isinstance(node.operator, Or):
            return None if left is None or right is None else np.concatenate([left, right])
        return left if right is None or (left is not None and len(left) <= len(right)) else right
    column = node.arguments[0] if node.arguments else None
    if not isinstance(column, ColumnNode) or column.path != (name,) or column.type != pa.uint64():
        return None
    match node.operator:
        case InList(values) if values.type == pa.uint64():
            return np.asarray(values, np.uint64)
        case Compare("="):
            literal = node.arguments[1]
            if not isinstance(literal, Constant) or literal.type != pa.uint64():
                return None
            return None if literal.is_null else np.array([literal.value.as_py()], np.uint64)
    return None
