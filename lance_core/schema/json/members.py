"""Members of many binary JSON values at once: fields of objects, elements of arrays.

The layout is described in `binary`. All steps are numpy operations over all values; the cost
of a step is proportional to the number of members of the containers that it looks into.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

Int64Array = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NULL, STRING, NUMBER, FALSE, TRUE, CONTAINER = range(6)
"""Kinds of members."""

ESCAPED_STRING = 9
"""The kind of a string with lone surrogates, as `binary` describes it."""

ABSENT = 15
"""The kind of a value that does not exist; it is used only in memory."""

_SCALAR, _OBJECT, _ARRAY = 1, 2, 4
_COUNT, _LENGTH = 0x1FFFFFFF, 0x0FFFFFFF

_ENTRIES = 1 << 16
"""Fields whose entries are compared together, so that all intermediate arrays stay in a cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """JSON values at positions of one buffer.

    A value is the bytes from ``starts`` to ``ends`` of ``data``; its kind is in ``kinds``.
    """

    data: npt.NDArray[np.uint8]
    kinds: npt.NDArray[np.int64]
    starts: Int64Array
    ends: Int64Array

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def num_bytes(self) -> int:
        """The total size of the values in bytes."""
        return int((self.ends - self.starts)[self.exists].sum())

    @property
    def is_string(self) -> Mask:
        """True for strings, also those with lone surrogates."""
        mask: Mask = (self.kinds == STRING) | (self.kinds == ESCAPED_STRING)
        return mask

    @property
    def exists(self) -> Mask:
        """False where there is no value."""
        mask: Mask = self.kinds != ABSENT
        return mask

    def where(self, keep: Mask) -> Members:
        """The same values, absent where ``keep`` is false."""
        return Members(self.data, np.where(keep, self.kinds, ABSENT), self.starts, self.ends)

    def take(self, rows: npt.NDArray[np.integer]) -> Members:
        """The values at positions ``rows``."""
        return Members(self.data, self.kinds[rows], self.starts[rows], self.ends[rows])


def members_of(values: pa.Array) -> Members:
    """The values of a ``large_binary`` array; NULL is absent.

    Raises `CorruptFileError` for bytes that cannot be binary JSON.
    """
    count, first = len(values), values.offset
    _, offsets, body = values.buffers()
    bounds = np.frombuffer(offsets, np.int64, count + 1, first * 8) if count else np.zeros(1, int)
    data = np.frombuffer(body or b"", np.uint8)
    starts, ends = bounds[:-1], bounds[1:]
    valid = np.asarray(values.is_valid())
    _check(bool((ends - starts >= 4)[valid].all()), "ends within a header")
    members = Members(data, np.where(valid, CONTAINER, ABSENT), starts, ends)
    # A top-level scalar is wrapped in a container with one member. Point past its header and its
    # entry (4 bytes each), and take the kind and the length from the entry.
    scalar = np.flatnonzero(valid)
    scalar = scalar[_words(data, starts[scalar]) >> 29 == _SCALAR]
    if not len(scalar):
        return members
    _check(bool((ends[scalar] - starts[scalar] >= 8).all()), "ends within a header")
    entries = _words(data, starts[scalar] + 4)
    kinds, starts, ends = members.kinds.copy(), starts.copy(), ends.copy()
    kinds[scalar] = entries >> 28
    starts[scalar] += 8
    _check(bool((starts[scalar] + (entries & _LENGTH) <= ends[scalar]).all()), "ends early")
    ends[scalar] = starts[scalar] + (entries & _LENGTH)
    _check_kinds(kinds[scalar], TRUE)
    return Members(data, kinds, starts, ends)


def field(values: Members, name: bytes) -> Members:
    """The field ``name`` of each object; absent for other values."""
    rows, counts = _containers(values, _OBJECT)
    parts = []
    for count in np.unique(counts[counts > 0]).tolist():
        same_count = rows[counts == count]
        step = max(1, _ENTRIES // count)
        parts += [
            _field(values, same_count[start : start + step], count, name)
            for start in range(0, len(same_count), step)
        ]
    if not parts:
        return values.where(np.zeros(len(values), bool))
    return _at(
        values,
        np.concatenate([hits for hits, _ in parts]),
        concatenated(*(part for _, part in parts)),
    )


def _field(
    values: Members, rows: Int64Array, count: int, name: bytes
) -> tuple[Int64Array, Members]:
    """The objects among those at ``rows`` that have the field ``name``, and its values.

    All objects have ``count`` fields, so each array has a row for each field.
    """
    starts, ends = values.starts[rows], values.ends[rows]
    data_at = starts + 4 + 8 * count
    _check(bool((data_at <= ends).all()), "has too many members")
    entries = _windows(values.data, f"V{8 * count}", starts + 4).view(">u4")
    entries = entries.reshape(len(rows), 2 * count).T.astype(np.uint32, order="C")
    _check_keys(entries[:count])
    sizes = entries & _LENGTH
    stops = np.cumsum(sizes[:count], axis=0, dtype=np.int64)
    stops += data_at
    _check(bool((stops[-1] <= ends).all()), "ends within a key")
    numbers, columns = np.divmod(np.flatnonzero(sizes[:count] == len(name)), len(rows))
    if name:
        keys = _windows(values.data, f"S{len(name)}", stops[numbers, columns] - len(name))
        hits = np.flatnonzero(keys == name)
        numbers, columns = numbers[hits], columns[hits]
    begins = stops[-1][columns]
    for number in np.unique(numbers).tolist():
        same = slice(*np.searchsorted(numbers, (number, number + 1)))
        before = sizes[count : count + number, columns[same]]
        begins[same] += before.sum(axis=0, dtype=np.int64)
    stops_at = begins + sizes[count + numbers, columns]
    _check(bool((stops_at <= ends[columns]).all()), "ends within a value")
    kinds = (entries[count + numbers, columns] >> 28).astype(np.int64)
    _check_kinds(kinds, CONTAINER)
    return rows[columns], Members(values.data, kinds, begins, stops_at)


def element(values: Members, number: int) -> Members:
    """The element at ``number`` of each array; -1 is the last. Absent for other values."""
    rows, counts = _containers(values, _ARRAY)
    inside = _elements(values, rows, counts)
    position = counts + number if number < 0 else np.full(len(rows), number)
    has = (position >= 0) & (position < counts)
    firsts = np.cumsum(counts) - counts
    return _at(values, rows[has], inside.take((firsts + position)[has]))


def elements(values: Members) -> tuple[Int64Array, Members]:
    """The elements of all arrays, each with the position of its array in ``values``."""
    rows, counts = _containers(values, _ARRAY)
    inside = _elements(values, rows, counts)
    return np.repeat(rows, counts), inside


def object_members(values: Members) -> tuple[Int64Array, Members, Members]:
    """The fields of all objects: the position of the object, the key and the value of each."""
    rows, counts = _containers(values, _OBJECT)
    owner, keys = _keys(values, rows, counts)
    return rows[owner], keys, _object_values(values, rows, counts)


def concatenated(*parts: Members) -> Members:
    """The values of all parts, which share their buffer."""
    arrays = zip(*((part.kinds, part.starts, part.ends) for part in parts), strict=True)
    return Members(parts[0].data, *map(np.concatenate, arrays))


def is_array(values: Members) -> Mask:
    """True for arrays."""
    mask = np.zeros(len(values), bool)
    mask[_containers(values, _ARRAY)[0]] = True
    return mask


def lengths(values: Members) -> Int64Array:
    """The number of elements of each array, 0 for other values."""
    rows, counts = _containers(values, _ARRAY)
    member_counts = np.zeros(len(values), np.int64)
    member_counts[rows] = counts
    return member_counts


def _keys(values: Members, rows: Int64Array, counts: Int64Array) -> tuple[Int64Array, Members]:
    """The keys of the objects at ``rows``, each with the number of its object."""
    starts = values.starts[rows]
    _check(bool((starts + 4 + 8 * counts <= values.ends[rows]).all()), "has too many members")
    owner, number = _flat(counts)
    entries = _words(values.data, starts[owner] + 4 + 4 * number)
    _check_keys(entries)
    sizes = entries & _LENGTH
    begins = (starts + 4 + 8 * counts)[owner] + _sums_before(sizes, owner, counts)
    _check(bool((begins + sizes <= values.ends[rows][owner]).all()), "ends within a key")
    return owner, Members(values.data, entries >> 28, begins, begins + sizes)


def _object_values(values: Members, rows: Int64Array, counts: Int64Array) -> Members:
    owner, keys = _keys(values, rows, counts)
    starts = values.starts[rows]
    all_keys = np.bincount(owner, keys.ends - keys.starts, len(rows)).astype(np.int64)
    data_at = starts + 4 + 8 * counts + all_keys
    return _values(values, rows, starts + 4 + 4 * counts, data_at, counts)


def _elements(values: Members, rows: Int64Array, counts: Int64Array) -> Members:
    starts = values.starts[rows]
    _check(bool((starts + 4 + 4 * counts <= values.ends[rows]).all()), "has too many members")
    return _values(values, rows, starts + 4, starts + 4 + 4 * counts, counts)


def _containers(values: Members, kind: int) -> tuple[Int64Array, Int64Array]:
    """The positions of the objects or arrays in ``values``, and their numbers of members."""
    rows = np.flatnonzero(values.kinds == CONTAINER)
    _check(bool((values.ends[rows] - values.starts[rows] >= 4).all()), "ends within a header")
    headers = _words(values.data, values.starts[rows])
    container_kinds = headers >> 29
    _check(
        bool(((container_kinds == _OBJECT) | (container_kinds == _ARRAY)).all()),
        "has an invalid header",
    )
    is_kind = container_kinds == kind
    return rows[is_kind], headers[is_kind] & _COUNT


def _values(
    values: Members,
    rows: Int64Array,
    entries_at: Int64Array,
    data_at: Int64Array,
    counts: Int64Array,
) -> Members:
    """The members with ``counts`` entries from ``entries_at`` on and data from ``data_at`` on."""
    owner, number = _flat(counts)
    entries = _words(values.data, entries_at[owner] + 4 * number)
    lengths = entries & _LENGTH
    begins = data_at[owner] + _sums_before(lengths, owner, counts)
    _check(bool((begins + lengths <= values.ends[rows][owner]).all()), "ends within a value")
    kinds = entries >> 28
    _check_kinds(kinds, CONTAINER)
    return Members(values.data, kinds, begins, begins + lengths)


def _flat(counts: Int64Array) -> tuple[Int64Array, Int64Array]:
    """For each of ``counts[i]`` members: ``i``, and its number from 0."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)


def _sums_before(lengths: Int64Array, owner: Int64Array, counts: Int64Array) -> Int64Array:
    """The sum of the lengths of earlier members with the same owner."""
    before = np.cumsum(lengths) - lengths
    firsts = np.cumsum(counts) - counts
    has_any = counts > 0
    base = np.zeros(len(counts), np.int64)
    base[has_any] = before[firsts[has_any]]
    return before - base[owner]


def _at(values: Members, rows: Int64Array, members: Members) -> Members:
    """``members`` at the positions ``rows``, absent values elsewhere."""
    kinds = np.full(len(values), ABSENT, np.int64)
    starts, ends = np.zeros((2, len(values)), np.int64)
    kinds[rows], starts[rows], ends[rows] = members.kinds, members.starts, members.ends
    return Members(values.data, kinds, starts, ends)


def _words(data: npt.NDArray[np.uint8], positions: Int64Array) -> Int64Array:
    """The big-endian 32 bit integers at ``positions``."""
    return _windows(data, ">u4", positions).astype(np.int64)


def _windows(data: npt.NDArray[np.uint8], kind: str, positions: Int64Array) -> npt.NDArray[Any]:
    """The values of numpy's type ``kind`` at ``positions``."""
    # One value begins at every byte of this view, so a single gather reads all of its bytes.
    count = max(len(data) + 1 - np.dtype(kind).itemsize, 0)
    windows: npt.NDArray[Any] = np.ndarray((count,), kind, data, 0, (1,))
    return windows[positions]


def _check(fits: bool, reason: str) -> None:
    if not fits:
        raise CorruptFileError(f"binary JSON {reason}")


def _check_keys(entries: npt.NDArray[np.integer]) -> None:
    # The top bit only distinguishes the two kinds of strings.
    _check(bool(((entries >> 28) & 7 == STRING).all()), "has a key that is not a string")


def _check_kinds(kinds: Int64Array, highest: int) -> None:
    unknown = (kinds > highest) & (kinds != ESCAPED_STRING)
    if unknown.any():
        kind = kinds[unknown].max()
        raise UnsupportedFeatureError(f"binary JSON contains a value of unknown kind {kind}")
