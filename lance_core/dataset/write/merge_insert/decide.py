"""Decide what happens to each row of a part of the source, and to the target rows that match it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.expressions.filters import Filter, as_filter
from lance_core.dataset.expressions.sql.nodes.names import TABLE
from lance_core.dataset.read.columns.projection import queryable, select
from lance_core.dataset.read.steps.key_search import KeyMatches
from lance_core.dataset.read.windows.window_sizing import late_sizer
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.merge_insert.keys import KeyIndex
from lance_core.dataset.write.merge_insert.plan import SOURCE, TARGET, Matched, MergePlan
from lance_core.dataset.write.merge_insert.target import Addresses, rows_at
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.kernels.numpy.integer_index import Int64Array
from lance_core.errors import MergeError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

_PAIRS = 1 << 18
"""Maximum pairs of a target and a source row whose condition is evaluated together."""

_NONE: Int64Array = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The actions on the rows of one part of the source.

    ``updates``: addresses of target rows, in the order of the table; ``update_rows``: for each, the
    number of the source row with its new values. ``deletes``: addresses of target rows to delete.
    ``inserts``: numbers of source rows to insert. ``matched``: addresses of all target rows whose
    key is in the source.
    """

    updates: Addresses
    update_rows: Int64Array
    deletes: Addresses
    inserts: Int64Array
    matched: Addresses


def decide(
    plan: MergePlan,
    rows: pa.Table,
    index: KeyIndex,
    matches: KeyMatches,
    condition: UpdateCondition | None,
) -> Decision:
    """The actions on ``rows``, whose keys are in ``index``, and on their ``matches``.

    Raises `MergeError` if rows match that must not, and if several source rows match one target row
    that they update or delete.
    """
    if plan.matched is Matched.FAIL and len(matches.keys):
        shown = _shown(plan, rows, int(np.argmax(index.keys == matches.keys[0])))
        raise MergeError(f"Merge insert failed: found matching row with key values: {shown}")
    inserts = _NONE
    if plan.inserts:
        is_known = np.zeros(len(index) + 1, np.bool_)
        is_known[matches.keys] = True
        inserts = np.flatnonzero(~is_known[index.keys])
    addresses, pairs = np.empty(0, np.uint64), _NONE
    if plan.updates or plan.matched is Matched.DELETE:
        all_pairs = _Pairs(index, matches)
        if condition is None:
            addresses, pairs = _only_pairs(plan, rows, all_pairs)
        else:
            addresses, pairs = _pairs_that_satisfy(condition, plan, rows, all_pairs)
    none = np.empty(0, np.uint64)
    is_delete = plan.matched is Matched.DELETE
    return Decision(
        updates=none if is_delete else addresses,
        update_rows=_NONE if is_delete else pairs,
        deletes=addresses if is_delete else none,
        inserts=inserts,
        matched=matches.addresses,
    )


class _Pairs:
    """The pairs of a matched target row and a source row with its key, ordered by target row.

    There may be many more than rows, so `part` makes only some of them.
    """

    def __init__(self, index: KeyIndex, matches: KeyMatches) -> None:
        rows = np.flatnonzero(index.keys >= 0)
        self._addresses = matches.addresses
        self._stops: Int64Array | None = None
        if len(rows) == len(index):
            row_of_key = np.empty(len(index), np.int64)
            row_of_key[index.keys[rows]] = rows
            self._rows = row_of_key[matches.keys]
            return
        self._rows = rows[np.argsort(index.keys[rows], kind="stable")]
        starts = edges_of(np.bincount(index.keys[rows], minlength=len(index)))
        counts = np.diff(starts)[matches.keys]
        self._stops = np.cumsum(counts)
        self._shifts = starts[matches.keys] - (self._stops - counts)

    def __len__(self) -> int:
        if self._stops is None:
            return len(self._addresses)
        return int(self._stops[-1]) if len(self._stops) else 0

    def part(self, start: int, stop: int) -> tuple[Addresses, Int64Array]:
        """The target rows' addresses and the source rows' numbers of the given pairs."""
        if self._stops is None:
            return self._addresses[start:stop], self._rows[start:stop]
        numbers = np.arange(start, min(stop, len(self)))
        targets = np.searchsorted(self._stops, numbers, side="right")
        return self._addresses[targets], self._rows[numbers + self._shifts[targets]]

    def first_repeated(self) -> int | None:
        """A source row of the first target row that is in several pairs, None without any."""
        if self._stops is None or len(self) == len(self._stops):
            return None
        target = int(np.argmax(np.diff(self._stops, prepend=0) > 1))
        return int(self._rows[self._stops[target] - 1 + self._shifts[target]])


def _only_pairs(plan: MergePlan, rows: pa.Table, pairs: _Pairs) -> tuple[Addresses, Int64Array]:
    """All pairs, of which each target row must have at most one."""
    repeated = pairs.first_repeated()
    if repeated is not None:
        raise _ambiguous(plan, rows, repeated)
    return pairs.part(0, len(pairs))


def _pairs_that_satisfy(
    condition: UpdateCondition, plan: MergePlan, rows: pa.Table, pairs: _Pairs
) -> tuple[Addresses, Int64Array]:
    """The pairs that satisfy ``condition``, of which each target row must have at most one."""
    addresses, numbers = [np.empty(0, np.uint64)], [_NONE]
    last, stop = -1, 0
    while stop < len(pairs):
        start, stop = stop, stop + condition.sizer.rows
        targets, chosen = pairs.part(start, stop)
        keep = condition.mask(rows, targets, chosen)
        if not keep.any():
            continue
        targets, chosen = targets[keep], chosen[keep]
        is_last = int(targets[0]) == last
        again = np.flatnonzero(targets[1:] == targets[:-1])
        if is_last or len(again):
            raise _ambiguous(plan, rows, int(chosen[0 if is_last else again[0]]))
        last = int(targets[-1])
        addresses.append(targets)
        numbers.append(chosen)
    return np.concatenate(addresses), np.concatenate(numbers)


def _ambiguous(plan: MergePlan, rows: pa.Table, number: int) -> MergeError:
    return MergeError(
        "Ambiguous merge inserts are prohibited: multiple source rows match the same target "
        f"row on ({_shown(plan, rows, number)}); ensure that each target row is "
        "matched by at most one source row"
    )


def _shown(plan: MergePlan, rows: pa.Table, number: int) -> str:
    values = rows.select(list(plan.on)).slice(number, 1).to_pylist()[0]
    return ", ".join(f"{name} = {str(value)[:80]}" for name, value in values.items())


class UpdateCondition:
    """The condition of `Matched.UPDATE_IF`; it names columns as ``source.x`` and ``target.x``.

    ``sizer``: chooses the pairs to evaluate together, by the bytes of their values.
    """

    def __init__(self, snapshot: Snapshot, source: pa.Schema, sql: str) -> None:
        """Raises `MergeError` for SQL that is invalid or names unknown columns."""
        self._snapshot = snapshot
        table = snapshot.schema_with_descriptions
        sides = [(SOURCE, source), (TARGET, queryable(table))]
        schema = pa.schema(
            [pa.field(side, pa.struct(list(columns)), metadata=TABLE) for side, columns in sides]
        )
        self._filter = _parsed(sql, schema)
        names = _columns_of(self._filter, TARGET, schema)
        self._target = select(table, names)
        self._source_names = _columns_of(self._filter, SOURCE, schema)
        fields = (field for field in table.fields if field.name in self._source_names)
        self.sizer = late_sizer((*self._target.fields, *fields), _PAIRS)

    def mask(
        self, rows: pa.Table, addresses: Addresses, pairs: Int64Array
    ) -> npt.NDArray[np.bool_]:
        """For each pair of a target address and a source row, True if the condition holds."""
        chosen = take_rows(rows.select(self._source_names), from_numpy(pairs))
        read = rows_at(self._snapshot, addresses, self._target)
        self.sizer.observe_data(len(pairs), chosen, read)
        sides = {SOURCE: chosen, TARGET: read}
        data = {side: _struct(table) for side, table in sides.items() if table.num_columns}
        return self._evaluated(data, len(pairs))

    def _evaluated(self, data: dict[str, pa.Array], rows: int) -> npt.NDArray[np.bool_]:
        if not data:
            data = {SOURCE: pa.nulls(rows, pa.struct([]))}
        return self._filter.mask(pa.table(data))


def _parsed(sql: str, schema: pa.Schema) -> Filter:
    try:
        return as_filter(sql, schema)
    except UnsupportedFeatureError:
        raise
    except ValueError as error:
        raise MergeError(
            f"the condition of when_matched_update_all is invalid (columns are named source.x and "
            f"target.x): {error}"
        ) from error


def _columns_of(condition: Filter, side: str, schema: pa.Schema) -> list[str]:
    """The top-level columns of a side that a condition needs, all for the side as a whole."""
    paths = [path for path in condition.columns if path[0] == side]
    if any(len(path) == 1 for path in paths):
        return [field.name for field in schema.field(side).type]
    return list(dict.fromkeys(path[1] for path in paths))


def _struct(table: pa.Table) -> pa.Array:
    columns = [column.combine_chunks() for column in table.columns]
    return pa.StructArray.from_arrays(columns, fields=list(table.schema))
