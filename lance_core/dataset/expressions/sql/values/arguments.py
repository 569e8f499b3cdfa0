"""Checks of the arguments of functions; each raises an error that names the function, ``what``."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from lance_core.dataset.expressions.sql.nodes.node import Constant, Node, null
from lance_core.dataset.expressions.sql.values.coerce import is_text
from lance_core.errors import InvalidInputError, UnsupportedFeatureError


def text_argument(what: str, node: Node) -> Node:
    """The node if its type is a string; raises `InvalidInputError`, naming ``what``, otherwise."""
    if pa.types.is_null(node.type):
        return null(pa.string())
    if not is_text(node.type):
        raise InvalidInputError(f"{what} needs text, not {node.type}")
    return node


def literal_argument(what: str, node: Node, kind: type) -> Any:
    """The Python value of an argument that must be a literal of type ``kind``.

    Raises `UnsupportedFeatureError`, naming ``what``, otherwise.
    """
    value = node.value.as_py() if isinstance(node, Constant) else None
    if type(value) is not kind:
        kind_name = {str: "text", int: "integer"}[kind]
        raise UnsupportedFeatureError(f"{what} with an argument that is not a literal {kind_name}")
    return value
