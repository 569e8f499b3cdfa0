"""Take single values out of a buffer: plan the byte ranges to read, then gather the values.

Values that lie within the coalescing gap of each other share a range. Positions must ascend,
except in `take_variable` and, if there is a single range, in `fixed_take`. All functions work on
whole arrays; Python loops run only over ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.byte_ranges import ByteRange, RangeArrays, byte_range
from lance_core.encodings.arrow.memory_pool import concat_arrays, empty
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.decoding import Int64Array, Offsets
from lance_core.errors import CorruptFileError

Places: TypeAlias = npt.NDArray[np.integer[Any]]
"""Indices of values."""

MAX_OFFSET = (1 << 31) - 1
"""The largest offset of an Arrow array with 32-bit offsets."""


class Cuts(NamedTuple):
    """The assignment of ascending positions to ranges.

    ``edges``: for each range the index of its first position, then the number of positions.
    ``firsts``: for each range the position of its first value (for spans: its first byte).
    """

    edges: list[int]
    firsts: list[int]


def element_type(width: int) -> np.dtype[np.generic]:
    """A numpy type of ``width`` bytes whose elements numpy copies as one unit."""
    name = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}.get(width)
    return np.dtype(name) if name else np.dtype((np.void, width))


def fixed_ranges(
    base: int, width: int, positions: Int64Array, gap: int
) -> tuple[list[ByteRange], Cuts]:
    """Byte ranges that hold the values of ``width`` bytes at ``positions`` after byte ``base``."""
    first, last = int(positions[0]), int(positions[-1])
    if (last - first) * width <= gap:
        return [ByteRange(base + first * width, base + (last + 1) * width)], Cuts(
            [0, len(positions)], [first]
        )
    # A new range begins where the distance to the position before exceeds the gap.
    steps = np.flatnonzero(np.diff(positions) > gap // width + 1) + 1
    edges = [0, *steps.tolist(), len(positions)]
    firsts = positions[edges[:-1]].tolist()
    lasts = positions[np.asarray(edges[1:]) - 1].tolist()
    ranges = [
        ByteRange(base + a * width, base + (b + 1) * width)
        for a, b in zip(firsts, lasts, strict=True)
    ]
    return ranges, Cuts(edges, firsts)


def fixed_take(
    buffers: Sequence[pa.Buffer], cuts: Cuts, positions: Int64Array, width: int
) -> npt.NDArray[np.generic]:
    """The values at ``positions``, gathered from the buffers that `fixed_ranges` asks for."""
    unit = element_type(width)
    result = empty(len(positions), unit)
    for number, buffer in enumerate(buffers):
        part = slice(cuts.edges[number], cuts.edges[number + 1])
        local = positions[part] - cuts.firsts[number]
        # All places are within the buffer, so clipping has no effect. mode="raise" would make numpy
        # buffer the result and copy it once more.
        np.frombuffer(buffer, unit).take(local, out=result[part], mode="clip")
    return result


def bit_ranges(base: int, positions: Int64Array, gap: int) -> tuple[list[ByteRange], Cuts]:
    """Ranges that hold the bits at ``positions`` of the bitmap that starts at byte ``base``."""
    return fixed_ranges(base, 1, positions >> 3, gap)


def bit_take(buffers: Sequence[pa.Buffer], cuts: Cuts, positions: Int64Array) -> pa.Buffer:
    """A bitmap of the bits at ``positions``, gathered from the buffers of `bit_ranges`."""
    octets = fixed_take(buffers, cuts, positions >> 3, 1)
    bits = (octets >> (positions & 7).astype(np.uint8)) & 1
    return pa.py_buffer(np.packbits(bits, bitorder="little"))


def span_ranges(
    base: int, starts: Int64Array, stops: Int64Array, gap: int
) -> tuple[Sequence[ByteRange], Cuts]:
    """Byte ranges that hold the bytes ``starts[i]`` to ``stops[i]``, counted from ``base``.

    The spans ascend and do not overlap. An empty span may lie anywhere between its neighbours.
    """
    if int(stops[-1]) - int(starts[0]) <= gap:
        whole = ByteRange(base + int(starts[0]), base + int(stops[-1]))
        return [whole], Cuts([0, len(starts)], [int(starts[0])])
    steps = np.flatnonzero(starts[1:] - stops[:-1] > gap) + 1
    edges = np.concatenate([[0], steps, [len(starts)]])
    firsts, lasts = starts[edges[:-1]], stops[edges[1:] - 1]
    return RangeArrays(base + firsts, base + lasts), Cuts(edges.tolist(), firsts.tolist())


def span_places(
    base: int, starts: Int64Array, stops: Int64Array, gap: int
) -> tuple[Sequence[ByteRange], Int64Array]:
    """The ranges of `span_ranges`, and where each span starts in the bytes of all, concatenated."""
    first, last = int(starts[0]), int(stops[-1])
    if last - first <= gap:
        return [byte_range((base + first, base + last))], starts - first
    ranges, cuts = span_ranges(base, starts, stops, gap)
    if len(ranges) == 1:
        return ranges, starts - cuts.firsts[0]
    arrays = RangeArrays.of(ranges)
    ends = (arrays.stops - arrays.starts).cumsum()
    moved = ends - (arrays.stops - base)  # of the last byte of a range, and so of all
    return ranges, starts + moved.repeat(np.diff(cuts.edges))


def span_take(
    buffers: Sequence[pa.Buffer],
    cuts: Cuts,
    starts: Int64Array,
    stops: Int64Array,
    large: bool,
) -> pa.Array:
    """The spans as one array: ``binary`` if they fit 32-bit offsets, ``large_binary`` if ``large``.

    ``buffers`` hold the ranges of `span_ranges`. The function builds one Arrow array whose values
    are alternately a span and the gap after it, and lets Arrow take every second value.
    """
    small = not large and int((stops - starts).sum()) <= MAX_OFFSET
    parts = []
    for number, buffer in enumerate(buffers):
        part = slice(cuts.edges[number], cuts.edges[number + 1])
        count = cuts.edges[number + 1] - cuts.edges[number]
        wide = not small or buffer.size > MAX_OFFSET
        edges = np.empty(2 * count, np.int64 if wide else np.int32)
        edges[::2] = starts[part] - cuts.firsts[number]
        edges[1::2] = stops[part] - cuts.firsts[number]
        both = pa.Array.from_buffers(
            pa.large_binary() if wide else pa.binary(),
            2 * count - 1,
            [None, pa.py_buffer(edges), buffer],
            0,
        )
        parts.append(both.take(from_numpy(np.arange(0, 2 * count, 2))))
    binary_type = pa.binary() if small else pa.large_binary()
    parts = [part if part.type == binary_type else part.cast(binary_type) for part in parts]
    return concat_arrays(parts)


def take_variable(
    data: npt.NDArray[np.uint8], offsets: Int64Array, places: Places
) -> tuple[pa.Buffer, Offsets]:
    """See `lance_core.encodings.kernels.Kernels.take_variable`."""
    count = len(offsets) - 1
    if count < 0:
        raise CorruptFileError("the offsets are empty; n values need n + 1")
    if not len(places):
        return pa.py_buffer(b""), np.zeros(1, np.int32)
    first, last = int(places.min()), int(places.max())
    if first < 0 or last >= count:
        raise CorruptFileError(
            f"the indices {first} to {last} are not all within the {count} values"
        )
    part = np.ascontiguousarray(offsets[first : last + 2])
    if part[0] < 0 or part[-1] > len(data) or (part[1:] < part[:-1]).any():
        raise CorruptFileError(f"the offsets of values do not ascend within {len(data)} bytes")
    buffers = [None, pa.py_buffer(part), pa.py_buffer(data)]
    values = pa.Array.from_buffers(pa.large_binary(), len(part) - 1, buffers, 0)
    _, edges, text = values.take(from_numpy(places - first)).buffers()
    wide = np.frombuffer(edges, np.int64, len(places) + 1)
    size = int(wide[-1])
    taken: Offsets = wide.astype(np.int32) if size <= MAX_OFFSET else wide
    return text.slice(0, size) if size else pa.py_buffer(b""), taken


def gather_variable(
    data: npt.NDArray[np.uint8], starts: Int64Array, stops: Int64Array
) -> tuple[pa.Buffer, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.gather_variable`."""
    if len(starts) != len(stops):
        raise CorruptFileError(f"{len(starts)} spans start and {len(stops)} stop")
    if not len(starts):
        return pa.py_buffer(b""), np.zeros(1, np.int64)
    if starts[0] < 0 or stops[-1] > len(data):
        raise CorruptFileError(f"a span is not within {len(data)} bytes")
    if (stops < starts).any() or (starts[1:] < stops[:-1]).any():
        raise CorruptFileError("spans descend or overlap")
    cuts = Cuts([0, len(starts)], [0])
    packed = span_take([pa.py_buffer(data)], cuts, starts, stops, large=True)
    offsets = np.frombuffer(packed.buffers()[1], np.int64, len(packed) + 1)
    return packed.buffers()[2].slice(0, int(offsets[-1])), offsets
