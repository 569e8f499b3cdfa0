"""The command ``lance-core inspect``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from lance_core.commands import Command, add_table, one_line, open_table
from lance_core_cli.inspecting.facts import inspect
from lance_core_cli.inspecting.page import page
from lance_core_cli.inspecting.words import words
from lance_core_cli.records import points_to_verify


class Inspect(Command):
    """Shows what a table has: versions, fragments, columns, indices, and what to do about them."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the table, ``--html`` and ``--json``."""
        add_table(parser)
        parser.add_argument(
            "--html", type=Path, metavar="FILE", help="write a page for a browser to this file"
        )
        parser.add_argument("--json", action="store_true", help="the facts as JSON")

    def lines(self, options: argparse.Namespace) -> Iterator[str]:
        """The facts in words, as JSON, or where the page is. Raises ``OSError`` for its file."""
        with points_to_verify(options):
            facts = inspect(open_table(options))
        if options.html is not None:
            options.html.write_text(page(facts), "utf-8")
        if options.json:
            yield json.dumps(facts.asdict(), default=str, ensure_ascii=True)
        elif options.html is not None:
            yield f"wrote {one_line(str(options.html))}; open it in a browser"
        else:
            yield from words(facts)
