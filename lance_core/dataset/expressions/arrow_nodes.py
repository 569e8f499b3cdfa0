"""Arrow expressions in the form of SQL conditions, in which indices find what they can answer.

Arrow cannot take an expression apart, but its serialised form can be read: an IPC file whose
metadata lists calls, columns and literals, and whose columns have the literals and options.

Arrow compares a column and a literal exactly, or fails for values that the common type does not
have. A part is translated only if its results are known: where it has a literal, that literal
exists in the type of the column. NaN is neither above nor below other numbers here.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.node import (
    CallNode,
    ColumnNode,
    Constant,
    HasPrefix,
    HasSubstring,
    HasSuffix,
    InList,
    Kernel,
    Node,
    Operator,
    unknown,
)
from lance_core.dataset.expressions.sql.operators import compare, like, logic, membership
from lance_core.dataset.expressions.sql.values.coerce import is_bytes, is_number, is_text
from lance_core.encodings.arrow.numpy_values import to_scalar
from lance_core.lazy_dataclass import dataclass

MATCHES_NULL = 0
"""The option of ``is_in`` that treats NULL like any other value: the result is never NULL."""


def node_of(expression: pc.Expression, schema: pa.Schema) -> Node:
    """Translate an Arrow expression to a SQL condition with the same results.

    Parts that SQL cannot express become `unknown`.
    """
    text = str(expression)
    try:
        parts, values = _serialised(expression)
    except pa.ArrowException:  # not all references to columns and options have such a form
        return unknown(text)
    calls = [_Call("")]
    for kind, value in parts:
        arguments = calls[-1].arguments
        if kind == "call":
            calls.append(_Call(value))
        elif kind == "end":
            node = _translated(calls.pop())
            calls[-1].arguments.append(unknown(text) if node is None else node)
        elif kind == "options":
            calls[-1].options = values.column(int(value))[0]
        elif kind == "literal":
            arguments.append(Constant(values.column(int(value))[0]))
        else:
            path = [value]
            if kind == "nested_field_ref":
                path = [name for _, name in itertools.islice(parts, int(value))]
            arguments.append(_column(schema, path) or unknown(text))
    return calls[0].arguments[0]


def _serialised(expression: pc.Expression) -> tuple[Iterator[tuple[str, str]], pa.RecordBatch]:
    """The parts of ``expression``, a call before its arguments, and its literals and options."""
    _, (data,) = expression.__reduce__()
    reader = pa.ipc.open_file(data)
    texts = (text.decode() for text in _metadata(reader.schema))
    return zip(texts, texts, strict=True), reader.get_batch(0)


def _metadata(schema: pa.Schema) -> Iterator[bytes]:
    """The keys and values of a schema's metadata, also of repeated keys, which a dictionary loses.

    They are read from the third pointer of the structure ``ArrowSchema`` of the C data interface.
    """
    capsule = schema.__arrow_c_schema__()
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    pointers = (ctypes.c_void_p * 3).from_address(pointer_of(capsule, b"arrow_schema"))
    address = pointers[2]
    assert address is not None, "a serialised expression has at least one part"
    (count,) = struct.unpack("=i", ctypes.string_at(address, 4))
    address += 4
    for _ in range(2 * count):
        (size,) = struct.unpack("=i", ctypes.string_at(address, 4))
        yield ctypes.string_at(address + 4, size)
        address += 4 + size


@dataclass(slots=True)
class _Call:
    function: str
    arguments: list[Node] = field(default_factory=list)
    options: pa.StructScalar | None = None


def _column(schema: pa.Schema, path: Sequence[str]) -> ColumnNode | None:
    """The column at ``path``, None if there is not exactly one."""
    fields = list(schema)
    type_ = None
    for name in path:
        types = [field.type for field in fields if field.name == name]
        if len(types) != 1:
            return None
        type_ = types[0]
        fields = list(type_) if pa.types.is_struct(type_) else []
    return ColumnNode(tuple(path), type_)


def _called(operator: Operator, kernel: Kernel, *arguments: Node) -> Node:
    return CallNode(pa.bool_(), operator, kernel, arguments)


def _translated(call: _Call) -> Node | None:
    """The node with the results of ``call``, None if there is none."""
    arguments = call.arguments
    if call.function in _LOGIC:
        return _called(*_LOGIC[call.function], *arguments)
    if len(arguments) == 2 and isinstance(arguments[1], ColumnNode):
        arguments = arguments[::-1]
        call = _Call(_SWAPPED.get(call.function, ""))
    rule, column = _RULES.get(call.function), arguments[0] if arguments else None
    if rule is None or not isinstance(column, ColumnNode):
        return None
    return rule(column, arguments[1:], call.options)


_LOGIC: Mapping[str, tuple[Operator, Kernel]] = {
    "and_kleene": (logic.AND, pc.and_kleene),
    "or_kleene": (logic.OR, pc.or_kleene),
    "invert": (logic.NOT, pc.invert),
}

_SWAPPED = {
    "equal": "equal",
    "not_equal": "not_equal",
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}

_OPERATORS = dict(zip(_SWAPPED, ("=", "<>", "<", "<=", ">", ">="), strict=True))

_Rest: TypeAlias = "Sequence[Node]"
_Options: TypeAlias = "pa.StructScalar | None"
_Rule: TypeAlias = "Callable[[ColumnNode, _Rest, _Options], Node | None]"


def _compared(operator: str) -> _Rule:
    """The rule of a comparison with a literal."""

    def rule(column: ColumnNode, rest: _Rest, options: _Options) -> Node | None:
        if len(rest) != 1 or not isinstance(rest[0], Constant) or rest[0].is_null:
            return None
        values = _as_stored(pa.array([rest[0].value]), column.type)
        if values is None:
            return None
        literal = Constant(values[0])
        if not pa.types.is_floating(column.type):
            kernel = compare.KERNELS[operator]
            return _called(compare.OPERATORS[operator], kernel, column, literal)
        comparison = _with_float(column, operator, literal)
        if operator in ("=", "<>"):
            return comparison
        # In SQL, NaN is above infinity, and below negative infinity with a sign.
        limit, bound = ("<=", "inf") if ">" in operator else (">=", "-inf")
        is_number = _with_float(column, limit, Constant(to_scalar(float(bound), column.type)))
        return _called(*_LOGIC["and_kleene"], comparison, is_number)

    return rule


def _with_float(column: ColumnNode, operator: str, literal: Constant) -> Node:
    kernel = functools.partial(compare.compare_with_float, operator=operator)
    return _called(compare.OPERATORS[operator], kernel, column, literal)


def _is_in(column: ColumnNode, rest: _Rest, options: _Options) -> Node | None:
    if options is None or options["null_matching_behavior"].as_py() != MATCHES_NULL:
        return None
    choices = options["value_set"].values
    values = _as_stored(choices.drop_null(), column.type)
    # Here, Arrow takes zeros with and without a sign for different values.
    if values is None or (pa.types.is_floating(values.type) and 0 in values.to_pylist()):
        return None
    kernel = functools.partial(membership.is_member, values=values, has_null=False)
    member = _called(InList(values, has_null=False), kernel, column)
    member = _called(logic.IS_TRUE, logic.known_true, member)
    if not choices.null_count:
        return member
    return _called(*_LOGIC["or_kleene"], member, _called(logic.IS_NULL, pc.is_null, column))


def _is_null(column: ColumnNode, rest: _Rest, options: _Options) -> Node | None:
    with_nan = options is None or options["nan_is_null"].as_py()
    if with_nan and pa.types.is_floating(column.type):
        return None
    return _called(logic.IS_NULL, pc.is_null, column)


def _is_valid(column: ColumnNode, rest: _Rest, options: _Options) -> Node | None:
    return _called(*_LOGIC["invert"], _called(logic.IS_NULL, pc.is_null, column))


def _searched(operator: type[HasPrefix | HasSuffix | HasSubstring]) -> _Rule:
    """The rule of a search for a text."""

    def rule(column: ColumnNode, rest: _Rest, options: _Options) -> Node | None:
        if options is None or options["ignore_case"].as_py() or not is_text(column.type):
            return None
        return like.search(operator(options["pattern"].as_py()), column)

    return rule


_RULES: Mapping[str, _Rule] = {
    **{name: _compared(operator) for name, operator in _OPERATORS.items()},
    "is_in": _is_in,
    "is_null": _is_null,
    "is_valid": _is_valid,
    "starts_with": _searched(HasPrefix),
    "ends_with": _searched(HasSuffix),
    "match_substring": _searched(HasSubstring),
}
"""How a function with a column as first argument is translated."""


def _as_stored(values: pa.Array, type_: pa.DataType) -> pa.Array | None:
    """``values`` in the type of a column, None if a value is NaN or does not exist in the type."""
    if not _is_comparable(type_, values.type):
        return None
    try:
        stored = values.cast(type_)
        is_same = stored.cast(values.type).equals(values)  # False for NaN
    except pa.ArrowException:
        return None
    return stored if is_same else None


def _is_comparable(type_: pa.DataType, literal: pa.DataType) -> bool:
    """True if comparisons of the types are exact or fail."""
    if pa.types.is_decimal(type_) or pa.types.is_decimal(literal):
        # Decimals become floats beside a float, which rounds them.
        return is_number(type_) and is_number(literal) and not _has_float(type_, literal)
    if pa.types.is_timestamp(type_) and pa.types.is_timestamp(literal):
        return (type_.tz is None) == (literal.tz is None)
    return any(family(type_) and family(literal) for family in _FAMILIES)


def _has_float(*kinds: pa.DataType) -> bool:
    return any(map(pa.types.is_floating, kinds))


_FAMILIES: Sequence[Callable[[Any], bool]] = (
    *(is_number, is_text, is_bytes, pa.types.is_boolean),
    *(pa.types.is_date, pa.types.is_time, pa.types.is_duration),
)
