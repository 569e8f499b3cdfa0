"""Names of public modules that plugins provide: their descriptor, and how a module has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lance_core.imports.on_demand import import_module
from lance_core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """Describes what a plugin provides by a name that users import from a module of the core.

    ``path``: the class or function as ``"module:attribute"``, which is imported at the first use.
    The attribute is the name that users import, such as ``Compaction`` of `lance_core.optimize`.
    """

    path: str

    @property
    def name(self) -> str:
        """The name that users import."""
        return self.path.rpartition(":")[2]


def provided(module: str, *names: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of ``module``, whose ``names`` a plugin provides.

    Without the plugin their use raises `PluginNotFoundError`.
    """

    def attribute(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return import_module("lance_core.plugins.manager").get_manager().tool(name)

    return attribute
