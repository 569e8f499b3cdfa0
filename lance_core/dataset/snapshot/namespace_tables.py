"""Tables that a namespace names: the location and the storage options that its client returns.

A client is a ``LanceNamespace`` of the package lance-namespace, of any implementation.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from lance_core.errors import DatasetNotFoundError, InvalidInputError, UnsupportedFeatureError
from lance_core.store.secret import hide_secrets

Named = TypeVar("Named")
"""A URI, or another object that names a table."""

_ARGUMENTS = "namespace_client", "table_id"


def located(
    target: Named | None,
    storage_options: Mapping[str, Any] | None,
    arguments: Mapping[str, Any],
    *,
    is_new: bool = False,
) -> tuple[Named | str, Mapping[str, Any] | None]:
    """The URI of a table, and the options of its store.

    ``arguments``: those of the caller, which may have a ``namespace_client`` and a ``table_id``.
    The namespace is then asked for the URI, unless the caller knows it, and for options, which
    come before ``storage_options``. ``is_new``: the namespace is told of a new table.

    Raises `InvalidInputError` if one of the arguments is missing, `UnsupportedFeatureError` for a
    table whose versions the namespace manages, and the errors of the client.
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
    return _found(response, target, storage_options, table_id)


def _found(
    response: Any,
    target: Named | None,
    storage_options: Mapping[str, Any] | None,
    table_id: Sequence[str],
) -> tuple[Named | str, Mapping[str, Any] | None]:
    if getattr(response, "managed_versioning", None):
        raise UnsupportedFeatureError(
            f"the versions of table {list(table_id)} are managed by its namespace, which is not "
            "supported yet"
        )
    where = response.location if target is None else target
    if where is None:
        raise DatasetNotFoundError(f"the namespace returns no location of table {list(table_id)}")
    vended = hide_secrets(response.storage_options)
    if vended:
        storage_options = {**(storage_options or {}), **vended}
    return where, storage_options


def _request(name: str, **fields: Any) -> Any:
    return getattr(importlib.import_module("lance_namespace"), f"{name}Request")(**fields)
