"""Which values of a nested Arrow array belong to a row.

An array has more values than its rows show: those below null structs, lists and maps, those before
and behind the rows of a slice, and list items between the lists. None of them has a meaning, and
Arrow puts there what is convenient, such as empty strings. Code that must not convert or check such
values masks them by `VisibleValues`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.lazy_dataclass import dataclass


def _same(position: int) -> int:
    return position


@dataclass(frozen=True, slots=True, eq=False)
class VisibleValues:
    """The values of one array that belong to rows of the column.

    ``mask`` is true for these values, and None if all of them do. ``row_of`` returns the row of the
    column to which the value at a position belongs.
    """

    mask: npt.NDArray[np.bool_] | None = None
    row_of: Callable[[int], int] = _same

    def below(self, array: pa.Array) -> VisibleValues:
        """Those among the values of the children of ``array``, a nested array of these values.

        The children are those of `lance_core.schema.rebuild.visible_children`.
        """
        mask = self.mask
        if array.null_count:
            valid = np.asarray(array.is_valid())
            mask = valid if mask is None else valid & mask
        if pa.types.is_struct(array.type):
            return VisibleValues(mask, self.row_of)
        if pa.types.is_fixed_size_list(array.type):
            return self._in_fixed_size_list(array, mask)
        offsets = np.asarray(array.offsets)
        rows = slice(None) if mask is None else np.flatnonzero(mask)
        count = len(array.values)
        # Lists can share items. An item is visible if more lists begin before it than end.
        starts, ends = offsets[:-1][rows], offsets[1:][rows]
        edges = np.bincount(starts, minlength=count + 1) - np.bincount(ends, minlength=count + 1)
        return VisibleValues(
            np.cumsum(edges)[:count] > 0,
            lambda position: self.row_of(int(np.searchsorted(offsets, position, "right")) - 1),
        )

    def _in_fixed_size_list(
        self, array: pa.Array, mask: npt.NDArray[np.bool_] | None
    ) -> VisibleValues:
        size, first = array.type.list_size, array.offset
        items = np.zeros(len(array.values), np.bool_)
        items[first * size : (first + len(array)) * size] = (
            True if mask is None else np.repeat(mask, size)
        )
        return VisibleValues(items, lambda position: self.row_of(position // max(size, 1) - first))
