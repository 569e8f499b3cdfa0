"""Former names: of modules that are distributions now, and of public names that have moved.

They stay for one minor version, as the same objects, with a `DeprecationWarning`. A module that has
moved contains a ``__getattr__`` made by `forward`: its names and sub-modules are those of the new
package. A module that has lost single names contains one made by `forward_names`.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from lance_core.error_texts.install import install
from lance_core.errors import PluginNotFoundError
from lance_core.imports.module_alias import ModuleAlias


def forward(
    module: str, target: str, *, extra: str, renamed: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """The ``__getattr__`` of ``module``, whose names and sub-modules are those of ``target``.

    ``target``: the package that ``extra`` of lance-core installs. Without it, every use of a name
    or sub-module raises `PluginNotFoundError`. ``renamed``: the sub-modules with another name
    now, or in the core, and their new names. The module must set ``__path__`` to an empty list.
    """
    finder = _MovedModules(module, target, extra, renamed or {})
    # Before the finder of files: it would load the files of a forwarded package a second time.
    sys.meta_path.insert(0, finder)
    return finder.attribute


def forward_names(module: str, targets: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of ``module`` for names that have moved.

    ``targets``: by former name, the new place as ``"module:name"``.
    """

    def attribute(name: str) -> Any:
        if name not in targets:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, new_name = targets[name].partition(":")
        text = f"{module}.{name} has moved to {home}.{new_name}"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return getattr(importlib.import_module(home), new_name)

    return attribute


class _MovedModules(ModuleAlias):
    """Finds the modules below ``module`` as those below ``target``."""

    def __init__(self, module: str, target: str, extra: str, renamed: Mapping[str, str]) -> None:
        super().__init__(module, target)
        self._extra = extra
        self._renamed = renamed

    def attribute(self, name: str) -> Any:
        """The attribute ``name`` of the target; raises `AttributeError` if it has none."""
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {self._name!r} has no attribute {name!r}")
        if name in self._renamed and not self._renamed[name].startswith(self._target):
            self._warn(f".{name}")
            return importlib.import_module(self._renamed[name])
        self._require_target()
        value = getattr(importlib.import_module(self._target), name)
        if name != "__all__":
            self._warn(f".{name}")
        return value

    def exec_module(self, module: ModuleType) -> None:
        """Replace the new, empty module by the module of the target, with a warning."""
        super().exec_module(module)
        self._warn(module.__name__.removeprefix(self._name))

    def target_of(self, below: str) -> str:
        """The new name of a module; raises `PluginNotFoundError` without its package."""
        new_name = self._renamed.get(below[1:], self._target + below)
        if new_name.startswith(self._target):
            self._require_target()
        return new_name

    def _require_target(self) -> None:
        if importlib.util.find_spec(self._target) is None:
            raise PluginNotFoundError(
                f"{self._name} has moved to the package {self._target}. {install(self._extra)}"
            )

    def _warn(self, below: str) -> None:
        text = f"{self._name}{below} has moved to {self.target_of(below)}"
        # The caller of `attribute` or `exec_module`; frames of the import system do not count.
        warnings.warn(text, DeprecationWarning, stacklevel=3)
