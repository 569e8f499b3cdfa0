"""What every source of credentials must allow."""

from __future__ import annotations

import pytest

from lance_core.errors import ObjectExistsError
from lance_core.store.base import ObjectStore, PutMode


def use(store: ObjectStore) -> None:
    """Write, copy, read, list and remove objects; may be called again."""
    store.delete("a/file")
    store.delete("copy")
    store.put("file", b"content")
    store.put("a/file", b"content", PutMode.create)
    with pytest.raises(ObjectExistsError):
        store.put("a/file", b"other", PutMode.create)
    store.copy("a/file", "copy", PutMode.create)
    assert bytes(store.get("copy")) == b"content"
    assert sorted(store.list_names("")) == ["copy", "file"]
