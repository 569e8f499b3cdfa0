"""The nodes of a planned SQL expression: columns, constants and calls of Arrow kernels.

`call` finds the type of a result by running the kernel on empty columns, so every node can be
evaluated on data of its columns' types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.concurrency.pools import check_not_abandoned
from lance_core.dataset.expressions.combine_chunks import with_few_chunks
from lance_core.dataset.expressions.sql.size_limit import (
    MAX_EVALUATED_BYTES,
    MAX_FOLDED_BYTES,
    LiveBytes,
    check_added,
    is_variable,
    scalar_bytes,
)
from lance_core.encodings.arrow.numpy_values import to_scalar
from lance_core.errors import InvalidInputError, ResultTooLargeError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.empty_arrays import empty_array, empty_batch, null_scalar

Datum = Any
"""An Arrow array or scalar.

Kernels never get chunked arrays: in Arrow 22 ``and_kleene``, ``or_kleene``, ``coalesce`` and
``if_else`` return wrong results for arguments whose chunks differ.
"""

Kernel = Callable[..., Datum]

Metadata = Mapping[bytes, bytes] | None
"""The metadata of an Arrow field."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnNode:
    """A stored value: ``path`` names a top-level column, then struct fields inside it.

    ``nullable`` and ``metadata`` come from the field; a child of a nullable struct is nullable.
    """

    path: tuple[str, ...]
    type: pa.DataType
    nullable: bool = True
    metadata: Metadata = None


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A value that does not depend on data.

    ``exact``: the exact value of a literal whose float ``value`` is rounded.
    """

    value: pa.Scalar
    exact: Fraction | None = None

    @property
    def type(self) -> pa.DataType:
        return self.value.type

    @property
    def is_null(self) -> bool:
        return not self.value.is_valid

    @property
    def nullable(self) -> bool:
        return self.is_null

    @property
    def metadata(self) -> Metadata:
        return None


@dataclass(frozen=True, slots=True, eq=False)
class CallNode:
    """A call of ``kernel`` with the values of ``arguments``.

    ``nullable`` and ``metadata`` describe the field that holds the result. ``condition``: a boolean
    node ("the value is not NULL") that replaces this one where SQL needs a boolean.
    """

    type: pa.DataType
    kernel: Kernel
    arguments: tuple[Node, ...]
    nullable: bool = True
    metadata: Metadata = None
    condition: Node | None = None


Node = ColumnNode | Constant | CallNode


def constant(value: Any, kind: pa.DataType | None = None) -> Constant:
    """A constant for a Python value."""
    return Constant(to_scalar(value, kind))


def unknown(text: str) -> CallNode:
    """A placeholder for a condition of which only ``text`` is known.

    No index can answer it, and it is never evaluated.

    Parts of conditions that another engine evaluates become such nodes.
    """
    return CallNode(pa.bool_(), partial(_refuse, text=text), ())


def _refuse(text: str) -> Datum:
    raise AssertionError(f"{text} is a condition of another engine")


def null(kind: pa.DataType) -> Constant:
    """A NULL constant of type ``kind``."""
    return Constant(null_scalar(kind))


def call(what: str, kernel: Kernel, *arguments: Node, kind: pa.DataType | None = None) -> Node:
    """A call node, or its value if all arguments are constants.

    ``what`` names the call in errors. ``kind``: the type of the result, for callers that have
    checked the types of the arguments. The result is nullable if an argument is, and has no
    metadata; `with_nullable` and `with_metadata` change this. Raises `InvalidInputError` if the
    kernel does not accept these types or constants.
    """
    values = [argument.value for argument in arguments if isinstance(argument, Constant)]
    try:
        if len(values) == len(arguments):
            folded = kernel(*values)
            if not is_variable(folded.type) or scalar_bytes(folded) <= MAX_FOLDED_BYTES:
                return Constant(folded)
            kind = folded.type
        if kind is None:
            kind = kernel(*[_sample(argument) for argument in arguments]).type
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        types = ", ".join(str(argument.type) for argument in arguments)
        raise InvalidInputError(f"{what} does not work on {types}") from error
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"{what}: {error}") from error
    return CallNode(kind, kernel, arguments, any(one.nullable for one in arguments))


def with_nullable(node: Node, nullable: bool) -> Node:
    """The node with ``nullable`` replaced; columns and constants are returned unchanged."""
    if not isinstance(node, CallNode) or node.nullable is nullable:
        return node
    return replace(node, nullable=nullable)


def with_metadata(node: Node, metadata: Metadata) -> Node:
    """The node with ``metadata`` replaced; constants are returned unchanged."""
    if not isinstance(node, CallNode) or node.metadata is metadata:
        return node
    return replace(node, metadata=metadata)


def with_condition(node: Node, condition: Node) -> Node:
    """The node with a `CallNode.condition`."""
    return replace(node, condition=condition) if isinstance(node, CallNode) else node


def _sample(node: Node) -> Datum:
    return node.value if isinstance(node, Constant) else empty_array(node.type)


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
    if len(batches) == 1 and data.nbytes <= MAX_EVALUATED_BYTES:
        return batches
    needed = data.select(list(dict.fromkeys(path[0] for path in paths([node]))))
    if needed.nbytes <= MAX_EVALUATED_BYTES:
        batches = with_few_chunks(needed).to_batches()
    else:
        batches = [part for batch in needed.to_batches() for part in _cut(batch)]
    return batches or [empty_batch(needed.schema)]


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows in batches of at most `MAX_EVALUATED_BYTES` each, or of one row."""
    if batch.num_rows < 2 or batch.nbytes <= MAX_EVALUATED_BYTES:
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
        one = waiting[-1]
        if id(one) not in done:
            if isinstance(one, CallNode):
                missing = [part for part in one.arguments if id(part) not in done]
                if missing:
                    waiting.extend(reversed(missing))
                    continue
                arguments = [done[id(part)] for part in one.arguments]
                if is_variable(one.type):
                    _check_repeated(arguments, data.num_rows)
                check_not_abandoned()
                done[id(one)] = one.kernel(*arguments)
                if is_variable(one.type):
                    live.add(id(one), done[id(one)])
                for part in one.arguments:
                    left[id(part)] -= 1
                    if not left[id(part)]:
                        del done[id(part)]
                        live.drop(id(part))
            else:
                done[id(one)] = one.value if isinstance(one, Constant) else _stored(one, data)
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
        one = waiting.pop()
        for part in one.arguments if isinstance(one, CallNode) else ():
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
    found: dict[tuple[str, ...], None] = {}
    waiting = list(reversed(nodes))
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, ColumnNode):
            found[node.path] = None
        elif isinstance(node, CallNode):
            waiting.extend(reversed(node.arguments))
    return tuple(found)
