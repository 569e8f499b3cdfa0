"""Clients of the SDK: region, credentials and endpoint, as pylance chooses them.

The region is that of the options, else of the environment (``AWS_REGION``, ``AWS_DEFAULT_REGION``),
the profile or the machine, else `LAST_REGION`. Endpoints that are configured for the SDK
(``AWS_ENDPOINT_URL``) do not count.
"""

from __future__ import annotations

import os
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError
from botocore.session import Session
from botocore.utils import IMDSRegionProvider

from lance_core.concurrency.lru_cache import LruCache
from lance_core.errors import InvalidInputError
from lance_core.store.remote.log_redaction import LogRedaction
from lance_core_dynamodb.answers import Answers
from lance_core_dynamodb.identity import session_of
from lance_core_dynamodb.settings import (
    ALLOW_HTTP_VARIABLE,
    ENDPOINT_VARIABLE,
    Access,
    DynamoSettings,
    Given,
)

LOG_REDACTION = LogRedaction("boto3", "botocore", "urllib3")

LAST_REGION = "us-west-2"
"""Where a table is looked for if nothing names a region."""

VARIABLES = (
    *(ENDPOINT_VARIABLE, ALLOW_HTTP_VARIABLE),
    *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"),
)
"""Of the environment, what says which table is meant and by whom."""

MAX_CONNECTIONS = 16
"""Clients of the SDK that are kept, by options."""

REQUESTS = 16
"""Requests that a client can have under way."""


class Connection:
    """A client of DynamoDB that sends each request once; it has connected to nothing yet.

    Raises `InvalidInputError` if options or configuration cannot be used.
    """

    def __init__(self, access: Access) -> None:
        self.secrets = access.secrets()
        self.remote = access.remote
        self.sdk = _connect(access)
        self._access = access

    def renew(self) -> bool:
        """Ask the environment for credentials anew; those of the options cannot be renewed."""
        if self._access.keys is not None:
            return False
        self.sdk = _connect(self._access)
        return True


_connections: LruCache[Given, Connection] = LruCache(MAX_CONNECTIONS, parents_only=True)


def connection_of(settings: DynamoSettings) -> Connection:
    """The connection of this process, which all tables with the same options share."""
    # What the environment says about the address and the region decides, too.
    at = tuple((name, os.environ[name]) for name in VARIABLES if name in os.environ)
    return _connections.get(settings.given + at, lambda: Connection(settings.access()))


def _connect(access: Access) -> Any:
    failed = ""
    try:
        with LOG_REDACTION.quiet():
            return _client(session_of(access), access)
    except InvalidInputError:
        raise
    except (BotoCoreError, ValueError) as error:
        failed = type(error).__name__
    raise InvalidInputError(
        f"DynamoDB cannot be used with these options and this environment ({failed}): check "
        "region, profile, proxy and dynamodb_endpoint"
    )


def _client(session: Session, access: Access) -> Any:
    keys = access.keys
    client = session.create_client(
        "dynamodb",
        region_name=_region(session, access),
        endpoint_url=access.endpoint,
        aws_access_key_id=keys.access if keys else None,
        aws_secret_access_key=keys.secret.reveal() if keys else None,
        aws_session_token=keys.token.reveal() if keys and keys.token else None,
        verify=False if access.remote.allow_invalid_certificates else None,
        config=_config(access),
    )
    endpoint = client._endpoint  # noqa: SLF001 (there is no other way to what sends)
    endpoint.http_session = Answers(endpoint.http_session, access.remote.timeout)
    return client


def _config(access: Access) -> Config:
    remote = access.remote
    proxies = None
    if remote.proxy_url is not None:
        proxies = {"http": remote.proxy_url, "https": remote.proxy_url}
    return Config(
        connect_timeout=remote.connect_timeout,
        read_timeout=remote.timeout,
        max_pool_connections=REQUESTS,
        retries={"total_max_attempts": 1, "mode": "standard"},
        ignore_configured_endpoint_urls=True,
        tcp_keepalive=True,
        proxies=proxies,
        user_agent=remote.user_agent,
    )


def _region(session: Session, access: Access) -> str:
    return (
        access.region
        or os.environ.get("AWS_REGION")
        or session.get_config_variable("region")
        or access.default_region
        or IMDSRegionProvider(session).provide()
        or LAST_REGION
    )
