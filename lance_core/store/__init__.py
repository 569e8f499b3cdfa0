"""The store contract, the built-in stores, and wrappers for any store.

An author of a store starts at `lance_core.store.base`; `lance_core.store.probe` tests what a store
really guarantees. Wrappers for tests are in `lance_core_testing.stores`.
"""

from lance_core.byte_ranges import ByteRange, BytesLike
from lance_core.store.base import (
    Buffers,
    Guarantee,
    ObjectMeta,
    ObjectStore,
    ObjectWriter,
    PutMode,
    StoreCapabilities,
)
from lance_core.store.config import StoreConfig
from lance_core.store.functions import exists, list_paths
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.store.secret import Secret, carrying_secrets, plain
from lance_core.store.spec import ObjectStoreSpec
from lance_core.store.uri import StoreUrl, parse_uri
from lance_core.store.wrappers.prefix import PrefixStore

__all__ = [
    "Buffers",
    "ByteRange",
    "BytesLike",
    "Durability",
    "Guarantee",
    "LocalStore",
    "MemoryStore",
    "ObjectMeta",
    "ObjectStore",
    "ObjectStoreSpec",
    "ObjectWriter",
    "PrefixStore",
    "PutMode",
    "Secret",
    "StoreCapabilities",
    "StoreConfig",
    "StoreUrl",
    "carrying_secrets",
    "exists",
    "list_paths",
    "parse_uri",
    "plain",
]
