"""The ``__getattr__`` of modules with what plugins of index types offer to users."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lance_core.imports.on_demand import lazy_module

if TYPE_CHECKING:
    from lance_core.plugins import index_tools
else:
    index_tools = lazy_module("lance_core.plugins.index_tools")


def provided(module: str, *names: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of ``module``, whose ``names`` a plugin provides.

    Without the plugin their use raises `PluginNotFoundError`.
    """

    def attribute(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return index_tools.index_tool(name)

    return attribute
