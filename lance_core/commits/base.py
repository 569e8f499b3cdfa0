"""The commit contract: how manifests of versions are found and published.

A `CommitHandler` serves one table. An implementation defines how a manifest becomes *the* manifest
of its version, atomically among any number of writers, and where manifests are found. Everything
else (reading concurrent commits, resolving unknown outcomes, retries) is common to all handlers and
lives in the other modules of this package.

`CommitHandler.commit` ends like every conditional call of a store. Returning means *applied*.
`ObjectExistsError` means that this version exists, written either by another writer or by an
earlier request for the same candidate. Any other `StoreError` except `OutcomeUnknownError` means
*not applied*. Every other exception, and every value that is not the location of this version,
means *unknown*.

The caller believes none of these alone: it reads the manifest of the version, whose content shows
who has committed, and says *not committed* only if the table does not have the candidate, see
`lance_core.commits.outcome`. So a handler that errs after it has applied a candidate costs no row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import fields
from typing import ClassVar, TypeAlias

from lance_core.commits.environment import Environment
from lance_core.commits.handlers.external_manifest_store import ExternalManifestStore
from lance_core.error_texts.suggestions import hint
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectStore, StoreCapabilities
from lance_core.store.config import Secret
from lance_core.store.uri import StoreUrl
from lance_core.table.paths import NamingScheme, manifest_path


@dataclass(frozen=True, slots=True)
class ManifestLocation:
    """The location of a version's manifest.

    ``size`` in bytes and ``etag`` are None if they were not learnt when the manifest was found.
    """

    version: int
    path: str
    naming: NamingScheme
    size: int | None = None
    etag: str | None = None

    def contradicts(self, other: ManifestLocation) -> bool:
        """True if the sizes or etags prove that these are two different manifests.

        A table that was dropped and created again reuses version numbers.
        """
        return (
            (self.version, self.path) != (other.version, other.path)
            or (None not in (self.size, other.size) and self.size != other.size)
            or (None not in (self.etag, other.etag) and self.etag != other.etag)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A manifest to publish as a version.

    Publishing the same candidate again is allowed and must not create a second version: the
    manifest contains its ``version``, and its ``transaction_uuid`` distinguishes it from the
    candidates of other writers.
    """

    version: int
    naming: NamingScheme
    data: bytes
    """The manifest file."""
    transaction_uuid: str
    transaction: bytes
    """The serialised transaction, exactly the bytes that ``data`` contains."""

    @property
    def path(self) -> str:
        """The final path of the manifest of this version, relative to the table."""
        return manifest_path(self.version, self.naming)

    @property
    def location(self) -> ManifestLocation:
        """The location of the manifest after a successful commit."""
        return ManifestLocation(self.version, self.path, self.naming, len(self.data))


class CommitHandler(ABC):
    """Finds and publishes versions of one table. Methods are thread-safe and blocking.

    What the handlers of plugins return is checked, see `lance_core.commits.checked_handler`.
    """

    keeps_contract: ClassVar[bool] = False
    """True in the handlers of this package alone, whose results need no checks. A class that
    inherits it is checked nevertheless."""

    has_folder: ClassVar[bool] = False
    """True if nothing but its manifest in the table's folder makes a version exist."""

    @abstractmethod
    def latest(self) -> ManifestLocation | None:
        """The newest attached version, or None if there is no table.

        Sees every commit that returned before the call. Raises `CorruptFileError` if manifests
        are named by two schemes.
        """

    @abstractmethod
    def locate(self, version: int) -> ManifestLocation:
        """The location of a version, attached or detached; `DatasetNotFoundError` without one."""

    @abstractmethod
    def list_versions(self) -> Sequence[ManifestLocation]:
        """All attached versions, oldest first."""

    @abstractmethod
    def commit(self, candidate: Candidate) -> ManifestLocation:
        """Publish ``candidate`` as its version; the module's docstring defines how a call ends."""

    def check_can_commit(self) -> None:  # noqa: B027 - most handlers know nothing in advance
        """Raise what `commit` certainly would, such as `NoSafeCommitHandlerError`.

        Called before a change writes its first file, so that a commit that cannot succeed uploads
        nothing and leaves nothing. May write to find out, like a probe of the store. Cheap if
        called again. Returning promises nothing.
        """

    def discard(self, candidate: Candidate) -> None:
        """Remove temporary files and records that `commit` left beside the versions.

        Called only when ``candidate`` is certainly not needed: another commit won, or its manifest
        is in place. A failure is harmless; cleanup removes the rest.
        """
        return

    def forget(self, folder: str = "") -> None:
        """Remove the handler's records about the table that are outside the table's folder.

        ``folder`` is the folder of one of the table's branches, relative to the table, or "" for
        the table itself. Called when the table or branch is dropped, after its files are removed.
        May be called more than once.
        """
        return


HandlerFactory: TypeAlias = Callable[
    [ObjectStore, StoreUrl, Mapping[str, "str | Secret"], Environment], CommitHandler
]
"""Creates a handler from a store rooted at the table, the table's URL, the caller's storage options
and the environment."""


@dataclass(frozen=True, slots=True)
class CommitHandlerSpec:
    """Describes a commit handler.

    ``requires``: names of the fields of `StoreCapabilities` that the store must guarantee.
    ``url_suffix``: the text after ``+`` in the scheme of URLs that select this handler. A handler
    with a suffix is used only if it is selected.
    ``rank``: if several handlers fit, the one with the highest rank is chosen.
    ``multi_writer``: False if two concurrent writers may lose a commit. Such a handler is used only
    if it is selected by name.
    ``factory``: a `HandlerFactory`, or its import path ``"module:attribute"``.
    ``options``: names of the storage options that belong to this handler. Stores ignore them. Case
    and underscores do not matter.
    ``shared_options``: names of options that the handler has in common with stores, such as
    credentials. If a table selects this handler, its store ignores those that it does not define.
    ``place_option``: the member of ``options`` that holds the URI of another store, which the
    handler opens with the storage options of the table. Each of the two stores ignores the options
    of the other.

    Raises `InvalidInputError` if ``requires`` contains a name that is not a capability: no store
    could satisfy it.
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
            raise InvalidInputError(f"requires of {self.name!r} is not a set of capability names")
        known = {field.name for field in fields(StoreCapabilities)}
        for name in requires - known:
            raise InvalidInputError(
                f"commit handler {self.name!r} requires {name!r}, which is not a store capability"
                f"{hint(str(name), known)}"
            )
        object.__setattr__(self, "requires", frozenset(requires))


ManifestStoreFactory: TypeAlias = Callable[
    [StoreUrl, Mapping[str, "str | Secret"]], ExternalManifestStore
]
"""Creates a back-end from the table's URL, including its query, and the caller's storage
options."""


@dataclass(frozen=True, slots=True)
class ManifestStoreSpec:
    """Describes a key-value back-end for the external manifest protocol.

    ``name``: the name that selects it in the option ``commit_handler`` and in a table's config.
    ``url_suffix``: the text after ``+`` in URL schemes that select this back-end. There is no
    automatic choice: the URL, the option ``commit_handler`` or the table's config must name it.
    ``factory``: a `ManifestStoreFactory`, or its import path ``"module:attribute"``.
    ``options``, ``shared_options``: as in `CommitHandlerSpec`.
    """

    name: str
    url_suffix: str
    factory: ManifestStoreFactory | str
    options: frozenset[str] = frozenset()
    shared_options: frozenset[str] = frozenset()
