"""The command ``lance-core new-plugin``: write the package of a plugin, with its tests."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from lance_core.commands import Command
from lance_core.error_texts.install import install
from lance_core.errors import PluginNotFoundError


class NewPlugin(Command):
    """Writes a complete package that provides one thing of a kind."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the name, ``--kind`` and ``--folder``."""
        parser.add_argument("name", metavar="NAME", help="of the plugin, such as vault")
        parser.add_argument("--kind", required=True, help="what it provides, such as store")
        parser.add_argument("--folder", type=Path, default=Path(), help="where; by default here")

    def lines(self, options: argparse.Namespace) -> Iterator[str]:
        """The path of the package.

        Raises `InvalidInputError` if it exists, and `PluginNotFoundError` without the extra
        ``testing``, which has the contracts that its tests check.
        """
        if importlib.util.find_spec("lance_core_testing") is None:
            raise PluginNotFoundError(
                f"new plugins are written by the package of their contracts. {install('testing')}"
            )
        new_plugin = importlib.import_module("lance_core_testing.new_plugin")
        package = new_plugin.write_package(options.name, options.kind, options.folder)
        yield f"wrote {package}; README.md says how to install and test it"
