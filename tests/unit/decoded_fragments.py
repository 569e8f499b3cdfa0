"""How many fragments of manifests a test decodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lance_core.table.fragments import fragment_list
from lance_core.table.fragments.fragment import Fragment


@contextmanager
def decoded_fragments(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The numbers of fragments of each call that decodes some."""
    calls: list[int] = []
    decode, decode_block = Fragment.from_bytes, fragment_list._decode_block

    def one(data: bytes) -> Fragment:
        calls.append(1)
        return decode(data)

    def block(raw: list[bytes]) -> list[Fragment]:
        calls.append(len(raw))
        return decode_block(raw)

    with monkeypatch.context() as patched:
        patched.setattr(Fragment, "from_bytes", one)
        patched.setattr(fragment_list, "_decode_block", block)
        yield calls
