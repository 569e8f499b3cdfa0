"""Old releases of pylance and this project read each other's tables with 0.1 files.

Run by ``tox -e old``, like the tests of tables with 2.0 files.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import lance_core as lance
from tests.old.cases import numbered, tables
from tests.old.releases import Release, check_ours, said

CASES = [name for name in tables() if name != "zstd"]  # an encoding is not chosen in 0.1 files


@pytest.fixture(scope="module")
def theirs(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables that the old release wrote."""
    folder = tmp_path_factory.mktemp("theirs")
    release.run("write", folder, "legacy")
    return folder


@pytest.fixture(scope="module")
def ours(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables that we wrote, and what the old release reads from them."""
    folder = tmp_path_factory.mktemp("ours")
    for name in CASES:
        uri = folder / f"{name}.lance"
        lance.write_dataset(
            tables()[name], uri, data_storage_version="legacy", max_rows_per_file=600
        )
    release.run("read", folder)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_we_read_what_an_old_release_wrote(theirs: Path, name: str) -> None:
    check_ours(theirs, name)


@pytest.mark.parametrize("name", CASES)
def test_an_old_release_reads_what_we_wrote(ours: Path, name: str) -> None:
    found = lance.dataset(ours / f"{name}.lance").to_table()
    assert said(ours, name).to_pylist() == found.to_pylist()


def test_both_go_on_with_the_table_of_the_other(release: Release, tmp_path: Path) -> None:
    uri = tmp_path / "changed.lance"
    release.run("create", tmp_path, "legacy")
    lance.write_dataset(numbered(20_000, 20_010), uri, mode="append")
    lance.dataset(uri).delete("key = 20003 OR key = 5")
    release.run("change", tmp_path)
    versions = [version["version"] for version in lance.dataset(uri).versions()]
    assert len(versions) >= 11
    for version in versions:
        dataset = lance.dataset(uri, version=version)
        expected = said(tmp_path, f"changed-{version}").sort_by("key")
        assert dataset.to_table().sort_by("key").to_pylist() == expected.to_pylist()
        assert dataset.count_rows("key < 100") == len(
            [key for key in expected["key"].to_pylist() if key < 100]
        )
    keys = dataset.to_table(["key"], filter="key >= 20000")["key"].to_pylist()
    assert sorted(keys) == [k for k in range(20_000, 20_010) if k % 7 != 3 and k != 20_003]
