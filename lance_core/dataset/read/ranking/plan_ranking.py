"""From the arguments of a scan to a `RankedScan`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from lance_core.dataset.expressions.filters import Value, as_filter, as_value, split_filter
from lance_core.dataset.read.columns.ordering import as_orderings, check_sortable
from lance_core.dataset.read.columns.projection import Columns, Output, stored_column
from lance_core.dataset.read.ranking.ranked_scan import RankedScan
from lance_core.dataset.read.ranking.scored_rows import (
    QUERY_INDEX,
    Order,
    own_fields,
    queryable_with,
)
from lance_core.dataset.read.scan_options import (
    ScanOptions,
    condition_of,
    plan_scan,
    schema_with_blobs,
)
from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of
from lance_core.errors import InvalidInputError
from lance_core.plugins import get_manager
from lance_core.store.spec import resolve_factory
from lance_core.table.indices.index_metadata import details_key

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.dataset.expressions.filters import Filter
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.index.ranking import RankedQuery, RankedSearch
    from lance_core.schema import Schema

OwnFields: TypeAlias = "Mapping[str, pa.Field]"
"""The columns that a search adds, by name."""

_EXCLUDED = {
    "include_deleted_rows": "Cannot include deleted rows in a search",
    "splits": "a search has no splits",
}
"""Arguments of a scan that a search excludes, and why."""


def plan_ranked(snapshot: Snapshot, options: ScanOptions) -> RankedScan:
    """The plan of a scan with a search.

    Raises `PluginNotFoundError` if no plugin has the search, and `InvalidInputError`.
    """
    assert options.search is not None
    argument, value = options.search
    for name, reason in _EXCLUDED.items():
        if getattr(options, name):
            raise InvalidInputError(f"{reason}: {name} and {argument} cannot both be given")
    query = _query(snapshot, argument, value, options)
    own = own_fields(query)
    schema = schema_with_blobs(snapshot, options.blob_handling)
    sources = _sources(options.columns)
    computed = _computed(schema, options.columns, own)
    columns: Columns = None
    if sources is not None:
        names = [name for name, text in sources.items() if text not in own and name not in computed]
        columns = {name: sources[name] for name in names}
        columns = columns if isinstance(options.columns, Mapping) else names
    before, after = _conditions(schema, options, own)
    stored, given = options, options.columns
    has_same_columns = given is None or (isinstance(given, list) and given == columns)
    if not has_same_columns or before is not options.filter or options.order_by is not None:
        stored = replace(options, columns=columns, filter=before, order_by=None)
    plan = plan_scan(snapshot, stored)
    names = plan.projection.schema.names
    num_extra = len(names) - len(columns) if columns is not None else _num_extra(options)
    extra = names[len(names) - num_extra :]
    if sources is None:
        sources = {name: name for name in names[: len(names) - num_extra]}
    listed: list[tuple[str, str | Value]] = [
        (name, computed.get(name, text if text in own else name)) for name, text in sources.items()
    ]
    if query.is_batch and QUERY_INDEX not in sources.values():
        listed.insert(0, (QUERY_INDEX, QUERY_INDEX))
    if query.score_name not in sources and not options.disable_scoring_autoprojection:
        listed.append((query.score_name, query.score_name))
    return RankedScan(
        query,
        plan,
        (*listed, *((name, name) for name in extra)),
        condition=after,
        order=_order(schema, options, own),
        skips_others=bool(options.fast_search),
    )


def _computed(schema: Schema, columns: Columns, own: OwnFields) -> dict[str, Value]:
    """The expressions among ``columns`` that name columns of the search, by the name of each."""
    found = {}
    for name, text in columns.items() if isinstance(columns, Mapping) else ():
        if str(text).strip() not in own and any(one in str(text) for one in own):
            value = as_value(text, queryable_with(schema, own.values()))
            if any(path[0] in own for path in value.columns):
                found[name] = value
    return found


def _conditions(schema: Schema, options: ScanOptions, own: OwnFields) -> tuple[Any, Filter | None]:
    """The condition that rows satisfy before they are ranked, and that of ranked rows.

    What a condition says of the score can only be tested for ranked rows.
    """
    condition = condition_of(options.filter)
    if condition is None or options.prefilter:
        return condition, None
    is_last = options.prefilter is False
    if not is_last and not any(name in str(condition) for name in own):
        return condition, None
    whole = as_filter(condition, queryable_with(schema, own.values()))
    return (None, whole) if is_last else split_filter(whole, own)


def _order(schema: Schema, options: ScanOptions, own: OwnFields) -> Order:
    """The order of the result by stored columns and those of the search."""
    of_search = {name: Output(field, (name,)) for name, field in own.items()}
    found = []
    for by in as_orderings(options.order_by or ()):
        output = of_search.get(by.column_name) or stored_column(schema, by.column_name)
        check_sortable(output.field.type, by.column_name)
        found.append((by, output))
    return tuple(found)


def _sources(columns: Columns) -> dict[str, str] | None:
    """The text that each column of the result is, by its name; None for all stored columns."""
    if columns is None or isinstance(columns, str):
        return None
    if isinstance(columns, Mapping):
        return {name: str(text).strip() for name, text in columns.items()}
    return {name: name for name in columns}


def _num_extra(options: ScanOptions) -> int:
    """The number of meta columns that follow the columns of the table."""
    return bool(options.with_row_id) + bool(options.with_row_address)


def _query(snapshot: Snapshot, argument: str, value: Any, options: ScanOptions) -> RankedQuery:
    spec = get_manager().search(argument)
    search: RankedSearch = resolve_factory(spec.factory, f"search {argument!r}")()
    key = search.count_key
    if key is not None and options.limit and isinstance(value, Mapping):
        value = {key: options.limit + (options.offset or 0), **value}
    return search.query(value, _Columns(snapshot))


class _Columns:
    """The `SearchedColumns` of a version."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __call__(self, path: str) -> pa.DataType:
        schema = self._snapshot.schema
        known: dict[str, pa.DataType] = schema.derived("searched_columns", dict)
        if path not in known:
            stored_column(schema, path)  # raises with a suggestion
            known[path] = schema.lineage(path)[-1].storage_type
        return known[path]

    def indexed(self, details_url: str) -> Sequence[str]:
        key, schema = details_key(details_url), self._snapshot.schema
        ids = {
            index.fields[0]
            for index in indices_of(self._snapshot)
            if index.fields
            and index.index_details is not None
            and details_key(index.index_details.type_url) == key
        }
        return [schema.path_of(field.id) for field in schema.walk() if field.id in ids]
