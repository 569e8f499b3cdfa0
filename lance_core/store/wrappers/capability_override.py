"""A wrapper that overrides the capabilities of a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lance_core.store.base import ObjectStore, StoreCapabilities
from lance_core.store.wrappers.base import StoreCall, StoreWrapper

T = TypeVar("T")


class DeclaredStore(StoreWrapper):
    """``inner`` with guarantees from a probe or from the user."""

    def __init__(self, inner: ObjectStore, guarantees: StoreCapabilities) -> None:
        super().__init__(inner)
        self._guarantees = guarantees

    def __repr__(self) -> str:
        return repr(self.inner)

    @property
    def capabilities(self) -> StoreCapabilities:
        return self._guarantees

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        return run()
