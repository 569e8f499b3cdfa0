"""The entry module of the plugin: descriptors only."""

from __future__ import annotations

from collections.abc import Iterable

from lance_core.hookspecs import SqlFunctionSpec, hookimpl
from lance_core_functions.descriptors import any_type, json, lists, numbers, text, time

FUNCTIONS = (
    *any_type.FUNCTIONS,
    *numbers.FUNCTIONS,
    *text.FUNCTIONS,
    *time.FUNCTIONS,
    *lists.FUNCTIONS,
    *json.FUNCTIONS,
)
"""The functions, in the order of the reference page."""


@hookimpl
def lance_sql_functions() -> Iterable[SqlFunctionSpec]:
    """The functions of SQL that pylance has, too."""
    return FUNCTIONS
