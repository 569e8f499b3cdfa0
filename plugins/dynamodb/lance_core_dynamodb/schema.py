"""The key of a DynamoDB table of rows, which ensures that one of several writers succeeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BASE_URI = "base_uri"
VERSION = "version"

KEY_SCHEMA = [
    {"AttributeName": BASE_URI, "KeyType": "HASH"},
    {"AttributeName": VERSION, "KeyType": "RANGE"},
]
KEY_TYPES = [
    {"AttributeName": BASE_URI, "AttributeType": "S"},
    {"AttributeName": VERSION, "AttributeType": "N"},
]


def complaint(table: Mapping[str, Any]) -> str:
    """The error in the key of a table, given the result of ``DescribeTable``; "" if none."""
    roles = {key.get("AttributeName"): key.get("KeyType") for key in table.get("KeySchema", ())}
    types = {
        attribute.get("AttributeName"): attribute.get("AttributeType")
        for attribute in table.get("AttributeDefinitions", ())
    }
    keys = {name: (role, types.get(name)) for name, role in roles.items()}
    if keys == {BASE_URI: ("HASH", "S"), VERSION: ("RANGE", "N")}:
        return ""
    told = ", ".join(
        f"{name} ({role}, {attribute_type})" for name, (role, attribute_type) in keys.items()
    )
    return (
        f"its key must be {BASE_URI} (HASH, S) and {VERSION} (RANGE, N) and is "
        f"{told or 'unknown'}; {how_to_create()}"
    )


def how_to_create() -> str:
    """A hint for errors about a missing table."""
    return "lance_core_dynamodb.create_table makes one"
