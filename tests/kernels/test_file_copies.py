"""Ranges of files that the compiled loop copies."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.store.local import LocalStore, range_copies
from lance_core.store.wrappers.base import StoreCall, StoreWrapper
from lance_core_kernels.files import copy_ranges
from tests.each_case import each_case
from tests.unit.store.local.test_copy_bytes import LARGE, Device

T = TypeVar("T")


class Plain(StoreWrapper):
    """Only forwards."""

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        return run()


@each_case("error", [None, errno.EOPNOTSUPP])
def test_a_compiled_loop_copies_what_cannot_be_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int | None
) -> None:
    monkeypatch.setattr(range_copies, "cpu_count", lambda: 1)
    disk = Device(monkeypatch, error)
    store = LocalStore(tmp_path, disk=disk)
    store.put("source", LARGE)
    looped: list[int] = []
    names: set[str] = set()

    def loop(ranges: Sequence[tuple[int, int, int, int]], target: int, buffer: bytearray) -> None:
        looped.extend(length for _, _, length, _ in ranges)
        names.add(threading.current_thread().name)
        copy_ranges(ranges, target, buffer)

    wrapper = Plain(store)
    with wrapper.open_writer("new") as writer:
        writer.copy_with(loop)
        wrapper.append_from(writer, "source", [ByteRange(0, len(LARGE)), ByteRange(7, 9)])
        wrapper.append_from(writer, "source", [ByteRange(1, 3)])
    assert store.get("new").to_pybytes() == LARGE + LARGE[7:9] + LARGE[1:3]
    if error is None:
        assert (disk.copied, looped) == (len(LARGE), [2])
    else:
        assert (disk.copied, sum(looped)) == (0, len(LARGE) + 2)
        assert {name[:17] for name in names} == {"lance-core-copies", "MainThread"}
