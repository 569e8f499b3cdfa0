"""Options of a commit, and the defaults of its deadlines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from lance_core.commits.history import Version
from lance_core.commits.new_files import Each
from lance_core.lazy_dataclass import dataclass
from lance_core.table.paths import NamingScheme
from lance_core.table.transactions.apply import CommitFacts

DEADLINE = 600.0
"""Default of `CommitOptions.deadline` in seconds. Well below the lifetime of a signed request (15
minutes on S3), so a request sent in time takes effect soon after the deadline or never."""

SLOW = 1.0
"""Seconds after reading the newest version from which an attempt counts as slow.

A slow attempt checks its files and the newest version again before it publishes. Afterwards it
checks that the history contains the published version: a cleanup of another library may have freed
the version number in between.
"""

UNUSUAL = 10.0
"""An attempt also counts as slow after this multiple of the time for finding the newest version,
but not before `MIN_SLOW`."""

MIN_SLOW = 0.1
"""Minimum seconds before an attempt counts as slow: the OS pauses any process for so long at
times."""

FRESH = 10.0
"""Age in seconds from which the files of a writer are checked before they are committed."""

MIN_DEADLINE = 1.0
"""Minimum deadline in seconds that a table's config may set. With a smaller one no commit could
succeed, not even one that corrects the config."""

DEADLINE_KEY = "lance_core.commit_deadline"
"""Key of a table's config that replaces `DEADLINE` for all its writers and cleanups."""


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """Options of a commit, passed unchanged from the API to the last attempt.

    ``max_retries``: how often to start again after another writer was faster; with 0, an overwrite
    must follow the version that it read. ``timeout``: seconds
    after which no further attempt starts. ``naming``: naming scheme of a new table's manifests.
    ``facts``: properties of the new version that are not in the transaction; each attempt sets the
    time stamp. ``deadline``: maximum seconds between reading the newest version and publishing; a
    slower attempt (of a suspended process, for example) counts as committed only if the newest
    version contains it. ``detached``: publish a version outside the history, which is found only by
    its number. ``may_be_repeated``: the transaction may have been sent before, with an unknown
    outcome; if a version that it may have become is cleaned up, the outcome is unknown, not a
    conflict. ``check_base``: called with the version that an attempt is based on; it raises an
    error to refuse the commit. ``is_committed``: called with the properties of each transaction
    that was committed after the transaction's read version; True means that it is the same change,
    and the commit raises `AlreadyCommittedError`. ``age_of_files``: returns the seconds since the
    first new file of the transaction was started, infinite if unknown; None if the files need not
    be checked. ``each``: reads many versions and checks many files, by default one after the other.
    """

    max_retries: int = 20
    timeout: float = 1800.0
    naming: NamingScheme = NamingScheme.V2
    facts: CommitFacts = field(default_factory=CommitFacts)
    deadline: float | None = None
    detached: bool = False
    may_be_repeated: bool = False
    check_base: Callable[[Version], None] | None = None
    is_committed: Callable[[Mapping[str, str]], bool] | None = None
    age_of_files: Callable[[], float] | None = None
    each: Each = map


DEFAULT_OPTIONS = CommitOptions()
"""The options of a caller who chooses none."""


def slow_after(usual: float) -> float:
    """Seconds after which an attempt is slow; ``usual``: seconds to find the newest version."""
    return min(SLOW, max(UNUSUAL * usual, MIN_SLOW))


def deadline_of(config: Mapping[str, str], options: CommitOptions = DEFAULT_OPTIONS) -> float:
    """The deadline of an attempt in seconds: from the caller, the table's config, or `DEADLINE`.

    A config value applies only if it is a positive number; it is raised to `MIN_DEADLINE`.
    """
    if options.deadline is not None:
        return options.deadline
    try:
        said = float(config.get(DEADLINE_KEY, DEADLINE))
    except ValueError:
        return DEADLINE
    return max(said, MIN_DEADLINE) if said > 0 else DEADLINE
