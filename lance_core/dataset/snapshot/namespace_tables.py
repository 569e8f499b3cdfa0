"""Tables that a namespace names: the location and the storage options that its client returns.

A client is a ``LanceNamespace`` of the package lance-namespace, of any implementation.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from lance_core.errors import DatasetNotFoundError, InvalidInputError
from lance_core.plugins import get_manager
from lance_core.store.config import StoreConfig
from lance_core.store.namespaces import TableProvider
from lance_core.store.secret import hide_secrets

Named = TypeVar("Named")
"""A URI, or another object that names a table."""

EXPIRY = "expires_at_millis"
"""The vended option with the end of the others, in milliseconds since 1970."""

_ARGUMENTS = "namespace_client", "table_id"


def located(
    target: Named | None,
    storage_options: Mapping[str, Any] | None,
    arguments: Mapping[str, Any],
    *,
    is_new: bool = False,
) -> tuple[Named | str | StoreConfig, Mapping[str, Any] | None]:
    """The URI of a table, and the options of its store.

    ``arguments``: those of the caller, which may have a ``namespace_client`` and a ``table_id``.
    The namespace is then asked for the URI, unless the caller knows it, and for options, which
    come before ``storage_options``. If these expire, or if the namespace manages the versions of
    the table, the result is a `StoreConfig` with a provider. ``is_new``: the namespace is told of a
    new table.

    Raises `InvalidInputError` if one of the arguments is missing, `PluginNotFoundError` if a
    provider is needed and the extra ``namespace`` is missing, and the errors of the client.
    """
    client, table_id = map(arguments.get, _ARGUMENTS)
    if target is not None and client is None and table_id is None:
        return target, storage_options
    storage_options = hide_secrets(storage_options)
    if client is None and table_id is None:
        raise InvalidInputError("name a table by its uri, or by namespace_client and table_id")
    if client is None or table_id is None:
        raise InvalidInputError("namespace_client and table_id must be given together")
    if is_new and target is None:
        response = client.declare_table(_request("DeclareTable", id=list(table_id), location=None))
    else:
        response = client.describe_table(_request("DescribeTable", id=list(table_id)))
    return _place(response, target, storage_options, arguments)


def _place(
    response: Any,
    target: Named | None,
    storage_options: Mapping[str, Any] | None,
    arguments: Mapping[str, Any],
) -> tuple[Named | str | StoreConfig, Mapping[str, Any] | None]:
    where = response.location if target is None else target
    if where is None:
        name = list(arguments["table_id"])
        raise DatasetNotFoundError(f"the namespace returns no location of table {name}")
    options, provider = _vended(response, storage_options, arguments)
    if provider is not None and isinstance(where, str | os.PathLike):
        return StoreConfig(os.fspath(where), options, provider=provider), None
    return where, options or storage_options


def vended(
    storage_options: Mapping[str, Any] | None, client: Any, table_id: Sequence[str]
) -> tuple[Mapping[str, Any], TableProvider | None]:
    """The options of the store of a table, and what keeps them valid, if that is needed.

    The namespace is not asked if the caller's options have an end: then they are what it vended.
    """
    storage_options = hide_secrets(storage_options)
    if storage_options is not None and EXPIRY in storage_options:
        return storage_options, _provider(client, table_id, storage_options, False)
    response = client.describe_table(_request("DescribeTable", id=list(table_id)))
    arguments = {"namespace_client": client, "table_id": table_id}
    return _vended(response, storage_options, arguments)


def _vended(
    response: Any, storage_options: Mapping[str, Any] | None, arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], TableProvider | None]:
    client, table_id = map(arguments.get, _ARGUMENTS)
    is_managed = getattr(response, "managed_versioning", None) is True
    is_managed |= arguments.get("namespace_client_managed_versioning") is True
    own: Any = {}
    if not arguments.get("ignore_namespace_table_storage_options"):
        own = hide_secrets(response.storage_options) or {}
    options = {**(storage_options or {}), **own}
    if not is_managed and EXPIRY not in own:
        return options, None
    return options, _provider(client, table_id, own, is_managed)


def _provider(*arguments: Any) -> TableProvider:
    """What the extra ``namespace`` has; ``arguments``: those of its `table_provider`."""
    table_provider: Any = get_manager().tool("table_provider")
    made: TableProvider = table_provider(*arguments)
    return made


def _request(name: str, **fields: Any) -> Any:
    return getattr(importlib.import_module("lance_namespace"), f"{name}Request")(**fields)
