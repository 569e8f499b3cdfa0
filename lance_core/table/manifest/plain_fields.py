"""Parse the fields of a wide flat schema all at once, with numpy.

This reads only messages as all writers of such schemas serialize them: the fields in the order of
their numbers, integers as short as they can be, texts of ASCII. Protobuf judges all others.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from lance_core.schema import logical_type
from lance_core.schema.plain_fields import PlainFields

Int64Array = npt.NDArray[np.int64]
Windows = npt.NDArray[np.uint8]

_NAME, _ID, _PARENT_ID, _LOGICAL_TYPE, _NULLABLE, _ENCODING = b"\x12\x18\x20\x2a\x30\x38"
_NO_PARENT = np.frombuffer(bytes([_PARENT_ID, *[0xFF] * 9, 0x01]), np.uint8)
_MAX_SHORT = 0x7F
_WINDOW = 16
"""Bytes that are compared at once; no simple type is longer."""

_MIX = np.uint64(0x9E3779B97F4A7C15)


def plain_fields(messages: Collection[bytes]) -> PlainFields | None:
    """The fields in serialized ``lance.file.Field`` messages, of which there is at least one.

    Returns None if not all of them are plain, or for some that only protobuf can judge.
    """
    data = np.frombuffer(b"".join((*messages, bytes(_WINDOW))), np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(data, _WINDOW)
    ends = np.cumsum(np.fromiter(map(len, messages), np.int64, len(messages)))
    starts: Int64Array = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    limit = int(ends[-1])

    def inside(at: Int64Array) -> Int64Array:
        return np.minimum(at, limit)

    names, name_sizes = starts + 2, data[inside(starts + 1)].astype(np.int64)
    at = inside(names + name_sizes)
    ids, at = _ids(windows[at], at)
    parents = windows[inside(at)]
    at = inside(at + len(_NO_PARENT))
    types, type_sizes = at + 2, data[inside(at + 1)]
    is_plain = (
        (data[inside(starts)] == _NAME).all()
        and (parents[:, : len(_NO_PARENT)] == _NO_PARENT).all()
        and (data[at] == _LOGICAL_TYPE).all()
        and max(name_sizes.max(), type_sizes.max()) <= _MAX_SHORT
    )
    if not is_plain:
        return None
    codes = _type_codes(windows[inside(types)], type_sizes)
    at = inside(types + type_sizes)
    nullable, at = _short(windows[at], at, _NULLABLE)
    encodings, at = _short(windows[inside(at)], at, _ENCODING)
    # Outside of texts, only parent ids and long ids have bytes with the highest bit.
    high = (len(_NO_PARENT) - 2) * len(ids) + int((ids > _MAX_SHORT).sum() + (ids >> 14 > 0).sum())
    if (
        codes is None
        or (at != ends).any()
        or nullable.max() > 1
        or np.count_nonzero(data & 0x80) != high
        or not _are_unique(ids)
    ):
        return None
    return PlainFields(
        (data & 0x7F).tobytes(), names, name_sizes, ids, codes, nullable.astype(bool), encodings
    )


def _ids(windows: Windows, at: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The ids at the offsets ``at``, 0 if there is none, and the offsets after them.

    Ids of more than three bytes are cut off, so that other content seems to follow.
    """
    octets = windows[:, 1:4].astype(np.int64)
    is_there = windows[:, 0] == _ID
    second = is_there & (octets[:, 0] > _MAX_SHORT)
    third = second & (octets[:, 1] > _MAX_SHORT)
    ids = (octets[:, 0] & 0x7F) * is_there
    ids += ((octets[:, 1] & 0x7F) << 7) * second
    ids += (octets[:, 2] << 14) * third
    return ids, at + 2 * is_there + second + third


def _short(windows: Windows, at: Int64Array, tag: int) -> tuple[Windows, Int64Array]:
    """The numbers of one byte with ``tag`` at ``at``, 0 if there is none, and the offsets after."""
    is_there = windows[:, 0] == tag
    return windows[:, 1] * is_there, at + 2 * is_there


def _type_codes(windows: Windows, sizes: npt.NDArray[np.uint8]) -> Int64Array | None:
    """The index in `TYPES` of each text at the start of ``windows``; None if one is unknown."""
    words = (windows * (np.arange(_WINDOW) < sizes[:, None])).view(np.uint64)
    codes = np.searchsorted(_KEYS, _mixed(words)).clip(max=len(_KEYS) - 1)
    is_known = (_WORDS[codes] == words).all() and (_SIZES[codes] == sizes).all()
    return _ORDER[codes] if is_known else None


def _mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    return (words[:, 0] * _MIX) ^ words[:, 1]


def _are_unique(ids: Int64Array) -> bool:
    return bool((ids[1:] > ids[:-1]).all()) or len(np.unique(ids)) == len(ids)


_TEXTS = [text.encode() for text in logical_type.SIMPLE]
_UNSORTED = np.frombuffer(b"".join(text.ljust(_WINDOW, b"\0") for text in _TEXTS), np.uint64)
_ORDER = np.argsort(_mixed(_UNSORTED.reshape(-1, 2)))
_WORDS = _UNSORTED.reshape(-1, 2)[_ORDER]
_KEYS = _mixed(_WORDS)
_SIZES = np.array(list(map(len, _TEXTS)))[_ORDER]
