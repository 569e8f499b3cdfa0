"""Requests to one DynamoDB table through a boto3 client.

Each request is sent once; ``sender`` retries it.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any
from urllib.parse import urlsplit

from botocore.config import Config
from botocore.exceptions import BotoCoreError

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.concurrency import LruCache, ThreadPool
from lance_core.hookspecs.options import Secret, plain
from lance_core_dynamodb.credentials import session_of
from lance_core_dynamodb.errors import MissingTableError, request_error
from lance_core_dynamodb.options import (
    SESSION,
    Access,
    DynamoSettings,
)
from lance_core_dynamodb.options import VARIABLES as OPTION_VARIABLES
from lance_core_dynamodb.response import bound_responses
from lance_core_dynamodb.schema import complaint, how_to_create
from lance_core_remote.aws_sessions import SESSIONS
from lance_core_remote.botocore_failures import check_ca_bundle, trusted_file
from lance_core_remote.client import RequestError
from lance_core_remote.connection_failures import shown
from lance_core_remote.log_redaction import LogRedaction
from lance_core_remote.proxies import certificates_file, proxies_of
from lance_core_remote.retries import Sender

MAX_CLIENTS = 64
"""Maximum DynamoDB tables whose connections are cached."""

PARALLEL = 8
"""Maximum rows to remove in parallel."""

LOG_REDACTION = LogRedaction("boto3", "botocore", "urllib3")

VARIABLES = (
    *(variable for names in OPTION_VARIABLES.values() for variable in names),
    *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"),
)
"""Environment variables that select the DynamoDB table and the credentials."""

MAX_CONNECTIONS = 16
"""Cached SDK clients, by options."""

REQUESTS = 16
"""Maximum parallel requests of a client."""


class Connection:
    """A DynamoDB client that sends each request once; it has not connected yet.

    Raises `InvalidInputError` for unusable options or configuration.
    """

    def __init__(self, access: Access) -> None:
        self.secrets = access.secrets()
        self.remote = access.remote
        self.sdk = _connect(access)
        self._access = access

    def renew(self) -> bool:
        """Read credentials from the environment again; those of options and sessions are fixed."""
        if self._access.keys is not None or SESSION in self._access.identity:
            return False
        self.sdk = _connect(self._access)
        return True


class DynamoClient:
    """A DynamoDB table of rows, for one process. Thread-safe; connects with the first request."""

    def __init__(self, table: str, connection: Connection) -> None:
        self.table = table
        self.threads = ThreadPool("requests", PARALLEL)
        self._connection = connection
        self._is_checked = False
        self.sender = Sender(self, self._connection.remote)

    @property
    def name(self) -> str:
        """The name of the table in errors, with region and endpoint."""
        about = self._connection.sdk.meta
        return f"DynamoDB table {self.table!r} in {about.region_name} ({about.endpoint_url})"

    def renew_credentials(self) -> bool:
        """Get new credentials; returns True if they may have changed."""
        return self._connection.renew()

    def request(self, operation: str, **parameters: object) -> dict[str, Any]:
        """The response to one request about the table. Raises `RequestError` if it fails."""
        try:
            return self._send(operation, **parameters)
        except MissingTableError:
            self._is_checked = False
            raise

    def check(self) -> None:
        """Check once that the table exists and has the key of a table of rows.

        Raises `InvalidInputError` if it does not exist, or if its key would let two writers
        succeed.
        """
        if self._is_checked:
            return
        table = self.describe()
        if table is None:
            raise InvalidInputError(
                f"{self.name}: the DynamoDB table does not exist; {how_to_create()}"
            )
        wrong = complaint(table)
        if wrong:
            raise InvalidInputError(f"{self.name} is not one of manifests: {wrong}")
        self._is_checked = True

    def describe(self) -> dict[str, Any] | None:
        """The description of the table; None if it does not exist."""
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
                response: dict[str, Any] = getattr(self._connection.sdk, operation)(
                    TableName=self.table, **parameters
                )
                return response
        except RequestError as error:
            failed = error
        except Exception as error:  # a malformed response can cause any type of error
            failed = request_error(error, self._connection.secrets)
        # Raise outside of the except block, so that the error does not reference the SDK's error.
        raise failed


_connections: LruCache[object, Connection] = LruCache(MAX_CONNECTIONS, parents_only=True)


def connection_of(settings: DynamoSettings) -> Connection:
    """The connection of this process that all tables with the same options share."""
    # The environment also determines endpoint and region.
    at = tuple((name, Secret(os.environ[name])) for name in VARIABLES if name in os.environ)
    # Another session may have been registered under the name.
    sessions = [SESSIONS.get(plain(name)) for key, name in settings.given if key == SESSION]
    key = (settings.given, at, *sessions)
    return _connections.get(key, lambda: Connection(settings.access()))


def _connect(access: Access) -> Any:
    failed = ""
    try:
        with LOG_REDACTION.quiet():
            return _client(access)
    except InvalidInputError:
        raise
    except (BotoCoreError, OSError, ValueError) as error:
        failed = f"{type(error).__name__}: {shown(str(error))}"
    raise InvalidInputError(
        f"DynamoDB cannot be used with these options and this environment ({failed}): check "
        "region, profile, proxy and dynamodb_endpoint"
    )


def _client(access: Access) -> Any:
    session, region = session_of(access)
    keys = access.keys
    # boto3 lets only one thread at a time create clients of a session.
    with SESSIONS.lock if SESSION in access.identity else nullcontext():
        client = session.client(
            "dynamodb",
            region_name=region,
            endpoint_url=access.endpoint,
            aws_access_key_id=keys.access if keys else None,
            aws_secret_access_key=keys.secret.reveal() if keys else None,
            aws_session_token=keys.token.reveal() if keys and keys.token else None,
            verify=False if access.remote.allow_invalid_certificates else trusted_file(session),
            config=_config(access, region),
        )
    check_ca_bundle(client)
    bound_responses(client, access.remote.timeout, access.remote.read_timeout)
    return client


def _config(access: Access, region: str) -> Config:
    remote = access.remote
    host = urlsplit(access.endpoint or f"//dynamodb.{region}.amazonaws.com").hostname or ""
    trusted = None
    if remote.proxy_ca_certificate is not None:
        trusted = {"proxy_ca_bundle": certificates_file(remote.proxy_ca_certificate)}
    return Config(
        connect_timeout=remote.connect_timeout,
        read_timeout=remote.timeout,
        max_pool_connections=remote.max_idle or REQUESTS,
        retries={"total_max_attempts": 1, "mode": "standard"},
        ignore_configured_endpoint_urls=True,
        tcp_keepalive=True,
        proxies=proxies_of(remote, host),
        proxies_config=trusted,
        user_agent=remote.user_agent,
    )


_clients: LruCache[tuple[str, Connection], DynamoClient] = LruCache(MAX_CLIENTS, parents_only=True)


def client_of(settings: DynamoSettings) -> DynamoClient:
    """The client for ``settings`` in this process."""
    connection = connection_of(settings)
    return _clients.get(
        (settings.table, connection), lambda: DynamoClient(settings.table, connection)
    )
