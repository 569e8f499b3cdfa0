"""Opening the newest version: how many calls it takes, and what is said of damaged heads."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.dataset.snapshot import open_table
from lance_core.errors import CommitConflictError, CorruptFileError, LanceError
from lance_core.plugins import open_store
from lance_core.table.manifest.file import parse_manifest_file, serialize_manifest_file
from lance_core.table.paths import manifest_path
from lance_core_testing.stores.tracing import TracingStore
from tests.table_surgery import edit_manifest

ROW = pa.table({"x": [1]})


def test_the_latest_of_ten_thousand_versions_is_two_calls_away() -> None:
    uri = "memory://ten-thousand/t.lance"
    lance.write_dataset(ROW, uri)
    inner = open_store(uri)
    data = inner.get(manifest_path(1))
    for version in range(2, 10_000):
        inner.put(manifest_path(version), data)
    file = parse_manifest_file(data)
    newest = replace(file, manifest=replace(file.manifest, version=10_000))
    inner.put(manifest_path(10_000), serialize_manifest_file(newest))
    root = open_table.open_root(uri)
    traced = TracingStore(root.store)
    root = replace(root, store=traced, handler=PutIfAbsentCommitHandler(traced))
    opened = open_table.load(root, open_table.latest_location(root))
    assert opened.location.version == 10_000
    assert traced.trace.round_trips == 2
    assert traced.trace.counts == {"list": 1, "get": 1}


@pytest.fixture
def uri(tmp_path: Path) -> str:
    uri = str(tmp_path / "t.lance")
    lance.write_dataset(ROW, uri)
    lance.write_dataset(ROW, uri, mode="append")
    return uri


def head(uri: str) -> Path:
    return min(Path(uri, "_versions").glob("*.manifest"))


def uses(uri: str) -> list[Callable[[], object]]:
    return [
        lambda: lance.dataset(uri),
        lambda: lance.dataset(uri, version=2),
        lambda: lance.write_dataset(ROW, uri, mode="append"),
        lambda: lance.write_dataset(ROW, uri, mode="overwrite"),
        lambda: lance.LanceDataset.commit(uri, lance.LanceOperation.Append([]), read_version=1),
    ]


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"LANC", b"garbage" * 99, b'{"version":2}'])
def test_a_damaged_head_is_named_by_all_who_meet_it(uri: str, content: bytes) -> None:
    head(uri).write_bytes(content)
    before = sorted(Path(uri, "_versions").iterdir())
    for use in uses(uri):
        with pytest.raises(LanceError, match=re.escape(head(uri).name)) as damaged:
            use()
        assert isinstance(damaged.value, CorruptFileError)
    assert sorted(Path(uri, "_versions").iterdir()) == before
    assert lance.dataset(uri, version=1).count_rows() == 1


@pytest.mark.parametrize("version", [0, 1, 7])
def test_a_head_that_says_another_version_than_its_name_is_damaged(uri: str, version: int) -> None:
    def lie(manifest: Any) -> None:
        manifest.version = version

    with pytest.raises(CorruptFileError, match="its name says 2"):
        edit_manifest(lance.dataset(uri), lie)
    before = sorted(Path(uri, "_versions").iterdir())
    for use in uses(uri):
        with pytest.raises(CorruptFileError, match="its name says 2"):
            use()
    assert sorted(Path(uri, "_versions").iterdir()) == before


def test_a_missing_transaction_is_a_conflict_and_no_hindrance(uri: str) -> None:
    """Whoever read version 1 cannot know what version 2 did; whoever read version 2 can."""
    stale = lance.dataset(uri, version=1)

    def forget(manifest: Any) -> None:
        manifest.ClearField("transaction_section")

    for file in Path(uri, "_transactions").iterdir():
        file.unlink()
    edit_manifest(lance.dataset(uri), forget)
    assert lance.dataset(uri).read_transaction(2) is None
    with pytest.raises(CommitConflictError):
        lance.write_dataset(ROW, stale, mode="append")
    assert lance.write_dataset(ROW, uri, mode="append").count_rows() == 3
