"""DynamoDB tables of moto's server, and the options that lead to them."""

from __future__ import annotations

import uuid

import pytest

import lance_core_dynamodb
from tests.servers.moto import Moto


@pytest.fixture(scope="session")
def options(moto: Moto) -> dict[str, str]:
    """Storage options for S3 and DynamoDB on moto, as both this project and pylance know them."""
    return {**moto.options, "dynamodb_endpoint": moto.endpoint}


@pytest.fixture(scope="session")
def ddb_table(options: dict[str, str]) -> str:
    """The name of a DynamoDB table, for Lance tables of any path that is used once."""
    lance_core_dynamodb.create_table("commits", options)
    return "commits"


@pytest.fixture
def base_uri() -> str:
    """A path that nothing else uses."""
    return f"folder/{uuid.uuid4().hex}.lance"
