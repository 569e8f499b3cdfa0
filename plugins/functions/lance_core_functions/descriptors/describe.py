"""Make descriptors; their planners are imported at the first call."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING

from lance_core.hookspecs import SqlFunctionSpec

if TYPE_CHECKING:
    from lance_core.sql_functions import Node

PACKAGE = "lance_core_functions"


def function(
    group: str, name: str, plan: str, parameters: str, summary: str, *aliases: str, **infers: bool
) -> SqlFunctionSpec:
    """A function that is evaluated here; ``plan`` is an import path in this package or the core."""
    path = plan if plan.startswith("lance_core.") else f"{PACKAGE}.{plan}"
    return SqlFunctionSpec(name, path, parameters, summary, aliases, group, **infers)


def of_engine(
    group: str, name: str, parameters: str, summary: str, *aliases: str
) -> SqlFunctionSpec:
    """A function that DataFusion evaluates; see `engine`."""
    plan = functools.partial(_planned_by_engine, name=name)
    summary = f"{summary} Needs the extra `datafusion`."
    return SqlFunctionSpec(name, plan, parameters, summary, aliases, group)


def _planned_by_engine(*nodes: Node, name: str) -> Node:
    node: Node = importlib.import_module(f"{PACKAGE}.engine").planned(*nodes, name=name)
    return node
