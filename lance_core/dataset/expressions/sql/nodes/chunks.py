"""Adapters that apply kernels for arrays to scalars, chunks and dictionaries."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.evaluate import evaluate
from lance_core.dataset.expressions.sql.nodes.node import (
    CallNode,
    ColumnNode,
    Datum,
    Node,
    PerEntry,
    call,
    with_nullable,
)
from lance_core.encodings.arrow.combine_chunks import combine_chunks


def by_chunk(kernel: Callable[[pa.Array], pa.Array]) -> functools.partial[Datum]:
    """``kernel``, which takes arrays only, as a kernel that also takes scalars."""
    return functools.partial(each_chunk, kernel=kernel)


def each_chunk(value: Datum, kernel: Callable[[pa.Array], pa.Array]) -> Datum:
    """The result of ``kernel``, which takes arrays only, for an array or a scalar."""
    if isinstance(value, pa.Scalar):
        return kernel(pa.repeat(value, 1))[0]
    return kernel(value)


def once_per_entry(node: Node, plan: Callable[[Node], Node]) -> Node | None:
    """The node of ``plan(node)`` that is computed once for each dictionary value, not each row.

    ``plan`` must map NULL to NULL. Returns None if ``node`` is not a dictionary column, or if the
    result of ``plan`` is a constant.
    """
    if not isinstance(node, ColumnNode) or not pa.types.is_dictionary(node.type):
        return None
    entries = plan(ColumnNode(("",), node.type.value_type, node.nullable))
    if not isinstance(entries, CallNode):
        return None
    per_row = call(PerEntry(entries), by_chunk(functools.partial(_entries, of_entry=entries)), node)
    return with_nullable(per_row, entries.nullable)


def _entries(chunk: pa.DictionaryArray, of_entry: Node) -> pa.Array:
    if len(chunk.dictionary) > len(chunk):  # such as one window of a column of distinct values
        return combine_chunks(evaluate(of_entry, pa.table({"": chunk.dictionary_decode()})))
    results = evaluate(of_entry, pa.table({"": chunk.dictionary}))
    return pc.take(combine_chunks(results), chunk.indices)
