"""``||``: texts, or bytes, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.node import Datum, Infix, Node, call, constant
from lance_core.dataset.expressions.sql.nodes.size_limit import check_added, scalar_bytes
from lance_core.dataset.expressions.sql.values.casts import cast
from lance_core.dataset.expressions.sql.values.coerce import converted, is_bytes, is_text, plain


def joined(nodes: Sequence[Node]) -> Node:
    """``||``: the concatenated texts, or bytes if all are; NULL if one is NULL."""
    nodes = [plain(node) for node in nodes]
    if all(is_bytes(node.type) for node in nodes):
        return call(Infix("||"), _joined, *[converted(node, pa.binary()) for node in nodes])
    return call(Infix("||"), _joined, *as_texts(nodes))


def as_texts(nodes: Sequence[Node]) -> list[Node]:
    """The nodes converted to one string type."""
    texts = [node if is_text(node.type) else cast(node, pa.string()) for node in nodes]
    kinds = {node.type for node in texts}
    return texts if len(kinds) == 1 else [converted(node, pa.large_string()) for node in texts]


def join_texts(what: str, *values: Datum) -> Datum:
    """The concatenated texts, for the function or operator ``what``."""
    rows = max((len(value) for value in values if not isinstance(value, pa.Scalar)), default=1)
    sizes = [
        scalar_bytes(value) * rows if isinstance(value, pa.Scalar) else value.nbytes
        for value in values
    ]
    check_added(what, sum(sizes) - max(sizes))
    return pc.binary_join_element_wise(*values, constant("", values[0].type).value)


def _joined(*values: Datum) -> Datum:
    return join_texts("||", *values)
