"""Everything that the author of a store needs.

A store implements `ObjectStore` and is described by an `ObjectStoreSpec`, which a plugin returns
from the hook ``lance_object_stores``. Paths are relative to the URL that the store is opened with,
positions are in bytes. Its options are values of `lance_core.hookspecs.options`. Stores of services
in a network have more in common: see the distribution ``lance-core-remote``.
"""

from lance_core.byte_ranges import ByteRange, BytesLike
from lance_core.store.base import (
    COPY_BYTES,
    Buffers,
    Guarantee,
    ObjectMeta,
    ObjectStore,
    ObjectWriter,
    PutMode,
    StoreCapabilities,
)
from lance_core.store.buffers import byte_view, byte_views, joined
from lance_core.store.functions import exists, list_paths
from lance_core.store.local.store import LocalStore
from lance_core.store.local.temporary import TEMPORARY_PREFIX
from lance_core.store.memory import MemoryStore
from lance_core.store.paths import check_folder, check_path, is_path
from lance_core.store.probe import probe
from lance_core.store.process_reads import StoreTotals, count_reads
from lance_core.store.ranges import check_ranges, slice_ranges
from lance_core.store.read_planning import ReadPlan, plan_reads
from lance_core.store.spec import ObjectStoreSpec, resolve_factory
from lance_core.store.spooling import SpoolingWriter
from lance_core.store.uri import StoreUrl, is_local_text, parse_uri
from lance_core.store.wrappers.base import REQUESTS, StoreCall, StoreWrapper
from lance_core.store.wrappers.capability_override import DeclaredStore

__all__ = [
    "COPY_BYTES",
    "REQUESTS",
    "TEMPORARY_PREFIX",
    "Buffers",
    "ByteRange",
    "BytesLike",
    "DeclaredStore",
    "Guarantee",
    "LocalStore",
    "MemoryStore",
    "ObjectMeta",
    "ObjectStore",
    "ObjectStoreSpec",
    "ObjectWriter",
    "PutMode",
    "ReadPlan",
    "SpoolingWriter",
    "StoreCall",
    "StoreCapabilities",
    "StoreTotals",
    "StoreUrl",
    "StoreWrapper",
    "byte_view",
    "byte_views",
    "check_folder",
    "check_path",
    "check_ranges",
    "count_reads",
    "exists",
    "is_local_text",
    "is_path",
    "joined",
    "list_paths",
    "parse_uri",
    "plan_reads",
    "probe",
    "resolve_factory",
    "slice_ranges",
]
