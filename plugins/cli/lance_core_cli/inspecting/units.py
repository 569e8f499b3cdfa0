"""Numbers as people read them."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def byte_text(size: float) -> str:
    """A number of bytes in the largest unit that gives at least 1, such as ``1.5 MiB``."""
    unit = 0
    while abs(size) >= 1024 and unit + 1 < len(_UNITS):
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{size:.0f} B"


def count_text(count: int) -> str:
    """A number with commas between thousands."""
    return f"{count:,}"


def share_text(share: float) -> str:
    """A share from 0 to 1 in percent; nothing is rounded to 0 or 100 that is not."""
    percent = share * 100
    if 0 < percent < 0.1:
        return "< 0.1 %"
    if 99.9 < percent < 100:
        return "> 99.9 %"
    return f"{percent:.0f} %" if percent in {0, 100} else f"{percent:.1f} %"


def counted(count: int, noun: str) -> str:
    """A number with a regular noun, which gets an s unless the number is 1."""
    return f"{count_text(count)} {noun}" + ("" if count == 1 else "s")
