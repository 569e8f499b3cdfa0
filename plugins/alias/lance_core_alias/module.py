"""Replacing the package ``lance`` by lance-core, unless pylance is installed in the same folder."""

from __future__ import annotations

import sys
from importlib.metadata import distributions
from pathlib import Path

from lance_core import install_as_lance
from lance_core.errors import PluginConflictError


def replace(name: str, file: str) -> None:
    """Replace the module ``name``, whose ``file`` is being imported, by `lance_core`.

    Raises `PluginConflictError` if pylance is installed beside it: both distributions own the
    folder, and whichever pip installs last overwrites files of the other.
    """
    folder = Path(file).parents[1]
    for pylance in distributions(name="pylance", path=[str(folder)]):
        raise PluginConflictError(
            f"lance-core-alias and pylance {pylance.version} are both installed in {folder}, and "
            f"share its folder {name}. Keep one: `pip uninstall pylance lance-core-alias`, then "
            "`pip install` it again"
        )
    sys.modules.pop(name)
    install_as_lance()
