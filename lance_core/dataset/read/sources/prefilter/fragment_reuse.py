"""Read the fragment-reuse index: where the rows that the other indices of a version cover are now.

A compaction with ``defer_index_remap`` leaves indices as they are: they list the fragments before
it and contain the addresses of rows before it. The fragment-reuse index has the new ones.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.concurrency.lru_cache import LruCache
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.arrow.numpy_values import from_numpy, to_numpy, to_scalar
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.fragments.data_file import ExternalFile
from lance_core.table.indices.address_map import AddressMap
from lance_core.table.indices.index_coverage import REUSE_INDEX
from lance_core.table.indices.index_metadata import (
    IndexMetadata,
    fragment_bitmap,
    parse_index_section,
)
from lance_core.table.indices.reuse_index import (
    ReuseVersion,
    current_fragments,
    parse_content,
    parse_details,
)
from lance_core.table.paths import INDICES, check_relative

if TYPE_CHECKING:
    from pyroaring import BitMap

MAX_BYTES = 64 << 20
"""Maximum bytes of the maps that this process keeps."""


@dataclass(frozen=True, slots=True, eq=False)
class FragmentReuse:
    """What a fragment-reuse index says: its versions, oldest first, and the map of addresses."""

    versions: tuple[ReuseVersion, ...] = ()
    map: AddressMap = AddressMap()

    def fragments(self, index: IndexMetadata) -> BitMap | None:
        """The fragments that now have the rows that ``index`` covers; None if they are unknown."""
        listed = index.fragments
        if listed is None or not self.versions:
            return listed
        return fragment_bitmap(current_fragments(listed, self.versions))


_NONE = FragmentReuse()
_kept: LruCache[tuple[str, str], FragmentReuse] = LruCache(
    MAX_BYTES, lambda reuse: reuse.map.nbytes
)


def fragment_reuse(snapshot: Snapshot) -> FragmentReuse:
    """The fragment-reuse index of a version; it moves nothing if there is none.

    It is cached by uuid for all versions. Raises `CorruptFileError` for invalid details,
    `UnsupportedFeatureError` for newer kinds, and the errors of the store.
    """
    index = reuse_index(snapshot)
    if index is None:
        return _NONE
    return _kept.get((snapshot.root.base_uri, str(index.uuid)), lambda: _read(snapshot, index))


def remapped(snapshot: Snapshot, addresses: pa.Array) -> pa.Array | None:
    """The addresses of rows now; see `LanceDataset.remap_row_addrs`."""
    if not isinstance(addresses, pa.Array) or addresses.type != pa.uint64():
        raise TypeError(f"row addresses are a pyarrow.UInt64Array, not {type(addresses).__name__}")
    if reuse_index(snapshot) is None:
        return None
    rows = to_numpy(addresses.fill_null(to_scalar(0, pa.uint64())))
    new, is_live = fragment_reuse(snapshot).map.moved(rows)
    return from_numpy(new, to_numpy(addresses.is_null()) | ~is_live)


def reuse_index(snapshot: Snapshot) -> IndexMetadata | None:
    """The metadata of the fragment-reuse index of a version, None if it has none."""
    section = snapshot.file.index_section
    known, entry = _last_entry[0]
    if known is not section:
        entry = _reuse_entry(section)
        _last_entry[0] = section, entry
    return entry


_last_entry: list[tuple[bytes | None, IndexMetadata | None]] = [(None, None)]
"""The last index section, and its entry. Each index of a version asks for it, and to compare equal
sections of 100,000 entries takes as long as to decode one of them."""


@lru_cache(maxsize=4)
def _reuse_entry(index_section: bytes | None) -> IndexMetadata | None:
    entries = parse_index_section(index_section)
    return next((index for index in entries if index.name == REUSE_INDEX), None)


def _read(snapshot: Snapshot, index: IndexMetadata) -> FragmentReuse:
    versions = _versions(snapshot, index)
    return FragmentReuse(versions, AddressMap.of_versions(versions))


def _versions(snapshot: Snapshot, index: IndexMetadata) -> tuple[ReuseVersion, ...]:
    if index.index_details is None:
        raise CorruptFileError("the fragment-reuse index has no details", field="index_details")
    details = parse_details(index.index_details)
    if not isinstance(details, ExternalFile):
        return details
    base = snapshot.base(index.base_id)
    path = f"{index.uuid}/{check_relative(details.path, 'ExternalFile.path')}"
    if base is None or base.is_dataset_root:
        path = f"{INDICES}/{path}"
    whole = ByteRange(details.offset, details.offset + details.size)
    (data,) = snapshot.store_of(base).get_ranges(path, [whole])
    return parse_content(bytes(data))
