"""Bounds of strings and bytes in page statistics: at most 64 bytes, with maxima rounded up."""

from __future__ import annotations

from lance_core.hookspecs.arrays import above_text

MAX_BYTES = 64
"""Maximum bytes of a bound."""

_MAX_CUT = 3  # bytes to remove at most to avoid cutting a UTF-8 character of up to four bytes


def cut(value: bytes, is_text: bool) -> bytes:
    """The first `MAX_BYTES` bytes of ``value``, for text without an incomplete last character."""
    if len(value) <= MAX_BYTES:
        return value
    end = MAX_BYTES
    while is_text and end and value[end] & 0xC0 == 0x80:
        end -= 1
    return value[:end]


def above_bytes(value: bytes) -> bytes | None:
    """A value as long as ``value``, greater than all that start with it; None if there is none."""
    prefix = value.rstrip(b"\xff")
    if not prefix:
        return None
    return prefix[:-1] + bytes([prefix[-1] + 1]) + bytes(len(value) - len(prefix))


def text_bound(stored: str | None) -> str | None:
    """An upper bound of strings, derived from the stored bound; None if there is none.

    pylance cuts strings to between 61 and 64 bytes before it takes their maximum. Another string
    may have been greater before the cut, so only the first 61 bytes of the stored maximum are
    reliable.
    """
    if stored is None:
        return None
    raw = stored.encode()
    sure = MAX_BYTES - _MAX_CUT
    if len(raw) < sure:
        return stored
    end = sure
    while end and end < len(raw) and raw[end] & 0xC0 == 0x80:
        end -= 1
    above = above_text(raw[:end])
    return None if above is None else above.decode()
