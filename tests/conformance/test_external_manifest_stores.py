"""The reference of external manifest stores keeps the contract."""

from __future__ import annotations

import pytest

from lance_core.testing import ExternalManifestStoreTests, MemoryManifestStore
from lance_core.testing.external_manifest_store import MakeRows


class TestInMemory(ExternalManifestStoreTests):
    @pytest.fixture
    def make_rows(self) -> MakeRows:
        rows = MemoryManifestStore()
        return lambda: rows
