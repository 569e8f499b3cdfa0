"""Conditions and new values, as SQL text or as columns of Spark's DataFrame API.

Spark resolves and evaluates them, so they have the meaning that they have in Spark.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import pyspark.sql.functions as sf
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import types as st

from lance_core.errors import InvalidInputError, InvalidTypeError, SchemaMismatchError
from lance_core.hookspecs.options import hint
from lance_core.schema import format_path, parse_path
from lance_core_spark.types.spark_types import is_compatible

Expression: TypeAlias = str | Column

_STAR = re.compile(r"\*\s*(?:\)|,|$|except\b)|unresolvedstar|\.\.\.", re.IGNORECASE)
"""A star for all columns, which is not followed by an operand, or a text that is cut off."""


def as_column(expression: object, what: str) -> Column:
    """``expression`` as a column; ``what`` names it in errors.

    Raises `InvalidTypeError` for other types and `InvalidInputError` for empty text. Spark parses
    SQL later, when it resolves it.
    """
    if isinstance(expression, Column):
        return expression
    if not isinstance(expression, str):
        raise InvalidTypeError(
            f"{what} must be SQL text or a Column of Spark, not {type(expression).__name__}"
        )
    if not expression.strip():
        raise InvalidInputError(f"{what} is empty")
    return sf.expr(expression)


def checked_assignments(values: object, what: str) -> dict[str, Expression]:
    """The new values of columns, by the names that the user gave.

    Raises `InvalidTypeError` unless ``values`` maps text to expressions, and `InvalidInputError` if
    it is empty.
    """
    if not isinstance(values, Mapping):
        raise InvalidTypeError(
            f"{what} must map names of columns to SQL or columns, not {type(values).__name__}"
        )
    if not values:
        raise InvalidInputError(f"{what} is empty: name at least one column")
    for name, value in values.items():
        as_column(value, f"{what}: the value of {name!r}")
    return dict(values)


@contextlib.contextmanager
def analysed(what: str, names: Sequence[str] = ()) -> Iterator[None]:
    """A context in which Spark's errors about an expression are raised as `InvalidInputError`.

    ``names``: the columns that the expression may use, for a suggestion.
    """
    try:
        yield
    except AnalysisException as error:  # also of its parser
        parameters = error.getMessageParameters() or {}
        if (error.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
            missing = parameters.get("objectName", "").replace("`", "")
            similar = hint(missing.rpartition(".")[2], list(names)) if names else ""
            raise InvalidInputError(
                f"{what}: column {missing!r} does not exist{similar}"
            ) from error
        lines = (error.getMessage() or str(error)).strip().splitlines()
        raise InvalidInputError(f"{what}: {lines[0] if lines else 'malformed'}") from error


def mentioned(names: Sequence[str], expressions: Iterable[Expression]) -> list[str]:
    """The ``names`` that occur in the text of ``expressions``, at least those that they need."""
    texts = [str(expression).lower().replace("``", "`") for expression in expressions]
    if any(_STAR.search(text) for text in texts):
        return list(names)
    # A name that begins or ends in the middle of a word is part of another name.
    patterns = [re.compile(rf"(?:\b|(?<!\w)){re.escape(n.lower())}(?:\b|(?!\w))") for n in names]
    return [
        name
        for name, pattern in zip(names, patterns, strict=True)
        if any(pattern.search(text) for text in texts)
    ]


Path: TypeAlias = tuple[str, ...]
"""A column, and the members of structs that lead from it to a nested field."""


def resolve_paths(
    names: Iterable[str], types: Mapping[str, st.DataType], alias: str | None, what: str
) -> dict[Path, str]:
    """The columns of ``types`` or nested fields that ``names`` mean, each with its given name.

    Names may differ in case, and begin with the alias of the table. Raises `InvalidInputError` for
    unknown names, and if a column or field is given twice, or together with a part of it.
    """
    resolved: dict[Path, str] = {}
    for name in names:
        path = _resolve_path(name, types, alias, what)
        for other, text in resolved.items():
            shorter = min(len(path), len(other))
            if path[:shorter] == other[:shorter]:
                raise InvalidInputError(
                    f"{what}: column {format_path(path[:shorter])!r} gets two values, as "
                    f"{text!r} and as {name!r}"
                )
        resolved[path] = name
    return resolved


def _resolve_path(
    reference: object, types: Mapping[str, st.DataType], alias: str | None, what: str
) -> Path:
    if not isinstance(reference, str):
        raise InvalidTypeError(f"{what}: a column is named by text, not {type(reference).__name__}")
    texts = [reference]
    if alias is not None and reference.lower().startswith(f"{alias.lower()}."):
        texts.append(reference[len(alias) + 1 :])
    for text in texts:
        plain = text[1:-1].replace("``", "`") if re.fullmatch(r"`.*`", text) else text
        name = _same_name(plain, types)
        if name is not None:
            return (name,)
    for text in texts:
        path = parse_path(text)
        column = _same_name(path[0], types)
        if column is not None:
            return (column, *_members(path[1:], types[column], f"{what}: {reference!r}"))
    raise InvalidInputError(
        f"{what}: the table has no column {reference!r}{hint(reference, list(types))}"
    )


def _members(names: Sequence[str], spark: st.DataType, what: str) -> Iterator[str]:
    """The members of structs in ``spark`` that ``names`` mean."""
    for name in names:
        if not isinstance(spark, st.StructType):
            raise InvalidInputError(
                f"{what} is not the field of a struct; set the whole column, or a struct in it"
            )
        same = _same_name(name, spark.names)
        if same is None:
            raise InvalidInputError(f"{what}: there is no field {name!r}{hint(name, spark.names)}")
        yield same
        spark = spark[same].dataType


def _same_name(spelling: str, names: Iterable[str]) -> str | None:
    """The one of ``names`` that equals ``spelling``, or the only one that does in another case."""
    names = list(names)
    if spelling in names:
        return spelling
    same = [name for name in names if name.lower() == spelling.lower()]
    return same[0] if len(same) == 1 else None


def assigned(
    frame: DataFrame,
    values: Mapping[Path, Column],
    types: Mapping[str, st.DataType],
    what: str,
    old: DataFrame | None = None,
) -> dict[str, Column]:
    """The new values of the columns of a table with ``types``, cast as Spark does to store them.

    The other members of a struct with a new nested field have their values in ``old``; they are
    null in a struct that was null. Raises `SchemaMismatchError` for a type that is not stored in
    the column without an explicit cast, and `InvalidInputError` for columns that ``frame`` does not
    have.
    """
    with analysed(what, list(types)):
        numbered = [value.alias(f"_{i}") for i, value in enumerate(values.values())]
        schema = frame.select(*numbered).schema
    cast = {}
    for (path, value), field in zip(values.items(), schema, strict=True):
        target, name = _type_at(path, types), format_path(path)
        if _is_same(field.dataType, target):
            cast[path] = value
        elif _is_stored_as(field.dataType, target):
            cast[path] = _cast(frame, value, target, name)
        else:
            raise SchemaMismatchError(
                f"{what}: column {name!r} is {target.simpleString()}, its new value is "
                f"{field.dataType.simpleString()}: cast it"
            )
    columns = {path[0]: value for path, value in cast.items() if len(path) == 1}
    for name in {path[0]: None for path in cast if path[0] not in columns}:
        assert old is not None
        new = {path[1:]: value for path, value in cast.items() if path[0] == name}
        columns[name] = _with_fields(old[quoted(name)], types[name], new)
        stored = frame.select(columns[name]).schema[0].dataType
        if not _is_same(stored, types[name]):
            raise SchemaMismatchError(
                f"{what}: nested fields of column {name!r} cannot be set, because it is read as "
                f"{stored.simpleString()}; set the whole column"
            )
    return columns


def _type_at(path: Path, types: Mapping[str, st.DataType]) -> st.DataType:
    member_type = types[path[0]]
    for name in path[1:]:
        assert isinstance(member_type, st.StructType)
        member_type = member_type[name].dataType
    return member_type


def _with_fields(old: Column, spark: st.DataType, new: Mapping[Path, Column]) -> Column:
    """The struct ``old`` with the values ``new`` of nested fields."""
    if () in new:
        return new[()]
    if not new:
        return old
    assert isinstance(spark, st.StructType)
    members = []
    for member in spark:
        inner = {path[1:]: value for path, value in new.items() if path[0] == member.name}
        before = old.getField(member.name)
        members.append(_with_fields(before, member.dataType, inner).alias(member.name))
    return sf.struct(*members)


def quoted(name: str) -> str:
    """The column name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def _cast(frame: DataFrame, value: Column, target: st.DataType, name: str) -> Column:
    """``value`` as ``target``; a value outside of the type is an error in every mode of Spark."""
    if frame.sparkSession.conf.get("spark.sql.ansi.enabled") == "true":
        return value.cast(target)
    cast = value.try_cast(target)
    failure = sf.raise_error(sf.lit(f"column {name!r}: a value does not fit the column's type"))
    return sf.when(value.isNull() | cast.isNotNull(), cast).otherwise(failure.cast(target))


def _is_same(source: st.DataType, target: st.DataType) -> bool:
    both = (source, target), (target, source)
    return all(is_compatible(left, right, check_nulls=False) for left, right in both)


_NUMBERS = (st.NumericType,)
_DATES = (st.DateType, st.TimestampType, st.TimestampNTZType)


def _is_stored_as(source: st.DataType, target: st.DataType) -> bool:
    """True if Spark casts ``source`` by itself when it stores it as ``target``."""
    if isinstance(source, st.NullType) or source == target:
        return True
    for group in (_NUMBERS, _DATES):
        if isinstance(source, group) and isinstance(target, group):
            return True
    if isinstance(target, st.StringType):
        return isinstance(source, st.AtomicType) and not isinstance(source, st.BinaryType)
    if isinstance(source, st.ArrayType) and isinstance(target, st.ArrayType):
        return _is_stored_as(source.elementType, target.elementType)
    if isinstance(source, st.StructType) and isinstance(target, st.StructType):
        return source.names == target.names and all(
            _is_stored_as(member.dataType, target_member.dataType)
            for member, target_member in zip(source, target, strict=True)
        )
    return False
