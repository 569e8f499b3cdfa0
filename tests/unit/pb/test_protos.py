"""The generated protobuf code understands and keeps all of what pylance writes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from lance_core._pb import (
    encodings_v2_0_pb2,
    encodings_v2_1_pb2,
    file2_pb2,
    file_pb2,
    frames_pb2,
    index_old_pb2,
    rowids_pb2,
    table_pb2,
    transaction_pb2,
)
from tests.golden.pylance_tables import unpacked

M = TypeVar("M", bound=Message)


ANY_KINDS: dict[str, type[Message]] = {
    f"/{kind.DESCRIPTOR.full_name}": kind
    for kind in (
        encodings_v2_0_pb2.ArrayEncoding,
        encodings_v2_0_pb2.ColumnEncoding,
        encodings_v2_1_pb2.PageLayout,
        index_old_pb2.BTreeIndexDetails,
    )
}


def unknown_of(message: Message) -> list[tuple[int, int]]:
    """Return number and wire type of the fields of `message` that no definition covers."""
    found = UnknownFieldSet(message)
    fields = [found[place] for place in range(len(found))]
    return [(field.field_number, field.wire_type) for field in fields]


def unknown_fields(message: Message, path: str = "") -> Iterator[str]:
    """Yield the place of each field of `message`, at any depth, that no definition covers."""
    here = path or message.DESCRIPTOR.name
    for number, wire_type in unknown_of(message):
        yield f"{here}: field {number}, wire type {wire_type}"
    if isinstance(message, Any):
        content = ANY_KINDS[message.type_url].FromString(message.value)
        yield from unknown_fields(content, f"{here}<{message.type_url}>")
    if isinstance(message, file2_pb2.DirectEncoding):
        yield from unknown_fields(Any.FromString(message.encoding), f"{here}.encoding")
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            continue
        is_map = descriptor.message_type.GetOptions().map_entry
        values = value.values() if is_map else value if descriptor.is_repeated else [value]
        for item in values:
            if isinstance(item, Message):
                yield from unknown_fields(item, f"{here}.{descriptor.name}")


def assert_understood(kind: type[M], data: bytes) -> M:
    """Parse `data`, and hold that nothing in it is unknown or lost by writing it again."""
    message = kind.FromString(data)
    assert list(unknown_fields(message)) == []
    again = message.SerializeToString()
    assert len(again) == len(data)
    assert kind.FromString(again) == message
    return message


def section(data: bytes, position: int) -> bytes:
    """Return the bytes behind the u32 length at `position` of a manifest file."""
    (length,) = struct.unpack_from("<I", data, position)
    return data[position + 4 : position + 4 + length]


def manifest_files(root: Path) -> list[Path]:
    return sorted(root.glob("_versions/*.manifest"), reverse=True)


def read_manifest(path: Path) -> tuple[table_pb2.Manifest, bytes]:
    """Return the manifest in the file at `path`, and the content of the file."""
    data = path.read_bytes()
    (position,) = struct.unpack_from("<Q", data, len(data) - 16)
    return assert_understood(table_pb2.Manifest, section(data, position)), data


@pytest.fixture(scope="module", params=["2.0", "2.2"])
def history(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that pylance changed in every way that the tests below look for."""
    return unpacked(f"all-verbs-{request.param}", tmp_path_factory.mktemp("history"))


def test_manifests_of_pylance_have_no_unknown_field(history: Path) -> None:
    manifests = [read_manifest(path)[0] for path in manifest_files(history)]
    versions = [manifest.version for manifest in manifests]
    assert all(second == first + 1 for first, second in pairwise(versions))
    assert len(versions) >= 12
    assert manifests[-1].fields[0].parent_id == -1
    assert manifests[-1].data_format.file_format == "lance"


def test_transactions_of_pylance_have_no_unknown_field(history: Path) -> None:
    operations = []
    for path in manifest_files(history):
        manifest, data = read_manifest(path)
        assert manifest.HasField("transaction_section")
        inline = section(data, manifest.transaction_section)
        assert (history / "_transactions" / manifest.transaction_file).read_bytes() == inline
        transaction = assert_understood(transaction_pb2.Transaction, inline)
        operations.append(transaction.WhichOneof("operation"))
    assert operations == [
        "overwrite",
        "append",
        "delete",
        "update",
        "update",
        "merge",
        "project",
        "create_index",
        "reserve_fragments",
        "rewrite",
        "update_config",
        "restore",
    ]


def test_index_sections_of_pylance_have_no_unknown_field(history: Path) -> None:
    urls = set()
    for path in manifest_files(history):
        manifest, data = read_manifest(path)
        if manifest.HasField("index_section"):
            found = assert_understood(table_pb2.IndexSection, section(data, manifest.index_section))
            urls |= {index.index_details.type_url for index in found.indices}
    assert urls == {"/lance.table.BTreeIndexDetails"}


def test_row_ids_and_versions_of_pylance_have_no_unknown_field(history: Path) -> None:
    sequences = 0
    for path in manifest_files(history):
        for fragment in read_manifest(path)[0].fragments:
            assert_understood(rowids_pb2.RowIdSequence, fragment.inline_row_ids)
            for versions in (
                fragment.inline_created_at_versions,
                fragment.inline_last_updated_at_versions,
            ):
                found = assert_understood(rowids_pb2.RowDatasetVersionSequence, versions)
                sequences += len(found.runs)
    assert sequences > 0


def test_data_files_of_pylance_have_no_unknown_field(history: Path) -> None:
    pages = 0
    for path in history.glob("data/*.lance"):
        data = path.read_bytes()
        _, columns_at, globals_at, _, columns = struct.unpack_from("<QQQII", data, len(data) - 40)
        for number in range(columns):
            start, size = struct.unpack_from("<QQ", data, columns_at + 16 * number)
            column = data[start : start + size]
            pages += len(assert_understood(file2_pb2.ColumnMetadata, column).pages)
        start, size = struct.unpack_from("<QQ", data, globals_at)
        descriptor = assert_understood(file_pb2.FileDescriptor, data[start : start + size])
        assert descriptor.schema.fields
    assert pages > 0


def manifest_with_fragments(count: int) -> table_pb2.Manifest:
    manifest = table_pb2.Manifest(version=9, transaction_file="8-x.txn")
    manifest.fields.add(name="id", parent_id=-1, logical_type="int64")
    for number in range(count):
        fragment = manifest.fragments.add(id=number, physical_rows=10)
        fragment.files.add(path=f"{number}.lance", fields=[0], column_indices=[0])
    return manifest


UNKNOWN_NUMBERS = b"\xc0\x3e\x07" + b"\xca\x3e\x03abc"
"""Field 1000 with the varint 7, and field 1001 with three bytes."""


def test_unknown_fields_survive_changes_of_a_manifest() -> None:
    manifest = manifest_with_fragments(2)
    nested = file_pb2.Field.FromString(manifest.fields[0].SerializeToString() + UNKNOWN_NUMBERS)
    manifest.fields[0].CopyFrom(nested)
    parsed = table_pb2.Manifest.FromString(manifest.SerializeToString() + UNKNOWN_NUMBERS)
    parsed.version += 1
    del parsed.fragments[0]
    written = parsed.SerializeToString()
    assert written.count(UNKNOWN_NUMBERS) == 2
    again = table_pb2.Manifest.FromString(written)
    assert (again.version, again.fragments[0].id) == (10, 1)
    assert unknown_of(again) == [(1000, 0), (1001, 2)]


def test_a_frame_leaves_fragments_undecoded_and_loses_nothing() -> None:
    manifest = manifest_with_fragments(50)
    data = manifest.SerializeToString() + UNKNOWN_NUMBERS
    frame = frames_pb2.ManifestFrame.FromString(data)
    fragments = list(frame.fragments)
    assert fragments == [fragment.SerializeToString() for fragment in manifest.fragments]
    del frame.fragments[:]
    rest = table_pb2.Manifest.FromString(frame.SerializeToString())
    assert (rest.version, rest.fields, len(rest.fragments)) == (9, manifest.fields, 0)
    written = rest.SerializeToString()
    written += frames_pb2.ManifestFrame(fragments=fragments).SerializeToString()
    assert table_pb2.Manifest.FromString(written) == table_pb2.Manifest.FromString(data)


def test_a_frame_copies_fragment_bytes_that_no_encoder_would_produce() -> None:
    # Field 1 twice, with an overlong varint: legal, and rewritten by any re-encoding.
    odd = b"\x08\x05\x08\x83\x80\x00" + UNKNOWN_NUMBERS
    frame = frames_pb2.ManifestFrame.FromString(b"\x12" + bytes([len(odd)]) + odd + b"\x18\x04")
    assert list(frame.fragments) == [odd]
    assert table_pb2.DataFragment.FromString(odd).id == 3
    assert odd in frame.SerializeToString()


def test_an_operation_that_is_not_listed_is_unset_and_kept() -> None:
    operation = b"\xa2\x07\x02\x08\x01"  # field 116, a message with field 1 = 1
    transaction = transaction_pb2.Transaction.FromString(b"\x08\x05" + operation)
    assert transaction.WhichOneof("operation") is None
    assert transaction.SerializeToString() == b"\x08\x05" + operation


def test_operations_of_the_old_blob_table_are_parsed() -> None:
    fragment = table_pb2.DataFragment(id=4)
    append = transaction_pb2.Transaction.Append(fragments=[fragment])
    transaction = transaction_pb2.Transaction(append=append, blob_append=append)
    again = assert_understood(transaction_pb2.Transaction, transaction.SerializeToString())
    assert again.WhichOneof("operation") == "append"
    assert again.WhichOneof("blob_operation") == "blob_append"
    assert again.blob_append.fragments[0].id == 4


def test_the_older_form_of_an_update_field_is_kept() -> None:
    log = b"\x0a\x06\x0a\x02eu\x10\x03" + b"\x12\x0amemory://x" + b"\x1a\x03wal" + b"\x28\x02"
    update = b"\x08\x01" + b"\x2a" + bytes([len(log)]) + log
    parsed = transaction_pb2.Transaction.Update.FromString(update)
    assert list(parsed.removed_fragment_ids) == [1]
    written = parsed.SerializeToString()
    for part in (b"\x0a\x06\x0a\x02eu\x10\x03", b"\x12\x0amemory://x", b"\x1a\x03wal", b"\x28\x02"):
        assert part in written
