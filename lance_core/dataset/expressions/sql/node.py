"""What a SQL expression becomes: columns, constants and calls of Arrow kernels.

The type of a call is found by running its kernel on empty columns, so a node that could be built
can be evaluated on data of its columns' types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.combine_chunks import with_few_chunks
from lance_core.dataset.expressions.sql.size_limit import (
    MAX_FOLDED_BYTES,
    LiveBytes,
    check_added,
    is_variable,
    scalar_bytes,
)
from lance_core.encodings.arrow.numpy_values import to_scalar
from lance_core.errors import InvalidInputError, ResultTooLargeError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.empty_arrays import empty_array, null_scalar

Datum = Any
"""An Arrow array or scalar.

No kernel is given a chunked array: in Arrow 22 ``and_kleene``, ``or_kleene``, ``coalesce``
and ``if_else`` of arguments whose chunks differ are wrong.
"""

Kernel = Callable[..., Datum]

Metadata = Mapping[bytes, bytes] | None
"""Of an Arrow field."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnNode:
    """A stored value: ``path`` names a top-level column, then struct fields inside it.

    ``nullable`` and ``metadata`` are those of the field; a member of a nullable struct is nullable.
    """

    path: tuple[str, ...]
    type: pa.DataType
    nullable: bool = True
    metadata: Metadata = None


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A value known before any data is read.

    ``exact``: the number as written, where ``value`` (a float) had to round it.
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
    """``kernel`` of the values of ``arguments``.

    ``nullable`` and ``metadata`` are those of the field that holds the result. ``condition``: a
    boolean node, whether the value is not NULL, that stands for it where TRUE or FALSE is needed.
    """

    type: pa.DataType
    kernel: Kernel
    arguments: tuple[Node, ...]
    nullable: bool = True
    metadata: Metadata = None
    condition: Node | None = None


Node = ColumnNode | Constant | CallNode


def constant(value: Any, kind: pa.DataType | None = None) -> Constant:
    """A constant of a Python value."""
    return Constant(to_scalar(value, kind))


def null(kind: pa.DataType) -> Constant:
    """NULL of a type."""
    return Constant(null_scalar(kind))


def call(what: str, kernel: Kernel, *arguments: Node, kind: pa.DataType | None = None) -> Node:
    """A call, or its value if all arguments are constants. ``what`` names it in errors.

    ``kind``: the type of the result, if it is known that the kernel takes these arguments.
    It is nullable if an argument is, and has no metadata: see `with_nullable`, `with_metadata`.
    Raises `InvalidInputError` if the kernel does not take these types or these constants.
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
    """The node as one that may be NULL, or never is. Columns and constants know it themselves."""
    return replace(node, nullable=nullable) if isinstance(node, CallNode) else node


def with_metadata(node: Node, metadata: Metadata) -> Node:
    """The node as the value of a field with ``metadata``; constants have none."""
    return replace(node, metadata=metadata) if isinstance(node, CallNode) else node


def with_condition(node: Node, condition: Node) -> Node:
    """The node as one that has a `Call.condition`."""
    return replace(node, condition=condition) if isinstance(node, CallNode) else node


def _sample(node: Node) -> Datum:
    return node.value if isinstance(node, Constant) else empty_array(node.type)


def evaluate(node: Node, data: pa.Table) -> pa.ChunkedArray:
    """The node's value for each row of ``data``.

    Raises `InvalidInputError` if the values do not allow it (overflow, division by zero, …).
    """
    with arrow_errors():
        return pa.chunked_array([_evaluated(node, batch) for batch in _batches(node, data)])


def _batches(node: Node, data: pa.Table) -> list[pa.RecordBatch]:
    """The rows of ``data``, at least one batch; of several batches only the columns of the node."""
    batches: list[pa.RecordBatch] = data.to_batches()
    if len(batches) == 1:
        return batches
    needed = data.select(list(dict.fromkeys(path[0] for path in paths([node]))))
    batches = with_few_chunks(needed).to_batches()
    return batches or [_no_rows(needed.schema)]


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    arrays = [empty_array(field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _evaluated(node: Node, data: pa.RecordBatch) -> pa.Array:
    result = _value(node, data)
    if not isinstance(result, pa.Scalar):
        return result
    if is_variable(result.type):
        check_added("a constant", scalar_bytes(result) * data.num_rows)
    return pa.repeat(result, data.num_rows)


@contextmanager
def arrow_errors() -> Iterator[None]:
    """Arrow's errors as this project's."""
    try:
        yield
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise UnsupportedFeatureError(f"cannot evaluate the expression: {error}") from error
    except (pa.ArrowCapacityError, pa.ArrowMemoryError) as error:
        raise ResultTooLargeError(f"cannot evaluate the expression: {error}") from error
    except (pa.ArrowInvalid, pa.ArrowIndexError) as error:
        raise InvalidInputError(f"cannot evaluate the expression: {error}") from error


def _value(node: Node, data: pa.RecordBatch) -> Datum:
    """The value of ``node``: that of each node below it once, kept until its last use.

    A loop: expressions may be deeper than Python's stack.
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
    """A kernel may put a constant into each row. Raises `ResultTooLargeError`."""
    constants = [value for value in arguments if isinstance(value, pa.Scalar)]
    if constants and len(constants) < len(arguments):
        count = sum(scalar_bytes(value) for value in constants if is_variable(value.type))
        check_added("a constant", count * num_rows)


def _uses(node: Node) -> dict[int, int]:
    """How often each node is an argument."""
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
    """The columns that ``nodes`` need, each once, in the order met."""
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
