"""Memoization of pure functions, which makes running an actor again cheaper.

Parsing, applying and serialising depend only on their arguments. An actor that runs again with the
same answers repeats the same calls. The results are those of the shipped functions, including
patches, and are kept for one exploration.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any
from unittest import mock

from lance_core.commits import catch_up, history, loop, outcome
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.transactions.apply import CommitFacts
from lance_core.table.transactions.transaction import Transaction


@contextlib.contextmanager
def remembering() -> Iterator[None]:
    """Memoize the pure functions of the commit code while the context is active."""
    with contextlib.ExitStack() as stack:
        for module in (loop, catch_up, history, outcome):
            for name, remember in _REMEMBER.items():
                _patch(stack, module, name, remember)
        yield


def _patch(
    stack: contextlib.ExitStack,
    module: ModuleType,
    name: str,
    remember: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> None:
    function = getattr(module, name, None)
    if function is not None:
        stack.enter_context(mock.patch.object(module, name, remember(function)))


def _parse(function: Callable[..., ManifestFile]) -> Callable[..., ManifestFile]:
    known: dict[bytes, ManifestFile] = {}

    def parse(data: Any, path: str = "") -> ManifestFile:
        key = bytes(memoryview(data))
        parsed = known.get(key)
        if parsed is None:
            parsed = known[key] = function(data, path)
        return parsed

    return parse


def _apply(function: Callable[..., ManifestFile]) -> Callable[..., ManifestFile]:
    known: dict[tuple[object, ...], tuple[object, ManifestFile]] = {}

    def apply(
        base: ManifestFile | None, transaction: Transaction, facts: CommitFacts
    ) -> ManifestFile:
        settings = (facts.timestamp_ns, facts.storage_version, facts.stable_row_ids)
        key = (id(base), id(facts.source), transaction.to_bytes(), settings)
        applied = known.get(key)
        if applied is None:
            # The ids of objects that are kept alive are not reused.
            applied = known[key] = ((base, facts), function(base, transaction, facts))
        return applied[1]

    return apply


def _serialize(function: Callable[[ManifestFile], bytes]) -> Callable[[ManifestFile], bytes]:
    known: dict[int, tuple[ManifestFile, bytes]] = {}

    def serialize(file: ManifestFile) -> bytes:
        serialized = known.get(id(file))
        if serialized is None:
            serialized = known[id(file)] = (file, function(file))
        return serialized[1]

    return serialize


_REMEMBER: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "apply": _apply,
    "parse_manifest_file": _parse,
    "serialize_manifest_file": _serialize,
}
