"""Bounds of strings and bytes in page statistics: cut to 64 bytes, a cut maximum made larger."""

from __future__ import annotations

LONGEST = 64
"""Bytes of a bound at most."""

_MOST_CUT = 3  # bytes that a cut may take away to leave whole characters


def cut(value: bytes, is_text: bool) -> bytes:
    """The first `LONGEST` bytes; of text as many of them as are whole characters."""
    if len(value) <= LONGEST:
        return value
    end = LONGEST
    while is_text and end and value[end] & 0xC0 == 0x80:
        end -= 1
    return value[:end]


def above_bytes(value: bytes) -> bytes | None:
    """Bytes of the same length above all that begin with ``value``; None if there are none."""
    kept = value.rstrip(b"\xff")
    if not kept:
        return None
    return kept[:-1] + bytes([kept[-1] + 1]) + bytes(len(value) - len(kept))


def above_text(value: bytes) -> bytes | None:
    """UTF-8 of the same length above all text that begins with ``value``, None if there is none.

    One byte is made larger, the last one for which that gives UTF-8.
    """
    for place in range(len(value) - 1, -1, -1):
        for byte in range(value[place] + 1, 256):
            changed = value[:place] + bytes([byte]) + value[place + 1 :]
            if _is_utf8(changed):
                return changed
    return None


def text_bound(stored: str | None) -> str | None:
    """An upper bound of strings, out of the stored one; None if there is none.

    pylance takes the highest of strings that were cut to between 61 and 64 bytes, and another one
    of them may have been higher before it was cut. Their first 61 bytes tell the truth.
    """
    if stored is None:
        return None
    raw = stored.encode()
    sure = LONGEST - _MOST_CUT
    if len(raw) < sure:
        return stored
    end = sure
    while end and end < len(raw) and raw[end] & 0xC0 == 0x80:
        end -= 1
    above = above_text(raw[:end])
    return None if above is None else above.decode()


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
