"""The plan of a cleanup: what to remove, and which selected versions to keep and why."""

from __future__ import annotations

import enum
from datetime import timedelta

from lance_core.commits.base import ManifestLocation
from lance_core.commits.cleanup.files import FileKind
from lance_core.commits.cleanup.policy import CleanupPolicy
from lance_core.commits.cleanup.scope import NamedVersions
from lance_core.commits.store_time import StoreTime
from lance_core.lazy_dataclass import dataclass


class KeptReason(enum.Enum):
    """Why a version is kept although the policy selects it."""

    TAGGED = "it has a tag"
    BRANCH = "a branch begins there"
    PINNED = "something is being made of it"
    RECENT = "it was superseded so recently that a writer may still be at work on it"


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """A version that is kept although the policy selects it."""

    version: int
    reason: KeptReason


@dataclass(frozen=True, slots=True)
class VersionToRemove:
    """A version to remove; ``size`` is that of its manifest in bytes.

    ``staged``: paths of staged copies of its manifest that rows of an external manifest store may
    name. They are removed first: a reader that found one would take the version for incomplete and
    complete it.
    """

    location: ManifestLocation
    size: int
    staged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileToRemove:
    """A file to remove. ``verified``: versions name it, and all of them are removed."""

    path: str
    kind: FileKind
    size: int
    verified: bool


@dataclass(frozen=True, slots=True)
class CleanupPlan:
    """What to remove, oldest versions first; the result of a dry run.

    ``grace``: maximum time for which versions are kept after they were superseded.

    ``seen``: paths of all manifests that the plan takes into account. Paths of other branches are
    relative to the root of the main branch. Executing the plan reads manifests that are not in
    ``seen``.
    """

    read_version: int
    policy: CleanupPolicy
    time: StoreTime
    grace: timedelta
    versions: tuple[VersionToRemove, ...]
    files: tuple[FileToRemove, ...]
    kept: tuple[KeptVersion, ...]
    named: NamedVersions
    seen: frozenset[str]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the caller."""
        recent = sum(kept.reason is KeptReason.RECENT for kept in self.kept)
        texts = []
        if recent:
            texts.append(
                f"{recent} version(s) stay because they were superseded less than "
                f"{self.grace.total_seconds():g} s ago: a writer that began before may still "
                "commit. If nobody else is at work on the table, delete_unverified=True removes "
                "them"
            )
        if self.time.problem:
            texts.append(f"ages are measured by this machine's clock: {self.time.problem}")
        return tuple(texts)
