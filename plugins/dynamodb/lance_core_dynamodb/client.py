"""Requests to one DynamoDB table. Each is sent once: resending is what ``sender`` is for."""

from __future__ import annotations

from typing import Any

from lance_core.concurrency.lru_cache import LruCache
from lance_core.concurrency.pools import ThreadPool
from lance_core.errors import InvalidInputError
from lance_core.store.remote.client import RequestError
from lance_core.store.remote.retries import Sender
from lance_core_dynamodb.failures import MissingTableError, failure_of
from lance_core_dynamodb.schema import complaint, how_to_create
from lance_core_dynamodb.session import LOG_REDACTION, Connection, connection_of
from lance_core_dynamodb.settings import DynamoSettings

MAX_CLIENTS = 64
"""Tables of rows whose connections are kept."""

PARALLEL = 8
"""Rows that are removed at the same time."""


class DynamoClient:
    """A table of rows, of this process. Thread-safe; connects at the first request."""

    def __init__(self, table: str, connection: Connection) -> None:
        self.table = table
        self.threads = ThreadPool("requests", PARALLEL)
        self._connection = connection
        self._is_checked = False
        self.sender = Sender(self, self._connection.remote)

    @property
    def name(self) -> str:
        """What errors call the table: its name, and where it was asked for."""
        about = self._connection.sdk.meta
        return f"DynamoDB table {self.table!r} in {about.region_name} ({about.endpoint_url})"

    def renew_credentials(self) -> bool:
        """Get new credentials; whether there may be others now."""
        return self._connection.renew()

    def request(self, operation: str, **parameters: object) -> dict[str, Any]:
        """The answer to one request about the table; `RequestError` if it did not succeed."""
        try:
            return self._send(operation, **parameters)
        except MissingTableError:
            self._is_checked = False
            raise

    def check(self) -> None:
        """See, once, that the table is one of rows.

        Raises `InvalidInputError` if there is none or its key would let two writers win.
        """
        if self._is_checked:
            return
        table = self.describe()
        if table is None:
            raise InvalidInputError(f"{self.name}: there is no such table; {how_to_create()}")
        wrong = complaint(table)
        if wrong:
            raise InvalidInputError(f"{self.name} is not one of manifests: {wrong}")
        self._is_checked = True

    def describe(self) -> dict[str, Any] | None:
        """What DynamoDB tells about the table, None if there is none."""
        return self.sender.read("describe", self.table, self._described)

    def _described(self) -> dict[str, Any] | None:
        try:
            table: dict[str, Any] = self._send("describe_table").get("Table", {})
        except MissingTableError:
            return None
        return table

    def _send(self, operation: str, **parameters: object) -> dict[str, Any]:
        try:
            with LOG_REDACTION.quiet():
                answer: dict[str, Any] = getattr(self._connection.sdk, operation)(
                    TableName=self.table, **parameters
                )
                return answer
        except RequestError as error:
            failed = error
        except Exception as error:  # answers that are none end in errors of any kind
            failed = failure_of(error, self._connection.secrets)
        # Raised out here, it does not carry along what the SDK raised.
        raise failed


_clients: LruCache[tuple[str, Connection], DynamoClient] = LruCache(MAX_CLIENTS, parents_only=True)


def client_of(settings: DynamoSettings) -> DynamoClient:
    """The client of ``settings`` in this process."""
    connection = connection_of(settings)
    return _clients.get(
        (settings.table, connection), lambda: DynamoClient(settings.table, connection)
    )
