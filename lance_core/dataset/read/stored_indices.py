"""The indices of a version that a query can use, and their open files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.concurrency.lru_cache import LruCache
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.errors import CorruptFileError
from lance_core.index.base import IndexType, OpenIndex
from lance_core.index.files import IndexFolder
from lance_core.index.spec import IndexTypeSpec
from lance_core.plugins import get_manager
from lance_core.store.spec import resolve_factory
from lance_core.table.indices.index_coverage import is_system_index
from lance_core.table.indices.index_metadata import IndexMetadata, parse_index_section
from lance_core.table.paths import INDICES, check_relative

if TYPE_CHECKING:
    from lance_core.schema import Field

MAX_OPEN_BYTES = 512 << 20
"""Maximum bytes that the open indices of this process keep in memory."""

open_indices: LruCache[tuple[str, str], OpenIndex] = LruCache(
    MAX_OPEN_BYTES, lambda index: index.nbytes, made_once=True
)
"""The open indices of this process, by table and uuid."""


def index_type(spec: IndexTypeSpec) -> IndexType:
    """The implementation of an index type. Raises `PluginLoadError`."""
    found: IndexType = resolve_factory(spec.factory, f"index type {spec.name!r}")()
    return found


def indices_of(snapshot: Snapshot) -> tuple[IndexMetadata, ...]:
    """All indices of a version except those of the table's internal state."""
    stored = parse_index_section(snapshot.file.index_section)
    return tuple(index for index in stored if not is_system_index(index))


def spec_of(index: IndexMetadata) -> IndexTypeSpec | None:
    """The type of a stored index; None if it has no details, or a type or version not known."""
    if index.index_details is None:
        return None
    spec = get_manager().index_type_of(index.index_details.type_url)
    if spec is None or (index.index_version or 0) > spec.max_version:
        return None
    return spec


def field_of(snapshot: Snapshot, index: IndexMetadata) -> Field | None:
    """The indexed field; None if the index is over several fields or the field does not exist."""
    if len(index.fields) != 1:
        return None
    return next((one for one in snapshot.schema.walk() if one.id == index.fields[0]), None)


def folder_of(snapshot: Snapshot, index: IndexMetadata, kind: pa.DataType) -> IndexFolder:
    """The files of a stored index of a column of type ``kind``."""
    base = snapshot.base(index.base_id)
    path = str(index.uuid)
    if base is None or base.is_dataset_root:
        path = f"{INDICES}/{path}"
    sizes = {check_relative(one.path, "IndexFile.path"): one.size_bytes for one in index.files}
    version = index.index_version or 0
    return IndexFolder(snapshot.store_of(base), path, sizes, snapshot.root.registry, kind, version)


def open_index(snapshot: Snapshot, index: IndexMetadata, spec: IndexTypeSpec) -> OpenIndex:
    """The open index, cached for all versions of the table by uuid.

    Raises `CorruptFileError` and `ObjectNotFoundError` for damaged and missing files.
    """
    field, details = field_of(snapshot, index), index.index_details
    if field is None or details is None:
        raise CorruptFileError(f"index {index.name!r} has no field or no details")

    def make() -> OpenIndex:
        folder = folder_of(snapshot, index, field.storage_type)
        return index_type(spec).open(folder, details.value)

    return open_indices.get((snapshot.root.base_uri, str(index.uuid)), make)
