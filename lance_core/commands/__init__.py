"""What commands of ``lance-core`` are written with, by any author.

A plugin offers a `Command` by `CommandSpec` of `lance_core.hookspecs`. Its class adds arguments to
a parser and returns lines; the library prints them, and turns a `LanceError` into one line on the
error output and the status 1. A command that looks at a table takes it by `add_table` and opens it
by `open_table`, so that paths, versions and storage options are typed the same way everywhere.
"""

from lance_core.command_spec import Command
from lance_core.commands.table_arguments import (
    add_storage_option,
    add_table,
    open_table,
    storage_options,
)
from lance_core.errors import one_line

__all__ = [
    "Command",
    "add_storage_option",
    "add_table",
    "one_line",
    "open_table",
    "storage_options",
]
