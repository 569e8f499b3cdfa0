"""Fields of structs: of columns, and of computed values such as elements of lists."""

from __future__ import annotations

import functools

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.names import child
from lance_core.dataset.expressions.sql.nodes.node import (
    Apply,
    ColumnNode,
    Node,
    call,
    with_nullable,
)
from lance_core.error_texts.suggestions import no_field
from lance_core.errors import InvalidInputError


def field(node: Node, name: str) -> Node:
    """The field ``name`` of each struct; raises `InvalidInputError` if there is none."""
    if isinstance(node, ColumnNode):
        return child(node, name)
    if not pa.types.is_struct(node.type):
        raise InvalidInputError(f"values of type {node.type} have no field {name!r}")
    names = [node.type.field(i).name for i in range(node.type.num_fields)]
    if name not in names:
        raise InvalidInputError(no_field(name, names))
    kernel = functools.partial(pc.struct_field, indices=[names.index(name)])
    return with_nullable(call(Apply("get_field", (name,)), kernel, node), True)
