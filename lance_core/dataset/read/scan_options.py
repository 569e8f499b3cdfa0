"""The arguments of a scan, and their conversion to a plan for a version."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import repeat
from operator import attrgetter, is_
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from lance_core.dataset.expressions.filters import Filter, as_filter
from lance_core.dataset.read.columns.ordering import ColumnOrdering, as_orderings, check_sortable
from lance_core.dataset.read.columns.projection import (
    ROW_ADDRESS,
    ROW_ID,
    Columns,
    Output,
    queryable,
    select,
    stored_column,
)
from lance_core.dataset.read.fragments.span import Span
from lance_core.dataset.read.plan import DEFAULT_BATCH_SIZE, ScanPlan
from lance_core.dataset.read.sources.fragment_spans import all_spans, first_spans
from lance_core.dataset.read.sources.pruning import spans_left
from lance_core.dataset.read.sources.row_source import RowSource, SpanRows
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.error_texts.suggestions import did_you_mean, shortened, unknown_argument
from lance_core.errors import InvalidInputError, InvalidTypeError, UnsupportedFeatureError
from lance_core.imports.on_demand import Part, lazy_module, load
from lance_core.lazy_dataclass import dataclass
from lance_core.plugins import get_manager
from lance_core.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc

    from lance_core.dataset.read.scan_metrics import StatisticsCallback
    from lance_core.dataset.read.sources import row_masks, scan_splits
    from lance_core.dataset.read.sources.prefilter import prefilter as prefilters
    from lance_core.dataset.read.sources.scan_splits import ScanSplit
else:
    prefilters = lazy_module("lance_core.dataset.read.sources.prefilter.prefilter")
    row_masks = lazy_module("lance_core.dataset.read.sources.row_masks")
    scan_splits = lazy_module("lance_core.dataset.read.sources.scan_splits")


class HasFragmentId(Protocol):
    """An object with a fragment id, such as a `LanceFragment`."""

    @property
    def fragment_id(self) -> int:
        """The id of a fragment of the scanned version."""


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """The arguments of `LanceDataset.scanner` that have an effect.

    ``filter``: SQL, a pyarrow expression, a `Filter`, or a dictionary with one of the first two as
    ``expr_filter``.
    ``limit`` and ``offset`` count rows that satisfy it. ``fragments``: scan only these, in this
    order. ``row_ranges``: scan only these physical rows, as (fragment id, first offset, end
    offset), in this order. ``splits``: scan only these parts of a scan with the same filter, in
    this order, see `LanceScanner.splits`. ``order_by``: the order of the result.
    ``strict_batch_size``: True if all batches but the last must have ``batch_size`` rows. Rows
    that one array cannot hold, such as 2 GiB of strings, are several batches.
    ``batch_size_bytes``: approximate maximum bytes of a batch. ``late_materialization``: which
    columns are read after the filter, see `ScanPlan.late`. ``include_deleted_rows``: also return
    deleted rows, with a null row id. ``row_addr_allowlist`` and ``row_addr_blocklist``: bytes of
    `serialize_row_addrs`.
    ``scan_stats_callback``: called with `ScanStatistics` after the scan. ``use_stats``: False
    disables pruning by the statistics of files of version 0.1, which changes no result.
    ``use_scalar_index``: False ignores the indices of the table. ``fast_search``: True skips
    fragments that are not indexed, if an index is used.

    ``nearest``: a search, see `RankedScan`; ``other_search``: the argument of another search that a
    plugin provides, and its value. ``prefilter``: False filters the rows that it returns,
    by default it returns rows that satisfy the filter. ``disable_scoring_autoprojection``: True
    returns the score only if ``columns`` names it.
    """

    columns: Columns = None
    filter: str | pc.Expression | Mapping[str, Any] | Filter | None = None
    limit: int | None = None
    offset: int | None = None
    batch_size: int | None = None
    batch_size_bytes: int | None = None
    strict_batch_size: bool | None = None
    fragments: Sequence[HasFragmentId] | None = None
    row_ranges: Sequence[tuple[int, int, int]] | None = None
    splits: Sequence[ScanSplit] | None = None
    with_row_id: bool | None = None
    with_row_address: bool | None = None
    blob_handling: str | None = None
    use_stats: bool | None = None
    late_materialization: bool | Sequence[str] | None = None
    include_deleted_rows: bool | None = None
    order_by: Sequence[ColumnOrdering | str] | None = None
    row_addr_allowlist: bytes | None = None
    row_addr_blocklist: bytes | None = None
    scan_stats_callback: StatisticsCallback | None = None
    use_scalar_index: bool | None = None
    fast_search: bool | None = None
    nearest: Any = None
    other_search: tuple[str, Any] | None = None
    prefilter: bool | None = None
    disable_scoring_autoprojection: bool | None = None

    @property
    def search(self) -> tuple[str, Any] | None:
        """The argument that asks for a search, and its value."""
        return self.other_search if self.nearest is None else ("nearest", self.nearest)


BLOBS_AS_BYTES = "all_binary"


BLOBS_AS_DESCRIPTIONS = ("blobs_descriptions", "all_descriptions")


MAX_BATCH_SIZE = 2**32 - 1


BATCH_SIZE_VARIABLE = "LANCE_DEFAULT_BATCH_SIZE"
"""The environment variable for the rows of a batch of scans without ``batch_size``."""


HINTS = frozenset(
    {
        "batch_readahead",
        "fragment_readahead",
        "io_buffer_size",
        "scan_in_order",
    }
)
"""Arguments of pylance without an effect here: they tune its scans."""


MIN_HINTS = {"batch_readahead": 1, "fragment_readahead": 0, "io_buffer_size": 0}
"""Minimum values of hints that are numbers."""


UNSUPPORTED = frozenset({"index_segments"})


_SEARCHES = frozenset({"full_text_query"})
"""Arguments of pylance that ask for a search of a plugin, which may be missing."""


_CHOOSE_ROWS = (
    *("fragments", "row_ranges", "order_by", "row_addr_allowlist", "row_addr_blocklist"),
    *("nearest", "other_search"),
)
"""Options that decide, with the filter, which rows are returned, or in which order."""

_choices_of_rows = attrgetter(*_CHOOSE_ROWS)

_OPTIONS = frozenset(field.name for field in fields(ScanOptions)) - {"other_search"}

KNOWN = _OPTIONS | HINTS | UNSUPPORTED | _SEARCHES

_PLAIN_OPTIONS = _OPTIONS - {"nearest"}
"""Options that need no checks before those of `plan_scan`."""


BUILDER_NAMES = {
    "full_text_search": "full_text_query",
    "with_fragments": "fragments",
    "with_index_segments": "index_segments",
}
"""By name in a `ScannerBuilder` and in default scan options, the option of another name here."""


def options_of(arguments: dict[str, Any], defaults: dict[str, Any] | None = None) -> ScanOptions:
    """The options from keyword arguments; arguments that are None get their value in ``defaults``.

    Raises `UnsupportedFeatureError` for pylance's arguments that are not supported yet,
    ``TypeError`` for unknown ones, and `InvalidInputError` for unknown names in ``defaults``.
    """
    options: dict[str, Any] = {}
    for name, value in defaults.items() if defaults else ():
        if name not in KNOWN and name not in BUILDER_NAMES:
            raise InvalidInputError(f"Unknown option {shortened(name)}{did_you_mean(name, KNOWN)}")
        if value is not None:
            options[BUILDER_NAMES.get(name, name)] = value
    for name, value in arguments.items():
        if value is not None:
            options[name] = value  # noqa: PERF403  # a comprehension is one more call
    if _PLAIN_OPTIONS.issuperset(options):
        return ScanOptions(**options)
    search = _search_in(options)
    for name, value in sorted(options.items()):
        if name in UNSUPPORTED and value is not False:
            raise UnsupportedFeatureError(f"scans do not support {name!r} yet")
        if name not in KNOWN:
            raise unknown_argument(name, KNOWN)
        if name in MIN_HINTS and whole(value, name) < MIN_HINTS[name]:
            least = "greater than 0" if MIN_HINTS[name] else "non-negative"
            raise InvalidInputError(f"{name} must be {least}, got {value}")
    of_scan = {name: value for name, value in options.items() if name in _OPTIONS}
    return ScanOptions(**of_scan, other_search=search)


def _search_in(options: dict[str, Any]) -> tuple[str, Any] | None:
    """The argument of a search of a plugin and its value, which are removed from ``options``."""
    searches = [
        name
        for name in options
        if name in _SEARCHES or (name not in KNOWN and get_manager().has_search(name))
    ]
    if len(searches) + ("nearest" in options) > 1:
        first, second, *_ = sorted({*searches, "nearest"} & options.keys())
        raise InvalidInputError(f"{first} and {second} cannot both be given")
    return (searches[0], options.pop(searches[0])) if searches else None


def split_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of a scan, and all other arguments."""
    of_scan = {
        name: value
        for name, value in options.items()
        if name in KNOWN or get_manager().has_search(name)
    }
    return of_scan, {name: value for name, value in options.items() if name not in of_scan}


def plan_scan(snapshot: Snapshot, options: ScanOptions) -> ScanPlan:
    """The plan of a scan of ``snapshot``; raises `InvalidInputError` for invalid options."""
    load(Part.FILES)
    schema = schema_with_blobs(snapshot, options.blob_handling)
    extra = [ROW_ID] if options.with_row_id else []
    extra += [ROW_ADDRESS] if options.with_row_address else []
    projection = select(schema, options.columns, extra)
    callback = options.scan_stats_callback
    if callback is not None and not callable(callback):
        raise InvalidInputError(f"scan_stats_callback must be callable, got {callback!r}")
    if options.include_deleted_rows and ROW_ID not in projection.schema.names:
        raise InvalidInputError("include_deleted_rows is set but with_row_id is false")
    limit, offset = options.limit, options.offset
    if limit is not None:
        limit = not_negative(limit, "Limit")
    if offset is not None:
        offset = not_negative(offset, "Offset")
    stop = None if limit is None else limit + (offset or 0)
    rows = _rows(snapshot, options, schema, stop)
    mask = None
    if options.row_addr_allowlist is not None or options.row_addr_blocklist is not None:
        mask = row_masks.row_mask(options.row_addr_allowlist, options.row_addr_blocklist)
    late = options.late_materialization
    return ScanPlan(
        projection=projection,
        rows=rows,
        mask=mask,
        limit=limit,
        offset=offset or 0,
        order=order_of(schema, options.order_by) if options.order_by is not None else (),
        batch_size=_batch_size(options.batch_size),
        batch_bytes=None if options.batch_size_bytes is None else _batch_bytes(options),
        exact=bool(options.strict_batch_size),
        schema=schema,
        includes_deleted=bool(options.include_deleted_rows),
        late=None if late is None else _late(schema, late),
        use_statistics=options.use_stats is not False,
    )


def _rows(snapshot: Snapshot, options: ScanOptions, schema: Schema, stop: int | None) -> RowSource:
    """Where the rows come from: fragments or parts of them, splits, or the search of indices.

    ``stop``: the sum of offset and limit.
    """
    condition: Any = options.filter
    with_deleted = bool(options.include_deleted_rows)
    if condition is not None and type(condition) is not str:
        condition = condition_of(condition)
    filter_ = condition
    if condition is not None and not isinstance(condition, Filter):
        filter_ = as_filter(condition, queryable(schema))
    if options.splits is not None:
        if with_deleted or options.fragments is not None or options.row_ranges is not None:
            raise InvalidInputError(
                "splits cannot be given with fragments, row_ranges or include_deleted_rows"
            )
        return _rows_of_splits(snapshot, scan_splits.checked_splits(options.splits), filter_)
    if filter_ is None:
        return SpanRows(_first_spans(snapshot, options, stop) or _spans(snapshot, options))
    spans = _spans(snapshot, options)
    spans = spans_left(snapshot, filter_, spans, with_deleted=with_deleted)
    if snapshot.file.index_section is None or with_deleted or options.use_scalar_index is False:
        return SpanRows(spans, filter_)
    skips_others = bool(options.fast_search)
    return prefilters.indexed_rows(snapshot, spans, filter_, skips_others=skips_others)


def _rows_of_splits(
    snapshot: Snapshot, splits: Sequence[ScanSplit], condition: Filter | None
) -> SpanRows:
    spans = [
        replace(_span(snapshot, (split.fragment_id, split.start, split.stop)), chosen=split.chosen)
        for split in splits
        if split.num_rows
    ]
    if all(split.is_exact for split in splits):
        condition = None
    return SpanRows(tuple(spans), condition, any(split.chosen is not None for split in splits))


def schema_with_blobs(snapshot: Snapshot, handling: str | None) -> Schema:
    """The schema with blobs as ``blob_handling`` asks for them."""
    if handling == BLOBS_AS_BYTES:
        return snapshot.schema_with_bytes
    if handling is None or handling in BLOBS_AS_DESCRIPTIONS:
        return snapshot.schema_with_descriptions
    raise InvalidInputError(
        f"Invalid blob_handling: {handling}. Expected one of: "
        f"{', '.join(sorted([BLOBS_AS_BYTES, *BLOBS_AS_DESCRIPTIONS]))}"
    )


def condition_of(filter: Any) -> Any:
    """The condition in the option ``filter``, which may be a dictionary."""
    if isinstance(filter, str) or not isinstance(filter, Mapping):
        return filter  # the first test is for speed: that for mappings is Python code
    for name in filter:
        if name not in ("expr_filter", "search_filter"):
            known = ("expr_filter", "search_filter")
            raise InvalidInputError(f"unknown key {name!r} in filter{did_you_mean(name, known)}")
    if filter.get("search_filter") is not None:
        raise UnsupportedFeatureError("scans do not support a 'search_filter' yet")
    return filter.get("expr_filter")


def order_of(
    schema: Schema,
    orderings: Sequence[ColumnOrdering | str] | None,
    own: Mapping[str, pa.Field] = MappingProxyType({}),
) -> tuple[tuple[ColumnOrdering, Output], ...]:
    """The order of a result by stored columns, and by its ``own`` ones."""
    if not orderings:
        return ()
    order = []
    for ordering in as_orderings(orderings or ()):
        name = ordering.column_name
        output = Output(own[name], (name,)) if name in own else stored_column(schema, name)
        check_sortable(output.field.type, name)
        order.append((ordering, output))
    return tuple(order)


def _late(schema: Schema, option: Any) -> bool | frozenset[str] | None:
    if option is None or isinstance(option, bool):
        return option
    if isinstance(option, str) or not isinstance(option, Sequence):
        raise InvalidInputError("late_materialization must be a bool or a list of strings")
    if not all(isinstance(name, str) for name in option):
        raise InvalidInputError("late_materialization must be a bool or a list of strings")
    paths = [stored_column(schema, name).source for name in option]
    return frozenset(path[0] for path in paths if isinstance(path, tuple))


def _batch_bytes(options: ScanOptions) -> int | None:
    if options.batch_size_bytes is None:
        return None
    size = not_negative(options.batch_size_bytes, "batch_size_bytes")
    if options.strict_batch_size:
        raise InvalidInputError(
            f"strict_batch_size=true cannot be combined with batch_size_bytes={size}"
        )
    return size


def whole(value: object, name: str) -> int:
    """``value`` as an integer; raises `InvalidTypeError`, naming ``name``, for other types."""
    try:
        return operator.index(value)  # type: ignore[arg-type]  # raises TypeError for other types
    except TypeError:
        raise InvalidTypeError(f"{name} must be a whole number, got {value!r}") from None


def not_negative(value: int | None, name: str) -> int | None:
    """``value`` as an integer; raises `InvalidInputError`, naming ``name``, if it is below 0."""
    if value is None:
        return None
    number = value if type(value) is int else whole(value, name)
    if number < 0:
        raise InvalidInputError(f"{name} must be non-negative, got {number}")
    return number


def _batch_size(value: int | None) -> int:
    name: str = "batch_size"
    text = os.environ.get(BATCH_SIZE_VARIABLE)
    if value is None:
        if text is None:
            return DEFAULT_BATCH_SIZE
        if not text.isdecimal():
            raise InvalidInputError(
                f"environment variable {BATCH_SIZE_VARIABLE} must be a number, but is {text!r}"
            )
        name, value = BATCH_SIZE_VARIABLE, int(text)
    number = whole(value, name)
    if not 1 <= number <= MAX_BATCH_SIZE:
        raise InvalidInputError(f"{name} must be between 1 and {MAX_BATCH_SIZE}, got {number}")
    return number


def _first_spans(
    snapshot: Snapshot, options: ScanOptions, stop: int | None
) -> Sequence[Span] | None:
    """The spans of the first ``stop`` rows, if nothing else determines which rows are returned."""
    if stop is None or not all(map(is_, _choices_of_rows(options), repeat(None))):
        return None
    return first_spans(snapshot, stop, bool(options.include_deleted_rows))


def _spans(snapshot: Snapshot, options: ScanOptions) -> Sequence[Span]:
    if options.row_ranges is not None:
        if options.fragments is not None:
            raise InvalidInputError("fragments and row_ranges cannot both be given")
        return tuple(_span(snapshot, entry) for entry in options.row_ranges)
    if options.fragments is None:
        return all_spans(snapshot)
    try:
        chosen = [snapshot.fragment(fragment.fragment_id) for fragment in options.fragments]
    except (AttributeError, TypeError):
        raise InvalidTypeError(
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
