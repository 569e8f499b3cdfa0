"""The contracts of this project as test classes for plugin authors. Needs pytest and hypothesis."""

from lance_core_testing.analyzer import AnalyzerTests
from lance_core_testing.assertions import check_bytes, must_raise
from lance_core_testing.commit_handlers.suite import CommitHandlerTests
from lance_core_testing.encodings.suite import EncodingTests
from lance_core_testing.encodings.value_encoding import ValueEncodingTests
from lance_core_testing.index_type import IndexTypeTests
from lance_core_testing.manifest_stores.memory_manifest_store import MemoryManifestStore
from lance_core_testing.manifest_stores.suite import ExternalManifestStoreTests
from lance_core_testing.memory_client import MemoryClient
from lance_core_testing.network import FaultProxy
from lance_core_testing.object_stores.suite import ObjectStoreTests
from lance_core_testing.ranked_indices.suite import RankedIndexTests
from lance_core_testing.sql_function import SqlFunctionTests

__all__ = [
    "AnalyzerTests",
    "CommitHandlerTests",
    "EncodingTests",
    "ExternalManifestStoreTests",
    "FaultProxy",
    "IndexTypeTests",
    "MemoryClient",
    "MemoryManifestStore",
    "ObjectStoreTests",
    "RankedIndexTests",
    "SqlFunctionTests",
    "ValueEncodingTests",
    "check_bytes",
    "must_raise",
]
