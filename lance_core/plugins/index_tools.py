"""What plugins of index types offer to users besides, by the name that users import."""

from __future__ import annotations

from lance_core.plugins.known_plugins import EXTRA_OF_TOOL
from lance_core.plugins.manager import get_manager
from lance_core.plugins.missing_plugin import LeftOut, PluginLookup, not_found
from lance_core.store.spec import resolve_factory


def index_tool(name: str) -> object:
    """The class or function ``name``, see `IndexTypeSpec.tools`.

    Raises `PluginNotFoundError` and `PluginLoadError`.
    """
    manager = get_manager()
    paths = {
        path.rpartition(":")[2]: path
        for plugin in manager.plugins
        for spec in plugin.index_types
        for path in spec.tools
    }
    if name in paths:
        return resolve_factory(paths[name], f"{name!r} of an index type")
    loaded = frozenset(plugin.source.distribution.split()[0] for plugin in manager.plugins)
    look = PluginLookup("the tool", name, dict.fromkeys(paths), EXTRA_OF_TOOL)
    raise not_found(look, LeftOut(manager.failures, manager.disabled, loaded))
