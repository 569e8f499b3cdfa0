"""The entry module: descriptors only; it imports no driver."""

from __future__ import annotations

from lance_core.hookspecs import ManifestStoreSpec, hookimpl


@hookimpl
def lance_manifest_stores() -> list[ManifestStoreSpec]:
    """The manifest store ``sql`` for SQLite, PostgreSQL and MySQL."""
    options = frozenset({"sqlUrl", "sqlTable", "sqlPassword"})
    return [ManifestStoreSpec("sql", "sql", "lance_core_sql.store:open_rows", options)]
