"""The entry point: descriptors of the commands, which are imported at first use."""

from __future__ import annotations

from lance_core.hookspecs import CommandSpec, ToolSpec, hookimpl

_COMMANDS = {
    "inspect": (
        "what a table has, and what to do about it; with --html FILE, as a page for a browser",
        "inspecting.command:Inspect",
    ),
    "versions": (
        "the versions of a table, newest last, and what made them",
        "looking.versions:Versions",
    ),
    "schema": ("the fields of a table, with ids and types", "looking.schema:SchemaFields"),
    "files": ("the fragments of a table and their data files", "looking.files:Files"),
    "indices": (
        "the indices of a table: columns, coverage, size, statistics",
        "looking.indices:Indices",
    ),
    "count": ("how many rows a table has, or a filter selects", "looking.rows:Count"),
    "head": ("the first rows of a table", "looking.rows:Head"),
    "stats": (
        "rows, files and versions of a table, and the bytes of each column",
        "looking.stats:Stats",
    ),
    "diff": ("what changed from one version of a table to another", "looking.diff:Diff"),
    "sql": ("the result of an SQL query over a table", "looking.sql:Sql"),
    "compact": ("merge small fragments, and leave out deleted rows", "maintaining.command:Compact"),
    "cleanup": (
        "remove old versions, and the files that no other version needs",
        "maintaining.command:Cleanup",
    ),
    "index": (
        "index a column, or add the rows that indices lack to them",
        "maintaining.command:CreateIndex",
    ),
    "restore": ("make an older version the newest one", "maintaining.command:Restore"),
    "completion": (
        "a script with which bash, zsh or fish complete commands and options",
        "completion:Completion",
    ),
    "verify": (
        "check the files of a table: structure, every page, indices against rows",
        "verifying.command:Verify",
    ),
    "repair": (
        "show how a damaged table can be mended, and with --apply do it in one commit",
        "repairing.command:Repair",
    ),
    "copy": (
        "copy a table with all versions, tags, branches and indices to another place",
        "copying.command:Copy",
    ),
    "export": ("write rows of a table to a file of Parquet, CSV or Arrow", "exchange:Export"),
    "import": ("write the rows of a file of Parquet, CSV or Arrow to a table", "exchange:Import"),
}
"""By name, what the help says, and module and class of this package."""


@hookimpl
def lance_commands() -> list[CommandSpec]:
    """Commands that look at tables, verify and repair them, and copy tables and rows."""
    return [
        CommandSpec(name=name, summary=summary, factory=f"lance_core_cli.{path}")
        for name, (summary, path) in _COMMANDS.items()
    ]


@hookimpl
def lance_tools() -> list[ToolSpec]:
    """What notebooks show of a dataset."""
    return [ToolSpec("lance_core_cli.inspecting.notebook:notebook_html")]
