"""Actions of both libraries on one table, which pylance wrote."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

import lance_core
from benchmarks.measure import Action, interleaved
from benchmarks.report import OURS, PEER, Report
from benchmarks.touch import touch

MODULES: dict[str, Any] = {OURS: lance_core, PEER: lance}
MAX_LINKS = 50_000
"""Maximum links to a file that the benchmarks make; ext4 allows 65,000."""


class Pair:
    """Times actions of both libraries in turn, and compares their results before."""

    def __init__(self, report: Report, path: Path, rounds: int) -> None:
        self._report = report
        self._path = str(path)
        self._rounds = rounds

    def again(self, label: str, action: Callable[[Any], object], bar: float | None = None) -> None:
        """Time ``action`` of a dataset that was opened and read before."""
        opened = {name: module.dataset(self._path) for name, module in MODULES.items()}
        self._compare(label, [action(dataset) for dataset in opened.values()])
        actions: dict[str, Action] = {
            name: lambda dataset=dataset: _use(action(dataset)) for name, dataset in opened.items()
        }
        self._report.add(label, interleaved(actions, self._rounds), bar)

    def first(self, label: str, action: Callable[[Any], object], bar: float | None = None) -> None:
        """Time ``action`` of a dataset that is opened just before, outside of the timing.

        The dataset of the round before is freed outside of the timing, too.
        """
        opened: dict[str, Any] = {}

        def prepare(name: str) -> None:
            opened.pop(name, None)
            opened[name] = MODULES[name].dataset(self._path)

        def act(name: str) -> object:
            return action(opened[name])

        self._timed(label, act, bar, prepare)

    def with_opening(
        self, label: str, action: Callable[[Any], object], bar: float | None = None
    ) -> None:
        """Time the opening of the dataset and ``action`` of it."""

        def act(name: str) -> object:
            return action(MODULES[name].dataset(self._path))

        self._timed(label, act, bar, lambda _: None)

    def _timed(
        self,
        label: str,
        act: Callable[[str], object],
        bar: float | None,
        prepare: Callable[[str], None],
    ) -> None:
        results = []
        for name in MODULES:
            prepare(name)
            results.append(act(name))
        self._compare(label, results)
        actions: dict[str, Action] = {name: lambda name=name: _use(act(name)) for name in MODULES}
        self._report.add(label, interleaved(actions, self._rounds, prepare), bar)

    @staticmethod
    def _compare(label: str, results: list[object]) -> None:
        assert results[0] == results[1], f"{label}: the results differ"


def _use(result: object) -> object:
    """Read every byte of rows, so that none are left to be read later."""
    return touch(result) if isinstance(result, pa.Table | pa.RecordBatch) else result


def link_fragments(source: Path, path: Path, count: int) -> None:
    """Make a table of ``count`` fragments, whose data files are links to copies of one.

    To write as many files would take minutes. pylance makes the manifest.
    """
    dataset = lance.dataset(str(source))
    (fragment,) = dataset.get_fragments()
    (file,) = fragment.data_files()
    data = path / "data"
    data.mkdir(parents=True)
    names = [f"{number:06d}.lance" for number in range(count)]
    for number, name in enumerate(names):
        if number % MAX_LINKS:
            os.link(data / names[number - number % MAX_LINKS], data / name)
        else:
            shutil.copy(source / "data" / file.path, data / name)
    version = (file.file_major_version, file.file_minor_version, file.file_size_bytes)
    parts = [
        lance.FragmentMetadata(
            number,
            [lance.fragment.DataFile(name, file.fields, file.column_indices, *version)],
            fragment.physical_rows,
        )
        for number, name in enumerate(names)
    ]
    operation = lance.LanceOperation.Overwrite(dataset.lance_schema, parts)
    lance.LanceDataset.commit(str(path), operation)
