"""The key of a DynamoDB table of rows, which is what decides between writers."""

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
    """What is wrong with the key of a table as ``DescribeTable`` describes it; "" if nothing."""
    roles = {key.get("AttributeName"): key.get("KeyType") for key in table.get("KeySchema", ())}
    types = {
        one.get("AttributeName"): one.get("AttributeType")
        for one in table.get("AttributeDefinitions", ())
    }
    found = {name: (role, types.get(name)) for name, role in roles.items()}
    if found == {BASE_URI: ("HASH", "S"), VERSION: ("RANGE", "N")}:
        return ""
    told = ", ".join(f"{name} ({role}, {kind})" for name, (role, kind) in found.items())
    return (
        f"its key must be {BASE_URI} (HASH, S) and {VERSION} (RANGE, N) and is "
        f"{told or 'unknown'}; {how_to_create()}"
    )


def how_to_create() -> str:
    """What to do about a table that is not there."""
    return "lance_core_dynamodb.create_table makes one"
