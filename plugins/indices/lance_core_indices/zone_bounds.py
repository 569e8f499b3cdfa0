"""The least and greatest values of zones: how they are found, and which of them match a query.

Nulls and NaN have no place between the bounds of a zone. NaN as a zone's greatest value means that
it has NaN, of either sign, and that its greatest number is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import all_null, from_numpy, from_values, is_variable, numpy_dtype
from lance_core.hookspecs.indices import (
    IndexQuery,
    InRange,
    IsIn,
    StartsWith,
    is_orderable,
    searchable,
    sort_keys,
)
from lance_core_indices.zones import Positions, null_mask

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ZoneBounds:
    """The bounds of zones as keys of `sort_keys`.

    ``bounded``: positions of the zones with ``least`` and ``greatest``. ``unknown``: zones that may
    have any value. ``nans``: zones with NaN. ``numbers``: the keys of the infinities, between which
    all other floats are; None for other types.
    """

    bounded: Positions
    least: npt.NDArray[Any]
    greatest: npt.NDArray[Any]
    unknown: _Mask
    nans: _Mask
    numbers: tuple[Any, Any] | None

    @classmethod
    def of(cls, lower: pa.Array, upper: pa.Array, nans: _Mask) -> ZoneBounds:
        """The bounds of all zones, of which some have ``nans``.

        Raises `CorruptFileError` if they are in the wrong order.
        """
        value_type = lower.type
        has_least, has_greatest = (
            ~null_mask(bounds) & is_compared(value_type) for bounds in (lower, upper)
        )
        unknown = has_least != has_greatest
        if pa.types.is_fixed_size_binary(value_type):
            # Other writers leave out the bounds of this type.
            unknown |= ~has_least
        numbers = _infinities(value_type)
        bounded = np.flatnonzero(has_least & has_greatest)
        if len(bounded) < len(lower):
            chosen = [bounds.take(from_numpy(bounded)) for bounds in (lower, upper)]
        else:
            chosen = [lower, upper]
        least, greatest = (searchable(sort_keys(bounds)) for bounds in chosen)
        if numbers is not None:
            is_nan = _is_nan(searchable(sort_keys(upper)), numbers) & has_greatest
            nans = nans | is_nan
            unknown &= has_least | ~is_nan
            greatest = np.where(is_nan[bounded], numbers[1], greatest)
        if (least > greatest).any():
            number = int(bounded[np.flatnonzero(least > greatest)[0]])
            raise CorruptFileError(f"min is above max in zone {number}")
        return cls(bounded, least, greatest, unknown, nans, numbers)

    def may_match(self, query: IndexQuery) -> _Mask:
        """True for each zone that may have a value for which ``query`` is true."""
        if isinstance(query, IsIn):
            keys = np.sort(searchable(sort_keys(query.values)))
            below = np.searchsorted(keys, self.least)
            upto = np.searchsorted(keys, self.greatest, "right")
            return self._zones(upto > below, keys[0], keys[-1])
        if isinstance(query, StartsWith):
            prefix = query.prefix.encode()
            # No byte of UTF-8 is 0xFF.
            after = prefix[:-1] + bytes([prefix[-1] + 1])
            bounds = searchable(from_values([prefix, after], pa.binary()))
            return self._zones((self.greatest >= bounds[:1]) & (self.least < bounds[1:]))
        assert isinstance(query, InRange)
        return self._in_range(query)

    def _in_range(self, query: InRange) -> _Mask:
        may_match = np.ones(len(self.bounded), np.bool_)
        lower = upper = None
        if query.lower is not None:
            lower = _key(query.lower)
            may_match &= self.greatest >= lower if query.includes_lower else self.greatest > lower
        if query.upper is not None:
            upper = _key(query.upper)
            may_match &= self.least <= upper if query.includes_upper else self.least < upper
        return self._zones(may_match, lower, upper)

    def _zones(self, matching: _Mask, lower: Any = None, upper: Any = None) -> _Mask:
        """The ``bounded`` zones that are ``matching``, and those that are not known."""
        mask = self.unknown.copy()
        mask[self.bounded] |= matching
        if self.numbers is not None:
            low, high = self.numbers
            if lower is None or lower < low or upper is None or upper > high:
                mask |= self.nans
        return mask


def is_compared(type_: pa.DataType) -> bool:
    """True if the values of a type have bounds."""
    types = pa.types
    return is_orderable(type_) and not types.is_null(type_) and not types.is_dictionary(type_)


def no_bounds(type_: pa.DataType, count: int) -> pa.Array:
    """Bounds that mean nothing: nulls, but empty structs, since some files store no null struct."""
    return _zeros(type_, count) if pa.types.is_struct(type_) else all_null(type_, count)


def _zeros(type_: pa.DataType, count: int) -> pa.Array:
    """``count`` values that are not null: 0 or empty. Members of structs are null if they may."""
    types = pa.types
    if types.is_struct(type_):
        members = [
            all_null(member.type, count)
            if member.nullable and not types.is_struct(member.type)
            else _zeros(member.type, count)
            for member in type_
        ]
        return pa.StructArray.from_arrays(members, fields=list(type_))
    if types.is_fixed_size_list(type_):
        items = _zeros(type_.value_type, count * type_.list_size)
        return pa.FixedSizeListArray.from_arrays(items, type=type_)
    if types.is_list(type_) or types.is_large_list(type_) or types.is_map(type_):
        return pa.repeat(pa.scalar([], type_), max(1, count))[:count]
    return pa.Array.from_buffers(type_, count, [None, *all_null(type_, count).buffers()[1:]])


def _key(value: pa.Scalar) -> npt.NDArray[Any]:
    """The key of a value: an array, since numpy removes zero bytes from the end of a `bytes`."""
    return searchable(sort_keys(pa.repeat(value, 1)))


def _infinities(type_: pa.DataType) -> tuple[Any, Any] | None:
    """The keys of both infinities; None if the type has none."""
    if not pa.types.is_floating(type_):
        return None
    values = np.array([-np.inf, np.inf], numpy_dtype(type_))
    low, high = searchable(sort_keys(from_numpy(values)))
    return low, high


def _is_nan(keys: npt.NDArray[Any], infinities: tuple[Any, Any]) -> _Mask:
    return np.asarray((keys < infinities[0]) | (keys > infinities[1]))


def extremes(values: pa.Array, starts: Positions) -> tuple[pa.Array, pa.Array, Positions]:
    """The least and greatest value of each run of values, without NaN, and the numbers of NaN."""
    value_type, nans = values.type, np.zeros(len(starts), np.int64)
    if not is_compared(value_type) or not len(starts):
        nothing = no_bounds(value_type, len(starts))
        return nothing, nothing, nans
    types = pa.types
    if (
        is_variable(value_type)
        or types.is_fixed_size_binary(value_type)
        or types.is_decimal(value_type)
    ):
        return *_grouped_extremes(values, starts), nans
    keys, absent, infinities = (
        searchable(sort_keys(values)),
        null_mask(values),
        _infinities(value_type),
    )
    if infinities is not None:
        is_nan = _is_nan(keys, infinities) & ~absent
        nans = np.add.reduceat(is_nan, starts, dtype=np.int64)
        absent |= is_nan
    low = high = keys
    if values.null_count or nans.any():
        limits = np.iinfo(keys.dtype)
        low, high = (np.where(absent, limit, keys) for limit in (limits.max, limits.min))
    nothing = np.logical_and.reduceat(absent, starts)
    least, greatest = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
    return _from_keys(least, value_type, nothing), _from_keys(greatest, value_type, nothing), nans


def _grouped_extremes(values: pa.Array, starts: Positions) -> tuple[pa.Array, pa.Array]:
    lengths = np.diff(np.append(starts, len(values)))
    runs = np.repeat(np.arange(len(starts), dtype=np.int32), lengths)
    # Groups come in the order of their first rows.
    table = pa.table({"run": runs, "value": values}).group_by("run", use_threads=False)
    extremes = table.aggregate([("value", "min_max")])["value_min_max"].combine_chunks()
    return extremes.field("min"), extremes.field("max")


def _from_keys(keys: npt.NDArray[Any], type_: pa.DataType, absent: _Mask) -> pa.Array:
    """The values with keys of `sort_keys` that are integers, and null where they are absent."""
    if pa.types.is_boolean(type_):
        return from_numpy(keys.astype(np.bool_), absent)
    if pa.types.is_floating(type_):
        sign = keys >> np.array(8 * keys.itemsize - 1, keys.dtype)
        keys = keys ^ (sign & np.array(np.iinfo(keys.dtype).max, keys.dtype))
    return from_numpy(keys, absent).view(type_)


def with_nan(values: pa.Array, mask: _Mask) -> pa.Array:
    """``values``, but NaN where ``mask`` is True."""
    if not mask.any():
        return values
    absent = null_mask(values) & ~mask
    numbers = np.frombuffer(values.buffers()[1], numpy_dtype(values.type), len(values))
    return pa.array(np.where(mask, np.array(np.nan, numbers.dtype), numbers), mask=absent)
