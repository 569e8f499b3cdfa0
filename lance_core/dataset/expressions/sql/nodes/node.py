"""The nodes of a planned SQL expression: columns, constants and calls.

A call keeps its operator, which says what it means, and the Arrow kernel that evaluates it. `call`
finds the type of a result by running the kernel on empty columns, so every node can be evaluated on
data of its columns' types.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import pyarrow as pa

from lance_core.dataset.expressions.sql.nodes.size_limit import (
    MAX_FOLDED_BYTES,
    is_variable,
    scalar_bytes,
)
from lance_core.encodings.arrow.numpy_values import to_scalar
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.empty_arrays import empty_array, null_scalar

Datum = Any
"""An Arrow array or scalar.

Kernels never get chunked arrays: in Arrow 22 ``and_kleene``, ``or_kleene``, ``coalesce`` and
``if_else`` return wrong results for arguments whose chunks differ.
"""

Kernel = Callable[..., Datum]
"""A function of Arrow arrays or scalars, which returns one of them."""

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


@dataclass(frozen=True, slots=True)
class And:
    """AND of two conditions."""

    name: ClassVar[str] = "AND"


@dataclass(frozen=True, slots=True)
class Or:
    """OR of two conditions."""

    name: ClassVar[str] = "OR"


@dataclass(frozen=True, slots=True)
class Negation:
    """NOT of a condition."""

    name: ClassVar[str] = "NOT"


@dataclass(frozen=True, slots=True)
class NullTest:
    """IS NULL."""

    name: ClassVar[str] = "IS NULL"


@dataclass(frozen=True, slots=True)
class TruthTest:
    """IS TRUE or, if ``answer`` is False, IS FALSE: never NULL."""

    answer: bool

    @property
    def name(self) -> str:
        return "IS TRUE" if self.answer else "IS FALSE"


@dataclass(frozen=True, slots=True)
class AnswerUnlessNull:
    """``answer``, or NULL where the value is NULL: a comparison that all values answer alike."""

    answer: bool
    name: ClassVar[str] = "comparison"


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison by one of the signs = <> < <= > >= in SQL's order of values."""

    sign: str

    @property
    def name(self) -> str:
        return self.sign


@dataclass(frozen=True, slots=True, eq=False)
class InList:
    """The value is one of ``values``, which has its type; ``has_null``: so is NULL.

    Floats are equal if their bits are.
    """

    values: pa.Array
    has_null: bool
    name: ClassVar[str] = "IN"


@dataclass(frozen=True, slots=True)
class HasPrefix:
    """The text begins with ``text``."""

    text: str
    name: ClassVar[str] = "starts_with"


@dataclass(frozen=True, slots=True)
class HasSuffix:
    """The text ends with ``text``."""

    text: str
    name: ClassVar[str] = "ends_with"


@dataclass(frozen=True, slots=True)
class HasSubstring:
    """The text contains ``text``."""

    text: str
    name: ClassVar[str] = "contains"


@dataclass(frozen=True, slots=True)
class LikePattern:
    """The text matches a pattern of LIKE that is none of the simple searches above.

    ``pieces``: ``"%"`` and ``"_"`` for wildcards, ``"=text"`` for literal text.
    """

    pattern: str
    pieces: tuple[str, ...]
    ignore_case: bool

    @property
    def name(self) -> str:
        return "ILIKE" if self.ignore_case else "LIKE"


@dataclass(frozen=True, slots=True)
class RegexMatch:
    """The text contains a match of the regular expression ``pattern``."""

    pattern: str
    flags: str
    name: ClassVar[str] = "regexp_like"


@dataclass(frozen=True, slots=True, eq=False)
class HasItem:
    """``test`` is TRUE for an element of the list; the element is the only column of ``test``."""

    test: Node
    name: ClassVar[str] = "array_has"


@dataclass(frozen=True, slots=True, eq=False)
class PerEntry:
    """``result`` for each entry of a dictionary; the entry is the only column of ``result``."""

    result: Node
    name: ClassVar[str] = "dictionary"


@dataclass(frozen=True, slots=True)
class Infix:
    """Arithmetic, ``||`` or bits: the sign is between two arguments or before one."""

    sign: str

    @property
    def name(self) -> str:
        return self.sign


@dataclass(frozen=True, slots=True)
class Coerce:
    """The value in the type ``kind``, to which SQL converts it implicitly."""

    kind: pa.DataType

    @property
    def name(self) -> str:
        return f"cast to {self.kind}"


@dataclass(frozen=True, slots=True)
class CastTo:
    """CAST; if ``strict`` is False, TRY_CAST: NULL for values that ``kind`` does not have."""

    kind: pa.DataType
    strict: bool

    @property
    def name(self) -> str:
        return f"CAST as {self.kind}"


@dataclass(frozen=True, slots=True)
class CaseWhen:
    """The second argument where the first one is TRUE, otherwise the third one."""

    name: ClassVar[str] = "CASE"


@dataclass(frozen=True, slots=True)
class JsonField:
    """The field of a JSON document, the first argument, that the second one names.

    ``name``: the function, which names the type to which the field is converted.
    """

    name: str


JSON_POSITION = re.compile(r"\+?\d{1,9}")
"""Keys of `JsonField` that are the number of an element of a list."""


@dataclass(frozen=True, slots=True)
class Apply:
    """Another function.

    ``options``: arguments after those of the node that are the same for all rows; ``leading``:
    those before them. ``never_fails``: True if it has a result for all values of its type.
    """

    name: str
    options: tuple[object, ...] = ()
    leading: tuple[object, ...] = ()
    never_fails: bool = False


@dataclass(frozen=True, slots=True)
class Opaque:
    """A condition of which only ``text`` is known, which another engine evaluates."""

    text: str
    name: ClassVar[str] = "condition"


@dataclass(frozen=True, slots=True, eq=False)
class CallNode:
    """The value of ``operator`` for the values of ``arguments``, which ``kernel`` computes.

    ``nullable`` and ``metadata`` describe the field that holds the result. ``condition``: a boolean
    node ("the value is not NULL") that replaces this one where SQL needs a boolean.
    """

    type: pa.DataType
    operator: Operator
    kernel: Kernel
    arguments: tuple[Node, ...]
    nullable: bool = True
    metadata: Metadata = None
    condition: Node | None = None


Operator = (
    And
    | Or
    | Negation
    | NullTest
    | TruthTest
    | AnswerUnlessNull
    | Compare
    | InList
    | HasPrefix
    | HasSuffix
    | HasSubstring
    | LikePattern
    | RegexMatch
    | HasItem
    | PerEntry
    | Infix
    | Coerce
    | CastTo
    | CaseWhen
    | JsonField
    | Apply
    | Opaque
)
"""What a call means. `Apply` is enough for a function that no index and no statistics answer."""


def json_key(node: CallNode) -> str | None:
    """The constant key of a call of `JsonField`, which reads a field of its first argument.

    None for other calls, and for a key that is the number of an element.
    """
    if not isinstance(node.operator, JsonField):
        return None
    argument = node.arguments[1]
    key = argument.value.as_py() if isinstance(argument, Constant) else None
    return key if isinstance(key, str) and not JSON_POSITION.fullmatch(key) else None


_named = functools.lru_cache(maxsize=1024)(Apply)
"""Operators of functions without options, which have no state of their own."""

Node = ColumnNode | Constant | CallNode
"""A planned expression."""


def constant(value: Any, kind: pa.DataType | None = None) -> Constant:
    """A constant for a Python value."""
    return Constant(to_scalar(value, kind))


def unknown(text: str) -> CallNode:
    """A placeholder for a condition of which only ``text`` is known.

    No index can answer it, and it is never evaluated.

    Parts of conditions that another engine evaluates become such nodes.
    """
    return CallNode(pa.bool_(), Opaque(text), _refuse, ())


def _refuse() -> Datum:
    raise AssertionError("a condition of another engine")


def null(kind: pa.DataType) -> Constant:
    """A NULL constant of type ``kind``."""
    return Constant(null_scalar(kind))


def call(
    operator: Operator | str, kernel: Kernel, *arguments: Node, kind: pa.DataType | None = None
) -> Node:
    """A call node, or its value if all arguments are constants.

    ``operator``: a name stands for `Apply`. ``kind``: the type of the result, for callers that have
    checked the types of the arguments. The result is nullable if an argument is, and has no
    metadata; `with_nullable` and `with_metadata` change this. Raises `InvalidInputError` if the
    kernel does not accept these types or constants.
    """
    # This runs for each node of a condition: no comprehensions, which are calls of functions.
    samples: list[Datum] = []
    is_constant, nullable = True, False
    if isinstance(operator, str):
        operator = _named(operator)
    try:
        for argument in arguments:
            if isinstance(argument, Constant):
                samples.append(argument.value)
                nullable = nullable or not argument.value.is_valid
            else:
                is_constant = False
                nullable = nullable or argument.nullable
                samples.append(empty_array(argument.type) if kind is None else None)
        if is_constant:
            folded = kernel(*samples)
            if not is_variable(folded.type) or scalar_bytes(folded) <= MAX_FOLDED_BYTES:
                return Constant(folded)
            kind = folded.type
        elif kind is None:
            kind = kernel(*samples).type
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        types = ", ".join(str(argument.type) for argument in arguments)
        raise InvalidInputError(f"{operator.name} does not work on {types}") from error
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"{operator.name}: {error}") from error
    return CallNode(kind, operator, kernel, arguments, nullable)


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


def operands_of(node: Node, operator: type[And | Or]) -> Iterator[Node]:
    """The operands of nested calls of ``operator``, which may be deeper than Python's stack."""
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, CallNode) and isinstance(inner.operator, operator):
            waiting.extend(reversed(inner.arguments))
        else:
            yield inner
