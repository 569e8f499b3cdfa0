"""Explore every schedule of small commits with the shipped code.

A `Configuration` defines the actors (functions that call the commit, read and cleanup code), their
commit handler, the kind of store, and how many faults may occur. `explore` runs the actors' code
against a simulated store, stops it at every call, and tries every order of the calls and every
fault of each call: a crash, a lost response, a write that takes effect late, a request that the
client sends twice, a refusal, a stale read. The invariants I1 to I14 judge every state.

::

    report = explore(writers(PUT_IF_ABSENT, 2, 1, 2))
    assert report.exhausted and not report.violations

A violation is reported with a `Schedule`: a short text with one line for each step, which `replay`
runs again. A defect that was planted on purpose must be found::

    forgets = lambda: mock.patch.object(conflicts, "check", lambda *_: None)
    assert explore(configuration, patches=[forgets]).violations

``docs/design/0005-schedule-explorer.md`` explains how it works and what it does not try;
``docs/how-to/explore-your-handler.md`` shows how to explore another handler.
"""

from lance_core_explorer.actors.maintenance import cleaner, foreign_cleaner, janitor
from lance_core_explorer.actors.writers import (
    aged,
    appending,
    creating,
    opening_writer,
    overwriting,
    reader,
    recommitter,
    reserving,
    restoring,
    rewriting,
    writer,
)
from lance_core_explorer.calls import Call, Raised
from lance_core_explorer.commutativity import lasting_manifests, private_files
from lance_core_explorer.configuration import (
    Actor,
    Configuration,
    Eagerness,
    Effects,
    Invariant,
    Scope,
    never_eager,
)
from lance_core_explorer.configurations import (
    FULL,
    SHORT,
    beside_foreign_cleaner,
    bounded,
    configuration,
    forgetful,
    paged,
    writers,
)
from lance_core_explorer.invariants import ALL, Facts
from lance_core_explorer.runner import explore_all, run
from lance_core_explorer.schedule import Schedule, replay
from lance_core_explorer.search import Limits, Report, Violation, explore
from lance_core_explorer.spaces import Space
from lance_core_explorer.subjects import (
    EXTERNAL,
    LEASE,
    PUT_IF_ABSENT,
    RENAME,
    SAFE,
    UNORDERED,
    UNSAFE,
    Subject,
)
from lance_core_explorer.view import Seen, View
from lance_core_explorer.worlds import Fate

__all__ = [
    "ALL",
    "EXTERNAL",
    "FULL",
    "LEASE",
    "PUT_IF_ABSENT",
    "RENAME",
    "SAFE",
    "SHORT",
    "UNORDERED",
    "UNSAFE",
    "Actor",
    "Call",
    "Configuration",
    "Eagerness",
    "Effects",
    "Facts",
    "Fate",
    "Invariant",
    "Limits",
    "Raised",
    "Report",
    "Schedule",
    "Scope",
    "Seen",
    "Space",
    "Subject",
    "View",
    "Violation",
    "aged",
    "appending",
    "beside_foreign_cleaner",
    "bounded",
    "cleaner",
    "configuration",
    "creating",
    "explore",
    "explore_all",
    "foreign_cleaner",
    "forgetful",
    "janitor",
    "lasting_manifests",
    "never_eager",
    "opening_writer",
    "overwriting",
    "paged",
    "private_files",
    "reader",
    "recommitter",
    "replay",
    "reserving",
    "restoring",
    "rewriting",
    "run",
    "writer",
    "writers",
]
