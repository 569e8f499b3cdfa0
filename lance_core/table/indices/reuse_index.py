"""The fragment-reuse index: new addresses of rows that compactions moved, for unchanged indices.

``FragmentReuseIndexDetails`` (``table.proto``). Each version of it has the groups of fragments that
one compaction rewrote, with the addresses of the rows that were live: the k-th of them is now the
address of the k-th row of the group's new fragments.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from lance_core._pb import table_pb2
from lance_core.errors import UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.fragments.data_file import ExternalFile
from lance_core.table.indices.index_metadata import IndexDetails
from lance_core.table.unknown_fields import parse

DETAILS_URL = "/lance.table.FragmentReuseIndexDetails"

MAX_INLINE_BYTES = 200 << 10
"""Maximum bytes of details in the manifest; larger ones are in a file of the index."""

_Message = table_pb2.FragmentReuseIndexDetails


@dataclass(frozen=True, slots=True)
class FragmentDigest:
    """A fragment of a group, with its rows when the group was rewritten."""

    id: int
    physical_rows: int
    num_deleted_rows: int = 0


@dataclass(frozen=True, slots=True)
class ReuseGroup:
    """``new`` fragments have the rows of ``old`` ones at ``row_addresses``.

    The addresses are a serialized 64-bit Roaring bitmap, see `address_bitmap`.
    """

    row_addresses: bytes
    old: tuple[FragmentDigest, ...]
    new: tuple[FragmentDigest, ...]


@dataclass(frozen=True, slots=True)
class ReuseVersion:
    """The groups of one compaction, whose result is the version after ``dataset_version``."""

    dataset_version: int
    groups: tuple[ReuseGroup, ...]


def parse_details(details: IndexDetails) -> tuple[ReuseVersion, ...] | ExternalFile:
    """The versions of a fragment-reuse index, oldest first, or the file that contains them.

    Raises `CorruptFileError` for invalid details, `UnsupportedFeatureError` for newer kinds.
    """
    message = parse(_Message, details.value, "FragmentReuseIndexDetails")
    if message.HasField("external"):
        return ExternalFile.from_proto(message.external)
    return _versions(message.inline)


def parse_content(data: bytes) -> tuple[ReuseVersion, ...]:
    """The versions in the file of an index; see `parse_details` for errors."""
    return _versions(parse(_Message.InlineContent, data, "FragmentReuseIndexDetails.inline"))


def _versions(
    content: table_pb2.FragmentReuseIndexDetails.InlineContent,
) -> tuple[ReuseVersion, ...]:
    if content.transitions:
        raise UnsupportedFeatureError(
            "the fragment-reuse index has tagged transitions, which are not supported"
        )
    return tuple(
        ReuseVersion(
            version.dataset_version,
            tuple(
                ReuseGroup(
                    group.changed_row_addrs,
                    tuple(map(_digest, group.old_fragments)),
                    tuple(map(_digest, group.new_fragments)),
                )
                for group in version.groups
            ),
        )
        for version in content.legacy_versions
    )


def _digest(message: table_pb2.FragmentReuseIndexDetails.FragmentDigest) -> FragmentDigest:
    return FragmentDigest(message.id, message.physical_rows, message.num_deleted_rows)


def content_bytes(versions: Iterable[ReuseVersion]) -> bytes:
    """The message ``InlineContent`` with ``versions``; a file of the index has the same bytes."""
    return _content(versions).SerializeToString(deterministic=True)


def inline_details(versions: Iterable[ReuseVersion]) -> IndexDetails:
    """Details that contain ``versions``."""
    message = _Message(inline=_content(versions))
    return IndexDetails(DETAILS_URL, message.SerializeToString(deterministic=True))


def external_details(path: str, size: int) -> IndexDetails:
    """Details that name a file in the folder of the index."""
    message = _Message(external=table_pb2.ExternalFile(path=path, offset=0, size=size))
    return IndexDetails(DETAILS_URL, message.SerializeToString(deterministic=True))


def _content(
    versions: Iterable[ReuseVersion],
) -> table_pb2.FragmentReuseIndexDetails.InlineContent:
    content = _Message.InlineContent()
    for version in versions:
        added = content.legacy_versions.add(dataset_version=version.dataset_version)
        for group in version.groups:
            added.groups.add(
                changed_row_addrs=group.row_addresses,
                old_fragments=map(_digest_message, group.old),
                new_fragments=map(_digest_message, group.new),
            )
    return content


def _digest_message(digest: FragmentDigest) -> table_pb2.FragmentReuseIndexDetails.FragmentDigest:
    return _Message.FragmentDigest(
        id=digest.id,
        physical_rows=digest.physical_rows,
        num_deleted_rows=digest.num_deleted_rows,
    )


def address_bitmap(
    fragments: Iterable[tuple[int, int, npt.NDArray[np.uint32] | None]],
) -> bytes:
    """A serialized 64-bit Roaring bitmap of the addresses of live rows.

    ``fragments``: the id, the physical rows and the deleted offsets of each fragment (None without
    any), by ascending id. The form is the portable one: the number of 32-bit bitmaps, and each of
    them after the upper half of its values.
    """
    from pyroaring import BitMap

    parts = []
    for id_, rows, deleted in fragments:
        live = BitMap(range(rows))
        if deleted is not None and len(deleted):
            live -= BitMap(deleted)
        if not live:
            continue
        live.run_optimize()
        parts.append(struct.pack("<I", id_) + bytes(live.serialize()))
    return struct.pack("<Q", len(parts)) + b"".join(parts)


def current_fragments(covered: Iterable[int], versions: Iterable[ReuseVersion]) -> frozenset[int]:
    """The ids of the fragments that now hold the rows of the fragments ``covered``.

    A group counts if all its old fragments are covered; otherwise only some rows of its new
    fragments would be.
    """
    now = set(covered)
    for version in versions:
        for group in version.groups:
            old = {fragment.id for fragment in group.old}
            if old <= now:
                now = (now - old) | {fragment.id for fragment in group.new}
    return frozenset(now)
