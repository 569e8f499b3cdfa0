"""From the arguments of a scan to a `RankedScan`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lance_core.dataset.read.columns.projection import Columns, stored_column
from lance_core.dataset.read.ranking.ranked_scan import QUERY_INDEX, RankedScan
from lance_core.dataset.read.scan_options import ScanOptions, plan_scan
from lance_core.errors import InvalidInputError
from lance_core.plugins import get_manager
from lance_core.store.spec import resolve_factory

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.index.ranking import RankedQuery, RankedSearch

_EXCLUDED = ("order_by", "include_deleted_rows", "splits")


def plan_ranked(snapshot: Snapshot, options: ScanOptions) -> RankedScan:
    """The plan of a scan with a search.

    Raises `PluginNotFoundError` if no plugin has the search, and `InvalidInputError`.
    """
    assert options.search is not None
    argument, value = options.search
    for name in _EXCLUDED:
        if getattr(options, name):
            raise InvalidInputError(f"{name} and {argument} cannot both be given")
    query = _query(snapshot, argument, value)
    own = (QUERY_INDEX, query.score_name) if query.is_batch else (query.score_name,)
    sources = _sources(options.columns)
    columns: Columns = None
    if sources is not None:
        kept = [name for name, source in sources.items() if source not in own]
        columns = {name: sources[name] for name in kept}
        columns = columns if isinstance(options.columns, Mapping) else kept
    plan = plan_scan(snapshot, replace(options, columns=columns, nearest=None))
    names = plan.projection.schema.names
    num_extra = len(names) - len(columns) if columns is not None else _num_extra(options)
    extra = names[len(names) - num_extra :]
    if sources is None:
        sources = {name: name for name in names[: len(names) - num_extra]}
    listed = [(name, source if source in own else name) for name, source in sources.items()]
    if query.is_batch and QUERY_INDEX not in sources.values():
        listed.insert(0, (QUERY_INDEX, QUERY_INDEX))
    if query.score_name not in sources and not options.disable_scoring_autoprojection:
        listed.append((query.score_name, query.score_name))
    return RankedScan(
        query,
        plan,
        (*listed, *((name, name) for name in extra)),
        filters_last=options.prefilter is False,
        skips_others=bool(options.fast_search),
    )


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


def _query(snapshot: Snapshot, argument: str, value: Any) -> RankedQuery:
    spec = get_manager().search(argument)
    search: RankedSearch = resolve_factory(spec.factory, f"search {argument!r}")()
    schema = snapshot.schema

    def type_of(path: str) -> pa.DataType:
        stored_column(schema, path)  # raises with a suggestion
        return schema.lineage(path)[-1].storage_type

    return search.query(value, type_of)
