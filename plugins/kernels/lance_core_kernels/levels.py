"""Kernels for repetition and definition levels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import empty
from lance_core.hookspecs.kernels import (
    Offsets,
    Slots,
    ZippedForm,
    check_form,
    check_lengths,
    check_lists,
)
from lance_core_kernels import _native
from lance_core_kernels.errors import (
    CORRUPT,
    Bytes,
    Int64Array,
    LevelArray,
    aligned,
    contiguous,
    levels_of,
)


def check_levels(
    repetition: LevelArray | None, definition: LevelArray | None, most: int, least: LevelArray
) -> None:
    """See `lance_core.encodings.kernels.Kernels.check_levels`."""
    check_lengths(repetition, definition)
    rep, levels = levels_of(repetition), levels_of(definition)
    with CORRUPT:
        _native.check_levels(rep, levels, max(len(rep), len(levels)), most, levels_of(least))


def layer_slots(
    repetition: LevelArray | None, definition: LevelArray, slots: Slots, top: int, also: int
) -> tuple[int, int, pa.Buffer | None]:
    """See `lance_core.encodings.kernels.Kernels.layer_slots`."""
    check_lengths(repetition, definition)
    count = len(definition)
    bitmap = pa.allocate_buffer(8 * (count // 64 + 1))
    with CORRUPT:
        total, valid = _native.layer_slots(
            levels_of(repetition), levels_of(definition), count, *slots, top, also, bitmap
        )
    if total == valid:
        return total, 0, None
    return total, total - valid, bitmap.slice(0, (total + 7) // 8)


def layer_offsets(
    repetition: LevelArray, definition: LevelArray | None, slots: Slots, base: int, lists: int
) -> Offsets:
    """See `lance_core.encodings.kernels.Kernels.layer_offsets`."""
    check_lengths(repetition, definition)
    offset_type = check_lists(repetition, lists)
    offsets = empty(lists + 1, offset_type)
    levels = levels_of(repetition), levels_of(definition), len(repetition)
    with CORRUPT:
        _native.layer_offsets(*levels, *slots, base, lists, offset_type is np.int64, offsets)
    return offsets


def rank_levels(levels: LevelArray, top: int, edges: Int64Array) -> Int64Array:
    """See `lance_core.encodings.kernels.Kernels.rank_levels`."""
    if not len(edges):
        raise CorruptFileError("no edges")
    counts = np.empty(len(edges) - 1, np.int64)
    with CORRUPT:
        _native.rank_levels(levels_of(levels), top, aligned(edges), counts)
    return counts


def select_levels(levels: LevelArray, least: int, numbers: Int64Array) -> Int64Array:
    """See `lance_core.encodings.kernels.Kernels.select_levels`."""
    targets = np.empty(len(numbers), np.int64)
    with CORRUPT:
        _native.select_levels(levels_of(levels), least, aligned(numbers), targets)
    return targets


def zipped_places(
    data: Bytes, starts: Int64Array, stops: Int64Array, form: ZippedForm
) -> Int64Array:
    """See `lance_core.encodings.kernels.Kernels.zipped_places`."""
    check_form(form)
    rows = contiguous(data), aligned(starts), aligned(stops)
    with CORRUPT:
        targets = np.empty(_native.zipped_places(*rows, *form, _NO_PLACES), np.int64)
        _native.zipped_places(*rows, *form, targets)
    return targets


_NO_PLACES = np.empty(0, np.int64)
