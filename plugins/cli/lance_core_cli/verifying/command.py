"""The command ``lance-core verify``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from lance_core.commands import Command, add_table, one_line, open_table
from lance_core.errors import CorruptFileError
from lance_core_cli.progress import on_terminal
from lance_core_cli.verifying.problem import Problem, VerifyReport
from lance_core_cli.verifying.verify import LEVELS, verify


class Verify(Command):
    """Checks a table; the status is 1 if something is damaged."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the table, ``--level`` and ``--json``."""
        add_table(parser)
        parser.add_argument(
            "--level",
            choices=LEVELS,
            default="pages",
            help="structure: files, fields, rows; checksums: those of pages, where writers stored "
            "some; pages: decode all of them (by default); full: indices against rows, too",
        )
        parser.add_argument("--json", action="store_true", help="the report as JSON")

    def lines(self, options: argparse.Namespace) -> Iterator[str]:
        """The report. Raises `CorruptFileError` at the end if there are problems."""
        report = self._report(options)
        if options.json:
            yield json.dumps(report.asdict())
        else:
            yield from _in_words(report)
        if not report.is_whole:
            raise CorruptFileError(
                f"problems found: {len(report.problems)}. What can be done: "
                f"lance-core repair {options.table}"
            )

    def _report(self, options: argparse.Namespace) -> VerifyReport:
        try:
            table = open_table(options)
        except CorruptFileError as error:
            number = options.version or 0
            report = VerifyReport(options.table, number, options.level)
            report.problems.append(Problem("version", str(options.version or "newest"), str(error)))
            return report
        return verify(table, options.level, on_terminal("verified", "fragments"))


def _in_words(report: VerifyReport) -> Iterator[str]:
    for problem in report.problems:
        yield problem.in_words()
    for name in report.unchecked:
        yield f"not checked: {one_line(name)}"
    checked = f"{report.versions} versions, {report.fragments} fragments, {report.rows} rows"
    if report.level != "structure":
        checked += f", {report.summed} bytes by checksum"
    if report.level in ("pages", "full"):
        checked += f", {report.bytes} bytes of values"
    if report.level == "full":
        checked += f", {report.indices} indices"
    if not report.version:
        yield "the newest version cannot be opened"
        return
    is_open_one_whole = all(
        problem.what in {"version", "tag"} and problem.name != str(report.version)
        for problem in report.problems
    )
    result = "whole" if is_open_one_whole else "damaged"
    if is_open_one_whole and not report.is_whole:
        result += ", but other versions or tags are damaged"
    yield f"version {report.version} is {result}; checked: {checked}"
