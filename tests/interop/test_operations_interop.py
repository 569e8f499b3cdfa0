"""What operations make of a table, against the reference implementation: manifest by manifest."""

from __future__ import annotations

import dataclasses
import itertools
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

import lance
import lance.file
import numpy as np
import pyarrow as pa
import pyroaring
import pytest
from lance import DatasetBasePath, LanceOperation
from lance.fragment import DataFile

from lance_core._pb import transaction_pb2
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.indices.index_metadata import parse_index_section
from lance_core.table.manifest.file import (
    ManifestFile,
    parse_manifest_file,
    serialize_manifest_file,
)
from lance_core.table.manifest_parts import WriterVersion
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.row_ids.row_versions import RowVersions
from lance_core.table.transactions.apply import CommitFacts, apply
from lance_core.table.transactions.operations import Clone, Restore
from lance_core.table.transactions.transaction import Transaction

Versions = Mapping[int, ManifestFile]


def _versions(root: Path | str) -> Versions:
    files = [parse_manifest_file(p.read_bytes()) for p in Path(root).glob("_versions/*.manifest")]
    return dict(sorted((file.manifest.version, file) for file in files))


def _source(transaction: Transaction, versions: Versions) -> ManifestFile | None:
    operation = transaction.operation
    if isinstance(operation, Restore):
        return versions[operation.version]
    if isinstance(operation, Clone):
        return _versions(operation.ref_path)[operation.ref_version]
    return None


def _comparable(fragment: Fragment) -> tuple[object, ...]:
    """A fragment with its rows' ids and versions spelt out; they may be stored in several ways."""
    rows = fragment.physical_rows or 0
    everything = np.arange(rows, dtype=np.int64)
    versions = (fragment.last_updated_at_versions, fragment.created_at_versions)
    lineage: list[object] = [
        RowVersions.from_bytes(sequence, rows).take(everything).tolist()
        for sequence in versions
        if isinstance(sequence, bytes)
    ]
    if isinstance(fragment.row_ids, bytes):
        lineage.append(RowIdSequence.from_bytes(fragment.row_ids, rows).slice(0, rows).tolist())
    plain = dataclasses.replace(
        fragment, row_ids=None, last_updated_at_versions=None, created_at_versions=None
    )
    return plain, lineage


def _compare(ours: ManifestFile, theirs: ManifestFile) -> None:
    assert list(map(_comparable, ours.manifest.fragments)) == list(
        map(_comparable, theirs.manifest.fragments)
    )

    def rest(file: ManifestFile) -> object:
        bases = tuple(sorted(file.manifest.base_paths, key=lambda base: base.id))
        return dataclasses.replace(file.manifest, fragments=(), base_paths=bases)

    assert rest(ours) == rest(theirs)
    assert parse_index_section(ours.index_section) == parse_index_section(theirs.index_section)
    assert ours.transaction is not None
    assert theirs.transaction is not None
    parse = transaction_pb2.Transaction.FromString
    assert parse(ours.transaction) == parse(theirs.transaction)


def check_history(root: Path | str) -> list[str]:
    """Compare all versions of a table; the kinds of its transactions."""
    versions = _versions(root)
    base: ManifestFile | None = None
    kinds = []
    for theirs in versions.values():
        assert theirs.transaction is not None
        assert theirs.manifest.timestamp_ns is not None
        transaction = Transaction.from_bytes(theirs.transaction)
        facts = CommitFacts(
            theirs.manifest.timestamp_ns,
            None,
            theirs.manifest.uses_stable_row_ids,
            WriterVersion("lance", "14.0.2"),
            _source(transaction, versions),
        )
        _compare(apply(base, transaction, facts), theirs)
        kinds.append(type(transaction.operation).__name__)
        base = theirs
    return kinds


def _rows(count: int = 10) -> pa.Table:
    return pa.table({name: pa.array(range(count), pa.int64()) for name in "ab"})


def _create(root: Path, stable: bool = False) -> lance.LanceDataset:
    return lance.write_dataset(
        _rows(),
        root,
        max_rows_per_file=5,
        data_storage_version="2.2",
        enable_stable_row_ids=stable,
    )


def _replacement(dataset: lance.LanceDataset, which: int, *fields: int) -> lance.LanceDataset:
    rows = dataset.get_fragment(which).physical_rows
    name = f"{uuid.uuid4()}.lance"
    path = Path(dataset.uri) / "data" / name
    data = pa.table({"ab"[field]: pa.array(range(rows), pa.int64()) for field in fields})
    version = dataset.data_storage_version
    with lance.file.LanceFileWriter(str(path), data.schema, version=version) as writer:
        writer.write_batch(data)
    minor = int(version[-1])
    file = DataFile(name, list(fields), list(range(len(fields))), 2, minor, path.stat().st_size)
    operation = LanceOperation.DataReplacement([LanceOperation.DataReplacementGroup(which, file)])
    return lance.LanceDataset.commit(dataset, operation, read_version=dataset.version)


def _columns(dataset: lance.LanceDataset, which: int, known: bool) -> lance.LanceDataset:
    """New values of one column of a fragment, perhaps saying of which rows."""
    first = dataset.get_fragment(which).to_table(with_row_id=True)
    row = first["_rowid"][1].as_py()
    values = pa.table({"_rowid": pa.array([row], pa.uint64()), "b": [50]})
    fragment, fields = dataset.get_fragment(which).update_columns(values)
    offsets = {which: pyroaring.BitMap([1]).serialize()} if known else None
    operation = LanceOperation.Update(
        updated_fragments=[fragment],
        fields_modified=fields,
        update_mode="rewrite_columns",
        updated_fragment_offsets=offsets,
    )
    return lance.LanceDataset.commit(dataset, operation, read_version=dataset.version)


def _change_rows(root: Path, stable: bool) -> list[str]:
    dataset = _create(root, stable)
    for column in "ab":
        dataset.create_scalar_index(column, "BTREE")
    dataset.update({"b": "7"}, where="a = 1")
    dataset.update({"b": "8"}, where="a in (1, 6)")
    merge = dataset.merge_insert("a").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(pa.table({"a": [2, 20], "b": [5, 5]}))
    dataset = _columns(lance.dataset(root), 1, known=False)
    dataset = _columns(dataset, 1, known=True)
    dataset.update({"b": "a"}, where="a < 5")
    dataset.optimize.compact_files()
    lance.dataset(root).delete("a = 8")
    return [
        "Overwrite", "CreateIndex", "CreateIndex", "Update", "Update", "Update", "Update",
        "Update", "Update", "ReserveFragments", "Rewrite", "Delete",
    ]  # fmt: skip


def _change_columns(root: Path, stable: bool) -> list[str]:
    dataset = _create(root, stable)
    dataset.create_scalar_index("b", "BTREE")
    dataset = _replacement(lance.dataset(root), 0, 1)
    dataset = _replacement(dataset, 0, 1)
    dataset = _replacement(dataset, 1, 1, 0)
    dataset.add_columns({"n": "a + 1"})
    dataset.add_columns(pa.field("w", pa.int32()))
    dataset.alter_columns({"path": "n", "data_type": pa.int32()})
    dataset.alter_columns({"path": "n", "name": "m"})
    dataset.drop_columns(["b"])
    return [
        "Overwrite", "CreateIndex", "DataReplacement", "DataReplacement", "DataReplacement",
        "Merge", "Merge", "Merge", "Project", "Project",
    ]  # fmt: skip


def _change_indices(root: Path, stable: bool) -> list[str]:
    dataset = _create(root, stable)
    dataset.create_scalar_index("a", "BTREE")
    dataset.create_scalar_index("a", "BTREE", replace=True)
    dataset = lance.write_dataset(_rows(), root, mode="append", max_rows_per_file=5)
    dataset.create_scalar_index("b", "BITMAP")
    dataset.optimize.optimize_indices(num_indices_to_merge=0)
    dataset.optimize.compact_files()
    dataset = _replacement(lance.dataset(root), 4, 0)
    dataset.drop_columns(["b"])
    dataset.delete("true")
    dataset.drop_index("a_idx")
    return [
        "Overwrite", "CreateIndex", "CreateIndex", "Append", "CreateIndex", "CreateIndex",
        "ReserveFragments", "Rewrite", "DataReplacement", "Project", "Delete", "CreateIndex",
    ]  # fmt: skip


def _change_settings(root: Path, stable: bool) -> list[str]:
    dataset = _create(root, stable)
    dataset.update_config({"k": "1", "l": "2"})
    dataset.delete_config_keys(["l"])
    dataset.update_metadata({"t": "1"})
    dataset.update_schema_metadata({"s": "1"})
    dataset.update_field_metadata({"a": {"f": "2"}})
    dataset.update_schema_metadata({"r": "1"}, replace=True)
    base = DatasetBasePath(path=f"{root}-elsewhere", name="x")
    dataset.add_bases([base])
    dataset = lance.dataset(root)
    dataset.add_bases([DatasetBasePath(path=f"{root}-further", name="y", is_dataset_root=True)])
    lance.write_dataset(_rows(), root, mode="append")
    lance.dataset(root, version=4).restore()
    lance.write_dataset(_rows(), root, mode="append")
    return [
        "Overwrite", *["UpdateConfig"] * 6, "UpdateBases", "UpdateBases", "Append", "Restore",
        "Append",
    ]  # fmt: skip


@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable row ids"])
@pytest.mark.parametrize(
    "change", [_change_rows, _change_columns, _change_indices, _change_settings]
)
def test_operations_make_of_a_table_what_the_reference_implementation_makes(
    change: Callable[[Path, bool], list[str]], stable: bool, tmp_path: Path
) -> None:
    root = tmp_path / "table"
    expected = change(root, stable)
    assert check_history(root) == expected


def test_clones_and_branches_begin_as_those_of_the_reference_implementation(
    tmp_path: Path,
) -> None:
    root, clone, second = tmp_path / "table", tmp_path / "clone", tmp_path / "second"
    dataset = _create(root)
    dataset.create_scalar_index("a", "BTREE")
    dataset.update_config({"k": "1"})
    dataset.delete("a = 3")
    dataset.shallow_clone(clone, dataset.latest_version)
    lance.write_dataset(_rows(), clone, mode="append")
    lance.dataset(clone).shallow_clone(second, 5)
    branch = dataset.create_branch("dev", 3)
    lance.write_dataset(_rows(), branch.uri, mode="append")
    lance.dataset(branch.uri).create_branch("team/dev")
    assert check_history(clone) == ["Clone", "Append"]
    assert check_history(second) == ["Clone"]
    assert check_history(root / "tree" / "dev") == ["Clone", "Append"]
    assert check_history(root / "tree" / "team" / "dev") == ["Clone"]


def test_versions_are_the_same_bytes_where_only_one_encoding_is_possible(tmp_path: Path) -> None:
    root = tmp_path / "table"
    dataset = _create(root)
    dataset.create_scalar_index("a", "BTREE")
    dataset.drop_columns(["b"])
    for base, theirs in itertools.pairwise(_versions(root).values()):
        assert theirs.transaction is not None
        assert theirs.manifest.timestamp_ns is not None
        writer = WriterVersion("lance", "14.0.2")
        facts = CommitFacts(theirs.manifest.timestamp_ns, writer_version=writer)
        made = apply(base, Transaction.from_bytes(theirs.transaction), facts)
        assert serialize_manifest_file(made) == serialize_manifest_file(theirs)
