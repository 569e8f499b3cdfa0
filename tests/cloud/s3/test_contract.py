"""Buckets keep the contract of object stores, and commits in them that of handlers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from lance_core.commits.put_if_absent import PutIfAbsentCommitHandler
from lance_core.store.base import ObjectStore
from lance_core.testing import CommitHandlerTests, ObjectStoreTests
from lance_core.testing.commit_handler import MakeHandler
from tests.cloud.s3.places import store_of
from tests.servers.moto import SECRET_KEY, Moto


@pytest.fixture
def place(moto: Moto, bucket: str) -> str:
    return f"s3://{bucket}/täble {uuid.uuid4()}"


@pytest.fixture
def store(moto: Moto, place: str) -> Iterator[ObjectStore]:
    with store_of(moto, place) as opened:
        yield opened


class TestS3Store(ObjectStoreTests):
    @pytest.fixture
    def store(self, store: ObjectStore) -> ObjectStore:
        return store

    @pytest.fixture
    def reopened(self, moto: Moto, place: str) -> Iterator[ObjectStore]:
        with store_of(moto, place) as opened:
            yield opened

    @pytest.fixture
    def secrets(self) -> tuple[str, ...]:
        return (SECRET_KEY,)


class TestCommits(CommitHandlerTests):
    @pytest.fixture
    def store(self, store: ObjectStore) -> ObjectStore:
        return store

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return PutIfAbsentCommitHandler
