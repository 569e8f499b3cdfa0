"""``Manifest`` (``table.proto``): the description of one version of a table, as a plain value."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from lance_core._pb import frames_pb2, table_pb2
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.schema.proto import decode_metadata, encode_metadata
from lance_core.schema.tree import MIN_PLAIN_FIELDS, Schema
from lance_core.table.fragments.fragment_list import FragmentList, without_counts
from lance_core.table.manifest import feature_flags
from lance_core.table.manifest.feature_flags import NO_FLAGS, FeatureFlags
from lance_core.table.manifest_parts import BasePath, DataFormat, WriterVersion
from lance_core.table.storage_version import OLDEST
from lance_core.table.unknown_fields import parse, unknown_fields

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_V2 = "2.0"


class SectionPositions(NamedTuple):
    """Byte offsets of the optional sections of a manifest file; None for an absent section."""

    index_section: int | None
    transaction_section: int | None


@dataclass(frozen=True, slots=True)
class CarriedFields:
    """Manifest fields that this library does not interpret but copies to the next version.

    ``unknown`` holds the fields that the message definition does not have.
    """

    max_allocated_field_id: int | None = None
    clustering: bytes | None = None
    max_clustering_id: int | None = None
    unknown: bytes = b""

    def after(self, newer: CarriedFields) -> CarriedFields:
        """These fields in a version that follows a version with ``newer``.

        The result has the higher ``max_allocated_field_id``, so that no field id is used twice.
        """
        ids = (self.max_allocated_field_id, newer.max_allocated_field_id)
        used = [id_ for id_ in ids if id_ is not None]
        return replace(self, max_allocated_field_id=max(used, default=None))


NOTHING_CARRIED = CarriedFields()


@dataclass(frozen=True, slots=True)
class Manifest:
    """One version of a table.

    ``timestamp_ns`` is in nanoseconds since the epoch, UTC. ``max_fragment_id`` is the highest
    fragment id ever used, None if the table never had a fragment. ``transaction_file`` is a name in
    the transactions folder, "" for none. ``next_row_id`` is used with stable row ids only.
    ``data_format`` is None in tables of 0.15 and earlier. ``writer_version`` is None in tables of
    0.8.0 and earlier. The row counts of these tables may be wrong, so ``fragments`` omits them, and
    ``uncorrected`` is the stored list with counts (None if ``fragments`` is the stored list).
    """

    version: int
    schema: Schema
    fragments: FragmentList = dataclasses.field(default_factory=FragmentList)
    timestamp_ns: int | None = None
    flags: FeatureFlags = NO_FLAGS
    max_fragment_id: int | None = None
    transaction_file: str = ""
    writer_version: WriterVersion | None = None
    data_format: DataFormat | None = None
    next_row_id: int = 0
    config: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    table_metadata: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    base_paths: tuple[BasePath, ...] = ()
    branch: str | None = None
    tag: str = ""
    version_aux_data: int = 0
    carried: CarriedFields = NOTHING_CARRIED
    uncorrected: FragmentList | None = None

    @property
    def reader_flags(self) -> int:
        """Feature bits that a reader must know."""
        return self.flags.reader

    @property
    def writer_flags(self) -> int:
        """Feature bits that a writer must know."""
        return self.flags.writer

    @property
    def uses_stable_row_ids(self) -> bool:
        return bool(self.flags.reader & feature_flags.STABLE_ROW_IDS)

    @property
    def recorded_fragments(self) -> FragmentList:
        """The stored fragments; their row counts may be wrong in tables of 0.8.0 and earlier."""
        return self.fragments if self.uncorrected is None else self.uncorrected

    @property
    def num_rows(self) -> int | None:
        """Number of rows without deleted ones; None if an old manifest has no row counts."""
        return self.fragments.counts.num_rows

    @property
    def timestamp(self) -> datetime | None:
        """Creation time of the version, see `utc_time`."""
        return utc_time(self.timestamp_ns)

    @property
    def storage_version(self) -> str:
        """Canonical name of the data files' version, such as "2.0".

        If an old manifest does not store the version, it is the newest version of the data files.
        In a table without files, the deprecated flag bit 2 distinguishes 2.0 from 0.1.
        """
        if self.data_format is not None:
            return self.data_format.file_version
        versions = {file.file_version for fragment in self.fragments for file in fragment.files}
        is_v2 = self.flags.writer & feature_flags.V2_FORMAT_DEPRECATED
        return max(versions, default=_FIRST_V2 if is_v2 else OLDEST)

    @classmethod
    def from_parts(cls, parts: ManifestParts) -> Manifest:
        """Create a manifest.

        Raises `UnsupportedFeatureError` if the table needs features that this library does not
        have; this is checked first. Raises `CorruptFileError` for an invalid schema.
        """
        message, fragments = parts.message, parts.fragments
        flags = FeatureFlags(message.reader_feature_flags, message.writer_feature_flags)
        check_layout(message)
        # The views of a map of a message are Python code, so empty ones are skipped.
        stored = message.schema_metadata
        metadata = tuple(sorted(stored.items())) if stored else ()
        counted = fragments if message.HasField("writer_version") else without_counts(fragments)
        return cls(
            version=message.version,
            schema=_schema(parts.fields, metadata),
            fragments=counted,
            uncorrected=None if counted is fragments else fragments,
            timestamp_ns=timestamp_ns(message),
            flags=flags,
            max_fragment_id=(
                message.max_fragment_id if message.HasField("max_fragment_id") else None
            ),
            transaction_file=message.transaction_file,
            writer_version=(
                WriterVersion.from_proto(message.writer_version)
                if message.HasField("writer_version")
                else None
            ),
            data_format=(
                DataFormat.from_proto(message.data_format)
                if message.HasField("data_format")
                else None
            ),
            next_row_id=message.next_row_id,
            config=dict(message.config) if message.config else {},
            table_metadata=dict(message.table_metadata) if message.table_metadata else {},
            base_paths=tuple(map(BasePath.from_proto, message.base_paths)),
            branch=message.branch if message.HasField("branch") else None,
            tag=message.tag,
            version_aux_data=message.version_aux_data,
            carried=CarriedFields(
                message.max_allocated_field_id
                if message.HasField("max_allocated_field_id")
                else None,
                message.clustering if message.HasField("clustering") else None,
                message.max_clustering_id if message.HasField("max_clustering_id") else None,
                unknown_fields(message),
            ),
        )

    def to_proto(self) -> table_pb2.Manifest:
        """The message without the fragments and without the positions of the file's sections."""
        message = table_pb2.Manifest(
            fields=self.schema.to_proto(),
            schema_metadata=encode_metadata(self.schema.metadata) or None,
            version=self.version,
            version_aux_data=self.version_aux_data,
            tag=self.tag,
            reader_feature_flags=self.flags.reader,
            writer_feature_flags=self.flags.writer,
            max_fragment_id=self.max_fragment_id,
            transaction_file=self.transaction_file,
            writer_version=self.writer_version.to_proto() if self.writer_version else None,
            next_row_id=self.next_row_id,
            data_format=self.data_format.to_proto() if self.data_format else None,
            config=self.config or None,
            base_paths=[base.to_proto() for base in self.base_paths],
            table_metadata=self.table_metadata or None,
            branch=self.branch,
            max_allocated_field_id=self.carried.max_allocated_field_id,
            clustering=self.carried.clustering,
            max_clustering_id=self.carried.max_clustering_id,
        )
        if self.timestamp_ns is not None:
            message.timestamp.seconds, message.timestamp.nanos = divmod(self.timestamp_ns, 10**9)
        message.MergeFromString(self.carried.unknown)
        return message


class ManifestParts(NamedTuple):
    """A ``Manifest`` without fields and fragments, the serialized fields, and the fragments."""

    message: table_pb2.Manifest
    fields: bytes
    fragments: FragmentList


def split(data: bytes) -> ManifestParts:
    """Split a serialized ``Manifest``; decodes neither fields nor fragments."""
    frame = parse(frames_pb2.ManifestFrame, data, "Manifest")
    fragments = FragmentList(frame.fragments)
    frame.ClearField("fragments")
    fields = frames_pb2.ManifestFrame(fields=frame.fields).SerializeToString()
    frame.ClearField("fields")
    message = parse(table_pb2.Manifest, frame.SerializeToString(), "Manifest")
    return ManifestParts(message, fields, fragments)


@lru_cache(maxsize=16)
def _schema(fields: bytes, metadata: tuple[tuple[str, bytes], ...]) -> Schema:
    """The schema with these serialized fields and this metadata.

    Cached: nearly all versions of a table have the same schema, and decoding it is the main cost of
    opening a table with many columns. What is derived from a schema is kept with it.
    """
    messages = list(parse(frames_pb2.ManifestFrame, fields, "Manifest").fields)
    if len(messages) >= MIN_PLAIN_FIELDS:
        # Few tables have so many fields, and every first open would import the module.
        from lance_core.table.manifest.plain_fields import plain_fields

        plain = plain_fields(messages)
        if plain is not None:
            return Schema.from_plain(plain, decode_metadata(dict(metadata)))
    parsed = parse(table_pb2.Manifest, fields, "Manifest")
    return Schema.from_proto(parsed.fields, dict(metadata))


def join(message: table_pb2.Manifest, fragments: FragmentList) -> bytes:
    """The reverse of `split`; the bytes of each fragment are copied.

    The fragments (field 2) are placed between field 1 and the other fields, as in other writers.
    """
    schema = table_pb2.Manifest(fields=message.fields).SerializeToString(deterministic=True)
    whole = message.SerializeToString(deterministic=True)
    frame = frames_pb2.ManifestFrame(fragments=fragments.raw).SerializeToString()
    offset = len(schema) if whole.startswith(schema) else 0
    return b"".join((whole[:offset], frame, whole[offset:]))


def section_positions(message: table_pb2.Manifest) -> SectionPositions:
    """Positions of the file's sections; release 14 moved ``transaction_section`` to field 23.

    Files of earlier releases have it in field 21.
    """
    transaction = None
    if message.HasField("transaction_section"):
        transaction = message.transaction_section
    elif message.HasField("transaction_section_deprecated"):
        transaction = message.transaction_section_deprecated
    has_indices = message.HasField("index_section")
    return SectionPositions(message.index_section if has_indices else None, transaction)


def check_layout(message: table_pb2.Manifest) -> None:
    """Raise `UnsupportedFeatureError` if readers need features that this library does not have."""
    feature_flags.check_readable(message.reader_feature_flags)
    if message.fragment_tree:
        raise UnsupportedFeatureError(
            "unsupported manifest layout: fragments are stored outside of the manifest"
        )


def utc_time(nanoseconds: int | None) -> datetime | None:
    """The time of a ``timestamp_ns``, UTC, in whole microseconds; None for None.

    The nanoseconds are rounded to a double (a step of 256 ns today) and truncated to microseconds,
    so that the result equals the time that pylance returns. Raises `CorruptFileError` if the time
    is outside of the range of `datetime`.
    """
    if nanoseconds is None:
        return None
    try:
        seconds, rest = divmod(float(nanoseconds), 1e9)
        return _EPOCH + timedelta(seconds=seconds, microseconds=rest // 1e3)
    except OverflowError:
        raise CorruptFileError(
            f"{nanoseconds} ns is not a date", field="Manifest.timestamp"
        ) from None


def timestamp_ns(message: table_pb2.Manifest) -> int | None:
    """The time of the commit in nanoseconds since the epoch, UTC."""
    if not message.HasField("timestamp"):
        return None
    if not 0 <= message.timestamp.nanos < 10**9:
        raise CorruptFileError(
            f"the timestamp has {message.timestamp.nanos} nanoseconds", field="Manifest.timestamp"
        )
    return message.timestamp.seconds * 10**9 + message.timestamp.nanos
