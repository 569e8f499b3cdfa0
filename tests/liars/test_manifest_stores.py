"""A back-end of an external manifest store that returns or raises anything costs no row."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lance_core as lance
from lance_core.errors import CommitUnknownError, LanceError, ObjectNotFoundError, StoreError
from lance_core.hookspecs import ManifestStoreSpec, hookimpl
from lance_core_testing.manifest_stores.memory_manifest_store import MemoryManifestStore
from tests.each_case import each_case
from tests.examples import share
from tests.liars.lies import ERRORS, INTERRUPTIONS, WRONG_VALUES, Lie, no_lie
from tests.liars.trial import MORE, ROWS, Trial, content

pytestmark = pytest.mark.usefixtures("without_pauses")

ENTRIES: dict[str, Callable[[Any], Any]] = {
    "another version": lambda entry: replace(entry, version=entry.version + 1),
    "version as text": lambda entry: replace(entry, version=str(entry.version)),
    "a path outside": lambda entry: replace(entry, path="/etc/passwd"),
    "no path": lambda entry: replace(entry, path=None),
    "a negative size": lambda entry: replace(entry, size=-1),
    "size as text": lambda entry: replace(entry, size="7"),
    "a tuple": lambda entry: (entry.version, entry.path),
}
OURS: dict[str, Callable[[], BaseException]] = {
    "StoreError": lambda: StoreError("refused"),
    "ObjectNotFoundError": lambda: ObjectNotFoundError("row"),
}


class Lying(MemoryManifestStore):
    """Does what its base does, but may end a call in another way."""

    plugin: Plugin


def _lying(method: str) -> Callable[..., Any]:
    honest = getattr(MemoryManifestStore, method)

    def call(self: Lying, *arguments: Any) -> Any:
        return self.plugin.lie.end(method, lambda: honest(self, *arguments))

    return call


for _method in ("get", "get_latest", "put_if_absent", "put_if_present", "delete"):
    setattr(Lying, _method, _lying(_method))


class Plugin:
    """Offers the liar, one for all tables."""

    def __init__(self) -> None:
        self.lie = no_lie()
        self.rows = Lying()
        self.rows.plugin = self

    @hookimpl
    def lance_manifest_stores(self) -> list[ManifestStoreSpec]:
        return [ManifestStoreSpec("liar", "liar", lambda url, options: self.rows)]


class RowsTrial(Trial):
    """The healthy view of a table is that of an honest back-end with the same rows."""

    plugin: Plugin

    def check(self, path: Path, ended: BaseException | None) -> None:
        content(path)  # the folder alone is a table at every time
        now = _rows_of(f"file+liar://{path}")
        if ended is None:
            assert now == self.after
        elif isinstance(ended, LanceError) and not isinstance(ended, CommitUnknownError):
            assert now == self.before, f"not committed, according to {ended!r}"
        else:
            assert now in (self.before, self.after)


def _rows_of(uri: str) -> list[dict[str, Any]]:
    return sorted(lance.dataset(uri).to_table().to_pylist(), key=lambda row: row["x"])


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Trial]:
    return functools.cache(lambda verb: RowsTrial(tmp_path_factory.mktemp("trial"), verb))


def _cases() -> Iterator[tuple[str, str, Lie]]:
    for method in ("get", "get_latest", "put_if_absent", "put_if_present"):
        is_read = method.startswith("get")
        answers: dict[str, Callable[[Any], Any]] = {
            **{name: lambda _, make=make: make() for name, make in WRONG_VALUES.items()},
            **{
                name: lambda _, raised=raised: raised()
                for name, raised in {**ERRORS, **INTERRUPTIONS, **OURS}.items()
            },
            **{
                name: lambda entry, change=change: entry and change(entry)
                for name, change in (ENTRIES if is_read else {}).items()
            },
        }
        for name, answer in answers.items():
            if name == "None":
                continue  # no row, or success
            for at in (1, 2):
                yield "append", name, Lie(method, answer, at)
            yield "append", name, Lie(method, answer, always=True)
            if not is_read:
                yield "append", name, Lie(method, answer, applied=False)
                yield "append", name, Lie(method, answer, applied=False, always=True)


@each_case("verb, name, lie", lambda: share(list(_cases()), 7, 0))
def test_no_answer_of_a_manifest_store_costs_a_row(
    plugin: Plugin, trial: Callable[[str], Trial], verb: str, name: str, lie: Lie
) -> None:
    ended = trial(verb).run(plugin, "file+liar", lie)
    if ended is not None and name in WRONG_VALUES:
        assert re.search(rf"'liar' of plugin 'liars'.*{lie.method}\b.* returned", str(ended))


def test_a_back_end_that_returns_false_for_a_row_that_exists_replaces_no_manifest(
    plugin: Plugin, tmp_path: Path
) -> None:
    """A usual slip: the result of a conditional write, which SDKs return as a truth value."""
    uri = f"file+liar://{tmp_path}/table"
    lance.write_dataset(ROWS, uri)
    behind = lance.dataset(uri)
    lance.write_dataset(MORE, uri, mode="append")
    lie = Lie("put_if_absent", lambda _: False, applied=False, always=True)
    newest = lance.dataset(uri).to_table()
    plugin.lie = lie
    try:
        with pytest.raises(CommitUnknownError, match=r"put_if_absent.* returned bool"):
            behind.delete("x = 1")
    finally:
        plugin.lie = no_lie()
    assert lance.dataset(uri).to_table().equals(newest)
