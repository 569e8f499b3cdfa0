"""The command ``lance-core new-plugin``: write the package of a plugin, with its tests."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from lance_core.commands import Command
from lance_core.plugins.scaffold import KINDS, write_package


class NewPlugin(Command):
    """Writes a complete package that provides one thing of a kind."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the name, ``--kind`` and ``--folder``."""
        parser.add_argument("name", metavar="NAME", help="of the plugin, such as vault")
        parser.add_argument("--kind", required=True, choices=sorted(KINDS), help="what it provides")
        parser.add_argument("--folder", type=Path, default=Path(), help="where; by default here")

    def lines(self, options: argparse.Namespace) -> Iterator[str]:
        """The path of the package. Raises `InvalidInputError` if it exists."""
        package = write_package(options.name, options.kind, options.folder)
        yield f"wrote {package}; README.md says how to install and test it"
