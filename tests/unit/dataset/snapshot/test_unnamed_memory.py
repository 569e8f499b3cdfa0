"""Tables at ``memory://``."""

from __future__ import annotations

import gc

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import DatasetNotFoundError
from lance_core.plugins.store_cache import live_stores


def test_a_table_without_a_name_is_a_new_one_that_is_freed_with_its_datasets() -> None:
    one, other = (lance.write_dataset(pa.table({"x": [n]}), "memory://") for n in (1, 2))
    one.create_branch("b")
    one.delete("x = 1")
    assert (one.count_rows(), other.count_rows()) == (0, 1)
    assert lance.dataset(one.uri, version=1).count_rows() == 1
    assert one.checkout_version(("b", None)).count_rows() == 1
    with pytest.raises(DatasetNotFoundError):
        lance.dataset("memory://")
    uri = one.uri
    del one
    live_stores.reset()
    gc.collect()
    with pytest.raises(DatasetNotFoundError):
        lance.dataset(uri)
