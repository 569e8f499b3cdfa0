"""What users import from modules of the core and plugins provide."""

from __future__ import annotations

import pytest

from lance_core import indices, util
from lance_core.errors import PluginNotFoundError
from lance_core.plugins import PluginManager, manager


def test_a_tool_is_named_with_the_extra_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manager, "_manager", PluginManager(entry_points=False))
    with pytest.raises(PluginNotFoundError, match='pip install "lance-core\\[vector\\]"'):
        _ = indices.IndicesBuilder
    with pytest.raises(PluginNotFoundError, match="'KMeans'"):
        _ = util.KMeans
    for module in (indices, util):
        with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
            _ = module.Nothing
