"""Create the DynamoDB table that holds the rows."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import partial

from lance_core.errors import InvalidInputError, ObjectExistsError, OutcomeUnknownError, StoreError
from lance_core.hookspecs.options import Secret, hide_secrets
from lance_core_dynamodb.client import DynamoClient, client_of
from lance_core_dynamodb.options import named
from lance_core_dynamodb.schema import KEY_SCHEMA, KEY_TYPES

PATIENCE = 300.0
"""Maximum seconds until a new table is usable."""

_PAUSE = 1.0


def create_table(
    name: str,
    storage_options: Mapping[str, str | Secret] | None = None,
    *,
    patience: float = PATIENCE,
) -> None:
    """Create a DynamoDB table for the rows of any number of Lance tables; wait until it is ready.

    The table is billed per request. An existing table with the right key stays unchanged.
    ``storage_options``: those of a Lance table that will use it. ``patience``: maximum wait in
    seconds.

    Raises `InvalidInputError` if a table of that name has another key, and `StoreError` if the
    table cannot be created or is not ready in time.
    """
    storage_options = hide_secrets(storage_options)
    client = client_of(named(name, storage_options or {}))
    # A repeated request to create the table, while it is being created, has no effect.
    request = partial(
        client.request,
        "create_table",
        KeySchema=KEY_SCHEMA,
        AttributeDefinitions=KEY_TYPES,
        BillingMode="PAY_PER_REQUEST",
    )
    with contextlib.suppress(ObjectExistsError, OutcomeUnknownError):
        client.sender.write("create", name, request)
    _wait(client, patience)
    client.check()


def _wait(client: DynamoClient, patience: float) -> None:
    waiting = client.sender.waiting
    start = waiting.monotonic()
    while True:
        table = client.describe()
        status = "" if table is None else table.get("TableStatus", "")
        if status in {"ACTIVE", "UPDATING"}:
            return
        if status not in {"", "CREATING"}:
            raise InvalidInputError(f"{client.name} cannot be used: it is {status}")
        if waiting.monotonic() - start > patience:
            raise StoreError(f"{client.name} is not ready after {patience:g} seconds")
        waiting.sleep(_PAUSE)
