"""Read some fields of many serialized protobuf messages of one kind at once, with numpy.

All messages are read in lockstep: step k reads the k-th field of every message that has one. The
messages of a table have few fields, so few steps read any number of messages.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]

MAX_STEPS = 256
"""Maximum fields of a message; more steps would take longer than protobuf."""

_MAX_VARINT = 10
_NUMBER, _BYTES = 0, 2


class UnusualMessageError(Exception):
    """Messages that this module does not read. Only protobuf can tell if they are valid."""


class MessageRanges(NamedTuple):
    """Ranges of ``data``, one for each message: ``starts`` (inclusive), ``ends`` (exclusive)."""

    data: npt.NDArray[np.uint8]
    starts: Int64Array
    ends: Int64Array

    @classmethod
    def of(cls, messages: Collection[bytes]) -> MessageRanges:
        """The ranges of ``messages`` in a copy of their bytes."""
        # Zeros end a varint that is cut off, so that no read is past the end.
        data = np.frombuffer(b"".join((*messages, bytes(2 * _MAX_VARINT))), np.uint8)
        ends = np.cumsum(np.fromiter(map(len, messages), np.int64, len(messages)))
        starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])[: len(ends)]
        return cls(data, starts, ends)


class Fields(NamedTuple):
    """All occurrences of a field, in the order of each message.

    ``owners``: the index of the message; ``values``: the number, or the length of the content;
    ``offsets``: where the content begins in the data.
    """

    owners: Int64Array
    values: Int64Array
    offsets: Int64Array

    def contents(self, data: npt.NDArray[np.uint8]) -> MessageRanges:
        """The ranges of the contents of a field with submessages."""
        return MessageRanges(data, self.offsets, self.offsets + self.values)

    def numbers(self, count: int, default: int = 0) -> Int64Array:
        """The last value in each of ``count`` messages, ``default`` for those without a value."""
        numbers = np.full(count, default, np.int64)
        numbers[self.owners] = self.values
        return numbers


_NOTHING = Fields(*(np.zeros(0, np.int64) for _ in range(3)))


def scan_fields(
    spans: MessageRanges, numbers: Collection[int] = (), contents: Collection[int] = ()
) -> dict[int, Fields]:
    """The varints of fields ``numbers``, and the bytes or submessages of fields ``contents``.

    Other fields are skipped. Numbers from 2^63 on appear as negative. Raises `UnusualMessageError`
    for messages that may be invalid, have groups or fixed-width fields, or have many fields.
    """
    tags = {field << 3 | _NUMBER for field in numbers} | {field << 3 | _BYTES for field in contents}
    fields: dict[int, list[Fields]] = {tag: [] for tag in tags}
    data, owners = spans.data, np.arange(len(spans.starts))
    at, ends = spans.starts, spans.ends
    for _ in range(MAX_STEPS):
        unfinished = at < ends
        if not unfinished.all():
            owners, at, ends = owners[unfinished], at[unfinished], ends[unfinished]
        if not len(owners):
            return {tag >> 3: _joined(parts) for tag, parts in fields.items()}
        tag_of, at = _varints(data, at)
        values, at = _varints(data, at)
        following = at + np.where(tag_of & 7 == _BYTES, values, 0)
        if ((following < at) | (following > ends)).any():
            raise UnusualMessageError
        for tag in [int(tag_of[0])] if (tag_of == tag_of[0]).all() else np.unique(tag_of).tolist():
            if tag >> 3 <= 0 or tag & 7 not in (_NUMBER, _BYTES):
                raise UnusualMessageError
            if tag in fields:
                chosen = np.flatnonzero(tag_of == tag)
                fields[tag].append(Fields(owners[chosen], values[chosen], at[chosen]))
        at = following
    raise UnusualMessageError


def _joined(parts: list[Fields]) -> Fields:
    if not parts:
        return _NOTHING
    if len(parts) == 1:
        return parts[0]
    return Fields(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _varints(data: npt.NDArray[np.uint8], at: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The varints at the offsets ``at``, as signed numbers, and the offsets after them."""
    octets = data[at]
    values, after = (octets & 0x7F).astype(np.int64), at + 1
    chosen = np.flatnonzero(octets & 0x80)
    for index in range(1, _MAX_VARINT):
        if not len(chosen):
            return values, after
        octets = data[at[chosen] + index]
        values[chosen] |= (octets & 0x7F).astype(np.int64) << (7 * index)
        after[chosen] += 1
        chosen = chosen[octets >= 0x80]
    if len(chosen) or (octets > 1).any():  # more than 64 bits
        raise UnusualMessageError
    return values, after
