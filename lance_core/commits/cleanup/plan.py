"""What a cleanup would remove, and what stays that could have been thought to go, as values."""

from __future__ import annotations

import enum
from datetime import timedelta

from lance_core.commits.base import ManifestLocation
from lance_core.commits.cleanup.files import FileKind
from lance_core.commits.cleanup.policy import CleanupPolicy
from lance_core.commits.cleanup.scope import Named
from lance_core.commits.store_time import StoreTime
from lance_core.lazy_dataclass import dataclass


class KeptReason(enum.Enum):
    """Why a version stays that the policy alone would remove."""

    TAGGED = "it has a tag"
    BRANCH = "a branch begins there"
    PINNED = "something is being made of it"
    RECENT = "it was superseded so recently that a writer may still be at work on it"


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """A version that stays although the policy alone would remove it."""

    version: int
    reason: KeptReason


@dataclass(frozen=True, slots=True)
class VersionToRemove:
    """A version to remove; ``size`` of its manifest in bytes.

    ``staged``: copies of its manifest that an external manifest store may know. They go first: a
    reader who met one would take the version for half-finished and complete it.
    """

    location: ManifestLocation
    size: int
    staged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileToRemove:
    """A file to remove. ``verified``: a version names it, but only versions that go do."""

    path: str
    kind: FileKind
    size: int
    verified: bool


@dataclass(frozen=True, slots=True)
class CleanupPlan:
    """What to remove, oldest versions first; the dry run of a cleanup.

    ``grace``: how long versions stay after they were superseded, at most.
    ``seen``: paths of all manifests that were taken into account, those of other branches counted
    from the tree's root; what else there is when the plan is executed has to be looked at then.
    """

    read_version: int
    policy: CleanupPolicy
    time: StoreTime
    grace: timedelta
    versions: tuple[VersionToRemove, ...]
    files: tuple[FileToRemove, ...]
    kept: tuple[KeptVersion, ...]
    named: Named
    seen: frozenset[str]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the caller should be told."""
        recent = sum(kept.reason is KeptReason.RECENT for kept in self.kept)
        found = []
        if recent:
            found.append(
                f"{recent} version(s) stay because they were superseded less than "
                f"{self.grace.total_seconds():g} s ago: a writer that began before may still "
                "commit. If nobody else is at work on the table, delete_unverified=True removes "
                "them"
            )
        if self.time.problem:
            found.append(f"ages are told by this machine's clock: {self.time.problem}")
        return tuple(found)
