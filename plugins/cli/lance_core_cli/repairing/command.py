"""The command ``lance-core repair``."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable, Iterator, Mapping

from lance_core.commands import Command, add_storage_option, one_line, storage_options
from lance_core.errors import CorruptFileError
from lance_core_cli.repairing.plan import Action, RepairPlan, plan_repair
from lance_core_cli.verifying.verify import LEVELS

_REQUESTS: Mapping[Action, tuple[str, Callable[[str], object], str]] = {
    "drop-fragment": ("ID", int, "leave out this damaged fragment with all its rows"),
    "null-column": ("ID:COLUMN", str, "make this damaged column of a fragment null"),
    "undelete": ("ID", int, "bring back deleted rows of a fragment whose deletion file is damaged"),
    "drop-tag": ("TAG", str, "drop this damaged tag"),
    "set-aside": (
        "VERSION",
        int,
        "move the damaged manifest of this older version out of the history",
    ),
}
"""What loses something: name and type of the argument, and what the help says."""


class Repair(Command):
    """Shows what repairs a table, and with ``--apply`` does it."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the table, what may be given up, ``--apply`` and ``--json``."""
        parser.add_argument("table", metavar="TABLE", help="path or URL")
        for action, (metavar, parse, text) in _REQUESTS.items():
            parser.add_argument(
                f"--{action}",
                dest=action,
                action="append",
                type=parse,
                default=[],
                metavar=metavar,
                help=f"{text}; may be given several times",
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
                undo = f"; undo: lance-core restore {shlex.quote(options.table)} {before}"
                if any(s.action == "restore" and s.name == str(before) for s in plan.chosen):
                    undo = ""
                yield f"version {table.version} is the repaired table{undo}"
        elif plan.chosen and not options.json:
            yield "nothing was changed: add --apply"
        elif not plan.steps and not plan.left and not options.json:
            yield "nothing is damaged"
        if plan.left:
            raise CorruptFileError(_what_is_left(plan))


def _what_is_left(plan: RepairPlan) -> str:
    """How many problems no chosen step solves, and what a user can choose."""
    offered = sorted({step.option.split()[0] for step in plan.steps if not step.is_chosen})
    remedy = (
        f"choose what to give up, with {' or '.join(offered)} as above, and --apply"
        if offered
        else "go back to the newest version that is whole, with --restore, or to a copy"
    )
    return f"problems without a chosen step: {len(plan.left)}; {remedy}"


def _requested(options: argparse.Namespace) -> Iterator[tuple[Action, object]]:
    for action in _REQUESTS:
        for name in getattr(options, action):
            yield action, name
