"""Functions whose options, such as patterns and positions, are columns.

The kernels of these functions take options that are the same for all rows. `call_for_distinct`
calls them once for each distinct combination of options.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.evaluate import evaluate
from lance_core.dataset.expressions.sql.nodes.node import (
    ColumnNode,
    Constant,
    Datum,
    Node,
    call,
    constant,
    null,
    with_nullable,
)
from lance_core.dataset.expressions.sql.nodes.size_limit import check_added
from lance_core.dataset.expressions.sql.values.coerce import is_text
from lance_core.encodings.arrow.combine_chunks import combine_chunks
from lance_core.encodings.arrow.numpy_values import from_numpy

Plan = Callable[..., Node]


def call_for_distinct(
    what: str, plan: Plan, arguments: Sequence[Node], samples: Mapping[int, Constant]
) -> Node:
    """A call of ``plan`` for each distinct combination of options.

    ``samples``: a valid value of each option, by its position in ``arguments``. The result is NULL
    for rows that have a NULL among these. Raises the errors of ``plan`` for wrong types now, and
    those for values when they are evaluated.
    """
    options = tuple(i for i in samples if i < len(arguments))
    type_ = plan(*[_sample(node, samples.get(i)) for i, node in enumerate(arguments)]).type
    kernel = functools.partial(_each_distinct, name=what, plan=plan, options=options, type_=type_)
    return with_nullable(call(what, kernel, *arguments, kind=type_), True)


def _sample(node: Node, sample: Constant | None) -> Node:
    """``sample``, or a value of the type of ``node`` if that differs; no option stays as it is."""
    if sample is None or (isinstance(node, Constant) and not node.is_null):
        return node
    if pa.types.is_null(node.type) or (is_text(node.type) and is_text(sample.type)):
        return sample
    return constant(1, node.type) if pa.types.is_integer(node.type) else null(node.type)


def _each_distinct(
    *values: Datum, name: str, plan: Plan, options: tuple[int, ...], type_: pa.DataType
) -> Datum:
    lengths = [len(value) for value in values if not isinstance(value, pa.Scalar)]
    count = lengths[0] if lengths else 1
    chosen = [values[i] for i in options]
    codes, has_null = _codes(chosen, count)
    order = np.argsort(codes, kind="stable")
    order = order[~has_null[order]]
    edges = np.flatnonzero(np.diff(codes[order], prepend=-1, append=-1))
    parts: list[pa.Array] = []
    added = -sum(value.nbytes for value in values if not isinstance(value, pa.Scalar))
    for start, stop in itertools.pairwise(edges):
        parts.append(_one_combination(values, plan, options, order[start:stop], type_))
        # Each call keeps to the limit by itself; together they must as well.
        added += parts[-1].nbytes
        check_added(name, added)
    positions = np.zeros(count, np.int64)
    positions[order] = np.arange(len(order))
    joined = pa.concat_arrays(parts) if parts else pa.nulls(0, type_)
    result = joined.take(pa.array(positions, mask=has_null))
    return result if lengths else result[0]


def _codes(
    columns: Sequence[Datum], count: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """A number for each row that is equal for equal rows, and whether the row has a NULL."""
    codes = np.zeros(count, np.int64)
    has_null = np.zeros(count, bool)
    for column in columns:
        if isinstance(column, pa.Scalar):
            has_null |= not column.is_valid
            continue
        encoded = column.dictionary_encode()
        has_null |= np.asarray(encoded.indices.is_null())
        indices = np.asarray(pc.fill_null(encoded.indices, 0)).astype(np.int64)
        # Renumber after each column, so that the products stay small.
        codes = np.unique(codes * max(len(encoded.dictionary), 1) + indices, return_inverse=True)[1]
    return codes.reshape(-1), has_null


def _one_combination(
    values: Sequence[Datum],
    plan: Plan,
    options: tuple[int, ...],
    rows: npt.NDArray[np.int64],
    type_: pa.DataType,
) -> pa.Array:
    """The results for ``rows``, whose options are equal."""
    indices, first = from_numpy(rows), int(rows[0])
    columns: dict[str, pa.Array] = {}
    arguments: list[Node] = []
    for i, value in enumerate(values):
        if isinstance(value, pa.Scalar):
            arguments.append(Constant(value))
        elif i in options:
            arguments.append(Constant(value[first]))
        else:
            columns[str(i)] = value.take(indices)
            arguments.append(ColumnNode((str(i),), value.type))
    node = plan(*arguments)
    if isinstance(node, Constant):
        return pa.repeat(node.value, len(rows)).cast(type_)
    result = combine_chunks(evaluate(node, pa.table(columns)))
    return result if result.type == type_ else pc.cast(result, type_)
