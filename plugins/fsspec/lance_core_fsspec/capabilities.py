"""Known properties of file systems that fsspec's interface does not declare.

fsspec's ``mode="create"`` checks first and writes afterwards, and its ``mv`` replaces the target,
unless an implementation does better. This plugin relies only on known properties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_core.hookspecs import Guarantee, StoreCapabilities

FORWARDING = frozenset({"adlfs", "gcsfs", "s3fs"})
"""Packages whose ``pipe_file(mode="create")`` sends the condition to the service. The probe tests
if the service applies it."""

STRONG = frozenset(
    {
        *("abfs", "abfss", "az", "gcs", "gs", "s3", "s3a"),
        *("cos", "cosn", "obs", "oci", "ocilake", "oss", "tos", "tosfs"),
        *("file", "local", "memory"),
        *("arrow_hdfs", "ftp", "hdfs", "sftp", "smb", "ssh", "webhdfs"),
    }
)
"""Protocols whose services show every earlier write to every read."""

OBJECT_STORES = frozenset({"cos", "cosn", "hf", "lakefs", "obs", "oci", "ocilake", "oss", "tos"})
"""Protocols of file systems without folders whose single writes are atomic. Asynchronous file
systems count as such even if they are not listed."""

READ_ONLY = frozenset(
    {"data", "gist", "git", "github", "http", "https", "libarchive", "reference", "tar", "zip"}
)
"""Read-only protocols."""


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of a file system.

    ``stages``: write to a temporary name and rename, because only renames are atomic; folders must
    be created. ``is_parallel``: several threads may call it concurrently. ``keeps_bytes``: it holds
    whole objects in memory. ``quotes``: its paths are URLs. ``has_buckets``: the first segment of a
    path is a bucket of a known service.
    """

    protocol: str
    capabilities: StoreCapabilities
    stages: bool
    is_read_only: bool
    is_parallel: bool
    keeps_bytes: bool
    quotes: bool
    has_buckets: bool


def traits_of(filesystem: Any) -> Traits:
    """The properties of an `AbstractFileSystem`, or of the one that it wraps."""
    inner, is_cached = _innermost(filesystem)
    protocols = _protocols(inner)
    is_asynchronous = bool(getattr(inner, "async_impl", False))
    forwards = any(base.__module__.split(".")[0] in FORWARDING for base in type(inner).__mro__)
    strong = Guarantee.YES if STRONG & protocols else Guarantee.UNKNOWN
    return Traits(
        protocol=min(protocols),
        capabilities=StoreCapabilities(
            put_if_absent=Guarantee.UNKNOWN if forwards else Guarantee.NO,
            strong_reads=Guarantee.NO if is_cached else strong,
        ),
        stages=not is_asynchronous and not protocols & OBJECT_STORES and _renames(inner),
        is_read_only=is_cached or bool(protocols & READ_ONLY),
        is_parallel=is_asynchronous or bool(protocols & {"file", "local"}),
        keeps_bytes="memory" in protocols,
        quotes=bool(protocols & {"http", "https"}),
        has_buckets=forwards,
    )


def _innermost(filesystem: Any) -> tuple[Any, bool]:
    """The file system inside wrappers for folders and caches; True if one of them is a cache."""
    from fsspec import AbstractFileSystem
    from fsspec.implementations.cached import CachingFileSystem

    is_cached = False
    while isinstance(inner := vars(filesystem).get("fs"), AbstractFileSystem):
        is_cached = is_cached or isinstance(filesystem, CachingFileSystem)
        filesystem = inner
    return filesystem, is_cached


def _protocols(filesystem: Any) -> frozenset[str]:
    protocol = filesystem.protocol
    return frozenset({protocol} if isinstance(protocol, str) else protocol)


def _renames(filesystem: Any) -> bool:
    """True if its ``mv`` is not fsspec's default, a copy followed by a deletion."""
    from fsspec import AbstractFileSystem

    return type(filesystem).mv is not AbstractFileSystem.mv
