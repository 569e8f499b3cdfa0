from __future__ import annotations

import dataclasses
import uuid as uuids
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core._pb import table_pb2
from lance_core._version import __version__
from lance_core.checksums import environment
from lance_core.errors import (
    InvalidInputError,
    InvalidPathError,
    UnsupportedFeatureError,
)
from lance_core.schema.tree import Schema
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.deletion_file import DeletionFile, DeletionFileType
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.indices.index_metadata import IndexMetadata, serialize_index_section
from lance_core.table.manifest import feature_flags
from lance_core.table.manifest.feature_flags import FeatureFlags
from lance_core.table.manifest.file import (
    ManifestFile,
    parse_manifest_file,
    serialize_manifest_file,
)
from lance_core.table.manifest.manifest import CarriedFields, Manifest
from lance_core.table.manifest_parts import BasePath, DataFormat, WriterVersion
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.transactions.apply import CommitFacts, apply, writes_transaction_file
from lance_core.table.transactions.operations import (
    Append,
    Delete,
    Merge,
    Operation,
    Overwrite,
    PreservedOperation,
    ReserveFragments,
    Restore,
)
from lance_core.table.transactions.transaction import Transaction
from tests.each_case import each_case

SCHEMA = Schema.from_arrow(pa.schema([pa.field("a", pa.int64())]))
FACTS = CommitFacts(1_700_000_000_123_456_789)
FILE = DataFile("a.lance", (0,), (0,), 2, 0, 700)
NEW = Fragment(0, (FILE,), physical_rows=10)
DELETION = DeletionFile(DeletionFileType.ARROW_ARRAY, 1, 77, 4)


def commit(
    base: ManifestFile | None, operation: Operation, facts: CommitFacts = FACTS
) -> ManifestFile:
    read_version = 0 if base is None else base.manifest.version
    return apply(base, Transaction(read_version, "u", operation), facts)


def table(**changes: object) -> ManifestFile:
    """A table of fragments 0 and 1 with ten rows each."""
    made = commit(None, Overwrite((NEW, NEW), SCHEMA))
    return change(made, **changes)


def change(file: ManifestFile, **changes: object) -> ManifestFile:
    manifest = dataclasses.replace(file.manifest, **changes)  # type: ignore[arg-type]
    return dataclasses.replace(file, manifest=manifest)


def test_each_version_is_byte_for_byte_what_the_reference_implementation_makes(
    history: list[tuple[bytes, ManifestFile]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "WRITTEN", "no")
    base: ManifestFile | None = None
    compared = 0
    for data, theirs in history:
        assert theirs.transaction is not None
        transaction = Transaction.from_bytes(theirs.transaction)
        assert theirs.manifest.timestamp_ns is not None
        if not isinstance(transaction.operation, PreservedOperation):
            facts = CommitFacts(
                theirs.manifest.timestamp_ns,
                "2.0",
                theirs.manifest.uses_stable_row_ids,
                WriterVersion("lance", "14.0.2"),
            )
            ours = apply(base, transaction, facts)
            assert serialize_manifest_file(ours) == data
            compared += 1
        base = theirs
    assert compared == 9


def test_a_new_table_is_complete() -> None:
    made = commit(None, Overwrite((NEW, NEW), SCHEMA))
    assert made.manifest == Manifest(
        version=1,
        schema=SCHEMA,
        fragments=FragmentList.of([NEW, dataclasses.replace(NEW, id=1)]),
        timestamp_ns=FACTS.timestamp_ns,
        max_fragment_id=1,
        transaction_file="0-u.txn",
        writer_version=WriterVersion("lance-core", __version__),
        data_format=DataFormat("2.0"),
    )
    assert made.transaction == Transaction(0, "u", Overwrite((NEW, NEW), SCHEMA)).to_bytes()


def test_the_first_reserved_fragment_id_is_zero() -> None:
    empty = commit(None, Overwrite((), SCHEMA))
    assert commit(empty, ReserveFragments(1)).manifest.max_fragment_id == 0
    assert commit(empty, ReserveFragments(3)).manifest.max_fragment_id == 2


def test_an_empty_table_has_used_no_fragment_id() -> None:
    made = commit(None, Overwrite((), SCHEMA), dataclasses.replace(FACTS, storage_version="2.1"))
    assert made.manifest.max_fragment_id is None
    assert made.manifest.data_format == DataFormat("2.1")
    assert commit(made, Delete((), (), "")).manifest.max_fragment_id is None


def test_only_an_overwrite_makes_a_table() -> None:
    for operation in (Append((NEW,)), Delete((), (0,), "")):
        with pytest.raises(InvalidInputError):
            commit(None, operation)


def test_appending_copies_the_bytes_of_existing_fragments() -> None:
    base = table()
    raw = [fragment + bytes.fromhex("fa07036e6577") for fragment in base.manifest.fragments.raw]
    after = commit(change(base, fragments=FragmentList(raw)), Append((NEW,)))
    assert after.manifest.fragments.raw[:2] == tuple(raw)
    assert after.manifest.fragments[2].id == 2


def test_what_an_operation_does_not_concern_is_carried_over() -> None:
    carried = CarriedFields(None, b"\x08\x01", 3, bytes.fromhex("fa07036e6577"))
    base = table(
        config={"a": "b"},
        table_metadata={"c": "d"},
        base_paths=(BasePath(1, "/elsewhere", unknown=b""),),
        branch="dev",
        carried=carried,
        flags=FeatureFlags(128, 128 | 32),
        version_aux_data=9,
    )
    index = IndexMetadata(uuids.UUID(int=1), "by a", (0,))
    base = dataclasses.replace(base, index_section=serialize_index_section([index]))
    deletion = dataclasses.replace(NEW, deletion_file=DELETION)
    for operation in (Append((NEW,)), Delete((deletion,), (), ""), Overwrite((), SCHEMA)):
        after = commit(base, operation)
        manifest = after.manifest
        assert (manifest.config, manifest.table_metadata) == ({"a": "b"}, {"c": "d"})
        assert (manifest.branch, manifest.carried) == ("dev", carried)
        assert manifest.base_paths == base.manifest.base_paths
        assert manifest.version_aux_data == 0
        assert manifest.transaction_file == ""
        kept = not isinstance(operation, Overwrite)
        assert (after.index_section is not None) is kept
        expected = 16 | (128 if kept else 0) | (1 if isinstance(operation, Delete) else 0)
        assert manifest.flags == FeatureFlags(expected, expected | 8 | 32)
    assert not writes_transaction_file(base)
    assert writes_transaction_file(table())
    assert writes_transaction_file(None)


def test_fragment_and_row_ids_are_never_used_twice() -> None:
    facts = dataclasses.replace(FACTS, stable_row_ids=True)
    first = commit(None, Overwrite((NEW, NEW), SCHEMA), facts)
    emptied = commit(first, Delete((), (0, 1), "true"))
    assert len(emptied.manifest.fragments) == 0
    appended = commit(emptied, Append((NEW,)))
    overwritten = commit(appended, Overwrite((NEW,), SCHEMA))
    ids, starts = [], []
    for file in (first, emptied, appended, overwritten):
        assert file.manifest.flags == FeatureFlags(2, 2)
        for fragment in file.manifest.fragments:
            assert isinstance(fragment.row_ids, bytes)
            ids.append(fragment.id)
            starts.append(int(RowIdSequence.from_bytes(fragment.row_ids, 10).slice(0, 1)[0]))
    assert ids == [0, 1, 2, 3]
    assert starts == [0, 10, 20, 30]
    assert overwritten.manifest.next_row_id == 40


def test_a_table_keeps_its_kind_of_row_ids() -> None:
    after = commit(table(), Append((NEW,)), dataclasses.replace(FACTS, stable_row_ids=True))
    assert not after.manifest.uses_stable_row_ids
    assert after.manifest.fragments[2].row_ids is None


def test_ids_follow_from_the_fragments_where_an_old_table_does_not_record_them() -> None:
    base = table(max_fragment_id=None)
    assert commit(base, Append((NEW,))).manifest.max_fragment_id == 2
    assert commit(base, Delete((), (1,), "")).manifest.max_fragment_id == 1
    understated = table(max_fragment_id=0)
    assert commit(understated, Append((NEW,))).manifest.fragments[2].id == 2


def test_a_delete_changes_deletion_files_and_nothing_else() -> None:
    stale = Fragment(1, (dataclasses.replace(FILE, path="old"),), DELETION, 3)
    after = commit(table(), Delete((stale,), (0,), "a = 1"))
    (fragment,) = after.manifest.fragments
    assert fragment == dataclasses.replace(NEW, id=1, deletion_file=DELETION)
    assert after.manifest.flags == FeatureFlags(1, 1)
    assert after.manifest.num_rows == 6
    assert after.manifest.max_fragment_id == 1
    again = commit(after, Append((NEW,)))
    assert again.manifest.flags == FeatureFlags(1, 1)
    assert commit(again, Delete((), (1,), "")).manifest.flags == FeatureFlags()


@each_case(
    "operation",
    [
        Delete((), (5,), ""),
        Delete((dataclasses.replace(NEW, id=5, deletion_file=DELETION),), (), ""),
        Delete((dataclasses.replace(NEW, id=1, deletion_file=DELETION),), (1,), ""),
        Delete((dataclasses.replace(NEW, id=1, deletion_file=DELETION),) * 2, (), ""),
        Delete((NEW,), (), ""),
        Append((dataclasses.replace(NEW, deletion_file=DELETION),)),
        Append((dataclasses.replace(NEW, id=1),)),
        Append((dataclasses.replace(NEW, id=7), dataclasses.replace(NEW, id=7))),
        Append((dataclasses.replace(NEW, id=1 << 32),)),
        Append((dataclasses.replace(NEW, overlays=(b"",)),)),
        Append((dataclasses.replace(NEW, files=(dataclasses.replace(FILE, column_indices=()),)),)),
        Append(
            (dataclasses.replace(NEW, files=(dataclasses.replace(FILE, file_minor_version=3),)),)
        ),
        Overwrite((), SCHEMA, {}, (BasePath(1, "/x"),)),
    ],
)
def test_what_does_not_fit_the_table_is_refused(operation: Operation) -> None:
    with pytest.raises(InvalidInputError):
        commit(table(), operation)


def test_fragments_with_deleted_rows_are_not_appended() -> None:
    with pytest.raises(InvalidInputError, match="fragments with deleted rows cannot be appended"):
        commit(table(), Append((dataclasses.replace(NEW, deletion_file=DELETION),)))


def test_a_merge_copies_the_bytes_of_fragments_that_it_does_not_change() -> None:
    base = table()
    # The same fragment in another order of its fields, which this library would not write.
    rows = table_pb2.DataFragment(physical_rows=10).SerializeToString()
    rest = table_pb2.DataFragment(id=1, files=[FILE.to_proto()]).SerializeToString()
    base = change(base, fragments=FragmentList([base.manifest.fragments.raw[0], rows + rest]))
    more = DataFile("b.lance", (1,), (0,), 2, 0, 700)
    first, second = base.manifest.fragments
    assert (second.id, second.physical_rows, second.files) == (1, 10, (FILE,))
    changed = dataclasses.replace(first, files=(FILE, more))
    wider = Schema.from_arrow(pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.int64())]))
    after = commit(base, Merge((changed, second), wider)).manifest.fragments
    assert after[0].files == (FILE, more)
    assert after.raw[1] == rows + rest


@each_case("path", ["../a.lance", "/a.lance", "", "a/../../b", "s3://b/k"])
def test_no_commit_names_a_file_outside_of_the_table(path: str) -> None:
    fragment = dataclasses.replace(NEW, files=(dataclasses.replace(FILE, path=path),))
    for operation in (Append((fragment,)), Overwrite((fragment,), SCHEMA)):
        with pytest.raises(InvalidPathError):
            commit(table(), operation)


def test_rows_must_be_counted_where_they_get_ids() -> None:
    base = commit(None, Overwrite((NEW,), SCHEMA), dataclasses.replace(FACTS, stable_row_ids=True))
    for wrong in (
        dataclasses.replace(NEW, physical_rows=None),
        dataclasses.replace(NEW, row_ids=RowIdSequence.from_range(0, 3).to_bytes()),
    ):
        with pytest.raises(InvalidInputError):
            commit(base, Append((wrong,)))
    exhausted = change(base, next_row_id=(1 << 64) - 5)
    with pytest.raises(InvalidInputError, match="no row ids are left"):
        commit(exhausted, Append((NEW,)))
    own = dataclasses.replace(NEW, row_ids=RowIdSequence.from_range(3, 10).to_bytes())
    assert commit(base, Overwrite((own,), SCHEMA)).manifest.next_row_id == 10


def test_an_overwrite_may_change_the_file_version_and_an_append_mixes_them() -> None:
    newer = dataclasses.replace(NEW, files=(dataclasses.replace(FILE, file_minor_version=1),))
    facts = dataclasses.replace(FACTS, storage_version="2.1")
    assert commit(table(), Overwrite((newer,), SCHEMA), facts).manifest.storage_version == "2.1"
    assert commit(table(), Append((newer,)), facts).manifest.storage_version == "2.0"
    legacy = dataclasses.replace(
        FILE, column_indices=(), file_major_version=0, file_minor_version=2
    )
    with pytest.raises(InvalidInputError, match=r"0\.1.*2\.0"):
        commit(table(), Append((dataclasses.replace(NEW, files=(legacy,)),)), facts)
    fresh = Overwrite((newer, dataclasses.replace(NEW, files=(FILE,))), SCHEMA)
    with pytest.raises(InvalidInputError, match=r"2\.0.*2\.1"):
        commit(None, fresh)
    with pytest.raises(InvalidInputError, match="unknown data storage version"):
        commit(table(), Overwrite((), SCHEMA), dataclasses.replace(FACTS, storage_version="7"))


def test_a_table_that_must_not_be_written_is_not_written() -> None:
    with pytest.raises(UnsupportedFeatureError, match="unsupported writer feature flags"):
        commit(table(flags=FeatureFlags(0, 1 << 15)), Append((NEW,)))
    restored = dataclasses.replace(FACTS, source=table(flags=FeatureFlags(0, 1 << 15)))
    with pytest.raises(UnsupportedFeatureError, match="unsupported writer feature flags"):
        commit(table(), Restore(1), restored)
    with pytest.raises(UnsupportedFeatureError, match=r"2\.3"):
        commit(table(data_format=DataFormat("2.3")), Append(()))
    with pytest.raises(InvalidInputError, match="highest possible number"):
        commit(table(version=(1 << 63) - 1), Append((NEW,)))


def test_a_new_version_is_a_value_that_survives_its_file() -> None:
    made = commit(table(), Append((NEW,)))
    assert parse_manifest_file(serialize_manifest_file(made)) == made
    assert feature_flags.describe(made.manifest.flags.reader) == ""


def test_dictionaries_of_a_table_of_version_0_1_outlive_a_schema_that_names_none(
    tmp_path: Path,
) -> None:
    rows = pa.table({"d": pa.array(["a", "b", "a"]).dictionary_encode(), "x": [1, 2, 3]})
    lance_core.write_dataset(rows, tmp_path / "t", data_storage_version="legacy")
    projected = lance_core.LanceOperation.Project(rows.schema)
    made = lance_core.LanceDataset.commit(str(tmp_path / "t"), projected, read_version=1)
    assert made.to_table().equals(rows)
