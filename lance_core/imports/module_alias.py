"""`ModuleAlias`: modules below one name that are the modules below another one."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class ModuleAlias(MetaPathFinder, Loader):
    """Finds the modules below ``name`` as those below ``target``: the same objects.

    To be inserted into `sys.meta_path` before the finder of files, which would load their files a
    second time.
    """

    def __init__(self, name: str, target: str) -> None:
        self._name = name
        self._target = target

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of a module below the alias; None for others and missing ones."""
        below = fullname.removeprefix(self._name)
        if below == fullname or not below.startswith("."):
            return None
        spec = importlib.util.find_spec(self.target_of(below))
        return None if spec is None else ModuleSpec(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """Replace the new, empty module by the module of the target."""
        below = module.__name__.removeprefix(self._name)
        sys.modules[module.__name__] = importlib.import_module(self.target_of(below))

    def target_of(self, below: str) -> str:
        """The full name of the module that is ``below`` the alias, such as ".query"."""
        return self._target + below
