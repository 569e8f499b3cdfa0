"""The indices of a version that a query can use, and their open files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.concurrency.lru_cache import LruCache
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.error_texts.plugin_calls import failed_call, wrong_result
from lance_core.errors import CorruptFileError, LanceError, PluginLoadError
from lance_core.imports.on_demand import lazy_module
from lance_core.index.base import IndexType, OpenIndex
from lance_core.index.files import IndexFolder
from lance_core.index.loads import count_index
from lance_core.index.spec import IndexTypeSpec
from lance_core.plugins import get_manager
from lance_core.store.spec import resolve_factory
from lance_core.table.indices.index_coverage import is_system_index
from lance_core.table.indices.index_metadata import (
    IndexDetails,
    IndexFile,
    IndexMetadata,
    parse_index_section,
)
from lance_core.table.paths import INDICES, check_relative

if TYPE_CHECKING:
    from lance_core.index import type_checks
    from lance_core.schema import Field
    from lance_core.store.base import ObjectStore
else:
    type_checks = lazy_module("lance_core.index.type_checks")

_BTREE_FILE = "page_lookup.lance"
_BITMAP_FILE = "bitmap_page_lookup.lance"
_POSTINGS_FILE = "_invert.lance"

_old_files: LruCache[tuple[str, str], tuple[IndexFile, ...]] = LruCache(256)
"""The files of indices without details."""


@lru_cache(maxsize=64)
def index_type(spec: IndexTypeSpec) -> IndexType:
    """The implementation of an index type, which has no state. Raises `PluginLoadError`.

    What the types of other people's plugins return is checked.
    """
    manager = get_manager()
    what = f"index type {spec.name!r} of {manager.provider_of(spec)}"
    factory = resolve_factory(spec.factory, what)
    try:
        type_: object = factory()
    except LanceError:
        raise
    except Exception as error:
        raise PluginLoadError(failed_call(what, "the factory", error)) from error
    if not isinstance(type_, IndexType):
        raise PluginLoadError(wrong_result(what, "the factory", type_, "an IndexType"))
    if manager.is_of_this_project(spec):  # tested against the contract
        return type_
    return type_checks.CheckedIndexType(type_, what)


def indices_of(snapshot: Snapshot) -> tuple[IndexMetadata, ...]:
    """All indices of a version except those of the table's internal state.

    Indices of tables before 0.20 have no details, nor have those that were built in parts; their
    types are recognised by their files. Raises `CorruptFileError`.
    """
    try:
        stored = parse_index_section(snapshot.file.index_section)
    except CorruptFileError as error:
        raise error.at(snapshot.location.path) from None
    return tuple(with_known_type(snapshot, index) for index in stored if not is_system_index(index))


def with_known_type(snapshot: Snapshot, index: IndexMetadata) -> IndexMetadata:
    """``index``; one without details gets those that its files suggest."""
    return index if index.index_details is not None else _with_details(snapshot, index)


def _with_details(snapshot: Snapshot, index: IndexMetadata) -> IndexMetadata:
    """``index`` with the details and files that its folder suggests."""
    key = snapshot.root.base_uri, str(index.uuid)
    files = _old_files.get(key, lambda: _listed(snapshot, index))
    names, field = {file.path for file in files}, field_of(snapshot, index)
    if field is None:
        return index
    if _BITMAP_FILE in names:
        type_ = field.storage_type
        is_list = pa.types.is_list(type_) or pa.types.is_large_list(type_)
        message = "LabelListIndexDetails" if is_list else "BitmapIndexDetails"
    elif _BTREE_FILE in names:
        message = "BTreeIndexDetails"
    elif any(name.endswith(_POSTINGS_FILE) for name in names):
        message = "InvertedIndexDetails"
    else:
        return index
    return replace(index, index_details=IndexDetails(f"/lance.table.{message}"), files=files)


def _listed(snapshot: Snapshot, index: IndexMetadata) -> tuple[IndexFile, ...]:
    store, folder = _place(snapshot, index)
    names = ((file.path.removeprefix(f"{folder}/"), file.size) for file in store.list(folder))
    return tuple(IndexFile(name, size) for name, size in names)


def spec_of(index: IndexMetadata) -> IndexTypeSpec | None:
    """The type of an index from `indices_of`; None if its type or its version is not known."""
    if index.index_details is None:
        return None
    spec = get_manager().index_type_of(index.index_details.type_url)
    if spec is None or (index.index_version or 0) > spec.max_version:
        return None
    return spec


def missing_plugins(indices: Iterable[IndexMetadata]) -> str:
    """What to do to use those of ``indices`` whose types a plugin of this project would provide.

    A text that begins with a colon, for the end of a message; "" if there is nothing to do.
    """
    manager = get_manager()
    urls = {index.index_details.type_url for index in indices if index.index_details is not None}
    missing = sorted({text for url in urls if (text := manager.missing_index_type(url))})
    return f": {'; '.join(missing)}" if missing else ""


def field_of(snapshot: Snapshot, index: IndexMetadata) -> Field | None:
    """The indexed field; None if the index is over several fields or the field does not exist."""
    if len(index.fields) != 1:
        return None
    return snapshot.schema.field_by_id(index.fields[0])


def folder_of(snapshot: Snapshot, index: IndexMetadata, type_: pa.DataType) -> IndexFolder:
    """The files of a stored index of a column of type ``type_``."""
    store, path = _place(snapshot, index)
    sizes = {check_relative(file.path, "IndexFile.path"): file.size_bytes for file in index.files}
    version = index.index_version or 0
    return IndexFolder(store, path, sizes, snapshot.root.registry, type_, version)


def _place(snapshot: Snapshot, index: IndexMetadata) -> tuple[ObjectStore, str]:
    """The store and the folder of the files of an index."""
    base = snapshot.base(index.base_id)
    path = str(index.uuid)
    if base is None or base.is_dataset_root:
        path = f"{INDICES}/{path}"
    return snapshot.store_of(base), path


def open_index(snapshot: Snapshot, index: IndexMetadata, spec: IndexTypeSpec) -> OpenIndex:
    """The open index, cached for all versions of the table by uuid.

    Raises `CorruptFileError` and `ObjectNotFoundError` for damaged and missing files.
    """

    def make() -> OpenIndex:
        field, details = field_of(snapshot, index), index.index_details
        if field is None or details is None:
            raise CorruptFileError(f"index {index.name!r} has no field or no details")
        folder = folder_of(snapshot, index, field.storage_type)
        count_index()
        return index_type(spec).open(folder, details.value)

    return snapshot.root.session.indices.get((snapshot.root.store, index.uuid.int), make)
