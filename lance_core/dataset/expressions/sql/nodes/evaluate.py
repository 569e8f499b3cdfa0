"""Evaluate planned expressions on the rows of a table, each node once and in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.concurrency.pools import check_not_abandoned
from lance_core.dataset.expressions.sql.nodes.node import (
    CallNode,
    ColumnNode,
    Constant,
    Datum,
    Node,
)
from lance_core.dataset.expressions.sql.nodes.size_limit import (
    MAX_EVALUATED_BYTES,
    LiveBytes,
    check_added,
    is_variable,
    scalar_bytes,
)
from lance_core.encodings.arrow.combine_chunks import with_few_chunks
from lance_core.encodings.arrow.dictionary_items import bytes_of_rows
from lance_core.errors import InvalidInputError, ResultTooLargeError, UnsupportedFeatureError
from lance_core.schema.empty_arrays import empty_array, empty_batch


def evaluate(node: Node, data: pa.Table) -> pa.ChunkedArray:
    """The node's value for each row of ``data``.

    Raises `InvalidInputError` if the evaluation fails for some value (overflow, division by zero,
    …), `ResultTooLargeError` if the result exceeds a limit of `size_limit`.
    """
    results, live = [], LiveBytes()
    with arrow_errors():
        for number, batch in enumerate(_batches(node, data)):
            results.append(_evaluated(node, batch))
            if is_variable(node.type) and not isinstance(node, ColumnNode):
                live.add(number, results[-1])
        return pa.chunked_array(results)


def _batches(node: Node, data: pa.Table) -> list[pa.RecordBatch]:
    """The rows of ``data`` in at least one batch; of several batches, only the node's columns."""
    batches: list[pa.RecordBatch] = data.to_batches()
    if len(batches) == 1 and bytes_of_rows(data) <= MAX_EVALUATED_BYTES:
        return batches
    needed = data.select(list(dict.fromkeys(path[0] for path in paths([node]))))
    if bytes_of_rows(needed) <= MAX_EVALUATED_BYTES:
        batches = with_few_chunks(needed).to_batches()
    else:
        batches = [part for batch in needed.to_batches() for part in _cut(batch)]
    return batches or [empty_batch(needed.schema)]


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows in batches of at most `MAX_EVALUATED_BYTES` each, or of one row."""
    if batch.num_rows < 2 or bytes_of_rows(batch) <= MAX_EVALUATED_BYTES:
        yield batch
        return
    middle = batch.num_rows // 2
    yield from _cut(batch.slice(0, middle))
    yield from _cut(batch.slice(middle))


def _evaluated(node: Node, data: pa.RecordBatch) -> pa.Array:
    result = _value(node, data)
    if not isinstance(result, pa.Scalar):
        return result
    if not data.num_rows:
        return empty_array(result.type)  # Arrow repeats no list zero times
    if is_variable(result.type):
        check_added("a constant", scalar_bytes(result) * data.num_rows)
    return pa.repeat(result, data.num_rows)


@contextmanager
def arrow_errors() -> Iterator[None]:
    """Translate Arrow's errors into `lance_core.errors`."""
    try:
        yield
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise UnsupportedFeatureError(f"cannot evaluate the expression: {error}") from error
    except (pa.ArrowCapacityError, pa.ArrowMemoryError) as error:
        raise ResultTooLargeError(f"cannot evaluate the expression: {error}") from error
    except (pa.ArrowInvalid, pa.ArrowIndexError) as error:
        raise InvalidInputError(f"cannot evaluate the expression: {error}") from error


def _value(node: Node, data: pa.RecordBatch) -> Datum:
    """The value of ``node``. Computes each node once and keeps the value until its last use.

    Uses a loop, not recursion: an expression may be deeper than Python's stack.
    """
    left = _uses(node)
    live = LiveBytes()
    done: dict[int, Datum] = {}
    waiting = [node]
    while waiting:
        current = waiting[-1]
        if id(current) not in done:
            if isinstance(current, CallNode):
                missing = [part for part in current.arguments if id(part) not in done]
                if missing:
                    waiting.extend(reversed(missing))
                    continue
                arguments = [done[id(part)] for part in current.arguments]
                if is_variable(current.type):
                    _check_repeated(arguments, data.num_rows)
                check_not_abandoned()
                done[id(current)] = current.kernel(*arguments)
                if is_variable(current.type):
                    live.add(id(current), done[id(current)])
                for part in current.arguments:
                    left[id(part)] -= 1
                    if not left[id(part)]:
                        del done[id(part)]
                        live.drop(id(part))
            else:
                done[id(current)] = (
                    current.value if isinstance(current, Constant) else _stored(current, data)
                )
        waiting.pop()
    return done[id(node)]


def _check_repeated(arguments: Sequence[Datum], num_rows: int) -> None:
    """Raise `ResultTooLargeError` if a constant argument, repeated for each row, is too large."""
    constants = [value for value in arguments if isinstance(value, pa.Scalar)]
    if constants and len(constants) < len(arguments):
        count = sum(scalar_bytes(value) for value in constants if is_variable(value.type))
        check_added("a constant", count * num_rows)


def _uses(node: Node) -> dict[int, int]:
    """The number of calls below ``node`` that have each node as an argument, by ``id``."""
    counts: dict[int, int] = {}
    waiting = [node]
    while waiting:
        current = waiting.pop()
        for part in current.arguments if isinstance(current, CallNode) else ():
            if id(part) not in counts:
                waiting.append(part)
            counts[id(part)] = counts.get(id(part), 0) + 1
    return counts


def _stored(node: ColumnNode, data: pa.RecordBatch) -> pa.Array:
    column = data.column(node.path[0])
    for name in node.path[1:]:
        column = pc.struct_field(column, name)
    return column


def paths(nodes: Sequence[Node]) -> tuple[tuple[str, ...], ...]:
    """The paths of the distinct columns that ``nodes`` need, in order of first use."""
    distinct: dict[tuple[str, ...], None] = {}
    waiting = list(reversed(nodes))
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, ColumnNode):
            distinct[node.path] = None
        elif isinstance(node, CallNode):
            waiting.extend(reversed(node.arguments))
    return tuple(distinct)
