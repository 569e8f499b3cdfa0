"""`LanceDataset.optimize` besides compactions."""

from __future__ import annotations

import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError
from tests.unit.compaction.compaction_tables import table_of


def test_auto_cleanup_is_turned_on_and_off(uri: str) -> None:
    dataset = table_of(uri, [1])
    dataset.optimize.disable_auto_cleanup()
    dataset.optimize.enable_auto_cleanup({"interval": 7, "older_than_seconds": 3600})
    assert dataset.config() == {
        "lance.auto_cleanup.interval": "7",
        "lance.auto_cleanup.older_than": "1h",
    }
    with pytest.raises(InvalidInputError, match="whole numbers"):
        dataset.optimize.enable_auto_cleanup({"interval": -1})
    dataset.optimize.disable_auto_cleanup()
    assert lance.dataset(uri).config() == {}
