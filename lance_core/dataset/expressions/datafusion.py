"""DataFusion, an optional query engine: queries, and functions that are handed on to it.

This is the only module that imports DataFusion's package.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.concurrency.pools import run_interruptibly
from lance_core.dataset.expressions.sql.nodes.node import Datum
from lance_core.dataset.expressions.sql.nodes.size_limit import (
    check_added,
    is_variable,
    scalar_bytes,
)
from lance_core.errors import (
    InvalidInputError,
    LanceError,
    ResultTooLargeError,
    UnsupportedFeatureError,
)
from lance_core.schema.empty_arrays import empty_batch

INSTALL = 'pip install "lance-core[datafusion]"'
"""The command that installs the engine."""

_OPTIONS = {
    # The rows of a call keep their order.
    "datafusion.execution.target_partitions": "1",
}
_TABLE, _VALUE, _ROWS = "t", "value", "__rows"


def engine() -> Any:
    """The module `datafusion`, None if it is not installed."""
    try:
        import datafusion
    except ImportError:
        return None
    return datafusion


def call_engine(*values: Datum, name: str) -> Datum:
    """The kernel of a function that DataFusion evaluates: ``name`` of ``values``.

    Only these values reach the engine, never a text of the user. Raises `UnsupportedFeatureError`
    if DataFusion is not installed, `InvalidInputError` for arguments that it refuses.
    """
    if engine() is None:
        raise UnsupportedFeatureError(f"the function {name} needs DataFusion: {INSTALL}")
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
    with engine_errors(name):
        result = run_interruptibly(partial(_called, expression, pa.table(columns)))
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
    kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return len(array) + _num_leaves(array.flatten())
    return int(array.nbytes) if is_variable(kind) else len(array)


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
    context = session(_OPTIONS)
    batches = data.to_batches() or [empty_batch(data.schema)]
    context.register_record_batches(_TABLE, [batches])
    return context.table(_TABLE)


def _empty(frame: Any, call: Any) -> pa.Array:
    kind = frame.select(call.alias(_VALUE)).schema().field(0).type
    return _without_views(pa.array([], kind))


def _without_views(array: pa.Array) -> pa.Array:
    """``array`` with plain strings and bytes, of which all kernels know."""
    kind = _plain(array.type)
    return array if kind == array.type else array.cast(kind)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    return kind


MIN_QUERY_BYTES = 1 << 30
"""Memory that the operators of a query may always use together."""


def query_memory() -> int:
    """Bytes that the operators of a query may use: half of the machine's memory.

    Sorts, aggregates and some joins write to temporary files beyond their part of it.
    """
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        physical = 0
    return max(physical // 2, MIN_QUERY_BYTES)


def session(options: dict[str, str], memory: int | None = None) -> Any:
    """A new session of DataFusion, whose operators use at most ``memory`` bytes."""
    datafusion = engine()
    config = datafusion.SessionConfig()
    for name, value in options.items():
        config = config.set(name, value)
    if memory is None:
        return datafusion.SessionContext(config)
    runtime = datafusion.RuntimeEnvBuilder().with_disk_manager_os().with_fair_spill_pool(memory)
    return datafusion.SessionContext(config, runtime)


@contextlib.contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Translate errors of the engine to `InvalidInputError`; ours stay.

    A query that needs more than its memory raises `ResultTooLargeError`.
    """
    try:
        yield
    except (LanceError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # the engine has no class of its own; a panic is no Exception
        first = str(error).split("\n", maxsplit=1)[0]
        if "Resources exhausted" in first:
            raise ResultTooLargeError(f"{what}: {first}") from error
        raise InvalidInputError(f"{what}: {first}") from error
