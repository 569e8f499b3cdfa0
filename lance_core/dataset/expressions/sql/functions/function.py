"""The description of an SQL function: its name, parameters, meaning and planner.

Each module of functions lists its own in a constant ``FUNCTIONS``; `function_list` collects
them. The reference page and the differential tests are made from these lists.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from lance_core.dataset.expressions.sql.nodes.node import Constant, Node, constant, null
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.on_demand import lazy_module

if TYPE_CHECKING:
    from lance_core.dataset.expressions.sql.operators import distinct_options
else:
    distinct_options = lazy_module("lance_core.dataset.expressions.sql.operators.distinct_options")

OPTION = "*"
"""Marks a parameter whose value the planner needs: `plan` gets a `Constant` that is not NULL."""

REST = "..."
"""Stands for any number of further arguments of the last type."""


@dataclass(frozen=True, slots=True)
class Function:
    """An SQL function.

    ``parameters``: the types of the parameters, as in ``"text, integer*, [text*]"``. Brackets mark
    optional ones, ``...`` any number of further ones, and ``*`` (`OPTION`) those that ``plan``
    gets as constants that are not NULL. For a column, the function is planned for each distinct
    value, and for NULL its result is NULL.

    ``summary``: one line for the reference page. ``aliases``: other names. ``infers_nullable``:
    True if the result has the nullability of the node; the results of all other functions are
    nullable. pylance has the same rules. ``is_engine``: True if DataFusion evaluates it.
    """

    name: str
    plan: Callable[..., Node]
    parameters: str
    summary: str
    aliases: tuple[str, ...] = ()
    infers_nullable: bool = False
    is_engine: bool = False

    @property
    def signature(self) -> str:
        """Name and parameters for users, without marks."""
        return f"{self.name}({self.parameters.replace(OPTION, '')})"

    def node(self, name: str, arguments: Sequence[Node]) -> Node:
        """The node of a call by ``name``, which is the name or an alias.

        Raises `InvalidInputError` for a wrong number or wrong types of arguments.
        """
        least, most, options = _shape(self.parameters)
        count = len(arguments)
        if count < least or (most is not None and count > most):
            raise InvalidInputError(
                f"{name} does not take {count} arguments; it is {self.signature}"
            )
        values = [arguments[i] for i in options if i < count]
        if all(isinstance(value, Constant) and not value.is_null for value in values):
            return self.plan(*arguments)
        node = distinct_options.call_for_distinct(name, self.plan, arguments, options)
        if any(isinstance(value, Constant) and value.is_null for value in values):
            return null(node.type)
        return node


@functools.cache
def _shape(parameters: str) -> tuple[int, int | None, Mapping[int, Constant]]:
    """The least and most numbers of arguments, and a sample of each option by its position."""
    parts = [part.strip() for part in parameters.split(",")] if parameters else []
    options = {
        i: constant(1 if "integer" in part else "i")
        for i, part in enumerate(parts)
        if OPTION in part
    }
    required = sum(part != REST and not part.startswith("[") for part in parts)
    return required, None if REST in parts else len(parts), options
