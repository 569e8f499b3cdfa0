"""`install_as_lance`: this library under the name of pylance's package, ``lance``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from lance_core._version import __version__
from lance_core.errors import PluginConflictError
from lance_core.imports.module_alias import ModuleAlias

NAME = "lance"
TARGET = "lance_core"

PYLANCE_VERSION = "14.0.2"
"""The release of pylance whose interface this library has, for programs that compare versions."""


def install_as_lance() -> None:
    """Let `import lance` and `import lance.X` give this library in the whole process.

    Classes, functions and sub-modules are the same objects under both names. ``lance.__version__``
    is that of the pylance whose interface this is, with the version of lance-core as its local
    part: "14.0.2+lance.core.0.1.0". Processes that this one starts by ``spawn`` must call it again;
    the distribution lance-core-alias needs no call. A second call does nothing.

    Raises `PluginConflictError` if another ``lance`` has been imported.
    """
    present = sys.modules.get(NAME)
    if isinstance(present, _Lance):
        return
    if present is not None:
        home = getattr(present, "__file__", None)
        raise PluginConflictError(
            f"{NAME} has been imported from {home}: call install_as_lance() before anything that "
            "imports it"
        )
    # Before the finder of files, which would load the files of sub-modules a second time.
    sys.meta_path.insert(0, ModuleAlias(NAME, TARGET))
    sys.modules[NAME] = _Lance()
    # `lance.dataset` is a function, too, which an import of the module would replace.
    sys.modules[f"{NAME}.dataset"] = sys.modules[f"{TARGET}.dataset"]


class _Lance(ModuleType):
    """The module ``lance``: its names are those of ``lance_core``, looked up at each use."""

    def __init__(self) -> None:
        target = sys.modules[TARGET]
        super().__init__(NAME, target.__doc__)
        self.__file__ = target.__file__
        self.__path__: list[str] = []  # no finder of files has anything to look for
        self.__spec__ = ModuleSpec(NAME, None, origin=target.__file__, is_package=True)
        self.__all__ = target.__all__
        self.__version__ = f"{PYLANCE_VERSION}+lance.core.{__version__}"

    def __getattr__(self, name: str) -> Any:
        target = sys.modules[TARGET]
        if hasattr(target, name):
            return getattr(target, name)
        # pylance imports most of its modules with the package: `lance.query` needs no import.
        if name.startswith("_") or not importlib.util.find_spec(f"{TARGET}.{name}"):
            raise AttributeError(f"module {NAME!r} has no attribute {name!r}")
        return importlib.import_module(f"{NAME}.{name}")

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *dir(sys.modules[TARGET])})
