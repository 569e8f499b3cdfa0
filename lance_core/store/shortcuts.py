"""Common reads, as functions over the store contract."""

from __future__ import annotations

import pyarrow as pa

from lance_core.errors import InvalidInputError, ObjectNotFoundError
from lance_core.store.base import ByteRange, ObjectStore


def get_range(store: ObjectStore, path: str, start: int, stop: int) -> pa.Buffer:
    """Bytes ``start`` (inclusive) to ``stop`` (exclusive) of an object; errors as `get_ranges`."""
    (buffer,) = store.get_ranges(path, [ByteRange(start, stop)])
    return buffer


def read_tail(
    store: ObjectStore, path: str, length: int, size: int | None = None
) -> tuple[pa.Buffer, int]:
    """The last ``length`` bytes of an object, or all of a shorter one, and its size in bytes.

    ``size`` spares a request if it is known; `CorruptFileError` if the object is shorter.
    """
    if length < 0:
        raise InvalidInputError(f"{length} bytes cannot be read")
    known = store.head(path).size if size is None else size
    return get_range(store, path, max(0, known - length), known), known


def exists(store: ObjectStore, path: str) -> bool:
    """Whether there is an object at ``path`` at this moment."""
    try:
        store.head(path)
    except ObjectNotFoundError:
        return False
    return True


def list_paths(store: ObjectStore, prefix: str = "", start_after: str | None = None) -> list[str]:
    """The paths of every object below ``prefix``, as `ObjectStore.list` orders them."""
    return [found.path for found in store.list(prefix, start_after)]
