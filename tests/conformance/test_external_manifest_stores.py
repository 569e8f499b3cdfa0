"""The reference of external manifest stores keeps the contract."""

from __future__ import annotations

import pytest

from lance_core_testing import ExternalManifestStoreTests, MemoryManifestStore
from lance_core_testing.manifest_stores.suite import MakeRows
from lance_core_testing.service import InProcessService


class TestInMemory(ExternalManifestStoreTests):
    in_process_only = "rows live in the memory of one process"

    @pytest.fixture
    def service(self) -> InProcessService:
        return InProcessService()

    @pytest.fixture
    def make_rows(self, service: InProcessService) -> MakeRows:
        rows = MemoryManifestStore(service)
        return lambda: rows
