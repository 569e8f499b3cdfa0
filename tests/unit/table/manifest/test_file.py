from __future__ import annotations

import dataclasses
import pickle
import struct
from collections.abc import Callable

import pyarrow as pa
import pytest
from google.protobuf.unknown_fields import UnknownFieldSet

from lance_core._pb import table_pb2
from lance_core.checksums import environment
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.schema.dictionary_values import with_values
from lance_core.schema.field import DictionaryValues
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.manifest.file import (
    ManifestFile,
    parse_manifest_file,
    serialize_manifest_file,
    serialized_manifest,
)
from lance_core.table.manifest.manifest import Manifest, join, split
from tests.each_case import each_case

UNKNOWN = bytes.fromhex("fa07036e6577")
"""Field 127, three bytes: "new"."""


def message_of(data: bytes) -> tuple[table_pb2.Manifest, bytes]:
    """The manifest of a file, and what is in front of it."""
    position = struct.unpack_from("<Q", data, len(data) - 16)[0]
    message = serialized_manifest(pa.py_buffer(data))
    return table_pb2.Manifest.FromString(message), data[:position]


def file_of(message: table_pb2.Manifest, before: bytes = b"", minor: int = 2) -> bytes:
    body = message.SerializeToString()
    tail = struct.pack("<QHH4s", len(before), 0, minor, b"LANC")
    return before + struct.pack("<I", len(body)) + body + tail


def minimal() -> table_pb2.Manifest:
    message = table_pb2.Manifest(version=1)
    message.fields.add(name="a", id=0, parent_id=-1, logical_type="int64")
    return message


def test_a_foreign_manifest_is_written_back_byte_for_byte_but_for_its_seal(
    history: list[tuple[bytes, ManifestFile]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(history) == 9
    for _, file in history:
        assert parse_manifest_file(serialize_manifest_file(file)) == file
    monkeypatch.setattr(environment, "WRITTEN", "no")
    for data, file in history:
        assert serialize_manifest_file(file) == data


def test_every_part_of_a_foreign_manifest_is_understood(
    history: list[tuple[bytes, ManifestFile]],
) -> None:
    for number, (data, file) in enumerate(history, start=1):
        manifest = file.manifest
        assert manifest.version == number
        assert file.transaction is not None
        assert manifest.carried.unknown == b""
        assert manifest.storage_version == "2.0"
        assert manifest.writer_version is not None
        assert manifest.writer_version.library == "lance"
        message, _ = message_of(data)
        assert not UnknownFieldSet(message)
        assert list(manifest.fragments) == list(map(Fragment.from_proto, message.fragments))
    with_index = history[5][1]
    assert with_index.index_section is not None


def test_unknown_fields_at_every_level_survive_rewriting() -> None:
    message = minimal()
    fragment = message.fragments.add(id=4, physical_rows=3)
    file = fragment.files.add(path="a.lance", fields=[0], column_indices=[0])
    file.file_major_version = 2
    fragment.deletion_file.num_deleted_rows = 1
    fragment.external_row_ids.path = "ids"
    message.writer_version.library = "other"
    message.data_format.version = "2.0"
    message.base_paths.add(id=1, path="/x")
    message.clustering = b"\x08\x01"
    message.max_clustering_id = 9
    message.max_allocated_field_id = 0
    parts = [
        message, message.fields[0], fragment, file, fragment.deletion_file,
        fragment.external_row_ids, message.writer_version, message.data_format,
        message.base_paths[0],
    ]  # fmt: skip
    for part in parts:
        part.MergeFromString(UNKNOWN)
    data = file_of(message)
    parsed = parse_manifest_file(data)
    decoded = dataclasses.replace(
        parsed.manifest,
        fragments=FragmentList(fragment.to_bytes() for fragment in parsed.manifest.fragments),
    )
    again, _ = message_of(serialize_manifest_file(ManifestFile(decoded)))
    message.data_format.file_format = "lance"
    assert again.SerializeToString(deterministic=True) == message.SerializeToString(
        deterministic=True
    )
    assert again.SerializeToString().count(UNKNOWN) == len(parts)


def test_fragments_are_not_decoded_before_they_are_looked_at() -> None:
    message = minimal()
    message.fragments.add(id=1)
    body = message.SerializeToString().replace(
        message.fragments[0].SerializeToString(), b"\xff\xff"
    )
    manifest = split(body).fragments
    assert len(manifest) == 1
    assert b"\x12\x02\xff\xff" in join(minimal(), manifest)
    with pytest.raises(CorruptFileError):
        manifest[0]


@each_case("minor", [1, 2, 9])
def test_any_minor_version_and_anything_in_front_is_accepted(minor: int) -> None:
    file = parse_manifest_file(file_of(minimal(), b"something else", minor))
    assert file == parse_manifest_file(file_of(minimal()))


@pytest.mark.parametrize("name", ["transaction_section", "transaction_section_deprecated"])
def test_the_transaction_is_found_by_its_old_and_its_new_position(name: str) -> None:
    message = minimal()
    setattr(message, name, 3)
    file = parse_manifest_file(file_of(message, b"???\x02\x00\x00\x00ab"))
    assert file.transaction == b"ab"
    written, before = message_of(serialize_manifest_file(file))
    assert (written.transaction_section, before) == (0, b"\x02\x00\x00\x00ab")
    assert not written.HasField("transaction_section_deprecated")


@each_case(
    ("data", "error", "text"),
    [
        (b"", CorruptFileError, "too short"),
        (b"x" * 40, CorruptFileError, "LANC"),
        (struct.pack("<QHH4s", 0, 0, 2, b"LANC"), CorruptFileError, "too short"),
        (
            bytes(8) + struct.pack("<QHH4s", 1 << 60, 0, 2, b"LANC"),
            CorruptFileError,
            "past the end",
        ),
        (b"\xff" * 8 + struct.pack("<QHH4s", 0, 0, 2, b"LANC"), CorruptFileError, "past the end"),
        (bytes(8) + struct.pack("<QHH4s", 0, 0, 2, b"LANC"), CorruptFileError, "tail begins"),
        (bytes(4) + struct.pack("<QHH4s", 0, 3, 0, b"LANC"), UnsupportedFeatureError, "version 3"),
        (
            struct.pack("<I", 2) + b"\x0a\x05" + struct.pack("<QHH4s", 0, 0, 2, b"LANC"),
            CorruptFileError,
            "not a",
        ),
    ],
)
def test_broken_framing_is_named(data: bytes, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        parse_manifest_file(data, "_versions/1.manifest")


@each_case("name", ["index_section", "transaction_section"])
@each_case("position", [1, 1 << 40])
def test_a_section_outside_of_the_file_is_corrupt(name: str, position: int) -> None:
    message = minimal()
    setattr(message, name, position)
    with pytest.raises(CorruptFileError) as caught:
        parse_manifest_file(file_of(message, b"\xff\xff\xff\xff\xff"), "p")
    assert caught.value.path == "p"
    assert caught.value.field == f"Manifest.{name}"


def test_features_are_checked_before_anything_is_interpreted() -> None:
    message = table_pb2.Manifest(version=1, reader_feature_flags=64)
    message.fields.add(name="a", id=0, parent_id=7, logical_type="from the future")
    with pytest.raises(UnsupportedFeatureError, match="bit 6"):
        parse_manifest_file(file_of(message))


def test_fragments_stored_elsewhere_are_refused_and_an_empty_tree_is_not() -> None:
    message = minimal()
    message.fragment_tree = b""
    assert len(parse_manifest_file(file_of(message)).manifest.fragments) == 0
    message.fragment_tree = b"\x08\x01"
    with pytest.raises(UnsupportedFeatureError, match="outside of the manifest"):
        parse_manifest_file(file_of(message))


def test_a_time_that_is_none_is_corrupt_where_it_is_used() -> None:
    message = minimal()
    message.timestamp.seconds = 1 << 60
    manifest = parse_manifest_file(file_of(message)).manifest
    with pytest.raises(CorruptFileError):
        _ = manifest.timestamp
    message.timestamp.nanos = -1
    with pytest.raises(CorruptFileError):
        parse_manifest_file(file_of(message))


def with_dictionary(values: pa.Array | None, version: str = "0.1") -> ManifestFile:
    """A manifest with one dictionary column; ``values`` are where a caller has them in memory."""
    message = minimal()
    message.data_format.file_format, message.data_format.version = "lance", version
    kind = "int64" if values is None else str(values.type)
    message.fields[0].logical_type = f"dict:{kind}:int8:false"
    message.fields[0].dictionary.SetInParent()
    manifest = parse_manifest_file(file_of(message)).manifest
    known = {} if values is None else {manifest.schema.fields[0].id: values}
    schema = with_values(manifest.schema, known)
    return ManifestFile(dataclasses.replace(manifest, schema=schema), transaction=b"a change")


DICTIONARIES = {
    "numbers": pa.array([5, -7, 1 << 40]),
    "small numbers": pa.array([5, 1, 0, 3], pa.uint8()).slice(1),
    "texts": pa.array(["Oslo", "Zürich", "x"]),
    "part of long texts": pa.array(["a", "bb", "ccc"], pa.large_string()).slice(1),
    "bytes": pa.array([b"\xff", b"\0\0"], pa.binary()),
}


@each_case("values", DICTIONARIES.values(), ids=DICTIONARIES)
def test_dictionary_values_of_a_0_1_table_are_kept_in_each_manifest_file(values: pa.Array) -> None:
    data = serialize_manifest_file(with_dictionary(values))
    for _ in range(2):
        file = parse_manifest_file(data)
        (field,) = file.manifest.schema.fields
        assert field.dictionary_values == values
        assert field.dictionary is not None
        assert field.dictionary.length == len(values)
        assert file.transaction == b"a change"
        data = serialize_manifest_file(file)


def test_a_value_of_no_bytes_is_read_as_null() -> None:
    (field,) = parse_manifest_file(
        serialize_manifest_file(with_dictionary(pa.array(["", None, "a"])))
    ).manifest.schema.fields
    assert field.dictionary_values.to_pylist() == [None, None, "a"]


def test_a_0_1_table_is_not_written_without_the_values_of_its_dictionaries() -> None:
    with pytest.raises(UnsupportedFeatureError, match="dictionary"):
        serialize_manifest_file(with_dictionary(None))


@each_case("change", ["offset", "length", "bytes"])
def test_dictionary_values_that_do_not_fit_the_file_are_refused(change: str) -> None:
    message, before = message_of(serialize_manifest_file(with_dictionary(pa.array(["a", "b"]))))
    data = bytearray(file_of(message, before))
    if change == "bytes":
        data[2:10] = b"\xff" * 8
    else:
        wrong = message.fields[0].dictionary
        setattr(wrong, change, len(data) if change == "offset" else 1 << 40)
        data = bytearray(file_of(message))
    with pytest.raises(CorruptFileError, match="dictionary"):
        parse_manifest_file(bytes(data))


def test_positions_of_dictionary_values_in_a_2_0_table_do_not_outlive_their_file() -> None:
    """Old releases wrote such values for 2.0 tables too; nobody reads them."""
    message = minimal()
    message.data_format.file_format, message.data_format.version = "lance", "2.0"
    message.fields[0].logical_type = "dict:string:int8:false"
    message.fields[0].dictionary.offset, message.fields[0].dictionary.length = 2, 5
    again = parse_manifest_file(serialize_manifest_file(parse_manifest_file(file_of(message))))
    assert [field.dictionary for field in again.manifest.schema.fields] == [DictionaryValues(0, 0)]


def test_a_manifest_can_be_pickled(history: list[tuple[bytes, ManifestFile]]) -> None:
    for _, file in history:
        assert pickle.loads(pickle.dumps(file)) == file


def test_damaged_manifests_give_values_or_typed_errors(
    history: list[tuple[bytes, ManifestFile]],
    survives_mutation: Callable[[Callable[[bytes], object], bytes, int], None],
) -> None:
    def use(data: bytes) -> None:
        file = parse_manifest_file(data, "m")
        _ = list(file.manifest.fragments), file.manifest.num_rows
        _ = file.manifest.storage_version, file.manifest.timestamp
        serialize_manifest_file(file)

    for data, _ in (history[2], history[5], history[8]):
        survives_mutation(use, data, 400)


def test_a_manifest_says_when_it_was_made(history: list[tuple[bytes, ManifestFile]]) -> None:
    times = [file.manifest.timestamp for _, file in history]
    assert None not in times
    assert times == sorted(times)  # type: ignore[type-var]
    assert Manifest(1, history[0][1].manifest.schema).timestamp is None


def test_manifests_with_equal_fields_share_their_schema() -> None:
    message = minimal()
    first = parse_manifest_file(file_of(message)).manifest
    message.version = 2
    second = parse_manifest_file(file_of(message)).manifest
    assert (first.version, second.version) == (1, 2)
    assert second.schema is first.schema
    assert second.schema.to_arrow() is first.schema.to_arrow()
    message.schema_metadata["a"] = b"b"
    third = parse_manifest_file(file_of(message)).manifest
    assert third.schema.metadata == {"a": "b"}
    message.fields[0].nullable = True
    fourth = parse_manifest_file(file_of(message)).manifest
    assert not third.schema.fields[0].nullable
    assert fourth.schema.fields[0].nullable
