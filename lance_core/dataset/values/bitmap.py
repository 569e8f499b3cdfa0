"""`Bitmap`: a set of non-negative integers of 32 bits, in ascending order."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, MutableSet
from typing import Any

import pyarrow as pa

from lance_core.errors import InvalidInputError


class Bitmap(MutableSet[int]):
    """A set of integers from 0 to 2**32 - 1, such as the ids of fragments.

    The operators and methods of sets take any iterable of integers as the other set; an iterable
    with the same numbers, in any order, is equal. Raises `InvalidInputError` for other numbers,
    ``TypeError`` for other values.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Iterable[int] | pa.Array | pa.ChunkedArray | None = None) -> None:
        self._values: set[int] = set()
        self.update(() if values is None else values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, value: object) -> bool:
        return value in self._values

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._values))

    def __repr__(self) -> str:
        return f"Bitmap({{{', '.join(map(str, self))}}})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Iterable) and set(other) == self._values

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def __le__(self, other: Iterable[int]) -> bool:
        return self._values <= set(other)

    def __lt__(self, other: Iterable[int]) -> bool:
        return self._values < set(other)

    def __ge__(self, other: Iterable[int]) -> bool:
        return self._values >= set(other)

    def __gt__(self, other: Iterable[int]) -> bool:
        return self._values > set(other)

    def __reduce__(self) -> tuple[Any, ...]:
        return Bitmap, (list(self),)

    def add(self, value: int) -> None:
        """Add a number."""
        self.update((value,))

    def discard(self, value: int) -> None:
        """Remove a number, if it is there."""
        self._values.discard(value)

    def pop(self) -> int:
        """Remove the smallest number, and return it; raises ``KeyError`` if there is none."""
        value = min(self._values, default=None)
        if value is None:
            raise KeyError("pop from an empty Bitmap")
        self._values.remove(value)
        return value

    def update(self, values: Iterable[int] | pa.Array | pa.ChunkedArray) -> None:
        """Add all ``values``."""
        if isinstance(values, pa.Array | pa.ChunkedArray):
            values = values.to_pylist()
        numbers = set(map(operator.index, values))
        wrong = [number for number in numbers if not 0 <= number < 1 << 32]
        if wrong:
            raise InvalidInputError(f"a Bitmap has numbers from 0 to 2**32 - 1, got {wrong[0]}")
        self._values |= numbers

    def copy(self) -> Bitmap:
        """A set that changes independently."""
        return Bitmap(self._values)

    def intersection(self, other: Iterable[int]) -> Bitmap:
        """The numbers in both."""
        return Bitmap(self._values.intersection(other))

    def union(self, other: Iterable[int]) -> Bitmap:
        """The numbers in either."""
        return Bitmap(self._values.union(other))

    def difference(self, other: Iterable[int]) -> Bitmap:
        """The numbers that ``other`` does not have."""
        return Bitmap(self._values.difference(other))

    def symmetric_difference(self, other: Iterable[int]) -> Bitmap:
        """The numbers that only one of both has."""
        return Bitmap(self._values.symmetric_difference(other))

    def issubset(self, other: Iterable[int]) -> bool:
        """True if ``other`` has all of the numbers."""
        return self._values.issubset(other)

    def issuperset(self, other: Iterable[int]) -> bool:
        """True if all numbers of ``other`` are here."""
        return self._values.issuperset(other)
