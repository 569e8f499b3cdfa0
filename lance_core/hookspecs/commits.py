"""Everything that the author of a commit handler or of a manifest store needs.

A handler makes exactly one writer create a version. It implements `CommitHandler`, usually by
`commit` of a `DirectoryCommitHandler`, and is described by a `CommitHandlerSpec`. A manifest store
is the database of the external manifest protocol: it implements `ExternalManifestStore`, and is
described by a `ManifestStoreSpec`. Both write through the stores of `lance_core.hookspecs.stores`.
"""

from lance_core.commits.base import (
    Candidate,
    CommitHandler,
    CommitHandlerSpec,
    ManifestLocation,
    ManifestStoreSpec,
)
from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.handlers.directory import DirectoryCommitHandler, ReadOnlyCommitHandler
from lance_core.commits.handlers.exclusive import REQUEST_LIFETIME, ExclusiveWriter
from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.commits.handlers.external_manifest_store import ExternalManifestStore, ManifestEntry
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.handlers.rename import RenameCommitHandler
from lance_core.commits.handlers.unsafe import UnsafeCommitHandler
from lance_core.table.paths import ManifestName, parse_manifest_name

__all__ = [
    "REQUEST_LIFETIME",
    "SYSTEM",
    "Candidate",
    "CommitHandler",
    "CommitHandlerSpec",
    "DirectoryCommitHandler",
    "Environment",
    "ExclusiveWriter",
    "ExternalManifestCommitHandler",
    "ExternalManifestStore",
    "ManifestEntry",
    "ManifestLocation",
    "ManifestName",
    "ManifestStoreSpec",
    "PutIfAbsentCommitHandler",
    "ReadOnlyCommitHandler",
    "RenameCommitHandler",
    "UnsafeCommitHandler",
    "parse_manifest_name",
]
