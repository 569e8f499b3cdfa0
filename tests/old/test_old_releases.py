"""Old releases of pylance and this project read each other's tables with 2.0 files.

Run by ``tox -e old``: each release gets an environment of its own, made on the way.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from tests.old.cases import numbered, tables
from tests.old.releases import Release, check_ours, said

CASES = list(tables())


@pytest.fixture(scope="module")
def theirs(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables that the old release wrote."""
    folder = tmp_path_factory.mktemp("theirs")
    release.run("write", folder)
    return folder


@pytest.fixture(scope="module")
def ours(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables that we wrote, and what the old release reads from them."""
    folder = tmp_path_factory.mktemp("ours")
    for name, table in tables().items():
        uri = folder / f"{name}.lance"
        lance.write_dataset(table, uri, data_storage_version="2.0", max_rows_per_file=600)
    release.run("read", folder)
    return folder


@pytest.fixture(scope="module")
def shared(release: Release, theirs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of the old release to which we appended, and what it reads from them."""
    folder = tmp_path_factory.mktemp("shared") / "tables"
    shutil.copytree(theirs, folder, ignore=shutil.ignore_patterns("*.arrow"))
    for name, table in tables().items():
        lance.write_dataset(table, folder / f"{name}.lance", mode="append")
    release.run("read", folder)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_we_read_what_an_old_release_wrote(theirs: Path, name: str) -> None:
    check_ours(theirs, name)


@pytest.mark.parametrize("name", CASES)
def test_an_old_release_reads_what_we_wrote(release: Release, ours: Path, name: str) -> None:
    release.check(ours, name, tables()[name])


@pytest.mark.parametrize("name", CASES)
def test_an_old_release_reads_what_we_appended_to_its_table(
    release: Release, theirs: Path, shared: Path, name: str
) -> None:
    release.check(shared, name, pa.concat_tables([said(theirs, name), tables()[name]]))


@pytest.mark.parametrize("writer", ["theirs", "ours"])
def test_we_read_every_version_that_an_old_release_makes(
    release: Release, tmp_path: Path, writer: str
) -> None:
    uri = tmp_path / "changed.lance"
    if writer == "ours":
        table = numbered(0, 12_000)
        lance.write_dataset(table, uri, data_storage_version="2.0", max_rows_per_file=8000)
    else:
        release.run("create", tmp_path)
    release.run("change", tmp_path)
    versions = [version["version"] for version in lance.dataset(uri).versions()]
    assert versions == list(range(1, len(versions) + 1))
    assert len(versions) >= 9
    for version in versions:
        dataset = lance.dataset(uri, version=version)
        expected = said(tmp_path, f"changed-{version}")
        found = dataset.to_table()
        found.validate(full=True)
        assert found.schema.equals(expected.schema)
        assert found.sort_by("key").to_pylist() == expected.sort_by("key").to_pylist()
        assert dataset.count_rows() == expected.num_rows
        assert dataset.count_rows("key % 100 = 1") == len(
            [key for key in expected["key"].to_pylist() if key % 100 == 1]
        )
        dataset.validate()


def test_an_old_release_goes_on_with_a_table_to_which_we_appended(
    release: Release, tmp_path: Path
) -> None:
    uri = tmp_path / "changed.lance"
    release.run("create", tmp_path)
    lance.write_dataset(numbered(20_000, 20_010), uri, mode="append")
    release.run("change", tmp_path)
    newest = lance.dataset(uri)
    keys = newest.to_table(["key"], filter="key >= 20000")["key"].to_pylist()
    assert sorted(keys) == [key for key in range(20_000, 20_010) if key % 7 != 3]
    expected = said(tmp_path, f"changed-{newest.version}")
    assert newest.to_table().sort_by("key").to_pylist() == expected.sort_by("key").to_pylist()
