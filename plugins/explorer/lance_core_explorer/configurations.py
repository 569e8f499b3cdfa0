"""The configurations of the shipped handlers, in two sets.

`SHORT` runs with every change, `FULL` before a release. If a configuration limits pre-emptions, its
name says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lance_core.commits.newest import Probing
from lance_core.commits.options import SLOW
from lance_core.hookspecs.commits import CommitHandler, PutIfAbsentCommitHandler
from lance_core_explorer import subjects
from lance_core_explorer.actors.maintenance import (
    cleaner,
    foreign_cleaner,
    janitor,
    recreator,
)
from lance_core_explorer.actors.writers import (
    Change,
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
from lance_core_explorer.configuration import (
    Actor,
    Body,
    Configuration,
    Effects,
    never_eager,
)
from lance_core_explorer.subjects import Subject
from lance_core_explorer.worlds import Fate

NEXT = opening_writer(appending)
"""The writer that commits at the end (I12)."""

STALLS = (601.0, 1201.0)
"""Seconds just past the commit deadline, and past twice the deadline."""


def configuration(subject: Subject, name: str, actors: Sequence[Actor]) -> Configuration:
    """A configuration of ``actors`` and the handler of ``subject``: one fragment, no faults.

    Change it by `dataclasses.replace`.
    """
    return Configuration(
        f"{subject.name}/{name}",
        tuple(actors),
        subject.handler,
        creating(),
        late_for=subject.late_for,
        shortest_sleep=subject.shortest_sleep,
        capabilities=subject.capabilities,
        spaces=subject.spaces,
        eager=subject.eager,
        next_writer=NEXT,
    )


def writers(subject: Subject, number: int, commits: int, faults: int) -> Configuration:
    """``number`` writers append ``commits`` times each, with up to ``faults`` faults."""
    actors = [_writer(f"w{i + 1}", commits) for i in range(number)]
    made = configuration(subject, f"{number}w x {commits}op, {faults} faults", actors)
    return replace(made, max_faults=faults, violates=subject is subjects.UNSAFE)


def _writer(name: str, commits: int = 1) -> Actor:
    return Actor(name, writer(*[appending] * commits), commits=commits)


def succession(subject: Subject) -> Configuration:
    """A writer crashes, and another writer replaces it."""
    actors = (_writer("w1"), _writer("w2"), Actor("w1b", opening_writer(appending), follows="w1"))
    made = configuration(subject, "2w + successor, 1 crash", actors)
    return replace(made, max_faults=1, faults=(Fate.CRASH,))


def recommits(subject: Subject) -> Configuration:
    """A writer repeats a commit with unknown outcome while another writer commits."""
    actors = (Actor("r1", recommitter(appending), commits=2), _writer("w2"))
    made = configuration(subject, "recommit + 1w, 2 faults", actors)
    return replace(made, max_faults=2, faults=(Fate.LATE, Fate.SENT_TWICE, Fate.REFUSED))


def readers(subject: Subject) -> Configuration:
    """Readers, which complete commits if the handler requires this, beside a writer."""
    actors = (_writer("w1", 2), Actor("reader", reader(2), commits=0))
    return replace(configuration(subject, "1w x 2op + reader, 1 fault", actors), max_faults=1)


def operations(subject: Subject, name: str, *bodies: Body) -> Configuration:
    """Operations that remove data files."""
    actors = [Actor(f"w{i + 1}", body, commits=2) for i, body in enumerate(bodies)]
    made = configuration(subject, f"{name}, 1 fault", actors)
    return replace(made, max_faults=1, only_adds=False)


def with_cleaner(subject: Subject, number: int, faults: int = 0, passing: int = 1) -> Configuration:
    """Writers, and a cleanup that selects all versions except the newest.

    The table has a removable old version. Time passes ``passing`` times, enough to make the initial
    files removable as well.
    """
    actors = [_writer(f"w{i + 1}") for i in range(number)]
    actors.append(Actor("cleaner", cleaner(), commits=0, starts_late=True))
    made = configuration(subject, f"{number}w + cleaner, {faults} faults{_pauses(passing)}", actors)
    return replace(
        made,
        max_faults=faults,
        setup=aged(2),
        begins=STALLS[1],
        passing=(STALLS[1],),
        max_passing=passing,
        cleans=True,
        eager=never_eager,
        final_cleanup=janitor,
    )


def _pauses(passing: int) -> str:
    return f", {passing} pauses" if passing else ""


def stalled(subject: Subject) -> Configuration:
    """A writer is suspended while another commits twice and a cleanup runs (lance#3718)."""
    actors = (
        _writer("w1"),
        Actor("w2", writer(appending, appending), commits=2),
        Actor("cleaner", cleaner(), commits=0, starts_late=True),
    )
    made = configuration(subject, "stalled 1w + 1w x 2op + cleaner", actors)
    return replace(made, passing=(STALLS[1],), max_passing=1, cleans=True, eager=never_eager)


def beside_foreign_cleaner(
    subject: Subject, change: Change = appending, is_local: bool = True, commits: int = 2
) -> Configuration:
    """A writer is suspended while another makes ``commits`` and a foreign cleanup runs.

    On a local store the cleanup removes superseded versions at once. On other stores it removes
    them one second later, because commits check only slower attempts again.
    """
    patience = 0.0 if is_local else SLOW
    actors = (
        Actor("w1", writer(change)),
        Actor("w2", writer(*[appending] * commits), commits=commits),
        Actor("cleaner", foreign_cleaner(patience), commits=0, may_fail=False),
    )
    location = "local" if is_local else "remote"
    made = configuration(subject, f"{location} 1w + 1w x {commits}op + foreign cleaner", actors)
    return replace(
        made,
        passing=() if is_local else (SLOW + 0.1,),
        max_passing=0 if is_local else 1,
        is_local=is_local,
        only_adds=change is appending,
        cleans=True,
        has_foreign_cleaner=True,
        eager=never_eager,
    )


def by_names(configuration: Configuration) -> Configuration:
    """The newest version of a local table is found by names after a known one, if there is one.

    Only tables of many versions need that; here a writer that has found a version does so at once,
    and looks at as many names as there are commits.
    """

    def handler(effects: Effects) -> CommitHandler:
        probing = Probing(commits_per_second=0.0, slack=4, names_per_probe=0)
        return PutIfAbsentCommitHandler(effects.store, effects.environment, probing)

    name = f"{configuration.name}, by names"
    return replace(configuration, name=name, handler=handler, is_local=True)


def paged(configuration: Configuration, page: int) -> Configuration:
    """Listings take several requests, between which other actors may run."""
    return replace(configuration, name=f"{configuration.name}, pages of {page}", page=page)


def forgetful(configuration: Configuration) -> Configuration:
    """No faults, but reads and listings may return the initial state."""
    name = f"{configuration.name}: stale reads"
    return replace(configuration, name=name, faults=(Fate.STALE,))


def reader_and_cleaner(subject: Subject, number: int = 2) -> Configuration:
    """Writers, a reader and a cleanup."""
    actors = (
        *(_writer(f"w{i + 1}") for i in range(number)),
        Actor("reader", reader(1), commits=0),
        Actor("cleaner", cleaner(), commits=0),
    )
    made = configuration(subject, f"{number}w + reader + cleaner", actors)
    return replace(
        made,
        setup=aged(2),
        begins=STALLS[1],
        cleans=True,
        eager=never_eager,
        final_cleanup=janitor,
    )


def recreation(subject: Subject, faults: int = 0) -> Configuration:
    """A table is dropped and created again while writers have the old one open (lance#8738).

    No commit is in progress while the table is dropped, because the format cannot protect such a
    commit.
    """
    actors = (
        _writer("w1", 2),
        _writer("w2"),
        Actor("dropper", recreator, commits=1, may_fail=False),
    )
    made = configuration(subject, f"drop and recreate + 2w, {faults} faults", actors)
    return replace(made, max_faults=faults, replaces=True, only_adds=False, eager=never_eager)


def bounded(configuration: Configuration, preemptions: int) -> Configuration:
    """The configuration with at most this many pre-emptions."""
    name = f"{configuration.name}, {preemptions} pre-emptions"
    return replace(configuration, name=name, preemptions=preemptions)


CONTROL = writers(subjects.UNSAFE, 2, 1, 0)
"""The unsafe handler, which loses commits: the explorer must find this."""

SHORT = (
    CONTROL,
    writers(subjects.PUT_IF_ABSENT, 2, 1, 2),
    writers(subjects.RENAME, 2, 1, 1),
    bounded(writers(subjects.EXTERNAL, 2, 1, 1), 1),
    writers(subjects.LEASE, 2, 1, 0),
    recommits(subjects.PUT_IF_ABSENT),
    recreation(subjects.PUT_IF_ABSENT),
    with_cleaner(subjects.PUT_IF_ABSENT, 1),
    bounded(stalled(subjects.PUT_IF_ABSENT), 2),
    beside_foreign_cleaner(subjects.PUT_IF_ABSENT),
    bounded(by_names(beside_foreign_cleaner(subjects.PUT_IF_ABSENT, commits=3)), 2),
    bounded(by_names(recreation(subjects.PUT_IF_ABSENT)), 2),
    reader_and_cleaner(subjects.PUT_IF_ABSENT, 1),
    forgetful(writers(subjects.PUT_IF_ABSENT, 2, 1, 1)),
)
"""The configurations that run with every change."""

FULL = (
    # Largest first, so that parallel processes end at about the same time.
    writers(subjects.EXTERNAL, 2, 1, 2),
    writers(subjects.LEASE, 2, 1, 2),
    bounded(writers(subjects.EXTERNAL, 3, 1, 1), 4),
    with_cleaner(subjects.PUT_IF_ABSENT, 3, 0, 0),
    with_cleaner(subjects.PUT_IF_ABSENT, 2),
    with_cleaner(subjects.PUT_IF_ABSENT, 1, 1),
    bounded(with_cleaner(subjects.EXTERNAL, 1), 4),
    reader_and_cleaner(subjects.PUT_IF_ABSENT),
    bounded(stalled(subjects.PUT_IF_ABSENT), 2),
    bounded(stalled(subjects.EXTERNAL), 1),
    beside_foreign_cleaner(subjects.PUT_IF_ABSENT),
    bounded(beside_foreign_cleaner(subjects.PUT_IF_ABSENT, is_local=False), 3),
    beside_foreign_cleaner(subjects.RENAME, overwriting),
    bounded(by_names(beside_foreign_cleaner(subjects.PUT_IF_ABSENT, commits=3)), 4),
    bounded(by_names(with_cleaner(subjects.PUT_IF_ABSENT, 1)), 3),
    by_names(writers(subjects.PUT_IF_ABSENT, 2, 2, 1)),
    by_names(recreation(subjects.PUT_IF_ABSENT)),
    *(writers(subject, 3, 1, 2) for subject in subjects.DIRECT),
    *(writers(subject, 2, 2, 2) for subject in subjects.DIRECT),
    bounded(writers(subjects.PUT_IF_ABSENT, 3, 1, 3), 2),
    bounded(writers(subjects.EXTERNAL, 2, 2, 1), 3),
    bounded(writers(subjects.LEASE, 2, 2, 1), 2),
    bounded(writers(subjects.LEASE, 3, 1, 1), 2),
    *(readers(subject) for subject in subjects.SAFE),
    *(succession(subject) for subject in subjects.SAFE),
    *(recommits(subject) for subject in subjects.DIRECT),
    bounded(recommits(subjects.EXTERNAL), 2),
    *(writers(subject, 2, 1, 3) for subject in subjects.DIRECT),
    operations(
        subjects.RENAME,
        "overwrite and restore + 1w",
        writer(overwriting, restoring(1)),
        writer(appending, appending),
    ),
    operations(
        subjects.PUT_IF_ABSENT,
        "compact + 1w",
        writer(reserving, rewriting),
        writer(appending, appending),
    ),
    *(recreation(subject) for subject in (subjects.PUT_IF_ABSENT, subjects.EXTERNAL)),
    recreation(subjects.PUT_IF_ABSENT, 1),
    paged(writers(subjects.PUT_IF_ABSENT, 2, 2, 1), 1),
    paged(reader_and_cleaner(subjects.UNORDERED, 1), 2),
    forgetful(writers(subjects.PUT_IF_ABSENT, 2, 2, 1)),
    forgetful(writers(subjects.UNORDERED, 2, 2, 1)),
    CONTROL,
)
"""The configurations that run before a release."""
