"""What must hold for the results of kernels, as far as it costs little to check.

The rules cover lengths, element sizes, offsets and positions, from which Arrow and numpy would
otherwise read memory that is not theirs. They do not cover the values themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_CHUNK = 1024

Rule = Callable[..., str | None]
"""Called with the result and the arguments of a kernel. Returns what the result is instead of what
it must be, None if nothing is wrong."""


def _length(values: npt.NDArray[Any], count: int) -> str | None:
    return None if len(values) == count else f"{len(values)} values instead of {count}"


def _words(values: npt.NDArray[Any], count: int, bits: int) -> str | None:
    if values.itemsize * 8 != bits:
        return f"values of {values.itemsize * 8} bits instead of {bits}"
    return _length(values, count)


def _ascends(edges: npt.NDArray[Any]) -> bool:
    return not (edges[1:] < edges[:-1]).any()


def _offsets(offsets: npt.NDArray[Any], data: pa.Buffer, count: int | None = None) -> str | None:
    """The offsets of ``count`` values (None: any number) in ``data``."""
    if count is not None and len(offsets) != count + 1:
        return f"{len(offsets)} offsets of {count} values"
    if not len(offsets) or offsets[0] != 0 or not _ascends(offsets):
        return "offsets that do not ascend from 0"
    return None if offsets[-1] == data.size else f"offsets up to {offsets[-1]} of {data.size} bytes"


def _documents(result: Any, data: Any, offsets: npt.NDArray[Any]) -> str | None:
    buffer, edges, rest = result
    count = len(offsets) - 1
    return _offsets(edges, buffer, count) or _within(rest, count)


def _sum(sizes: npt.NDArray[Any], total: int) -> str | None:
    if (sizes < 0).any() or int(sizes.sum()) != total:
        return f"sizes that do not add up to {total}"
    return None


def _within(positions: npt.NDArray[Any], stop: int) -> str | None:
    if len(positions) and not 0 <= int(positions.min()) <= int(positions.max()) < stop:
        return f"positions that are not from 0 to {stop - 1}"
    return None


def _matches(result: Any, count: int, index: Any) -> str | None:
    rows, members = result
    if not _ascends(rows):
        return "positions that descend"
    return _length(members, len(rows)) or _within(rows, count) or _within(members, len(index))


def _num_chunks(words: npt.NDArray[Any]) -> int:
    return max(1, -(-len(words) // _CHUNK))


def _text_chunks(
    result: Any, octets: Any, offsets: Any, width: int, limit: int, columns: int = 1
) -> str | None:
    data, sizes, counts = result
    return _length(counts, len(sizes)) or _sum(sizes, data.size) or _sum(counts, len(offsets) - 1)


def _runs(result: Any, words: npt.NDArray[Any], rule: Any) -> str | None:
    plain, lengths, runs, counts = result
    return (
        _words(plain, len(lengths), words.itemsize * 8)
        or _length(counts, len(runs))
        or _sum(runs, len(plain))
        or _sum(lengths, len(words))
        or _sum(counts, len(words))
    )


def _slots(result: Any, *_: Any) -> str | None:
    count, nulls, bitmap = result
    if not 0 <= nulls <= count or (bitmap is None) != (nulls == 0):
        return f"{nulls} nulls of {count} slots, or no bitmap of them"
    if bitmap is not None and bitmap.size * 8 < count:
        return f"a bitmap of {bitmap.size} bytes for {count} slots"
    return None


def _lists(result: Any, repetition: Any, definition: Any, slots: Any, base: int, lists: int) -> Any:
    problem = _length(result, lists + 1)
    if problem is None and not _ascends(result):
        return "offsets that descend"
    return problem or _within(result, len(repetition) + 1)


def _spans(result: Any, chunks: Any, picked: Any) -> str | None:
    starts, stops = result
    problem = _length(starts, len(picked.chunk)) or _length(stops, len(picked.chunk))
    if problem is None and (starts > stops).any():
        return "values that stop before they start"
    return problem or _within(starts, len(chunks.data) + 1) or _within(stops, len(chunks.data) + 1)


def _codes(result: Any, data: Any, edges: Any, columns: int, places: Any, most: int) -> str | None:
    codes, counts, firsts = result
    return (
        _length(codes, columns * len(places))
        or _length(counts, columns)
        or _length(firsts, int(counts[counts <= most].sum()))
        or _within(counts, most + 2)
        or _within(codes, max(1, int(counts.max(initial=0))))
        or _within(firsts, len(edges))
    )


def _rows(result: Any, edges: Any, rows: Any) -> str | None:
    numbers, which, positions = result
    return (
        _length(which, len(rows))
        or _length(positions, len(rows))
        or _within(numbers, len(edges) - 1)
        or _within(which, len(numbers))
        or _within(positions, int(edges[-1] - edges[0]))
    )


def _edges(result: Any, words: Any, large: bool, num_values: int, num_bytes: int) -> str | None:
    edges, values = result
    count = words.size // (4 if large else 2) + 1
    problem = _length(edges, count) or _length(values, count)
    if problem is None and not (_ascends(edges) and _ascends(values)):
        return "edges that descend"
    return problem or _within(edges, num_bytes + 1) or _within(values, num_values + 1)


def _headers(result: Any, data: Any, chunks: int, parts: int) -> str | None:
    problem = _length(result, chunks * (1 + 2 * parts))
    if problem is not None:
        return problem
    levels, starts, sizes = np.split(result.reshape(1 + 2 * parts, -1), [1, 1 + parts])
    if (levels < 0).any() or (starts < 0).any() or (sizes < 0).any():
        return "negative numbers"
    return _within((starts + sizes).reshape(-1), len(data) + 1)


RULES: Mapping[str, Rule] = {
    "crc32c": lambda r, buffers: (
        _length(r, len(buffers)) or _within(np.array(r, np.int64), 1 << 32)
    ),
    "unpack_fastlanes": lambda r, data, width, bits, chunks: _words(r, chunks * _CHUNK, bits),
    "pack_fastlanes": lambda r, values, width: _length(r, len(values) // 8 * width),
    "unpack_inline": lambda r, data, starts, sizes, counts, bits: _words(r, counts.sum(), bits),
    "pick_inline": lambda r, data, starts, sizes, counts, picked, bits: _words(
        r, len(picked.chunk), bits
    ),
    "find_inline": lambda r, data, starts, sizes, counts, bits, index: _matches(
        r, int(counts.sum()), index
    ),
    "find_integers": lambda r, values, index: _matches(r, len(values), index),
    "chunk_widths": lambda r, words: (
        _length(r, _num_chunks(words)) or _within(r, words.itemsize * 8 + 1)
    ),
    "pack_inline": lambda r, words: _length(r[1], _num_chunks(words)) or _sum(r[1], len(r[0])),
    "unpack_levels": lambda r, data, starts, sizes, counts, width: _length(r, counts.sum()),
    "pick_levels": lambda r, data, starts, sizes, counts, picked, width: _length(
        r, len(picked.chunk)
    ),
    "fsst_decode": lambda r, codes, offsets, *_: _offsets(r[1], r[0], len(offsets) - 1),
    "fsst_decode_chunks": lambda r, chunks, tables: _offsets(r[1], r[0], int(chunks.counts.sum())),
    "fsst_encode": lambda r, data, starts, *_: _offsets(r[1], r[0], len(starts)),
    "join_variable": lambda r, chunks: _offsets(r[0], r[1], int(chunks.counts.sum())),
    "split_variable": _text_chunks,
    "interleave_chunks": lambda r, buffers, sizes, *_: (
        _length(r[1], sizes.shape[1]) or _sum(r[1], r[0].size)
    ),
    "expand_runs": lambda r, data, starts, sizes, counts, bits: _words(r, counts.sum(), bits),
    "count_runs": lambda r, words, per_chunk: _length(r, -(-len(words) // per_chunk)),
    "encode_runs": _runs,
    "join_streams": lambda r, data, starts, sizes, counts, width: _length(r, counts.sum() * width),
    "split_streams": lambda r, octets, *_: _length(r, len(octets)),
    "layer_slots": _slots,
    "layer_offsets": _lists,
    "gather_variable": lambda r, data, starts, stops: _offsets(r[1], r[0], len(starts)),
    "join_slices": lambda r, buffers, owners, starts, stops: _length(r, (stops - starts).sum()),
    "repack_chunks": lambda r, *_: _sum(r[1], r[0].size),
    "pick_spans": _spans,
    "take_variable": lambda r, data, offsets, places: _offsets(r[1], r[0], len(places)),
    "dictionary_codes": _codes,
    "rank_levels": lambda r, levels, top, edges: (
        _length(r, max(0, len(edges) - 1)) or _within(r, len(levels) + 1)
    ),
    "select_levels": lambda r, levels, least, numbers: (
        _length(r, len(numbers)) or _within(r, len(levels) + 1)
    ),
    "locate_rows": _rows,
    "chunk_edges": _edges,
    "chunk_headers": lambda r, data, starts, sizes, levels, buffers, large: _headers(
        r, data, len(starts), levels + buffers
    ),
    "encode_json": _documents,
    "decode_json": _documents,
    "zipped_places": lambda r, data, *_: _within(r, len(data)),
}
"""The rule of each kernel whose result is checked for more than its types."""
