"""The arguments of a scan, and their conversion to a plan for a version."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Protocol

from lance_core.dataset.expressions.filters import as_filter
from lance_core.dataset.read.plan import DEFAULT_BATCH_SIZE, ScanPlan, Span, all_spans
from lance_core.dataset.read.projection import ROW_ADDRESS, ROW_ID, Columns, queryable, select
from lance_core.dataset.read.pruning import spans_left
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.on_demand import Part, load

if TYPE_CHECKING:
    import pyarrow.compute as pc


class HasFragmentId(Protocol):
    """An object with a fragment id, such as a `LanceFragment`."""

    @property
    def fragment_id(self) -> int:
        """The id of a fragment of the scanned version."""


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """The arguments of `LanceDataset.scanner` that change the result.

    ``filter``: SQL or a pyarrow expression. ``limit`` and ``offset`` count rows that satisfy it.
    ``fragments``: scan only these, in this order. ``row_ranges``: scan only these physical rows, as
    (fragment id, first offset, end offset), in this order. ``strict_batch_size``: True if all
    batches but the last must have ``batch_size`` rows. ``use_stats``: False disables pruning by the
    statistics of files of version 0.1, which changes no result.
    """

    columns: Columns = None
    filter: str | pc.Expression | None = None
    limit: int | None = None
    offset: int | None = None
    batch_size: int | None = None
    strict_batch_size: bool | None = None
    fragments: Sequence[HasFragmentId] | None = None
    row_ranges: Sequence[tuple[int, int, int]] | None = None
    with_row_id: bool | None = None
    with_row_address: bool | None = None
    blob_handling: str | None = None
    use_stats: bool | None = None


BLOBS_AS_BYTES = "all_binary"


BLOBS_AS_DESCRIPTIONS = ("blobs_descriptions", "all_descriptions")


MAX_BATCH_SIZE = 2**32 - 1


HINTS = frozenset(
    {
        "batch_readahead",
        "fragment_readahead",
        "scan_in_order",
        "prefilter",
        "fast_search",
        "io_buffer_size",
        "late_materialization",
        "use_scalar_index",
    }
)
"""Arguments of pylance that tune the performance of its scans; they are ignored."""


UNSUPPORTED = frozenset(
    {
        "nearest",
        "full_text_query",
        "index_segments",
        "batch_size_bytes",
        "include_deleted_rows",
        "scan_stats_callback",
        "order_by",
        "disable_scoring_autoprojection",
        "row_addr_allowlist",
        "row_addr_blocklist",
    }
)


_OPTIONS = frozenset(field.name for field in fields(ScanOptions))


def options_of(arguments: dict[str, Any], defaults: dict[str, Any] | None = None) -> ScanOptions:
    """The options from keyword arguments; arguments that are None get their value in ``defaults``.

    Raises `UnsupportedFeatureError` for pylance's arguments that are not supported yet, and
    ``TypeError`` for unknown ones.
    """
    given = {name: value for name, value in (defaults or {}).items() if value is not None}
    given.update({name: value for name, value in arguments.items() if value is not None})
    for name in sorted(given):
        if name in UNSUPPORTED:
            if given[name] is False:
                continue
            raise UnsupportedFeatureError(f"scans do not support {name!r} yet")
        if name not in _OPTIONS and name not in HINTS:
            raise TypeError(f"unknown scan option {name!r}")
    return ScanOptions(**{name: value for name, value in given.items() if name in _OPTIONS})


def split_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of a scan, and all other arguments."""
    names = _OPTIONS | HINTS | UNSUPPORTED
    of_scan = {name: value for name, value in options.items() if name in names}
    return of_scan, {name: value for name, value in options.items() if name not in names}


def plan_scan(snapshot: Snapshot, options: ScanOptions) -> ScanPlan:
    """The plan of a scan of ``snapshot``; raises `InvalidInputError` for invalid options."""
    load(Part.FILES)
    handling = options.blob_handling or BLOBS_AS_DESCRIPTIONS[0]
    if handling != BLOBS_AS_BYTES and handling not in BLOBS_AS_DESCRIPTIONS:
        raise InvalidInputError(
            f"Invalid blob_handling: {handling}. Expected one of: "
            f"{', '.join(sorted([BLOBS_AS_BYTES, *BLOBS_AS_DESCRIPTIONS]))}"
        )
    extra = [ROW_ID] if options.with_row_id else []
    extra += [ROW_ADDRESS] if options.with_row_address else []
    schema = snapshot.schema_with_descriptions
    if handling == BLOBS_AS_BYTES:
        schema = snapshot.schema_with_bytes
    condition, spans = None, _spans(snapshot, options)
    if options.filter is not None:
        condition = as_filter(options.filter, queryable(schema))
        spans = spans_left(snapshot, condition, spans)
    return ScanPlan(
        projection=select(schema, options.columns, extra),
        spans=spans,
        filter=condition,
        limit=not_negative(options.limit, "Limit"),
        offset=not_negative(options.offset, "Offset") or 0,
        batch_size=_batch_size(options.batch_size),
        exact=bool(options.strict_batch_size),
        schema=schema,
        use_statistics=options.use_stats is not False,
    )


def _whole(value: object, name: str) -> int:
    try:
        return operator.index(value)  # type: ignore[arg-type]  # raises TypeError for other types
    except TypeError:
        raise InvalidInputError(f"{name} must be a whole number, got {value!r}") from None


def not_negative(value: int | None, name: str) -> int | None:
    """``value`` as an integer; raises `InvalidInputError`, naming ``name``, if it is below 0."""
    if value is None:
        return None
    number = _whole(value, name)
    if number < 0:
        raise InvalidInputError(f"{name} must be non-negative, got {number}")
    return number


def _batch_size(value: int | None) -> int:
    if value is None:
        return DEFAULT_BATCH_SIZE
    number = _whole(value, "batch_size")
    if not 1 <= number <= MAX_BATCH_SIZE:
        raise InvalidInputError(f"batch_size must be between 1 and {MAX_BATCH_SIZE}, got {number}")
    return number


def _spans(snapshot: Snapshot, options: ScanOptions) -> tuple[Span, ...]:
    if options.row_ranges is not None:
        if options.fragments is not None:
            raise InvalidInputError("fragments and row_ranges cannot both be given")
        return tuple(_span(snapshot, entry) for entry in options.row_ranges)
    if options.fragments is None:
        return all_spans(snapshot)
    try:
        chosen = [snapshot.fragment(fragment.fragment_id) for fragment in options.fragments]
    except AttributeError:
        raise InvalidInputError(
            "fragments must be LanceFragment objects, see LanceDataset.get_fragments"
        ) from None
    return tuple(Span(f, 0, snapshot.physical_rows(f)) for f in chosen)


def _span(snapshot: Snapshot, entry: Sequence[int]) -> Span:
    try:
        fragment_id, start, stop = map(operator.index, entry)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"row ranges are (fragment id, first offset, end offset), got {entry!r}"
        ) from None
    fragment = snapshot.fragment(fragment_id)
    if not 0 <= start <= stop <= snapshot.physical_rows(fragment):
        raise InvalidInputError(f"rows {start} to {stop} are not in fragment {fragment_id}")
    return Span(fragment, start, stop)
