"""Tables as early releases wrote them, rebuilt field by field."""

from __future__ import annotations

import dataclasses
import struct

import pytest

from lance_core._pb import table_pb2
from lance_core.errors import UnsupportedFeatureError
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.file import (
    ManifestFile,
    parse_manifest_file,
    serialize_manifest_file,
)
from lance_core.table.transactions.apply import CommitFacts, apply
from lance_core.table.transactions.operations import Append, Overwrite
from lance_core.table.transactions.transaction import Transaction
from tests.each_case import each_case

V2_FILE = {"file_major_version": 0, "file_minor_version": 3, "column_indices": [0]}
LEGACY_FILE = {"file_major_version": 0, "file_minor_version": 0}
FACTS = CommitFacts(1)


def manifest(*files: dict[str, object], **changes: object) -> ManifestFile:
    """A manifest as of release 0.7, with one fragment for each of ``files``."""
    message = table_pb2.Manifest(version=5, version_aux_data=123, **changes)  # type: ignore[arg-type]
    message.fields.add(name="a", id=0, parent_id=-1, logical_type="int64")
    for number, file in enumerate(files):
        fragment = message.fragments.add(id=number)
        fragment.files.add(path=f"{number}.lance", fields=[0], **file)  # type: ignore[arg-type]
    body = message.SerializeToString()
    tail = struct.pack("<QHH4s", 0, 0, 1, b"LANC")
    return parse_manifest_file(struct.pack("<I", len(body)) + body + tail)


def append(base: ManifestFile, major: int, minor: int) -> ManifestFile:
    columns = () if (major, minor) == (0, 2) else (0,)
    file = DataFile("new.lance", (0,), columns, major, minor, 10)
    operation = Append((Fragment(0, (file,), physical_rows=3),))
    return apply(base, Transaction(5, "u", operation), FACTS)


@each_case(
    ("files", "flags", "expected"),
    [
        ([LEGACY_FILE], 0, "0.1"),
        ([V2_FILE], 0, "2.0"),
        ([LEGACY_FILE, V2_FILE], 0, "2.0"),
        ([], 0, "0.1"),
        ([], 4, "2.0"),
    ],
)
def test_the_file_version_is_inferred_where_the_manifest_does_not_say(
    files: list[dict[str, object]], flags: int, expected: str
) -> None:
    assert manifest(*files, writer_feature_flags=flags).manifest.storage_version == expected


def test_row_counts_that_are_missing_are_unknown_and_not_zero() -> None:
    old = manifest(LEGACY_FILE).manifest
    assert old.num_rows is None
    assert old.fragments[0].physical_rows is None
    assert old.timestamp is None
    assert old.max_fragment_id is None
    assert old.writer_version is None


def test_a_commit_makes_an_old_table_say_what_it_is() -> None:
    made = append(manifest(V2_FILE, V2_FILE, writer_feature_flags=4), 2, 0).manifest
    assert made.data_format is not None
    assert made.data_format.version == "2.0"
    assert made.data_format.file_format == "lance"
    assert made.max_fragment_id == 2
    assert made.version_aux_data == 0
    assert made.writer_flags == 0
    assert made.num_rows is None
    legacy = append(manifest(LEGACY_FILE), 0, 2).manifest
    assert legacy.storage_version == "0.1"


def test_a_table_of_2_0_files_that_calls_itself_0_1_is_corrected_by_a_commit() -> None:
    wrong = table_pb2.Manifest.DataStorageFormat(file_format="lance", version="0.1")
    base = manifest(V2_FILE, data_format=wrong)
    assert base.manifest.storage_version == "0.1"
    assert append(base, 2, 0).manifest.storage_version == "2.0"


@pytest.mark.parametrize("named", [True, False])
def test_a_table_of_mixed_files_can_be_overwritten_only(named: bool) -> None:
    legacy = table_pb2.Manifest.DataStorageFormat(file_format="lance", version="0.1")
    base = manifest(LEGACY_FILE, V2_FILE, data_format=legacy if named else None)
    with pytest.raises(UnsupportedFeatureError, match="mixture"):
        append(base, 2, 0)
    facts = dataclasses.replace(FACTS, storage_version="2.0")
    overwrite = Transaction(5, "u", Overwrite((), base.manifest.schema))
    assert apply(base, overwrite, facts).manifest.storage_version == "2.0"


def test_an_empty_file_format_is_written_as_lance() -> None:
    base = manifest(V2_FILE, data_format=table_pb2.Manifest.DataStorageFormat(version="2.0"))
    again = parse_manifest_file(serialize_manifest_file(append(base, 2, 0)))
    assert again.manifest.data_format is not None
    assert again.manifest.data_format.file_format == "lance"


def test_a_field_in_two_files_is_read_from_the_later_one() -> None:
    message = table_pb2.DataFragment(id=0)
    for path, fields in (("x", [0]), ("y", [1, 2]), ("z", [3]), ("w", [2, 3])):
        message.files.add(path=path, fields=fields)
    found = Fragment.from_proto(message).file_of_field()
    assert found == {0: 0, 1: 1, 2: 3, 3: 3}
