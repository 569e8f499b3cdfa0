"""How a commit is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from lance_core.commits.new_files import Each
from lance_core.lazy_dataclass import dataclass
from lance_core.table.paths import NamingScheme
from lance_core.table.transactions.apply import CommitFacts

DEADLINE = 600.0
"""Seconds that an attempt may take before its result is no longer believed; see `CommitOptions`.

Well below the lifetime of a signed request (15 minutes on S3), so that what was sent in time has
landed, or never will, soon after."""

SLOW = 1.0
"""Seconds from the look at the newest version after which an attempt counts as slow.

A slow attempt looks for its files and for newer versions before it publishes, and afterwards
whether the history contains what it published: a cleanup of another library may have freed the
version number in between."""

UNUSUAL = 10.0
"""An attempt also counts as slow once it took so many times as long as finding the newest version,
but not below `SHORTEST_SLOW`."""

SHORTEST_SLOW = 0.1
"""Seconds that no attempt counts as slow before: any process is stopped for so long at times."""

FRESH = 10.0
"""Seconds after which files that a writer has begun are looked for before they are committed."""

SHORTEST_DEADLINE = 1.0
"""The least that a table can ask for: with less, nobody could commit to it, not even a remedy."""

DEADLINE_KEY = "lance_core.commit_deadline"
"""Key of a table's config that replaces `DEADLINE` for all who write to it or clean it up."""


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """How a commit is made; the one carrier of these options from the API to the last attempt.

    ``max_retries``: how often to begin again after another writer was faster. ``timeout``: seconds
    after which no further attempt begins. ``naming``: of the manifests of a new table. ``facts``:
    what the new version is besides the transaction; each attempt sets the time stamp.
    ``deadline``: seconds from the look at the newest version within which an attempt must be over;
    one that took longer (a process that was stopped) is not believed before the newest version has
    been seen to contain it. ``detached``: make a version beside the history, that only its number
    leads to. ``may_be_repeated``: the transaction may have been sent before, by somebody who did
    not hear what became of it; then it is no conflict, but unknown, if a version that it might have
    become is cleaned up by now. ``age_of_files``: how many seconds ago the first of the files that
    the transaction brings in was begun, infinite if that is not known; None if they need not be
    looked for. ``each``: how to look for many of them, by default one after the other.
    """

    max_retries: int = 20
    timeout: float = 1800.0
    naming: NamingScheme = NamingScheme.V2
    facts: CommitFacts = field(default_factory=CommitFacts)
    deadline: float | None = None
    detached: bool = False
    may_be_repeated: bool = False
    age_of_files: Callable[[], float] | None = None
    each: Each = map


DEFAULT_OPTIONS = CommitOptions()


def slow_after(usual: float) -> float:
    """Seconds after which an attempt is slow where finding the newest version took ``usual``."""
    return min(SLOW, max(UNUSUAL * usual, SHORTEST_SLOW))


def deadline_of(config: Mapping[str, str], options: CommitOptions = DEFAULT_OPTIONS) -> float:
    """Seconds that an attempt may take: the caller's word, the table's, or `DEADLINE`.

    What a table says counts only if it is a positive number, and for `SHORTEST_DEADLINE` at least.
    """
    if options.deadline is not None:
        return options.deadline
    try:
        said = float(config.get(DEADLINE_KEY, DEADLINE))
    except ValueError:
        return DEADLINE
    return max(said, SHORTEST_DEADLINE) if said > 0 else DEADLINE
