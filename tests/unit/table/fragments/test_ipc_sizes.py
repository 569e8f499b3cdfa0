"""Metadata of Arrow files that points outside of them is refused, not read from their other end."""

from __future__ import annotations

import struct

import pytest

from lance_core.errors import CorruptFileError
from lance_core.table.fragments import ipc_sizes


def test_positions_before_the_begin_are_refused() -> None:
    data = memoryview(bytes(64))
    for at in (-4, -64):
        with pytest.raises(IndexError):
            ipc_sizes._u32(data, at)
        with pytest.raises(IndexError):
            ipc_sizes._slot(data, at, 0)
    for footer_size in (55, 60, 1 << 31):
        content = bytes(54) + struct.pack("<I", footer_size) + bytes(6)
        with pytest.raises(CorruptFileError, match="points outside"):
            ipc_sizes.batch_size(memoryview(content))
