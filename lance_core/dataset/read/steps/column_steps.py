"""Which columns a scan reads when: early ones for all rows of a window, late ones for some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from lance_core.concurrency.lru_cache import LruCache
from lance_core.dataset.read.columns.projection import required
from lance_core.dataset.read.columns.widths import fixed_bytes
from lance_core.dataset.read.fragments.blob_sizes import described_blobs
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.dataset.expressions.filters import Filter
    from lance_core.dataset.read.columns.projection import Projection
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.schema import Field


MAX_CACHED = 16
"""Maximum divisions into steps that each schema caches: a read of few rows takes as long as one."""


class StepColumns(NamedTuple):
    """Columns that are read by one step: stored fields, then meta columns.

    ``is_dense``: True decodes all rows between the selected ones and filters, False decodes the
    selected rows only; None does what costs less.
    """

    fields: tuple[Field, ...]
    meta: tuple[str, ...] = ()
    is_dense: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSteps:
    """The columns of each step of a scan.

    ``early``: the columns that the filter needs; without a filter, those of the projection.
    ``late``: the other columns of the projection, in groups. ``at_once_bytes``: the bytes of a row
    of them if they may be read with the early ones, else None. ``may_wait``: True if windows with
    few selected rows wait for each other, so that one read gets the late columns of all.
    """

    early: StepColumns
    late: tuple[StepColumns, ...] = ()
    at_once_bytes: int | None = None
    may_wait: bool = False

    @property
    def late_fields(self) -> tuple[Field, ...]:
        """The stored fields of all late groups."""
        return tuple(field for group in self.late for field in group.fields)


def column_steps(snapshot: Snapshot, plan: ScanPlan) -> ColumnSteps:
    """The columns of each step of ``plan``."""
    projection, condition = plan.projection, plan.rows.filter
    if condition is None:
        return ColumnSteps(StepColumns(projection.fields, projection.meta))
    known: LruCache[Any, tuple[Projection, ColumnSteps]] = plan.schema.derived("steps", _new_cache)
    # By the identity of the projection, which the item keeps alive.
    reads = condition.columns, plan.late, plan.rows.are_chosen, snapshot.is_io_bound
    key = id(projection), reads
    return known.get(key, lambda: (projection, _with_filter(snapshot, plan, condition)))[1]


def _new_cache() -> LruCache[Any, Any]:
    return LruCache(MAX_CACHED)


def _with_filter(snapshot: Snapshot, plan: ScanPlan, condition: Filter) -> ColumnSteps:
    projection = plan.projection
    early = StepColumns(*required(plan.schema, condition.columns))
    others = _missing(projection.fields, early.fields)
    meta = tuple(name for name in projection.meta if name not in early.meta)
    groups = _late_groups(others, meta, plan.late)
    # I/O-bound windows are read concurrently; windows with blobs are sized by their bytes.
    is_free = not (snapshot.is_io_bound or described_blobs(snapshot, others))
    return ColumnSteps(
        early,
        late=groups,
        at_once_bytes=None if meta else _bytes_at_once(plan, early.fields, others),
        may_wait=is_free and not any(group.is_dense for group in groups),
    )


def _missing(fields: tuple[Field, ...], known: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields that ``known`` does not contain completely."""
    known_by_id = {field.id: field for field in known}
    return tuple(field for field in fields if known_by_id.get(field.id) != field)


def _late_groups(
    fields: tuple[Field, ...], meta: tuple[str, ...], late: bool | frozenset[str] | None
) -> tuple[StepColumns, ...]:
    """The groups that are read after the filter; ``late`` has the meaning of `ScanPlan.late`."""
    if late is None:
        groups = [StepColumns(fields, meta)]
    elif late is True:
        groups = [StepColumns(fields, is_dense=False), StepColumns((), meta)]
    else:
        names = late or frozenset()
        groups = [
            StepColumns(tuple(f for f in fields if f.name not in names), is_dense=True),
            StepColumns(tuple(f for f in fields if f.name in names), is_dense=False),
            StepColumns((), meta),
        ]
    return tuple(group for group in groups if group.fields or group.meta)


def _bytes_at_once(
    plan: ScanPlan, early: tuple[Field, ...], others: tuple[Field, ...]
) -> int | None:
    """The bytes of a row of ``others``; None to never read them with the ``early`` fields."""
    if not plan.has_chosen_rows or plan.late is not None:
        return None
    if not {field.name for field in others}.isdisjoint(field.name for field in early):
        return None
    return fixed_bytes(others)
