"""From the arguments of a scan to a `RankedScan`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from lance_core.dataset.expressions.filters import Filter, as_filter, as_value, split_filter
from lance_core.dataset.read.columns.projection import (
    ROW_ADDRESS,
    ROW_ID,
    Columns,
    Output,
    queryable,
)
from lance_core.dataset.read.columns.searched_field import searched_field, short_path
from lance_core.dataset.read.ranking.ranked_scan import (
    ELEMENT_POSITIONS,
    QUERY_INDEX,
    RankedScan,
)
from lance_core.dataset.read.scan_options import (
    ScanOptions,
    condition_of,
    options_of,
    order_of,
    plan_scan,
    schema_with_blobs,
)
from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of
from lance_core.errors import InvalidInputError
from lance_core.plugins import get_manager
from lance_core.store.spec import resolve_factory
from lance_core.table.indices.index_metadata import details_key

if TYPE_CHECKING:
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.index.ranking import RankedQuery, RankedSearch
    from lance_core.index.spec import SearchSpec
    from lance_core.schema import Schema

Run: TypeAlias = "Callable[[Snapshot, ScanOptions], pa.Table]"
"""Runs a scan."""

OwnFields: TypeAlias = Mapping[str, pa.Field]
"""The columns that a search adds, by name."""

_EXCLUDED = {
    "include_deleted_rows": "Cannot include deleted rows in a search",
    "splits": "a search has no splits",
}
"""Arguments of a scan that a search excludes, and why."""


def plan_ranked(snapshot: Snapshot, options: ScanOptions, run: Run) -> RankedScan:
    """The plan of a scan with a search, which may ``run`` others.

    Raises `PluginNotFoundError` if no plugin has the search, and `InvalidInputError`.
    """
    assert options.search is not None
    argument, value = options.search
    for name, reason in _EXCLUDED.items():
        if getattr(options, name):
            raise InvalidInputError(f"{reason}: {name} and {argument} cannot both be given")
    query = _query(snapshot, argument, value, options, run)
    own = {query.score_name: pa.field(query.score_name, pa.float32())}
    if query.element_name is not None:
        field = pa.field(query.element_name, ELEMENT_POSITIONS, nullable=False)
        own = {query.element_name: field, **own}
    if query.is_batch:
        own[QUERY_INDEX] = pa.field(QUERY_INDEX, pa.int32(), nullable=False)
    schema, requested = schema_with_blobs(snapshot, options.blob_handling), options.columns
    before, after = _conditions(schema, options, own)
    of_search = _of_search(schema, requested, own)
    columns = requested
    if isinstance(requested, Mapping):
        columns = {name: text for name, text in requested.items() if name not in of_search}
    elif of_search:
        columns = [name for name in requested or () if name not in of_search]
    stored = options
    if columns is not requested or before is not options.filter or options.order_by is not None:
        stored = replace(options, columns=columns, filter=before, order_by=None)
    plan = plan_scan(snapshot, stored)
    of_table = {field.name: Output(field, (field.name,)) for field in plan.projection.schema}
    metas = (ROW_ID, options.with_row_id), (ROW_ADDRESS, options.with_row_address)
    extra = [name for name, is_added in metas if is_added]
    names = (
        [name for name in of_table if name not in extra] if requested is None else list(requested)
    )
    outputs = [of_search.get(name) or of_table[name] for name in names]
    if query.is_batch and all(output.source != (QUERY_INDEX,) for output in of_search.values()):
        outputs.insert(0, Output(own[QUERY_INDEX], (QUERY_INDEX,)))
    if query.element_name is not None and query.element_name not in names:
        outputs.append(Output(own[query.element_name], (query.element_name,)))
    if query.score_name not in names and not options.disable_scoring_autoprojection:
        outputs.append(Output(own[query.score_name], (query.score_name,)))
    outputs += [output for name, output in of_table.items() if name not in names]
    order, skips_others = order_of(schema, options.order_by, own), bool(options.fast_search)
    return RankedScan(query, plan, outputs, after, order, skips_others)


def _of_search(schema: Schema, columns: Columns, own: OwnFields) -> dict[str, Output]:
    """The columns of the result that the search adds, or that expressions compute of them."""
    outputs = {}
    texts = columns if isinstance(columns, Mapping) else {name: name for name in columns or ()}
    for name, text in texts.items():
        path = str(text).strip()
        if path in own:
            outputs[name] = Output(own[path].with_name(name), (path,))
        elif texts is columns and any(column in path for column in own):
            value = as_value(text, _queryable(schema, own))
            if any(source[0] in own for source in value.columns):
                outputs[name] = Output(value.field(name), value)
    return outputs


def _queryable(schema: Schema, own: OwnFields) -> pa.Schema:
    """The columns that expressions about ranked rows may name."""
    known = queryable(schema)
    return pa.schema([*known, *(own[name] for name in own if name not in known.names)])


def _conditions(schema: Schema, options: ScanOptions, own: OwnFields) -> tuple[Any, Filter | None]:
    """The condition that rows satisfy before they are ranked, and that of ranked rows.

    What a condition says of the score can only be tested for ranked rows.
    """
    condition, is_last = condition_of(options.filter), options.prefilter is False
    names_own = any(name in str(condition) for name in own)
    if condition is None or options.prefilter or not (is_last or names_own):
        return condition, None
    whole = as_filter(condition, _queryable(schema, own))
    return (None, whole) if is_last else split_filter(whole, own)


def _query(
    snapshot: Snapshot, argument: str, value: Any, options: ScanOptions, run: Run
) -> RankedQuery:
    spec = get_manager().search(argument)
    search = _search(spec)
    key = search.count_key
    if key is not None and options.limit and isinstance(value, Mapping):
        value = {key: options.limit + (options.offset or 0), **value}
    return search.query(value, _Columns(snapshot, run))


@functools.lru_cache(maxsize=32)
def _search(spec: SearchSpec) -> RankedSearch:
    search: RankedSearch = resolve_factory(spec.factory, f"search {spec.name!r}")()
    return search


class _Columns:
    """The `SearchedColumns` of a version."""

    def __init__(self, snapshot: Snapshot, run: Run) -> None:
        self._snapshot = snapshot
        self._run = run

    def __call__(self, path: str) -> pa.DataType:
        return searched_field(self._snapshot.schema, path).type

    def is_json(self, path: str) -> bool:
        return bool(searched_field(self._snapshot.schema, path).lineage[-1].is_json)

    def short_path(self, path: str) -> str:
        return short_path(searched_field(self._snapshot.schema, path).lineage)

    def indexed(self, details_url: str) -> Mapping[str, Sequence[bytes]]:
        known: dict[str, Mapping[str, Sequence[bytes]]]
        known = self._snapshot.caches.setdefault(_Columns, {})
        if details_url not in known:  # all fields are looked through
            known[details_url] = _indexed_columns(self._snapshot, details_url)
        return known[details_url]

    def scan(self, **options: Any) -> pa.Table:
        return self._run(self._snapshot, options_of(options))


def _indexed_columns(snapshot: Snapshot, details_url: str) -> Mapping[str, Sequence[bytes]]:
    key, schema = details_key(details_url), snapshot.schema
    details: dict[int, list[bytes]] = {}
    for index in indices_of(snapshot):
        own = index.index_details
        if index.fields and own is not None and details_key(own.type_url) == key:
            details.setdefault(index.fields[0], []).append(own.value)
    ids = [field.id for field in schema.walk() if field.id in details]
    lineages = [(id_, schema.lineage(schema.path_of(id_))) for id_ in ids]
    return {short_path(lineage): details[id_] for id_, lineage in lineages}
