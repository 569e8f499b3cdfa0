"""What is told of old tables, and read of them, is what pylance tells and reads."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_core
from lance_core._pb import table_pb2
from tests.early_files import write_early
from tests.interop.columns import same
from tests.table_surgery import edit_manifest

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

LIBRARIES = (lance, lance_core)


def test_versions_are_of_the_same_microsecond(tmp_path: Path) -> None:
    uri, chance = str(tmp_path / "t"), random.Random(7)
    moments = [0, 999_999_999, 1_000_000_000, 1_699_373_779_663_229_000, 1_736_974_156_756_020_000]
    moments += [chance.randrange(1 << 61) for _ in range(40)]
    moments += [1_700_000_000 * 10**9 + 10**9 - back for back in (1, 100, 129, 400, 1000)]
    dataset = lance_core.write_dataset(pa.table({"x": [1]}), uri)
    for moment in moments:

        def at(manifest: table_pb2.Manifest, moment: int = moment) -> None:
            manifest.timestamp.seconds, manifest.timestamp.nanos = divmod(moment, 10**9)

        dataset = edit_manifest(dataset, at)
        (theirs,), (ours,) = (library.dataset(uri).versions() for library in LIBRARIES)
        assert ours == theirs, moment
        assert lance_core.dataset(uri, asof=ours["timestamp"]).version == 1


def test_counts_of_early_tables_come_from_the_files_for_both(tmp_path: Path) -> None:
    for number, (physical, deleted) in enumerate([(90, 10), (0, 10), (100, 0), (5, 10)]):
        uri = str(tmp_path / str(number))
        lance.write_dataset(pa.table({"x": range(100)}), uri, data_storage_version="legacy")
        lance.dataset(uri).delete("x < 10")

        def wrong(
            manifest: table_pb2.Manifest, physical: int = physical, deleted: int = deleted
        ) -> None:
            manifest.ClearField("writer_version")
            manifest.fragments[0].physical_rows = physical
            manifest.fragments[0].deletion_file.num_deleted_rows = deleted

        edit_manifest(lance_core.dataset(uri), wrong)

        def told(library: Any, uri: str = uri) -> list[object]:
            dataset = library.dataset(uri)
            (fragment,) = dataset.get_fragments()
            counts = (fragment.physical_rows, fragment.num_deletions, fragment.count_rows())
            return [dataset.count_rows(), dataset.to_table().to_pydict(), counts]

        assert told(lance_core) == told(lance)
        for change in CHANGES:
            change(lance_core.dataset(uri))
            assert told_by_both(uri)


CHANGES: list[Callable[[lance_core.LanceDataset], object]] = [
    lambda dataset: dataset.update_config({"a": "b"}),
    lambda dataset: dataset.delete("x = 50"),
    lambda dataset: dataset.insert(pa.table({"x": [1, 2]})),
]
"""After these pylance believes the counts, since the manifest names its writer."""


def told_by_both(uri: str) -> bool:
    theirs, ours = (library.dataset(uri) for library in LIBRARIES)
    same(theirs.to_table(), ours.to_table())
    return bool(theirs.count_rows() == ours.count_rows() == ours.to_table().num_rows)


def test_strings_that_are_lists_of_bytes_are_read_by_both(tmp_path: Path) -> None:
    uri, words = str(tmp_path / "t"), ["a", "", None, "äöü €", "word " * 30]
    data = pa.table(
        {
            "n": range(500),
            "s": words * 100,
            "b": pa.array(words * 100).cast(pa.large_binary()),
            "l": [words[: row % 4] for row in range(500)],
            "t": [{"s": word, "n": 1} for word in words * 100],
            "last": range(500),
        }
    )
    write_early(data, uri, data_cache_bytes=20_000)
    for library in LIBRARIES:
        dataset = library.dataset(uri)
        same(dataset.to_table(), data)
        same(dataset.take([499, 3, 3]), data.take([499, 3, 3]))
        assert dataset.count_rows(filter="s = ''") == 100
