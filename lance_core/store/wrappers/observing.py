"""Report the calls of a store to observers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.errors import ObjectExistsError, ObjectNotFoundError
from lance_core.observation import count, traced
from lance_core.store.base import ObjectStore
from lance_core.store.wrappers.base import REQUESTS, StoreCall, StoreWrapper

T = TypeVar("T")

_EXPECTED = (ObjectExistsError, ObjectNotFoundError)
"""Answers that callers ask for, such as when they look for the newest version."""


class ObservingStore(StoreWrapper):
    """A store that counts its requests and bytes; those of a remote store are spans, too.

    ``scheme``: that of its URL.
    """

    def __init__(self, inner: ObjectStore, scheme: str) -> None:
        super().__init__(inner)
        self.has_views = inner.has_views
        self._scheme = scheme
        self._is_remote = inner.read_ahead > 0

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        result = self._reported(call, run)
        if call.sent:
            count("lance.store.bytes", call.sent, scheme=self._scheme, direction="write")
        if isinstance(result, pa.Buffer):
            count("lance.store.bytes", result.size, scheme=self._scheme, direction="read")
        return result

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        buffers = super().get_ranges(path, ranges)
        size = sum(requested.length for requested in ranges)
        count("lance.store.bytes", size, scheme=self._scheme, direction="read")
        return buffers

    def _reported(self, call: StoreCall, run: Callable[[], T]) -> T:
        if call.method not in REQUESTS:
            return run()
        outcome = "failed"
        try:
            if self._is_remote:
                with traced("lance.store." + call.method, scheme=self._scheme, path=call.path):
                    result = run()
            else:
                result = run()
            outcome = "done"
        except _EXPECTED as error:
            outcome = "missing" if isinstance(error, ObjectNotFoundError) else "exists"
            raise
        finally:
            count("lance.store.requests", scheme=self._scheme, method=call.method, outcome=outcome)
        return result
