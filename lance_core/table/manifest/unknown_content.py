"""Check that this library knows every part of a version that could refer to a file.

Readers can ignore unknown content and writers can copy it. A cleanup of unused files cannot: an
unknown field may refer to a file that is still in use.
"""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import Message

from lance_core._pb import table_pb2
from lance_core.errors import UnsupportedFeatureError
from lance_core.schema.unknown_fields import has_unknown_fields
from lance_core.table.manifest import feature_flags
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.unknown_fields import all_known, parse

INDEX_DETAILS = frozenset(
    {
        "BTreeIndexDetails",
        "BitmapIndexDetails",
        "BloomFilterIndexDetails",
        "FMIndexDetails",
        "FragmentReuseIndexDetails",
        "InvertedIndexDetails",
        "JsonIndexDetails",
        "LabelListIndexDetails",
        "MemWalIndexDetails",
        "MinHashLshIndexDetails",
        "NGramIndexDetails",
        "RTreeIndexDetails",
        "VectorIndexDetails",
        "ZoneMapIndexDetails",
    }
)
"""Messages of ``IndexMetadata.index_details`` without paths outside of the index's folder."""


def check_understood(file: ManifestFile) -> None:
    """Raise `UnsupportedFeatureError` if unknown content of a version may refer to files.

    Fragments are not checked; use `check_fragment_understood` for each.
    """
    manifest = file.manifest
    feature_flags.check_writable(manifest.flags)
    if manifest.carried.unknown or manifest.carried.clustering is not None:
        raise _refusal("Manifest")
    for base in manifest.base_paths:
        if base.unknown:
            raise _refusal("BasePath")
    if file.index_section is not None:
        _check_indices(file.index_section)


def check_fragment_understood(data: bytes) -> None:
    """Raise `UnsupportedFeatureError` if a serialized ``DataFragment`` has unknown fields."""
    _check_known(table_pb2.DataFragment, data)


def _check_indices(data: bytes) -> None:
    _check_known(table_pb2.IndexSection, data)
    for index in parse(table_pb2.IndexSection, data, "IndexSection").indices:
        message_name = index.index_details.type_url.rpartition("/")[2].rpartition(".")[2]
        if message_name and message_name not in INDEX_DETAILS:
            raise _refusal(f"index {index.name!r} of kind {message_name!r}")


def _check_known(message_type: type[Message], data: bytes) -> None:
    name = message_type.DESCRIPTOR.name
    if all_known(parse(message_type, data, name), len(data)):
        return
    if _has_unknown(parse(message_type, data, name)):
        raise _refusal(name)


def _has_unknown(message: Message) -> bool:
    return has_unknown_fields(message) or any(map(_has_unknown, _parts(message)))


def _parts(message: Message) -> Iterator[Message]:
    """The messages directly inside ``message``."""
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            continue
        if isinstance(value, Message):
            yield value
        elif not descriptor.message_type.GetOptions().map_entry:
            yield from value


def _refusal(where: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"unsupported content of {where}: this version of the library does not know all of it and "
        "cannot determine which files the table still needs"
    )
