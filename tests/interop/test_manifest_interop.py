"""pylance opens manifests, transactions and deletion files that we wrote or wrote back."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

from lance_core.schema.tree import Schema
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.deletion import decode_deletions, encode_deletions
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.file import (
    ManifestFile,
    parse_manifest_file,
    serialize_manifest_file,
)
from lance_core.table.paths import manifest_path
from lance_core.table.transactions.apply import CommitFacts, apply
from lance_core.table.transactions.operations import Append, Overwrite
from lance_core.table.transactions.transaction import Transaction
from tests.golden.pylance_tables import unpacked

SCHEMA = Schema.from_arrow(pa.schema([pa.field("a", pa.int64())]))
FACTS = CommitFacts(1_700_000_000_123_456_789)


@pytest.fixture(params=["addresses", "stable-row-ids"])
def table_copy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A table with a history of all operations that this library makes."""
    return unpacked(request.param, tmp_path)


def manifests(table: Path) -> list[Path]:
    """The manifest files of a table with V2 names, oldest version first."""
    return sorted((table / "_versions").glob("*.manifest"), reverse=True)


@pytest.fixture
def history(table_copy: Path) -> list[ManifestFile]:
    """Each version, oldest first."""
    return [parse_manifest_file(path.read_bytes()) for path in manifests(table_copy)]


def test_the_reference_implementation_opens_what_is_written_back(
    table_copy: Path,
    history: list[ManifestFile],
) -> None:
    expected = lance.dataset(table_copy)
    versions = [(v["version"], v["timestamp"]) for v in expected.versions()]
    rows = expected.to_table()
    for path, file in zip(manifests(table_copy), history, strict=True):
        moved = dataclasses.replace(
            file, manifest=dataclasses.replace(file.manifest, table_metadata={"by": "us"})
        )
        path.write_bytes(serialize_manifest_file(moved))
    found = lance.dataset(table_copy)
    assert [(v["version"], v["timestamp"]) for v in found.versions()] == versions
    assert found.to_table() == rows
    assert len(found.describe_indices()) == len(expected.describe_indices())
    assert found.read_transaction(3) is not None


def test_the_reference_implementation_reads_and_extends_what_we_commit(
    table_copy: Path,
) -> None:
    newest = parse_manifest_file(manifests(table_copy)[-1].read_bytes())
    (theirs,) = lance.fragment.write_fragments(
        pa.table({"a": [7, 8, 9], "s": ["x", None, "z"]}), table_copy, data_storage_version="2.0"
    )
    (file,) = theirs.to_json()["files"]
    stored = DataFile(
        file["path"],
        tuple(file["fields"]),
        tuple(file["column_indices"]),
        file["file_major_version"],
        file["file_minor_version"],
        file["file_size_bytes"],
    )
    append = Append((Fragment(0, (stored,), physical_rows=3),))
    version = newest.manifest.version + 1
    transaction = Transaction(
        newest.manifest.version, "6d0e1e6c-0000-4000-8000-000000000001", append
    )
    made = apply(newest, transaction, FACTS)
    (table_copy / manifest_path(version)).write_bytes(serialize_manifest_file(made))
    (table_copy / "_transactions" / transaction.file_name).write_bytes(transaction.to_bytes())
    (table_copy / "_versions" / "latest_version_hint.json").unlink()
    found = lance.dataset(table_copy)
    assert found.version == version
    assert found.to_table()["a"].to_pylist() == [*range(10), 7, 8, 9]
    assert found.read_transaction(version).uuid == transaction.uuid
    ids = found.to_table(with_row_id=True)["_rowid"].to_pylist()
    assert len(set(ids)) == 13
    if newest.manifest.uses_stable_row_ids:
        assert ids[-3:] == list(range(newest.manifest.next_row_id, newest.manifest.next_row_id + 3))
        created = found.to_table(columns=["_row_created_at_version"])["_row_created_at_version"]
        assert created.to_pylist()[-3:] == [version] * 3
    lance.write_dataset(pa.table({"a": [1], "s": ["y"]}), table_copy, mode="append")
    found.checkout_latest()
    found.delete("s = 'z'")
    found.optimize.compact_files()
    assert found.to_table()["a"].to_pylist() == [*range(10), 7, 8, 1]


def test_the_smallest_table_of_ours_is_read_by_the_reference_implementation(tmp_path: Path) -> None:
    source = tmp_path / "source"
    lance.write_dataset(pa.table({"a": [1, 2, 3]}), source, data_storage_version="2.0")
    written = parse_manifest_file(min((source / "_versions").glob("*.manifest")).read_bytes())
    fragments = [dataclasses.replace(f, id=0) for f in written.manifest.fragments]
    for stable in (False, True):
        target = tmp_path / f"target-{stable}"
        shutil.copytree(source / "data", target / "data")
        facts = dataclasses.replace(FACTS, stable_row_ids=stable)
        made = apply(None, Transaction(0, "u", Overwrite(fragments, SCHEMA)), facts)
        path = target / manifest_path(1)
        path.parent.mkdir()
        path.write_bytes(serialize_manifest_file(made))
        found = lance.dataset(target)
        assert found.to_table().to_pydict() == {"a": [1, 2, 3]}
        assert found.has_stable_row_ids is stable
        assert json.loads(json.dumps(found.stats.dataset_stats()))["num_fragments"] == 1


def test_the_reference_implementation_reads_a_transaction_of_ours(
    table_copy: Path, history: list[ManifestFile]
) -> None:
    """The section in the manifest is gone, so that the file must serve."""
    transaction = Transaction(8, "7d444840-9dc0-11d1-b245-5ffdce74fad2", Append(()), {"by": "us"})
    path = table_copy / "_transactions" / history[-1].manifest.transaction_file
    (table_copy / "_transactions" / transaction.file_name).write_bytes(transaction.to_bytes())
    assert path.exists()
    newest = min((table_copy / "_versions").glob("*.manifest"))
    manifest = dataclasses.replace(history[-1].manifest, transaction_file=transaction.file_name)
    newest.write_bytes(serialize_manifest_file(ManifestFile(manifest)))
    found = lance.dataset(table_copy).read_transaction(manifest.version)
    assert found.uuid == transaction.uuid
    assert found.read_version == 8
    assert type(found.operation).__name__ == "Append"


@pytest.mark.parametrize("count", [3, 6000])
def test_deletion_files_are_exchanged_with_the_reference_implementation(
    count: int, tmp_path: Path
) -> None:
    root = tmp_path / "table"
    lance.write_dataset(
        pa.table({"a": np.arange(20_000)}), root, data_storage_version="2.0"
    ).delete(f"a % 3 = 1 and a < {3 * count}")
    (newest, _) = sorted((root / "_versions").glob("*.manifest"))
    (fragment,) = parse_manifest_file(newest.read_bytes()).manifest.fragments
    file = fragment.deletion_file
    assert file is not None
    path = root / file.store_path(fragment.id)
    found = decode_deletions(file.file_type, path.read_bytes(), 20_000, file.num_deleted_rows)
    assert found.tolist() == list(range(1, 3 * count, 3))
    file_type, data = encode_deletions(found)
    assert file_type is file.file_type
    path.write_bytes(data)
    left = lance.dataset(root).to_table()["a"].to_numpy()
    assert not np.isin(left, found).any()
    assert len(left) == 20_000 - count
