"""Every built-in index type, and that of the example plugin, keeps the contract of index types."""

from __future__ import annotations

from collections.abc import Iterator

import lance_core_example_sorted_hash
import pytest

from lance_core.builtin import lance_index_types
from lance_core.errors import PluginNotFoundError
from lance_core.plugins import get_manager
from lance_core.testing.index_type import IndexTypeTests

_SPECS = {spec.name: spec for spec in lance_index_types()}


@pytest.fixture(autouse=True, scope="module")
def _sorted_hash() -> Iterator[None]:
    """The example's index type, also where the example plugin is installed without it."""
    manager = get_manager()
    try:
        manager.index_type("sorted_hash")
    except PluginNotFoundError:
        name = manager.register(lance_core_example_sorted_hash)
        yield
        manager.unregister(name)
    else:
        yield


class TestSortedHash(IndexTypeTests):
    spec = lance_core_example_sorted_hash.SPEC


class TestBTree(IndexTypeTests):
    spec = _SPECS["btree"]
    parameters = {"zone_size": 50}


class TestBitmap(IndexTypeTests):
    spec = _SPECS["bitmap"]


class TestLabelList(IndexTypeTests):
    spec = _SPECS["label_list"]


class TestZoneMap(IndexTypeTests):
    spec = _SPECS["zonemap"]
    parameters = {"rows_per_zone": 50}


class TestBloomFilter(IndexTypeTests):
    spec = _SPECS["bloomfilter"]
    parameters = {"number_of_items": 50}


class TestNGram(IndexTypeTests):
    spec = _SPECS["ngram"]
