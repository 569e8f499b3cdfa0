"""Extend the fragment-reuse index of a table."""

from __future__ import annotations

from collections.abc import Sequence

from lance_core.maintenance import (
    INDICES,
    MAX_INLINE_BYTES,
    REUSE_INDEX,
    SYSTEM,
    Environment,
    Fragment,
    FragmentDigest,
    IndexMetadata,
    NewFiles,
    ReuseGroup,
    ReuseVersion,
    RewriteGroup,
    Snapshot,
    address_bitmap,
    content_bytes,
    encode_fragment_ids,
    external_details,
    fragment_bitmap,
    fragment_reuse,
    inline_details,
    reuse_index,
)

DETAILS_FILE = "details.binpb"
"""Name of the file with the details that are too large for the manifest."""


def row_addresses(snapshot: Snapshot, fragments: Sequence[Fragment]) -> bytes:
    """The serialized addresses of the live rows of ``fragments``."""
    return address_bitmap(
        (fragment.id, snapshot.physical_rows(fragment), snapshot.deleted_offsets(fragment))
        for fragment in fragments
    )


def extended(
    snapshot: Snapshot,
    groups: Sequence[tuple[RewriteGroup, bytes]],
    files: NewFiles,
    environment: Environment = SYSTEM,
) -> IndexMetadata:
    """The fragment-reuse index of the version after ``snapshot``, with ``groups`` added.

    Each group comes with the addresses of its rows before, see `row_addresses`. Large details are
    written to a file, which is added to ``files``.
    """
    before = reuse_index(snapshot)
    added = ReuseVersion(snapshot.version, tuple(_group(*group) for group in groups))
    versions = (*fragment_reuse(snapshot).versions, added)
    covered = fragment_bitmap(digest.id for group in added.groups for digest in group.new)
    if before is not None and before.fragments is not None:
        covered |= before.fragments
    uuid = environment.new_uuid()
    details = inline_details(versions)
    if len(details.value) > MAX_INLINE_BYTES:
        content = content_bytes(versions)
        path = f"{INDICES}/{uuid}/{DETAILS_FILE}"
        files.others.append(path)
        snapshot.root.store.put(path, content)
        details = external_details(DETAILS_FILE, len(content))
    return IndexMetadata(
        uuid,
        REUSE_INDEX,
        (),
        dataset_version=snapshot.version,
        fragment_bitmap=encode_fragment_ids(covered),
        index_details=details,
        index_version=0,
        created_at=environment.clock() // 1_000_000,
    )


def _group(group: RewriteGroup, addresses: bytes) -> ReuseGroup:
    return ReuseGroup(
        addresses,
        tuple(map(_digest, group.old_fragments)),
        tuple(map(_digest, group.new_fragments)),
    )


def _digest(fragment: Fragment) -> FragmentDigest:
    return FragmentDigest(fragment.id, fragment.physical_rows or 0, fragment.num_deleted_rows or 0)
