"""Checks, slots, offsets and counts derived from repetition and definition levels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.decoding import Int64Array, Offsets
from lance_core.errors import CorruptFileError

LevelArray = npt.NDArray[np.uint16]
BoolArray = npt.NDArray[np.bool_]


class Slots(NamedTuple):
    """Selects the levels that are slots of a layer: repetition >= rank and definition <= limit."""

    rank: int
    limit: int


def check_levels(
    repetition: LevelArray | None, definition: LevelArray | None, most: int, least: LevelArray
) -> None:
    """See `lance_core.encodings.kernels.Kernels.check_levels`."""
    check_lengths(repetition, definition)
    if definition is not None and len(definition) and int(definition.max()) >= len(least):
        raise CorruptFileError(
            f"definition level {int(definition.max())} where {len(least) - 1} is the highest"
        )
    if repetition is None or not len(repetition):
        return
    if int(repetition[0]) != most:
        raise CorruptFileError("the first level does not start a row")
    if int(repetition.max()) > most:
        raise CorruptFileError(
            f"repetition level {int(repetition.max())} where {most} is the highest"
        )
    if definition is not None and least.any() and (repetition < least[definition]).any():
        raise CorruptFileError("a list that is null or empty has items")


def check_lengths(repetition: LevelArray | None, definition: LevelArray | None) -> None:
    """Raise `CorruptFileError` if the numbers of repetition and definition levels differ."""
    if repetition is not None and definition is not None and len(repetition) != len(definition):
        raise CorruptFileError(
            f"{len(repetition)} repetition and {len(definition)} definition levels"
        )


def layer_slots(
    repetition: LevelArray | None, definition: LevelArray, slots: Slots, top: int, also: int
) -> tuple[int, int, pa.Buffer | None]:
    """See `lance_core.encodings.kernels.Kernels.layer_slots`."""
    check_lengths(repetition, definition)
    valid = definition <= top
    if also > top:
        valid |= definition == also
    where = _are_slots(repetition, definition, slots)
    if where is not None:
        # Avoid the copy valid[where] if no slot is null.
        if not (where & ~valid).any():
            return int(np.count_nonzero(where)), 0, None
        valid = valid[where]
    nulls = len(valid) - int(np.count_nonzero(valid))
    if not nulls:
        return len(valid), 0, None
    return len(valid), nulls, pa.py_buffer(np.packbits(valid, bitorder="little"))


def layer_offsets(
    repetition: LevelArray, definition: LevelArray | None, slots: Slots, base: int, lists: int
) -> Offsets:
    """See `lance_core.encodings.kernels.Kernels.layer_offsets`."""
    check_lengths(repetition, definition)
    kind = check_lists(repetition, lists)
    items = _are_slots(repetition, definition, Slots(slots.rank - 1, base))
    where = _are_slots(repetition, definition, slots)
    num_lists = len(repetition) if where is None else int(np.count_nonzero(where))
    if num_lists != lists:
        raise CorruptFileError(f"the levels have {num_lists} lists instead of {lists}")
    offsets: npt.NDArray[Any] = np.zeros(lists + 1, kind)
    if items is None:
        offsets[-1] = len(repetition)
        offsets[:-1] = np.arange(lists) if where is None else np.flatnonzero(where)
    elif len(items):
        # The offset of a list is the number of items before the level with which the list starts.
        ends = np.cumsum(items, dtype=kind)
        offsets[-1] = ends[-1]
        np.subtract(ends, items, out=ends)
        offsets[:-1] = ends if where is None else ends.take(np.flatnonzero(where))
    return offsets


def check_lists(repetition: LevelArray, lists: int) -> type[np.int32 | np.int64]:
    """The integer type of list offsets. Raises `CorruptFileError` for more lists than levels."""
    if not 0 <= lists <= len(repetition):
        raise CorruptFileError(f"{len(repetition)} levels cannot have {lists} lists")
    return np.int32 if len(repetition) <= np.iinfo(np.int32).max else np.int64


def _are_slots(
    repetition: LevelArray | None, definition: LevelArray | None, slots: Slots
) -> BoolArray | None:
    """A mask of the levels that are slots; None means all levels."""
    known = repetition if definition is None else definition
    assert known is not None
    where: BoolArray | None = None
    if slots.limit < 0 or (slots.rank > 0 and repetition is None):
        return np.zeros(len(known), np.bool_)
    if slots.rank > 0 and repetition is not None:
        where = repetition >= slots.rank
    if definition is not None and slots.limit < np.iinfo(np.uint16).max:  # uint16 max: no limit
        visible = definition <= slots.limit
        return visible if where is None else where & visible
    return where


def rank_levels(levels: LevelArray, top: int, edges: Int64Array) -> Int64Array:
    """See `lance_core.encodings.kernels.Kernels.rank_levels`."""
    if not len(edges) or edges[0] < 0 or edges[-1] > len(levels) or (np.diff(edges) < 0).any():
        raise CorruptFileError(f"edges descend or are not within {len(levels)} levels")
    return _set_between(levels <= top, edges)


def _set_between(flags: BoolArray, edges: Int64Array) -> Int64Array:
    """The number of set ``flags`` between each of the ascending ``edges`` and the next."""
    counts = np.zeros(len(edges) - 1, np.int64)
    # reduceat returns a single element instead of 0 for an empty span, so skip empty spans.
    has_flags = edges[1:] > edges[:-1]
    if has_flags.any():
        # reduceat extends the last span to the end of its input: cut the input there.
        used = flags[: edges[-1]].view(np.uint8)
        counts[has_flags] = np.add.reduceat(used, edges[:-1][has_flags], dtype=np.int64)
    return counts


def select_levels(levels: LevelArray, least: int, numbers: Int64Array) -> Int64Array:
    """See `lance_core.encodings.kernels.Kernels.select_levels`."""
    positions = np.append(np.flatnonzero(levels >= least), len(levels))
    if len(numbers) and (numbers[0] < 0 or numbers[-1] >= len(positions)):
        raise CorruptFileError(
            f"the number of a level is not among the {len(positions) - 1} levels"
        )
    if (np.diff(numbers) < 0).any():
        raise CorruptFileError("numbers of levels descend")
    return positions.take(numbers)
