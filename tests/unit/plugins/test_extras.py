"""The plugins of this project, by the extras that install them."""

from __future__ import annotations

from lance_core.plugins.extras import EXTRAS
from lance_core.plugins.known_plugins import KNOWN_PLUGINS


def test_each_known_plugin_has_its_extra() -> None:
    assert tuple(plugin.extra for plugin in KNOWN_PLUGINS) == EXTRAS
