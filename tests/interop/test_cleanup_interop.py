"""Both libraries clean up the same tables; what survives differs only where our docs say so."""

from __future__ import annotations

import os
import shutil
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_core

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

DAY = 86400.0
ROWS = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})
UUID = "00000000-0000-4000-8000-00000000000"

PLANTED = [
    "data/never{}.lance",
    "data/never/{}.blob",
    "data/.tmpab{}",
    "_indices/" + UUID + "{}/page_data.lance",
    "_deletions/9-1-{}.arrow",
    "_deletions/9-2-{}.bin",
    "_transactions/1-{}.txn",
    "_versions/.tmp_{}",
    "data/{}.txt",
    "_deletions/9-3-{}.txt",
    "_transactions/{}.txt",
    "_versions/{}.txt",
    "_refs/{}.txt",
    "{}.txt",
]
STAGED_BEFORE = "_versions/18446744073709551614.manifest-" + UUID + "1"
STAGED_AFTER = "_versions/18446744073709551000.manifest-" + UUID + "2"


def files(root: Path) -> set[str]:
    return {
        str((Path(folder) / name).relative_to(root))
        for folder, _, names in os.walk(root)
        for name in names
    }


def set_age(root: Path, names: set[str], days: float) -> None:
    moment = time.time() - days * DAY
    for name in names:
        os.utime(root / name, (moment, moment))


def write(root: Path, names: set[str], days: float) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"planted")
    set_age(root, names, days)


def append(path: str) -> Any:
    return lance.write_dataset(ROWS, path, mode="append")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Versions 1 to 7 by pylance, files of all kinds that no version names, a detached version.

    Version 3 has a tag, a branch begins at version 2. All that versions name is a day old.
    """
    root = tmp_path / "table"
    path = str(root)
    lance.write_dataset(ROWS, path, data_storage_version="2.0")
    lance.write_dataset(ROWS, path, mode="overwrite")
    lance.write_dataset(ROWS, path, mode="overwrite").delete("a = 1")
    lance.dataset(path).create_scalar_index("a", "BTREE")
    lance.write_dataset(ROWS, path, mode="overwrite")
    append(path).delete("a = 2")
    lance.dataset(path).tags.create("kept", 3)
    lance.dataset(path).create_branch("dev", 2).insert(ROWS)
    fragments = lance.fragment.write_fragments(ROWS, path, data_storage_version="2.0")
    detached = lance.LanceOperation.Append(fragments)
    lance.LanceDataset.commit(path, detached, read_version=7, detached=True)
    set_age(root, files(root), 1)
    for days in (0, 8):
        # Not quite 0: pylance does not look at files that are newer than what it retains.
        write(root, {pattern.format(days) for pattern in PLANTED}, days or 0.1)
    write(root, {STAGED_BEFORE, STAGED_AFTER}, 8)
    return root


def both(table: Path, arguments: dict[str, Any]) -> tuple[set[str], set[str], Any, Any]:
    """What survives pylance's cleanup and ours, and what each says it did."""
    aside = table.parent / "aside"
    shutil.copytree(table, aside)
    theirs = lance.dataset(str(table)).cleanup_old_versions(**arguments)
    left_by_them = files(table)
    check_readable(table)
    shutil.rmtree(table)
    aside.rename(table)
    explained = lance_core.dataset(str(table)).explain_cleanup_old_versions(**arguments)
    ours = lance_core.dataset(str(table)).cleanup_old_versions(**arguments)
    check_readable(table)
    assert explained.stats == ours
    return left_by_them, files(table), theirs, ours


def check_readable(table: Path) -> None:
    """Every version of every branch that is left can be read by both libraries."""
    theirs = lance.dataset(str(table))
    versions = [found["version"] for found in theirs.versions()]
    assert [found["version"] for found in lance_core.dataset(str(table)).versions()] == versions
    for version in versions:
        expected = lance.dataset(str(table), version=version).to_table()
        assert lance_core.dataset(str(table), version=version).to_table() == expected
    assert theirs.checkout_version(("dev", None)).count_rows() == 6
    assert lance_core.dataset(str(table)).checkout_version(("dev", None)).count_rows() == 6


def transaction_files_of(table: Path, version: int) -> set[str]:
    made = lance_core.dataset(str(table), version=version).snapshot.manifest
    return {f"_transactions/{made.transaction_file}"}


def detached_files(table: Path) -> set[str]:
    """Data files, and transaction, that only the detached version names."""
    names = [p.name for p in (table / "_versions").glob("d*.manifest")]
    dataset = lance_core.dataset(str(table), version=int(names[0][1:].split(".")[0]))
    newest = lance_core.dataset(str(table)).snapshot.manifest
    made = dataset.snapshot.manifest
    known = {file.path for fragment in newest.fragments for file in fragment.files}
    data = {f"data/{file.path}" for fragment in made.fragments for file in fragment.files}
    return {path for path in data if path.removeprefix("data/") not in known} | {
        f"_transactions/{made.transaction_file}"
    }


def only_ours_keeps(table: Path, days: float, delete_unverified: bool) -> set[str]:
    """The documented deviations towards keeping more."""
    kept = transaction_files_of(table, 2)
    detached = {path for path in detached_files(table) if (table / path).exists()}
    return kept | (detached if days >= 7 or delete_unverified else set())


@pytest.mark.parametrize("delete_unverified", [False, True])
@pytest.mark.parametrize("days", [1, 8])
@pytest.mark.parametrize(
    "chosen",
    [
        {"retain_versions": 1},
        {"retain_versions": 3},
        {"older_than": timedelta(0)},
        {"older_than": timedelta(days=1)},
        {"versions": [1, 4, 7]},
        {"versions": [1, 4], "retain_versions": 5},
        {},
    ],
)
def test_the_same_files_survive(
    table: Path, chosen: dict[str, Any], days: float, delete_unverified: bool
) -> None:
    planted = {pattern.format(n) for pattern in PLANTED for n in (0, 8)}
    set_age(table, files(table) - planted - {STAGED_BEFORE, STAGED_AFTER}, days)
    arguments = {
        **chosen,
        "delete_unverified": delete_unverified,
        "error_if_tagged_old_versions": False,
    }
    theirs, ours, their_stats, our_stats = both(table, arguments)
    # What deviates: we keep what a branch's first version and a detached version name, and remove
    # what was staged for a version that has long been there.
    assert ours - theirs <= only_ours_keeps(table, days, delete_unverified)
    assert theirs - ours == {STAGED_BEFORE}
    assert our_stats.old_versions == their_stats.old_versions
    assert our_stats.index_files_removed == their_stats.index_files_removed
    assert our_stats.deletion_files_removed == their_stats.deletion_files_removed


def test_tagged_versions_are_the_same_error(table: Path) -> None:
    for library in (lance, lance_core):
        dataset = library.dataset(str(table))
        before = files(table)
        with pytest.raises(OSError, match=r"1 tagged version.*kept.*3"):
            dataset.cleanup_old_versions(retain_versions=1)
        with pytest.raises(OSError, match=r"1 tagged version.*kept.*3"):
            dataset.explain_cleanup_old_versions(retain_versions=1)
        assert files(table) == before


def test_explanations_agree(table: Path) -> None:
    arguments: dict[str, Any] = {
        "retain_versions": 2,
        "error_if_tagged_old_versions": False,
        "include_files": True,
    }
    theirs = lance.dataset(str(table)).explain_cleanup_old_versions(**arguments)
    ours = lance_core.dataset(str(table)).explain_cleanup_old_versions(**arguments)
    of_root = f"{str(table).lstrip('/')}/"
    listed = {
        (file.path.removeprefix(of_root), file.kind, file.unverified, file.size_bytes)
        for file in theirs.candidate_files
        if file.path.removeprefix(of_root) not in transaction_files_of(table, 2)
    }
    found = {(f.path, f.kind, f.unverified, f.size_bytes) for f in ours.candidate_files}
    staged = {(STAGED_BEFORE, "temporary_manifest", True, 7)}
    assert found - staged == listed
    assert ours.read_version == theirs.read_version
    assert not ours.candidate_files_truncated
    assert [(b.name, b.referenced_version, b.cleanup_candidate) for b in theirs.referenced_branches]
    for mine, other in zip(ours.referenced_branches, theirs.referenced_branches, strict=True):
        assert mine.name == other.name
        assert mine.referenced_version == other.referenced_version
        assert mine.cleanup_candidate == other.cleanup_candidate
    few = {**arguments, "max_files": 2}
    short = lance_core.dataset(str(table)).explain_cleanup_old_versions(**few)
    assert len(short.candidate_files) == 2
    assert short.candidate_files_truncated
    assert short.stats == ours.stats


def test_versions_from_the_open_one_on_stay(table: Path) -> None:
    arguments: dict[str, Any] = {"retain_versions": 1, "error_if_tagged_old_versions": False}
    theirs = lance.dataset(str(table), version=5).explain_cleanup_old_versions(**arguments)
    ours = lance_core.dataset(str(table), version=5).explain_cleanup_old_versions(**arguments)
    assert ours.stats.old_versions == theirs.stats.old_versions == 2  # 1 and 4
    assert ours.read_version == theirs.read_version == 5


def test_a_branch_is_cleaned_up_by_itself(table: Path) -> None:
    for _ in range(2):
        lance.dataset(str(table)).checkout_version(("dev", None)).insert(ROWS)
    set_age(table, {name for name in files(table) if name.startswith("tree/")}, 1)
    aside = table.parent / "aside"
    shutil.copytree(table, aside)
    left = []
    for library in (lance, lance_core):
        branch = library.dataset(str(table)).checkout_version(("dev", None))
        stats = branch.cleanup_old_versions(retain_versions=1)
        assert stats.old_versions == 3
        rows = library.dataset(str(table)).checkout_version(("dev", None)).count_rows()
        assert rows == 12
        left.append(files(table))
        shutil.rmtree(table)
        shutil.copytree(aside, table)
    assert left[0] == left[1]


def test_pylance_goes_on_after_our_cleanup_and_we_after_theirs(table: Path) -> None:
    for library in (lance_core, lance):
        library.dataset(str(table)).cleanup_old_versions(
            retain_versions=1, error_if_tagged_old_versions=False
        )
        rows = lance.dataset(str(table)).count_rows()
        append(str(table))
        lance_core.write_dataset(ROWS, str(table), mode="append")
        set_age(table, files(table), 1)
        assert lance_core.dataset(str(table)).count_rows() == rows + 6
        assert lance.dataset(str(table)).count_rows() == rows + 6
