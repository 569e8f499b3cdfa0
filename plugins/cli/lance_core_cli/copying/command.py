"""The command ``lance-core copy``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

import lance_core
from lance_core.commands import Command, add_storage_option, one_line, storage_options
from lance_core.errors import CorruptFileError
from lance_core_cli.copying.copy import copy_table
from lance_core_cli.progress import on_terminal
from lance_core_cli.verifying.verify import LEVELS, verify

TO_OPTION = "to-option"


class Copy(Command):
    """Copies a table with all versions, tags, branches and indices to another place."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add both places, ``--to-option``, ``--level`` and ``--json``."""
        parser.add_argument("source", metavar="SOURCE", help="path or URL of the table")
        parser.add_argument("target", metavar="TARGET", help="path or URL of the copy")
        parser.add_argument(
            "--level", choices=LEVELS, default="structure", help="how the copy is verified"
        )
        parser.add_argument("--json", action="store_true", help="the report as JSON")
        add_storage_option(parser)
        add_storage_option(parser, TO_OPTION, "storage option of the target")

    def lines(self, options: argparse.Namespace) -> Iterator[str]:
        """What was copied. Raises `CorruptFileError` if the copy is damaged."""
        to_options = storage_options(options, TO_OPTION)
        report = copy_table(
            options.source,
            options.target,
            storage_options=storage_options(options),
            target_options=to_options,
            progress=on_terminal("copied", "MB", 1_000_000),
        )
        copy = lance_core.dataset(options.target, storage_options=to_options)
        problems = verify(copy, options.level).problems
        if options.json:
            yield json.dumps({**vars(report), "problems": [each.asdict() for each in problems]})
        else:
            yield from (problem.in_words() for problem in problems)
            yield (
                f"{report.versions} versions in {one_line(options.target)}: copied "
                f"{report.files} files, {report.bytes} bytes; {report.files_before} were there"
            )
        if problems:
            raise CorruptFileError(f"problems of the copy, and maybe its source: {len(problems)}")
