"""The external manifest store, implemented with conditional requests to DynamoDB.

An item is put on the condition that no item has its key, so only one of several writers succeeds.
All reads are consistent: a read sees every write that returned before it.

A conditional put without a response is sent again, and may then fail because of its own first
attempt. The path in the row tells which writer added it, because each writer stages its own path.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from lance_core.errors import (
    CorruptFileError,
    InvalidInputError,
    LanceError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
)
from lance_core.hookspecs import ExternalManifestStore, ManifestEntry, StoreUrl
from lance_core.hookspecs.options import Secret
from lance_core_dynamodb.client import DynamoClient, client_of
from lance_core_dynamodb.options import DynamoSettings, settings_of
from lance_core_dynamodb.schema import BASE_URI, VERSION

_VERSIONS = 1 << 63
"""Versions from this number on are detached and never the latest."""

PAGE = 500
"""Maximum rows per list request when rows are removed."""

_MAX_NAME_BYTES = 2048
"""Maximum bytes of a partition key."""

_MAX_DIGITS = 20
"""Maximum digits of a number in an item."""

COMMITTER = "lancedb"
"""The ``committer`` of all items."""

_ABSENT = f"attribute_not_exists({BASE_URI}) AND attribute_not_exists({VERSION})"
_PRESENT = f"attribute_exists({BASE_URI}) AND attribute_exists({VERSION})"


def open_rows(url: StoreUrl, options: Mapping[str, str | Secret]) -> DynamoManifestStore:
    """The rows for the table at ``url``. Does not connect.

    Raises `InvalidInputError` for an unusable URL or options.
    """
    return DynamoManifestStore(settings_of(url, options))


class DynamoManifestStore(ExternalManifestStore):
    """Rows in a DynamoDB table. Holds no connection, so it can be pickled and forked.

    Rows do not contain the bucket: Lance tables with the same path in different buckets must not
    share a DynamoDB table.
    """

    def __init__(self, settings: DynamoSettings) -> None:
        self.settings = settings

    def __repr__(self) -> str:
        return f"DynamoManifestStore(table={self.settings.table!r})"

    def get(self, base_uri: str, version: int) -> ManifestEntry | None:
        if not 0 <= version < _VERSIONS:
            return None
        client = self._checked(base_uri)
        request = partial(
            client.request, "get_item", Key=key_of(base_uri, version), ConsistentRead=True
        )
        item = client.sender.read("get row", base_uri, request).get("Item")
        return entry_of(item) if item else None

    def get_latest(self, base_uri: str) -> ManifestEntry | None:
        client = self._checked(base_uri)
        request = partial(
            client.request,
            "query",
            **_query(base_uri, _VERSIONS),
            ConsistentRead=True,
            ScanIndexForward=False,
            Limit=1,
        )
        items = client.sender.read("find newest row", base_uri, request).get("Items")
        return entry_of(items[0]) if items else None

    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        _check_version(entry)
        try:
            self._put(base_uri, entry, _ABSENT)
        except OutcomeUnknownError as error:
            doubt = error
        else:
            return
        self._settle(base_uri, entry, doubt)

    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        if not 0 <= entry.version < _VERSIONS:
            raise ObjectNotFoundError(entry.path)
        try:
            self._put(base_uri, entry, _PRESENT)
        except ObjectExistsError:  # the error for an unmet condition; here, the row does not exist
            raise ObjectNotFoundError(entry.path) from None

    def delete(self, base_uri: str) -> None:
        client = self._checked(base_uri)
        start: dict[str, Any] = {}
        while True:
            request = partial(
                client.request,
                "query",
                **_query(base_uri),
                **start,
                ProjectionExpression="#version",
                ConsistentRead=True,
                Limit=PAGE,
            )
            page = client.sender.read("list rows", base_uri, request)
            keys = [
                {BASE_URI: {"S": base_uri}, VERSION: item[VERSION]}
                for item in page.get("Items", ())
            ]
            if keys:
                client.threads.run([partial(_remove, client, base_uri, key) for key in keys])
            if not page.get("LastEvaluatedKey"):
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def _checked(self, base_uri: str) -> DynamoClient:
        try:
            size = len(base_uri.encode())
        except UnicodeEncodeError:
            raise InvalidInputError("a table in DynamoDB has a path that is text") from None
        if not 0 < size <= _MAX_NAME_BYTES:
            raise InvalidInputError(
                f"a table in DynamoDB has a path of 1 to {_MAX_NAME_BYTES} bytes, not {size}"
            )
        client = client_of(self.settings)
        client.check()
        return client

    def _put(self, base_uri: str, entry: ManifestEntry, condition: str) -> None:
        client = self._checked(base_uri)
        item = item_of(base_uri, entry)
        request = partial(client.request, "put_item", Item=item, ConditionExpression=condition)
        client.sender.write("put row", entry.path, request)

    def _settle(self, base_uri: str, entry: ManifestEntry, doubt: OutcomeUnknownError) -> None:
        """Return if our put added the row; raise `ObjectExistsError` if not, ``doubt`` if open."""
        try:
            stored = self.get(base_uri, entry.version)
        except LanceError:
            stored = None
        if stored is not None and stored.path == entry.path:
            return
        # A row whose manifest is already at its final path may also be ours.
        if stored is None or entry.path.startswith(f"{stored.path}-"):
            raise doubt
        raise ObjectExistsError(entry.path)


def _check_version(entry: ManifestEntry) -> None:
    if not 0 <= entry.version < _VERSIONS:
        raise InvalidInputError(f"version {entry.version} can have no row")


def _query(base_uri: str, bound: int | None = None) -> dict[str, Any]:
    """The parameters of a query for the rows of a table, for versions below ``bound`` if given."""
    condition, values = "#base_uri = :base_uri", {":base_uri": {"S": base_uri}}
    names = {"#base_uri": BASE_URI, "#version": VERSION}
    if bound is not None:
        condition += " AND #version < :bound"
        values[":bound"] = {"N": str(bound)}
    return {
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
    }


def _remove(client: DynamoClient, base_uri: str, key: Mapping[str, Any]) -> None:
    request = partial(client.request, "delete_item", Key=key)
    client.sender.write("remove row", base_uri, request)


def key_of(base_uri: str, version: int) -> dict[str, Any]:
    """The key of the row of a version."""
    return {BASE_URI: {"S": base_uri}, VERSION: {"N": str(version)}}


def item_of(base_uri: str, entry: ManifestEntry) -> dict[str, Any]:
    """The item for ``entry``."""
    item = key_of(base_uri, entry.version)
    item["path"] = {"S": entry.path}
    item["committer"] = {"S": COMMITTER}
    if entry.size is not None:
        item["size"] = {"N": str(entry.size)}
    return item


def entry_of(item: Mapping[str, Any]) -> ManifestEntry:
    """The entry in an item. Raises `CorruptFileError` if the item is not a row of a version."""
    version = _number(item, VERSION)
    path = item.get("path", {}).get("S")
    if version is None or not isinstance(path, str):
        raise CorruptFileError(
            "an item of the DynamoDB table has no path, or no version", field="path"
        )
    return ManifestEntry(version, path, _number(item, "size"))


def _number(item: Mapping[str, Any], name: str) -> int | None:
    if name not in item:
        return None
    text = item[name].get("N")
    if not (
        isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    ):
        raise CorruptFileError(
            f"an item of the DynamoDB table has a {name} that is not a whole number", field=name
        )
    return int(text)
