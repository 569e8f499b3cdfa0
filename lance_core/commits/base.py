"""The commit contract: how the manifest of a version is found, and how it comes to be.

A `CommitHandler` serves one table. Whoever implements one writes down how a manifest becomes *the*
manifest of its version, atomically among any number of writers, and where manifests are found.
Everything else (reading what others committed, settling doubtful outcomes, retries) is common to
all handlers and lives in the other modules of this package.

How `CommitHandler.commit` ends is how every conditional call of a store ends: returning means
*applied*; `ObjectExistsError` means that this version exists, written by another or by an earlier
sending of this very candidate; any other `StoreError` but `OutcomeUnknownError` means *not
applied*; everything else means *unknown*. The caller finds out which it was, see
`lance_core.commits.outcome`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import fields
from typing import TypeAlias

from lance_core.commits.environment import Environment
from lance_core.commits.handlers.external_manifest_store import ExternalManifestStore
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectStore, StoreCapabilities
from lance_core.store.config import Secret
from lance_core.store.uri import StoreUrl
from lance_core.suggestions import hint
from lance_core.table.paths import NamingScheme, manifest_path


@dataclass(frozen=True, slots=True)
class ManifestLocation:
    """Where the manifest of a version is.

    ``size`` in bytes and ``etag`` are None if finding the manifest did not tell them.
    """

    version: int
    path: str
    naming: NamingScheme
    size: int | None = None
    etag: str | None = None

    def contradicts(self, other: ManifestLocation) -> bool:
        """True if these are certainly two different manifests, by what is known of both.

        A table that was dropped and made again has versions of the same numbers.
        """
        return (
            (self.version, self.path) != (other.version, other.path)
            or (None not in (self.size, other.size) and self.size != other.size)
            or (None not in (self.etag, other.etag) and self.etag != other.etag)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A manifest that is to become a version.

    Sending the same candidate again is allowed and must not make a second version: its ``version``
    is in the manifest, and its ``transaction_uuid`` tells it from everybody else's.
    """

    version: int
    naming: NamingScheme
    data: bytes
    """The manifest file."""
    transaction_uuid: str
    transaction: bytes
    """The serialised transaction, as it stands in ``data``: the intent, byte by byte."""

    @property
    def path(self) -> str:
        """Where a manifest of this version belongs."""
        return manifest_path(self.version, self.naming)

    @property
    def location(self) -> ManifestLocation:
        """What becomes of the candidate once it is applied."""
        return ManifestLocation(self.version, self.path, self.naming, len(self.data))


class CommitHandler(ABC):
    """Finds and makes versions of one table. Methods are thread-safe and block."""

    @abstractmethod
    def latest(self) -> ManifestLocation | None:
        """The newest attached version, or None if there is no table.

        Sees every commit that returned before the call. Raises `CorruptFileError` if manifests
        are named by two schemes.
        """

    @abstractmethod
    def locate(self, version: int) -> ManifestLocation:
        """Where a version, detached ones included, is; `DatasetNotFoundError` if it is not."""

    @abstractmethod
    def list_versions(self) -> Sequence[ManifestLocation]:
        """All attached versions, oldest first."""

    @abstractmethod
    def commit(self, candidate: Candidate) -> ManifestLocation:
        """Make ``candidate`` the manifest of its version, or raise; see the module for how."""

    def discard(self, candidate: Candidate) -> None:
        """Remove what `commit` left beside the versions.

        Called only once it is certain that nothing of ``candidate`` will ever be needed: it lost,
        or its manifest is in place. Failing is harmless; cleanup removes what stays.
        """
        return

    def forget(self, folder: str = "") -> None:
        """Remove what the handler keeps about the table outside of the table's folder.

        ``folder``: of one of the table's branches, relative to the table; "" is the table itself.
        Called when that is dropped, once its files are removed. May be called again.
        """
        return


HandlerFactory: TypeAlias = Callable[
    [ObjectStore, StoreUrl, Mapping[str, "str | Secret"], Environment], CommitHandler
]
"""Makes a handler of a store rooted at the table, the table's URL, the caller's options and the
outside world."""


@dataclass(frozen=True, slots=True)
class CommitHandlerSpec:
    """Describes a commit handler.

    ``requires``: names of fields of `StoreCapabilities` that the store must guarantee.
    ``url_suffix``: what stands after ``+`` in URLs that ask for this handler; a handler that has
    one is only used when asked for.
    ``rank``: of several handlers that fit, the one with the highest rank is chosen.
    ``multi_writer``: False if two writers at a time may lose a commit; such a handler is only used
    when asked for by name.
    ``factory``: a `HandlerFactory`, or ``"module:attribute"`` of one.
    ``options``: names of storage options that are the handler's own. Stores pass over them; case
    and underscores do not matter.
    ``shared_options``: names that it has in common with stores, such as those of credentials. The
    store of a table that asks for the handler passes over those that it does not know.
    ``place_option``: the one of ``options`` that holds the URI of another store, which the handler
    opens with the storage options of the table. Both stores pass over the options of the other.
    Making one raises `InvalidInputError` if ``requires`` holds a name that is no capability: no
    store could fulfil it.
    """

    name: str
    factory: HandlerFactory | str
    requires: frozenset[str] = frozenset()
    url_suffix: str | None = None
    rank: int = 0
    multi_writer: bool = True
    options: frozenset[str] = frozenset()
    shared_options: frozenset[str] = frozenset()
    place_option: str | None = None

    def __post_init__(self) -> None:
        requires: object = self.requires
        if not isinstance(requires, Set):
            raise InvalidInputError(f"requires of {self.name!r} is no set of names of capabilities")
        known = {field.name for field in fields(StoreCapabilities)}
        for name in requires - known:
            raise InvalidInputError(
                f"commit handler {self.name!r} requires {name!r}, which is no capability of stores"
                f"{hint(str(name), known)}"
            )
        object.__setattr__(self, "requires", frozenset(requires))


ManifestStoreFactory: TypeAlias = Callable[
    [StoreUrl, Mapping[str, "str | Secret"]], ExternalManifestStore
]
"""Makes a back-end of the table's URL, with its query, and the caller's options."""


@dataclass(frozen=True, slots=True)
class ManifestStoreSpec:
    """Describes a key-value back-end for the external manifest protocol.

    ``name``: what the option ``commit_handler`` and a table's config ask for it by.
    ``url_suffix``: what stands after ``+`` in URLs that ask for it. It is only used when asked for.
    ``factory``: a `ManifestStoreFactory`, or ``"module:attribute"`` of one.
    ``options``, ``shared_options``: as of `CommitHandlerSpec`.
    """

    name: str
    url_suffix: str
    factory: ManifestStoreFactory | str
    options: frozenset[str] = frozenset()
    shared_options: frozenset[str] = frozenset()
