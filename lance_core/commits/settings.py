"""How a commit is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lance_core.table.manifest_file import ManifestFile
from lance_core.table.paths import NamingScheme

DEADLINE = 600.0
"""Seconds that an attempt may take before its result is no longer believed; see `CommitSettings`.

Well below the lifetime of a signed request (15 minutes on S3), so that what was sent in time has
landed, or never will, soon after."""

SHORTEST_DEADLINE = 1.0
"""The least that a table can ask for: with less, nobody could commit to it, not even a remedy."""

DEADLINE_KEY = "lance_core.commit_deadline"
"""Key of a table's config that replaces `DEADLINE` for all who write to it or clean it up."""


@dataclass(frozen=True, slots=True)
class CommitSettings:
    """How a commit is made.

    ``max_retries``: how often to begin again after another writer was faster. ``timeout``: seconds
    after which no further attempt begins. ``naming``: of the manifests of a new table.
    ``storage_version`` and ``stable_row_ids``: see `CommitFacts`. ``deadline``: seconds from the
    look at the newest version within which an attempt must be over; one that took longer (a process
    that was stopped) is not believed before the newest version has been seen to contain it.
    ``detached``: make a version beside the history. ``source``: what a clone copies.
    ``may_be_repeated``: the transaction may have been sent before, by somebody who did not hear
    what became of it; then it is no conflict, but unknown, if a version that it might have become
    is cleaned up by now.
    """

    max_retries: int = 20
    timeout: float = 1800.0
    naming: NamingScheme = NamingScheme.V2
    storage_version: str | None = None
    stable_row_ids: bool = False
    deadline: float | None = None
    detached: bool = False
    source: ManifestFile | None = None
    may_be_repeated: bool = False


DEFAULT_SETTINGS = CommitSettings()


def deadline_of(config: Mapping[str, str], settings: CommitSettings = DEFAULT_SETTINGS) -> float:
    """Seconds that an attempt may take: the caller's word, the table's, or `DEADLINE`.

    What a table says counts only if it is a positive number, and for `SHORTEST_DEADLINE` at least.
    """
    if settings.deadline is not None:
        return settings.deadline
    try:
        said = float(config.get(DEADLINE_KEY, DEADLINE))
    except ValueError:
        return DEADLINE
    return max(said, SHORTEST_DEADLINE) if said > 0 else DEADLINE
