"""Kernels that are written for arrays, on scalars as well."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.combine_chunks import combine_chunks
from lance_core.dataset.expressions.sql.node import (
    CallNode,
    ColumnNode,
    Datum,
    Node,
    call,
    evaluate,
    with_nullable,
)


def by_chunk(kernel: Callable[[pa.Array], pa.Array]) -> functools.partial[Datum]:
    """The kernel for arrays and scalars."""
    return functools.partial(_each_chunk, kernel=kernel)


def _each_chunk(value: Datum, kernel: Callable[[pa.Array], pa.Array]) -> Datum:
    if isinstance(value, pa.Scalar):
        return kernel(pa.repeat(value, 1))[0]
    return kernel(value)


def once_per_entry(node: Node, plan: Callable[[Node], Node]) -> Node | None:
    """What ``plan`` makes of a dictionary column, reckoned on the entries of its dictionaries.

    ``plan`` must give NULL for NULL. None if the node is no dictionary column or ``plan`` does not
    depend on it.
    """
    if not isinstance(node, ColumnNode) or not pa.types.is_dictionary(node.type):
        return None
    entries = plan(ColumnNode(("",), node.type.value_type, node.nullable))
    if not isinstance(entries, CallNode):
        return None
    found = call("dictionary", by_chunk(functools.partial(_entries, of_entry=entries)), node)
    return with_nullable(found, entries.nullable)


def _entries(chunk: pa.DictionaryArray, of_entry: Node) -> pa.Array:
    found = evaluate(of_entry, pa.table({"": chunk.dictionary}))
    return pc.take(combine_chunks(found), chunk.indices)
