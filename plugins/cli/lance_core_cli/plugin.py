"""The entry point: descriptors of the commands, which are imported at first use."""

from __future__ import annotations

from lance_core.hookspecs import CommandSpec, hookimpl

_COMMANDS = {
    "versions": ("the versions of a table, newest last, and what made them", "versions:Versions"),
    "schema": ("the fields of a table, with ids and types", "schema:SchemaFields"),
    "files": ("the fragments of a table and their data files", "files:Files"),
    "indices": ("the indices of a table: columns, coverage, size, statistics", "indices:Indices"),
    "count": ("how many rows a table has, or a filter selects", "rows:Count"),
    "head": ("the first rows of a table", "rows:Head"),
    "stats": ("rows, files and versions of a table, and the bytes of each column", "stats:Stats"),
    "diff": ("what changed from one version of a table to another", "diff:Diff"),
}
"""The commands that look at tables: what the help says, and module and class of the package."""


@hookimpl
def lance_commands() -> list[CommandSpec]:
    """Commands that look at tables, verify and repair them, and copy rows to and from files."""
    looking = [
        CommandSpec(name=name, summary=summary, factory=f"lance_core_cli.looking.{path}")
        for name, (summary, path) in _COMMANDS.items()
    ]
    return [
        *looking,
        CommandSpec(
            name="verify",
            summary="check the files of a table: structure, every page, indices against rows",
            factory="lance_core_cli.verifying.command:Verify",
        ),
        CommandSpec(
            name="repair",
            summary="show how a damaged table can be mended, and with --apply do it in one commit",
            factory="lance_core_cli.repairing.command:Repair",
        ),
        CommandSpec(
            name="export",
            summary="write rows of a table to a file of Parquet, CSV or Arrow",
            factory="lance_core_cli.exchange:Export",
        ),
        CommandSpec(
            name="import",
            summary="write the rows of a file of Parquet, CSV or Arrow to a table",
            factory="lance_core_cli.exchange:Import",
        ),
    ]
