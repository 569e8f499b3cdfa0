"""The built-in plugin goes through the hooks that everybody else goes through."""

from __future__ import annotations

import pluggy

from lance_core import hookspecs
from lance_core.plugins import builtin
from lance_core.plugins.manager import PluginManager


def test_the_built_in_plugin_implements_hooks_and_nothing_else() -> None:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(builtin)
    manager.check_pending()


def test_it_offers_what_the_documentation_says() -> None:
    manager = PluginManager(entry_points=False)
    assert {scheme for spec in manager.plugins[0].object_stores for scheme in spec.schemes} == {
        "file",
        "memory",
    }
    assert [spec.name for spec in manager.commit_handlers] == [
        "put-if-absent",
        "rename",
        "unsafe",
    ]


def test_only_unsafe_may_lose_commits() -> None:
    for spec in PluginManager(entry_points=False).commit_handlers:
        assert spec.multi_writer is (spec.name != "unsafe")
        assert bool(spec.requires) is spec.multi_writer
