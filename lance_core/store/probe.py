"""Finding out what a store really guarantees, by trying it.

Servers that call themselves compatible accept conditional writes and ignore the condition. A claim
that two commits rest on is therefore tried before it is relied upon.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable
from dataclasses import replace

from lance_core.errors import (
    ObjectExistsError,
    ObjectNotFoundError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.store.base import Guarantee, ObjectStore, PutMode, StoreCapabilities

FOLDER = "_probe"
"""Where the sentinels are made, below the root of the store."""


def probe(store: ObjectStore, new_uuid: Callable[[], uuid.UUID] = uuid.uuid4) -> StoreCapabilities:
    """``store.capabilities``, with what can be tried replaced by what was seen.

    put-if-absent is always tried, rename-if-absent and copy-if-absent unless they are declared NO.
    Each makes an object and tries to make it again: the second attempt must fail, and the content
    must stay the first's. The objects are removed afterwards, as far as possible. Needs the right
    to write; any `StoreError` but a refusal of the second attempt is passed on.
    """
    declared = store.capabilities
    seen = replace(declared, put_if_absent=_attempted(store, _put, new_uuid))
    if declared.rename_if_absent is not Guarantee.NO:
        seen = replace(seen, rename_if_absent=_attempted(store, _rename, new_uuid))
    if declared.copy_if_absent is not Guarantee.NO:
        seen = replace(seen, copy_if_absent=_attempted(store, _copy, new_uuid))
    return seen


def _attempted(
    store: ObjectStore,
    write: Callable[[ObjectStore, str, bytes], None],
    new_uuid: Callable[[], uuid.UUID],
) -> Guarantee:
    """YES if of two writes to one path the second fails and the first is there."""
    path = f"{FOLDER}/{new_uuid()}"
    try:
        try:
            write(store, path, b"1")
        except ObjectExistsError:
            return Guarantee.UNKNOWN  # nothing was there: an answer was lost on the way
        try:
            write(store, path, b"2")
        except ObjectExistsError:
            return Guarantee.YES if _content(store, path) == b"1" else Guarantee.NO
    except UnsupportedFeatureError:
        pass
    finally:
        for name in (path, f"{path}-1", f"{path}-2"):
            with contextlib.suppress(StoreError, UnsupportedFeatureError):
                store.delete(name)
    return Guarantee.NO


def _content(store: ObjectStore, path: str) -> bytes:
    try:
        return bytes(memoryview(store.get(path)))
    except ObjectNotFoundError:
        return b""


def _put(store: ObjectStore, path: str, content: bytes) -> None:
    store.put(path, content, PutMode.create)


def _rename(store: ObjectStore, path: str, content: bytes) -> None:
    source = f"{path}-{content.decode()}"
    store.put(source, content)
    store.rename_if_absent(source, path)


def _copy(store: ObjectStore, path: str, content: bytes) -> None:
    source = f"{path}-{content.decode()}"
    store.put(source, content)
    store.copy(source, path, PutMode.create)
