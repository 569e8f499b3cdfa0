"""The descriptor of an SQL function, which a plugin returns."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from lance_core.lazy_dataclass import dataclass

PlanFunction: TypeAlias = Callable[..., Any]
"""From the nodes of the arguments to the node of the result; see `lance_core.sql_functions`."""

OPTION = "*"
"""Marks a parameter whose value the planner needs: it gets a `Constant` that is not NULL."""

REST = "..."
"""Stands for any number of further arguments of the last type."""

PARAMETER_TYPES = (
    *("any", "boolean", "bytes", "integer", "interval", "json", "list", "number", "struct"),
    *("text", "time"),
)
"""The types that `SqlFunctionSpec.parameters` names."""


@dataclass(frozen=True, slots=True)
class SqlFunctionSpec:
    """Describes an SQL function.

    ``name``: in lower case; users may write it in any case. ``plan``: makes the node of a call from
    the nodes of its arguments; or its import path ``"module:attribute"``, imported at the first
    call. ``parameters``: the types of the parameters (`PARAMETER_TYPES`), as in
    ``"text, integer*, [text*]"``. Brackets mark optional ones, ``...`` any number of further ones,
    and ``*`` (`OPTION`) those that ``plan`` gets as constants that are not NULL. For a column, the
    function is planned for each distinct value, and for NULL its result is NULL.

    ``summary``: one line for the reference page. ``aliases``: other names. ``group``: the heading
    of the reference page. ``infers_nullable``: True if the result has the nullability of the node;
    the results of all other functions are nullable. pylance has the same rules.
    """

    name: str
    plan: PlanFunction | str
    parameters: str
    summary: str
    aliases: tuple[str, ...] = ()
    group: str = "other"
    infers_nullable: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the aliases."""
        return (self.name, *self.aliases)

    @property
    def signature(self) -> str:
        """Name and parameters for users, without marks."""
        return f"{self.name}({self.parameters.replace(OPTION, '')})"

    @property
    def shape(self) -> Shape:
        """The numbers of arguments, and which of them are options."""
        return _shape(self.parameters)


class Shape(NamedTuple):
    """The least and most numbers of arguments (None: no limit).

    ``options``: the positions of options, and whether each is an integer.
    """

    least: int
    most: int | None
    options: dict[int, bool]


@functools.cache
def _shape(parameters: str) -> Shape:
    parts = [part.strip() for part in parameters.split(",")] if parameters else []
    options = {i: "integer" in part for i, part in enumerate(parts) if OPTION in part}
    required = sum(part != REST and not part.startswith("[") for part in parts)
    return Shape(required, None if REST in parts else len(parts), options)


_PARAMETER = re.compile(rf"(?:{'|'.join(PARAMETER_TYPES)})\*?")


def malformed_parameter(parameters: str) -> str | None:
    """The first part of ``parameters`` that is none of `PARAMETER_TYPES` with marks, or None."""
    parts = [part.strip() for part in parameters.split(",")] if parameters else []
    for number, part in enumerate(parts):
        is_rest = part == REST and number and number == len(parts) - 1
        inner = part[1:-1] if part[:1] == "[" and part[-1:] == "]" else part
        if not is_rest and not _PARAMETER.fullmatch(inner):
            return part
    return None
