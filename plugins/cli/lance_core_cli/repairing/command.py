"""The command ``lance-core repair``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from lance_core.commands import Command, add_storage_option, one_line, storage_options
from lance_core.errors import CorruptFileError
from lance_core_cli.repairing.plan import REQUESTED, Action, plan_repair
from lance_core_cli.verifying.verify import LEVELS


class Repair(Command):
    """Shows what repairs a table, and with ``--apply`` does it."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the table, what may be given up, ``--apply`` and ``--json``."""
        parser.add_argument("table", metavar="TABLE", help="path or URL")
        parser.add_argument(
            "--drop-fragment",
            action="append",
            type=int,
            default=[],
            metavar="ID",
            help="leave out this damaged fragment with all its rows; may be given several times",
        )
        parser.add_argument(
            "--null-column",
            action="append",
            default=[],
            metavar="ID:COLUMN",
            help="make this damaged column of a fragment null; may be given several times",
        )
        parser.add_argument(
            "--undelete",
            action="append",
            type=int,
            default=[],
            metavar="ID",
            help="bring back deleted rows of a fragment whose deletion file is damaged",
        )
        parser.add_argument(
            "--drop-tag", action="append", default=[], metavar="TAG", help="drop this damaged tag"
        )
        parser.add_argument(
            "--set-aside",
            action="append",
            type=int,
            default=[],
            metavar="VERSION",
            help="move the damaged manifest of this older version out of the history",
        )
        parser.add_argument(
            "--restore", action="store_true", help="go back to the newest version that is whole"
        )
        parser.add_argument("--level", choices=LEVELS, default="full", help="as of verify")
        parser.add_argument("--apply", action="store_true", help="do it; else it is only shown")
        parser.add_argument("--json", action="store_true", help="the plan as JSON")
        add_storage_option(parser)

    def lines(self, options: argparse.Namespace) -> Iterator[str]:
        """The plan, and what was done.

        Raises `CorruptFileError` at the end if something stays damaged.
        """
        store_options = storage_options(options)
        plan = plan_repair(
            options.table,
            _requested(options),
            level=options.level,
            restore=options.restore,
            storage_options=store_options,
        )
        if options.json:
            yield json.dumps(plan.asdict())
        else:
            for problem in plan.left:
                yield problem.in_words()
            for step in plan.steps:
                sign = "will" if step.is_chosen else f"with {one_line(step.option)}:"
                yield f"{sign} {one_line(step.text)}"
        if options.apply and plan.chosen:
            before = plan.version
            table = plan.apply(store_options)
            if table.version == before and not options.json:
                yield "done: it is no new version"
            elif not options.json:
                undo = f"undo: restore version {before}"
                yield f"version {table.version} is the repaired table; {undo}"
        elif plan.chosen and not options.json:
            yield "nothing was changed: add --apply"
        elif not plan.steps and not plan.left and not options.json:
            yield "nothing is damaged"
        if plan.left:
            raise CorruptFileError(f"problems without a chosen step: {len(plan.left)}")


def _requested(options: argparse.Namespace) -> Iterator[tuple[Action, object]]:
    for action in REQUESTED:
        for name in getattr(options, action.replace("-", "_")):
            yield action, name
