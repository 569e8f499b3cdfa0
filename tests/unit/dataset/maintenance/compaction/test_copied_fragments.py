"""Copies of pages without the plugin that makes them, and with one of another project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.maintenance.compaction.copied_fragments import CopyOptions, copy_fragments
from lance_core.errors import CorruptFileError, PluginNotFoundError
from lance_core.hookspecs import hookimpl
from lance_core.hookspecs.file_versions import FileVersion, FileWriteResult
from lance_core.hookspecs.rewriters import (
    FileRewrite,
    Fragment,
    FragmentRewriter,
    RewriteCounts,
    RewriterSpec,
    SourceTable,
)
from lance_core.hookspecs.stores import ObjectWriter
from lance_core.plugins import manager as managers
from lance_core.plugins.manager import PluginManager
from tests.each_case import each_case


@pytest.fixture
def table(tmp_path: Path) -> lance.LanceDataset:
    """Two fragments."""
    for start in (0, 100):
        rows = pa.table({"x": range(start, start + 100)})
        dataset = lance.write_dataset(rows, tmp_path / "t.lance", mode="append")
    return dataset


class Failing(FragmentRewriter):
    """Writes a few bytes, then fails."""

    def why_not(
        self,
        table: SourceTable,
        fragments: Sequence[Fragment],
        version: FileVersion,
        *,
        is_strict: bool,
    ) -> str | None:
        return "it is not strict" if is_strict else None

    def write(
        self, rewrite: FileRewrite, writer: ObjectWriter
    ) -> tuple[FileWriteResult, RewriteCounts]:
        writer.write(b"begun")
        raise CorruptFileError("no page is like the others")


class Plugin:
    """Provides `Failing` under the name of the copy of pages."""

    @hookimpl
    def lance_rewriters(self) -> list[RewriterSpec]:
        return [RewriterSpec(name="binary_copy", factory=Failing)]


def without_plugins(monkeypatch: pytest.MonkeyPatch) -> PluginManager:
    manager = PluginManager(entry_points=False)
    monkeypatch.setattr(managers, "_manager", manager)
    return manager


def files(dataset: lance.LanceDataset) -> set[Path]:
    return set(Path(dataset.uri, "data").iterdir())


def test_without_the_plugin_rows_are_encoded_again(
    table: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_plugins(monkeypatch)
    metrics = table.optimize.compact_files(compaction_mode="try_binary_copy")
    assert (metrics.fragments_removed, metrics.fragments_added) == (2, 1)
    assert (metrics.pages_copied, metrics.pages_reencoded, metrics.bytes_copied) == (0, 0, 0)
    assert table.to_table()["x"].to_pylist() == list(range(200))


def test_a_copy_that_is_required_names_the_extra_and_changes_nothing(
    table: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_plugins(monkeypatch)
    before, version = files(table), table.version
    with pytest.raises(PluginNotFoundError, match=r'pip install "lance-core\[compaction\]"'):
        table.optimize.compact_files(compaction_mode="force_binary_copy")
    assert (files(table), lance.dataset(table.uri).version) == (before, version)


@each_case(
    "mode, message",
    [("try_binary_copy", "no page is like"), ("force_binary_copy", "it is not strict")],
)
def test_any_plugin_can_provide_the_copy_and_a_failed_one_leaves_no_file(
    table: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch, mode: str, message: str
) -> None:
    without_plugins(monkeypatch).register(Plugin())
    before = files(table)
    with pytest.raises(lance.errors.LanceError, match=message):
        table.optimize.compact_files(compaction_mode=mode)  # type: ignore[arg-type]
    assert files(table) == before


def test_no_fragments_make_no_file(table: lance.LanceDataset) -> None:
    version = table.snapshot.storage_version
    copied = copy_fragments(Failing(), table.snapshot, [], CopyOptions(10, 10, version))
    assert (copied.fragments, copied.counts) == ((), RewriteCounts())
