"""Functions that DataFusion evaluates, if the extra ``datafusion`` is installed.

A function is here if pylance has it, its result is at most as large as its arguments (constants
count once for each value), and a differential test holds it to pylance's results in all releases
of DataFusion that the extra allows. Its arguments are evaluated here; only their values reach the
engine.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import UnsupportedFeatureError
from lance_core.hookspecs.arrays import empty_batch
from lance_core.sql_functions import (
    Datum,
    Node,
    call,
    check_added,
    datafusion,
    is_variable,
    run_interruptibly,
    scalar_bytes,
    with_nullable,
)

_OPTIONS = {
    # The rows of a call keep their order.
    "datafusion.execution.target_partitions": "1",
}
_TABLE, _VALUE, _ROWS = "t", "value", "__rows"


def planned(*nodes: Node, name: str) -> Node:
    """A call of DataFusion's function ``name``."""
    return with_nullable(call(name, functools.partial(call_engine, name=name), *nodes), True)


def call_engine(*values: Datum, name: str) -> Datum:
    """The kernel of a function that DataFusion evaluates: ``name`` of ``values``.

    Only these values reach the engine, never a text of the user. Raises `UnsupportedFeatureError`
    if DataFusion is not installed, `InvalidInputError` for arguments that it refuses.
    """
    if datafusion.engine() is None:
        raise UnsupportedFeatureError(f"the function {name} needs DataFusion: {datafusion.INSTALL}")
    lengths = [len(value) for value in values if not isinstance(value, pa.Scalar)]
    if lengths and not lengths[0]:
        # Some functions fail for no rows, or return one.
        one_row = [v if isinstance(v, pa.Scalar) else pa.nulls(1, v.type) for v in values]
        return call_engine(*one_row, name=name)[:0]
    count = lengths[0] if lengths else 1
    _check_repeated(name, values, count)
    columns = {_ROWS: pa.nulls(count)}
    arguments = []
    for number, value in enumerate(values):
        text = _literal(value)
        if text is None:
            text = f"c{number}"
            columns[text] = pa.repeat(value, count) if isinstance(value, pa.Scalar) else value
        arguments.append(text)
    expression = f"{name}({', '.join(arguments)})"
    with datafusion.engine_errors(name):
        result = run_interruptibly(functools.partial(_called, expression, pa.table(columns)))
    return result if lengths else result[0]


def _called(expression: str, data: pa.Table) -> pa.Array:
    frame = _table(data)
    call = frame.parse_sql_expr(expression)
    batches = frame.select(call.alias(_VALUE)).collect()
    parts = [_without_views(batch.column(0)) for batch in batches if batch.num_rows]
    return pa.concat_arrays(parts) if parts else _empty(frame, call)


def _check_repeated(name: str, values: Sequence[Datum], count: int) -> None:
    """Raise `ResultTooLargeError` if texts, once for each value, exceed the limit of results.

    Functions of lists may repeat a constant for each element, those of texts for each byte. Only
    those in `_REPEATING` repeat the text of a column.
    """
    arrays = [value for value in values if not isinstance(value, pa.Scalar)]
    sizes = [scalar_bytes(value) for value in values if isinstance(value, pa.Scalar)]
    lists = [array for array in arrays if pa.types.is_nested(array.type)]
    if lists and any(part in name for part in _REPEATING):
        texts = [a for a in arrays if is_variable(a.type) and not pa.types.is_nested(a.type)]
        sizes += [pc.max(pc.binary_length(array)).as_py() or 0 for array in texts]
    leaves = max([count, *map(_num_leaves, lists or arrays)])
    check_added(name, sum(sizes) * leaves)


_REPEATING = ("replace", "to_string", "join")
"""Parts of the names of functions that write a text once for each element of a list."""


def _num_leaves(array: pa.Array) -> int:
    """The number of values in all lists; of texts, the bytes, which each may be a match."""
    data_type = array.type
    if (
        pa.types.is_list(data_type)
        or pa.types.is_large_list(data_type)
        or pa.types.is_fixed_size_list(data_type)
    ):
        return len(array) + _num_leaves(array.flatten())
    return int(array.nbytes) if is_variable(data_type) else len(array)


def _literal(value: Datum) -> str | None:
    """A constant as SQL text, so that the engine plans with its value; None for a column."""
    if not isinstance(value, pa.Scalar) or not value.is_valid:
        return None
    if pa.types.is_string(value.type) or pa.types.is_large_string(value.type):
        return "'" + str(value).replace("'", "''") + "'"
    if pa.types.is_boolean(value.type) or value.type == pa.int64():
        return str(value.as_py()).lower()
    return None


def _table(data: pa.Table) -> Any:
    context = datafusion.session(_OPTIONS)
    batches = data.to_batches() or [empty_batch(data.schema)]
    context.register_record_batches(_TABLE, [batches])
    return context.table(_TABLE)


def _empty(frame: Any, call: Any) -> pa.Array:
    data_type = frame.select(call.alias(_VALUE)).schema().field(0).type
    return _without_views(pa.array([], data_type))


def _without_views(array: pa.Array) -> pa.Array:
    """``array`` with plain strings and bytes, of which all kernels know."""
    data_type = _plain(array.type)
    return array if data_type == array.type else array.cast(data_type)


def _plain(data_type: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(data_type):
        return pa.string()
    if pa.types.is_binary_view(data_type):
        return pa.binary()
    if pa.types.is_list(data_type):
        return pa.list_(data_type.value_field.with_type(_plain(data_type.value_type)))
    return data_type
