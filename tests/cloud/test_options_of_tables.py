"""Users get back the storage options that they gave: local files take those of other stores."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError

OPTIONS = {"durability": "fast", "secret_access_key": "hidden"}


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """Where a table is made."""
    return str(tmp_path / "t")


def test_options_come_back_in_plain_text(uri: str) -> None:
    lance.write_dataset(pa.table({"a": [1]}), uri)
    dataset = lance.dataset(uri, storage_options=OPTIONS)
    accessor = dataset.storage_options_accessor
    assert accessor is not None
    assert dataset.initial_storage_options == dataset.latest_storage_options() == OPTIONS
    assert accessor.get_storage_options() == accessor.initial_storage_options() == OPTIONS
    assert not accessor.has_provider()
    assert "hidden" not in repr(accessor)
    other = lance.dataset(uri, storage_options=OPTIONS).storage_options_accessor
    assert other is not None
    assert accessor.accessor_id() == other.accessor_id()
    plain = lance.dataset(uri)
    assert plain.initial_storage_options is plain.storage_options_accessor is None


def test_a_dropped_secret_is_not_returned(uri: str) -> None:
    lance.write_dataset(pa.table({"a": [1]}), uri)
    dataset = lance.dataset(uri, storage_options=OPTIONS)
    accessor = pickle.loads(pickle.dumps(dataset.storage_options_accessor))
    with pytest.raises(InvalidInputError, match="was dropped"):
        accessor.get_storage_options()
