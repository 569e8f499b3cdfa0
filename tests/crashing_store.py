"""A process that ends in the middle of changing a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lance_core.store.base import ObjectStore
from lance_core.store.wrappers.base import StoreCall, StoreWrapper

T = TypeVar("T")

CHANGES = {"put", "delete", "copy", "rename_if_absent"}


class Crash(BaseException):
    """The end of the process, as far as the code under test can tell."""


class CrashingStore(StoreWrapper):
    """Makes ``left`` changes, and crashes before the next one."""

    def __init__(self, inner: ObjectStore, left: int) -> None:
        super().__init__(inner)
        self.left = left

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        if call.method in CHANGES:
            if self.left == 0:
                raise Crash
            self.left -= 1
        return run()
