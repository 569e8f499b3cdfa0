"""Copies of pages that fail, and compactions without the plugin or by one of another project."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core import optimize
from lance_core.errors import CorruptFileError, PluginNotFoundError
from lance_core.hookspecs import ToolSpec, hookimpl
from lance_core.hookspecs.stores import ObjectWriter
from lance_core.optimize import CompactionMetrics
from lance_core.plugins import manager as managers
from lance_core.plugins.manager import PluginManager
from lance_core_compaction import copied_fragments
from lance_core_compaction.copied_fragments import CopyOptions, copy_fragments
from lance_core_compaction.page_copy.file_rewrite import FileRewrite
from tests.each_case import each_case


@pytest.fixture
def table(tmp_path: Path) -> lance.LanceDataset:
    """Two fragments."""
    for start in (0, 100):
        rows = pa.table({"x": range(start, start + 100)})
        dataset = lance.write_dataset(rows, tmp_path / "t.lance", mode="append")
    return dataset


class Compaction:
    """A compaction of another project, which does nothing."""

    @staticmethod
    def execute(
        dataset: lance.LanceDataset, options: Mapping[str, Any], *, progress: object = None
    ) -> optimize.CompactionMetrics:
        return optimize.CompactionMetrics(fragments_left=len(options))

    @staticmethod
    def verify(dataset: lance.LanceDataset) -> optimize.CompactionCheck:
        return optimize.CompactionCheck(1, dataset.version, 0, [])


class Plugin:
    """Provides the `Compaction` of this module."""

    @hookimpl
    def lance_tools(self) -> list[ToolSpec]:
        return [ToolSpec(f"{__name__}:Compaction")]


def without_plugins(monkeypatch: pytest.MonkeyPatch) -> PluginManager:
    manager = PluginManager(entry_points=False)
    monkeypatch.setattr(managers, "_manager", manager)
    return manager


def files(dataset: lance.LanceDataset) -> set[Path]:
    return set(Path(dataset.uri, "data").iterdir())


def test_without_the_plugin_a_compaction_names_the_extra_and_changes_nothing(
    table: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_plugins(monkeypatch)
    before, version = files(table), table.version
    for call in (table.optimize.compact_files, table.optimize.verify):
        with pytest.raises(PluginNotFoundError, match=r'pip install "lance-core\[compaction\]"'):
            call()
    with pytest.raises(PluginNotFoundError, match="'CompactionTask'"):
        _ = optimize.CompactionTask
    with pytest.raises(AttributeError, match="no attribute 'Compactor'"):
        _ = optimize.Compactor  # type: ignore[attr-defined]  # that is what is tested
    assert (files(table), lance.dataset(table.uri).version) == (before, version)


def test_options_and_metrics_are_those_of_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    without_plugins(monkeypatch)
    metrics = optimize.CompactionMetrics(fragments_removed=2) + optimize.CompactionMetrics(1, 1)
    assert (metrics.fragments_removed, metrics.fragments_added) == (3, 1)
    assert pickle.loads(pickle.dumps(metrics)) == metrics
    assert "compaction_mode" in optimize.CompactionOptions.__annotations__


def test_any_plugin_can_provide_compactions(
    table: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_plugins(monkeypatch).register(Plugin())
    assert optimize.Compaction is Compaction  # type: ignore[comparison-overlap]
    assert table.optimize.compact_files(num_threads=1).fragments_left == 1
    assert table.optimize.verify().version == table.version


@each_case("mode", ["try_binary_copy", "force_binary_copy"])
def test_a_failed_copy_leaves_no_file(
    table: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    def fail(rewrite: FileRewrite, writer: ObjectWriter) -> None:
        writer.write(b"begun")
        raise CorruptFileError("no page is like the others")

    monkeypatch.setattr(copied_fragments, "write_file", fail)
    before = files(table)
    with pytest.raises(lance.errors.LanceError, match="no page is like"):
        table.optimize.compact_files(compaction_mode=mode)  # type: ignore[arg-type]
    assert files(table) == before


def test_no_fragments_make_no_file(table: lance.LanceDataset) -> None:
    version = table.snapshot.storage_version
    copied = copy_fragments(table.snapshot, [], CopyOptions(10, 10, version))
    assert (copied.fragments, copied.counts) == ((), CompactionMetrics())
