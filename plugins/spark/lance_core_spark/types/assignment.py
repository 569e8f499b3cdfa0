"""Implicit casts: which columns of a data frame can be stored in which columns of a table.

A cast that keeps all values is always made. With checked casts, numbers may also be stored in
narrower types; then a value that does not fit fails its task, see `convert`.
"""

from __future__ import annotations

from pyspark.sql import types as st

from lance_core.errors import SchemaMismatchError
from lance_core.hookspecs.options import hint
from lance_core.schema import format_path

_DIGITS: dict[type[st.DataType], int] = {
    st.ByteType: 3,
    st.ShortType: 5,
    st.IntegerType: 10,
    st.LongType: 19,
}
"""Integer types, from narrow to wide, with the digits of their greatest value."""

_EXACT_IN: dict[type[st.DataType], tuple[type[st.DataType], ...]] = {
    st.FloatType: (st.ByteType, st.ShortType),
    st.DoubleType: (st.ByteType, st.ShortType, st.IntegerType, st.FloatType),
}
"""Types whose values are exact as floating point numbers of the key."""

_PARAMETERS_DO_NOT_MATTER = (st.StringType, st.DayTimeIntervalType, st.TimeType)
"""Types whose parameters (collation, fields, precision) change no stored value."""


def check_assignable(
    source: st.DataType, target: st.DataType, path: tuple[str, ...], checked: bool = False
) -> None:
    """Raise `SchemaMismatchError`, naming the column, unless ``source`` fits into ``target``.

    Members of structs are matched by name; nullable ones may be missing. Nulls are checked when the
    rows are written.
    """
    if isinstance(target, st.StructType) and isinstance(source, st.StructType):
        _check_members(source, target, path, checked)
    elif isinstance(target, st.ArrayType) and isinstance(source, st.ArrayType):
        check_assignable(source.elementType, target.elementType, (*path, "element"), checked)
    elif isinstance(target, st.MapType) and isinstance(source, st.MapType):
        check_assignable(source.keyType, target.keyType, (*path, "key"), checked)
        check_assignable(source.valueType, target.valueType, (*path, "value"), checked)
    elif not _is_assignable(source, target) and not (checked and _are_numbers(source, target)):
        more = ""
        if _are_numbers(source, target):
            more = ", or set the option 'casts' to 'checked' if all values fit"
        raise SchemaMismatchError(
            f"column {format_path(path)!r} is {source.simpleString()}, the table has it as "
            f"{target.simpleString()}: cast it before writing{more}"
        )


def _check_members(
    source: st.StructType, target: st.StructType, path: tuple[str, ...], checked: bool
) -> None:
    known = {member.name: member for member in target}
    for member in source:
        if member.name not in known:
            raise SchemaMismatchError(
                f"column {format_path(path)!r} of the table has no member {member.name!r}"
                f"{hint(member.name, known)}"
            )
        inner = known.pop(member.name).dataType
        check_assignable(member.dataType, inner, (*path, member.name), checked)
    for name, missing in known.items():
        if not missing.nullable:
            raise SchemaMismatchError(
                f"column {format_path((*path, name))!r} is missing and not nullable"
            )


def _is_assignable(source: st.DataType, target: st.DataType) -> bool:
    """True if every value of ``source`` is also one of ``target``."""
    if source == target or isinstance(source, st.NullType):
        return True
    if isinstance(source, st.DateType) and isinstance(target, st.TimestampNTZType):
        return True
    if isinstance(target, _PARAMETERS_DO_NOT_MATTER):
        return type(source) is type(target)
    if type(source) in _EXACT_IN.get(type(target), ()):
        return True
    if isinstance(target, st.DecimalType):
        whole, scale = _decimal_digits(source)
        return whole <= target.precision - target.scale and scale <= target.scale
    digits = _DIGITS.get(type(target))
    if digits is None:
        return False
    whole, scale = _decimal_digits(source)
    # The greatest number with as many digits as the greatest value may be above it.
    return scale == 0 and whole <= (digits if type(source) in _DIGITS else digits - 1)


def _decimal_digits(source: st.DataType) -> tuple[int, int]:
    """The digits before and after the point of integers and decimals; many for other types."""
    if isinstance(source, st.DecimalType):
        return source.precision - source.scale, source.scale
    return _DIGITS.get(type(source), 1 << 10), 0


def _are_numbers(source: st.DataType, target: st.DataType) -> bool:
    return isinstance(source, st.NumericType) and isinstance(target, st.NumericType)
