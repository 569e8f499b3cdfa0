"""Tables of files of several versions: both libraries make and read them, and keep their flag."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.errors import InvalidInputError
from lance_core.table.manifest.feature_flags import FeatureFlags
from lance_core.table.manifest.file import parse_manifest_file
from tests.each_case import each_case
from tests.interop.columns import same

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

LIBRARIES = (lance, lance_core)
PAIRS = list(permutations(["2.0", "2.1", "2.2"], 2))
MIXED = FeatureFlags(256, 256)


def rows(start: int, count: int = 40) -> pa.Table:
    numbers = np.arange(start, start + count)
    return pa.table(
        {
            "key": numbers,
            "text": pa.array([None if n % 7 == 3 else f"row {n}" for n in numbers]),
            "at": pa.array([{"x": float(n), "tags": [f"t{n % 3}"] * (n % 4)} for n in numbers]),
            "vector": pa.FixedSizeListArray.from_arrays(np.repeat(numbers / 8, 4), 4),
        }
    )


def state(path: Path) -> tuple[FeatureFlags, str, list[int]]:
    """Flags and version that the newest manifest names, and the minor version of each file."""
    newest = min((path / "_versions").glob("*.manifest"))
    manifest = parse_manifest_file(newest.read_bytes()).manifest
    minors = [file.file_minor_version for fragment in manifest.fragments for file in fragment.files]
    return manifest.flags, manifest.storage_version, minors


def check(path: Path, expected: pa.Table) -> None:
    for library in LIBRARIES:
        dataset = library.dataset(str(path))
        same(dataset.to_table(), expected)
        same(dataset.to_table(offset=30, limit=60), expected.slice(30, 60))
        same(dataset.take([0, 41, 79, 100]), expected.take([0, 41, 79, 100]))
        found = dataset.to_table(columns=["text"], filter="key % 9 = 4 and text is not null")
        wanted = [
            text
            for key, text in zip(
                *expected.select(["key", "text"]).to_pydict().values(), strict=True
            )
            if key % 9 == 4 and text is not None
        ]
        assert found["text"].to_pylist() == wanted
        assert dataset.count_rows() == len(expected)
    assert lance.dataset(str(path)).validate() is None  # type: ignore[no-untyped-call]


@each_case("first", LIBRARIES, ids=lambda library: library.__name__)
@each_case("second", LIBRARIES, ids=lambda library: library.__name__)
@each_case(("base", "other"), PAIRS)
def test_files_of_two_versions_are_one_table(
    base: str, other: str, first: ModuleType, second: ModuleType, tmp_path: Path
) -> None:
    uri = str(tmp_path)
    first.write_dataset(rows(0), uri, data_storage_version=base)
    second.write_dataset(rows(40), uri, mode="append", data_storage_version=other)
    second.write_dataset(rows(80), uri, mode="append")
    minors = [int(name[-1]) for name in (base, other, base)]
    assert state(tmp_path) == (MIXED, base, minors)
    assert second.dataset(uri).data_storage_version == base
    check(tmp_path, rows(0, 120))


@each_case("mode", ["reencode", "try_binary_copy"])
@each_case(("base", "other"), PAIRS)
def test_a_compaction_makes_one_file_of_files_of_two_versions(
    base: str, other: str, mode: Any, tmp_path: Path
) -> None:
    uri = str(tmp_path)
    lance.write_dataset(rows(0), uri, data_storage_version=base)
    lance.write_dataset(rows(40), uri, mode="append", data_storage_version=other)
    lance.write_dataset(rows(80), uri, mode="append")
    metrics = lance_core.dataset(uri).optimize.compact_files(compaction_mode=mode)
    assert (metrics.fragments_removed, metrics.fragments_added) == (3, 1)
    assert state(tmp_path)[1:] == (base, [int(base[-1])])
    check(tmp_path, rows(0, 120))


STEPS = {
    "delete rows": lambda library, uri: library.dataset(uri).delete("key % 3 = 1"),
    "delete a file": lambda library, uri: library.dataset(uri).delete("key >= 40"),
    "config": lambda library, uri: library.dataset(uri).update_config({"k": "v"}),
    "overwrite": lambda library, uri: library.write_dataset(rows(7), uri, mode="overwrite"),
    "overwrite as 2.1": lambda library, uri: library.write_dataset(
        rows(7), uri, mode="overwrite", data_storage_version="2.1"
    ),
    "restore": lambda library, uri: library.dataset(uri, version=1).restore(),
    "append a third": lambda library, uri: library.write_dataset(
        rows(80), uri, mode="append", data_storage_version="2.1"
    ),
    "append as 0.1": lambda library, uri: library.write_dataset(
        rows(80), uri, mode="append", data_storage_version="legacy"
    ),
    "overwrite as 0.1": lambda library, uri: library.write_dataset(
        rows(80), uri, mode="overwrite", data_storage_version="legacy"
    ),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_commit_to_a_mixed_table_makes_of_it_what_pylance_makes(
    step: str, tmp_path: Path
) -> None:
    made = []
    for library in LIBRARIES:
        path = tmp_path / library.__name__
        lance.write_dataset(rows(0), str(path), data_storage_version="2.2")
        lance.write_dataset(rows(40), str(path), mode="append", data_storage_version="2.0")
        assert state(path)[0] == MIXED
        error = None
        try:
            STEPS[step](library, str(path))
        except (OSError, InvalidInputError):
            error = "refused"
        same_rows = [reader.dataset(str(path)).to_table() for reader in LIBRARIES]
        same(*same_rows)
        made.append((state(path), same_rows[0], error))
    assert made[0][0] == made[1][0]
    assert made[0][2] == made[1][2]
    same(made[0][1], made[1][1])
    assert made[0][0][0].has(256)


@pytest.mark.parametrize("cloned", [1, 2])
def test_a_clone_has_the_flag_of_the_version_that_it_copies(
    cloned: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANCE_CORE_ALLOW_BASE_PATHS", str(tmp_path))
    uri = str(tmp_path / "t")
    lance_core.write_dataset(rows(0), uri)
    lance_core.write_dataset(rows(40), uri, mode="append", data_storage_version="2.0")
    found = []
    for library in LIBRARIES:
        copy = tmp_path / library.__name__
        library.dataset(uri).shallow_clone(str(copy), cloned)
        same(lance.dataset(str(copy)).to_table(), rows(0, 40 * cloned))
        same(lance_core.dataset(str(copy)).to_table(), rows(0, 40 * cloned))
        found.append(state(copy))
    assert found[0] == found[1]


@pytest.mark.parametrize(("base", "other"), [("2.0", "2.1"), ("2.1", "2.2"), ("2.1", "2.0")])
@pytest.mark.parametrize("writer", LIBRARIES, ids=lambda library: library.__name__)
def test_blobs_of_version_1_are_found_in_files_of_every_version(
    writer: ModuleType, base: str, other: str, tmp_path: Path
) -> None:
    """pylance changes the schema of the table to blobs of version 2 when 2.2 is appended."""
    marked = pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    values = [b"a" * 50, None, b"", b"c" * 9]
    data = pa.table([values], schema=pa.schema([marked]))
    uri = str(tmp_path)
    writer.write_dataset(data, uri, data_storage_version=base)
    writer.write_dataset(data, uri, mode="append", data_storage_version=other)
    found = [
        (
            dataset.to_table()["blob"].to_pylist(),
            dataset.to_table(blob_handling="all_binary")["blob"].to_pylist(),
            dataset.take([1, 3, 5, 7])["blob"].to_pylist(),
        )
        for dataset in (library.dataset(uri) for library in LIBRARIES)
    ]
    assert found[0] == found[1]
    assert found[1][1] == values * 2
    for library in LIBRARIES:
        blobs = library.dataset(uri).take_blobs("blob", indices=[0, 3, 4, 7])
        assert [blob.read() for blob in blobs] == [b"a" * 50, b"c" * 9] * 2
