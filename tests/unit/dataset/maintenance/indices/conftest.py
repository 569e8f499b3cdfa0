"""The index type of the example plugin, and tables to index."""

from __future__ import annotations

from collections.abc import Iterator

import lance_core_example_sorted_hash
import pytest

from lance_core.errors import PluginNotFoundError
from lance_core.plugins import get_manager


@pytest.fixture(autouse=True, scope="package")
def sorted_hash() -> Iterator[None]:
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
