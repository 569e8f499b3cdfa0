"""Moto's server of S3 and DynamoDB, as a process of its own."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.servers.process import running_python

ACCESS_KEY = "test-access-key"
SECRET_KEY = "test-secret-key"
REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class Moto:
    """A running server."""

    endpoint: str

    @property
    def options(self) -> dict[str, str]:
        """Storage options of S3, as both this project and pylance know them."""
        return {
            "aws_access_key_id": ACCESS_KEY,
            "aws_secret_access_key": SECRET_KEY,
            "aws_region": REGION,
            "aws_endpoint": self.endpoint,
            "allow_http": "true",
        }

    def client(self, service: str) -> Any:
        """A client of boto3, for what tests arrange and look at behind the plugins' backs."""
        return _client(self.endpoint, service)

    def new_bucket(self) -> str:
        """The name of a bucket that nobody else uses."""
        name = f"b{uuid.uuid4().hex}"
        self.client("s3").create_bucket(Bucket=name)
        return name


@functools.cache
def _client(endpoint: str, service: str) -> Any:
    """Made once, which takes longer than many requests."""
    import boto3

    return boto3.client(
        service,
        endpoint_url=endpoint,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        region_name=REGION,
    )


@contextmanager
def running_moto(**environment: str) -> Iterator[Moto]:
    """A server that is ready to answer, until the block ends; with these environment variables."""
    with running_python("-W", "ignore", "-m", "tests.servers.moto_server", **environment) as place:
        yield Moto(f"http://{place}")
