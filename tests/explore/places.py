"""Small configurations in which seeded defects show: each is explored in a second or so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from lance_core.commits.base import CommitHandler
from lance_core.commits.handlers.lock import LockCommitHandler
from lance_core.errors import ObjectNotFoundError
from lance_core.store.base import Guarantee, ObjectStore
from lance_core.store.wrappers.base import StoreCall, StoreWrapper
from lance_core.store.wrappers.capability_override import DeclaredStore
from lance_core.table.paths import VERSION_HINT
from lance_core_explorer import (
    EXTERNAL,
    LEASE,
    PUT_IF_ABSENT,
    RENAME,
    UNORDERED,
    Actor,
    Configuration,
    Effects,
    Fate,
    Subject,
    aged,
    appending,
    bounded,
    cleaner,
    configuration,
    creating,
    never_eager,
    overwriting,
    private_files,
    reader,
    reserving,
    restoring,
    rewriting,
    writer,
    writers,
)
from lance_core_explorer.actors.writers import Change
from lance_core_explorer.configuration import Body
from lance_core_explorer.configurations import (
    STALLS,
    beside_foreign_cleaner,
    by_names,
    recreation,
    stalled,
    with_cleaner,
)
from lance_core_explorer.store import EVERYTHING
from lance_core_explorer.subjects import TERMS
from lance_core_lease.handler import LeaseCommitHandler
from lance_core_lease.store_leases import StoreLeases
from tests.explore.changes import (
    basing,
    branched,
    configuring,
    deleting,
    forgetting,
    locking,
    naming,
    prepared,
    redelivering,
    removing,
    replacing,
    sharing_identity,
    through_a_base,
    updating,
    upserting,
)
from tests.explore.row_rules import RULES, SERVED

T = TypeVar("T")

PAIR = writers(PUT_IF_ABSENT, 2, 1, 0)
PAIR_1 = writers(PUT_IF_ABSENT, 2, 1, 1)
RENAMES = writers(RENAME, 2, 1, 0)
UNORDERED_PAIR = writers(UNORDERED, 2, 1, 0)
EXTERNAL_PAIR = writers(EXTERNAL, 2, 1, 0)
EXTERNAL_ONE = writers(EXTERNAL, 1, 1, 1)
LEASES = writers(LEASE, 2, 1, 0)
LEASES_1 = bounded(writers(LEASE, 2, 1, 1), 2)
RECREATED = bounded(recreation(PUT_IF_ABSENT), 2)
EXTERNAL_RECREATED = bounded(recreation(EXTERNAL), 1)
STALLED = bounded(stalled(PUT_IF_ABSENT), 1)
CLEANED_BY_ANOTHER = beside_foreign_cleaner(PUT_IF_ABSENT)

NO_ANSWER = replace(
    writers(PUT_IF_ABSENT, 1, 1, 4), name="1w, no answer at all", faults=(Fate.LATE,)
)
"""A writer whose every attempt goes unanswered, so that the outcome stays unknown."""

_PLAIN = replace(EXTERNAL.capabilities, copy_if_absent=Guarantee.NO)
EXTERNAL_PLAIN = replace(
    writers(EXTERNAL, 2, 1, 0),
    name="external/2w, copies that replace",
    capabilities=_PLAIN,
    eager=private_files,
)


_ELSEWHERE = replace(EVERYTHING, ordered_list=Guarantee.NO)


class Slow(StoreWrapper):
    """Takes ``seconds`` to hear that there is no manifest, or to send one."""

    def __init__(self, store: ObjectStore, effects: Effects, slow: str, seconds: float) -> None:
        super().__init__(store)
        self._effects = effects
        self._slow = slow
        self._seconds = seconds

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        is_slow = call.method == self._slow and call.path.endswith(".manifest")
        if not is_slow or self._effects.port.actor != "w1":
            return run()
        if call.method == "put":
            self._effects.environment.sleep(self._seconds)
            return run()
        try:
            return run()
        except ObjectNotFoundError:
            self._effects.environment.sleep(self._seconds)
            raise


def slow_lease(slow: str, seconds: float, is_conditional: bool) -> Configuration:
    """Two writers, of whom one is slow while it holds a lease."""

    def handler(effects: Effects) -> CommitHandler:
        leases = StoreLeases(DeclaredStore(effects.store, _ELSEWHERE), TERMS, effects.environment)
        store = Slow(effects.store, effects, slow, seconds)
        return LeaseCommitHandler(store, leases, TERMS, effects.environment)

    capabilities = EVERYTHING if is_conditional else LEASE.capabilities
    name = f"lease/2w, one takes {seconds:g} s to {slow}"
    return replace(
        bounded(writers(LEASE, 2, 1, 0), 2), name=name, handler=handler, capabilities=capabilities
    )


SLOW_LOOK = slow_lease("head", 16.0, is_conditional=False)
"""One looks whether the version is there, for longer than its lease lasts."""

SLOW_WRITE = slow_lease("put", 10.0, is_conditional=True)
"""One writes the manifest for longer than its lease lasts; no other manifest can be replaced."""


LOCKED = replace(
    writers(LEASE, 2, 1, 0),
    name="lock/2w",
    handler=lambda effects: LockCommitHandler(effects.store, locking(effects)),
    spaces=(),
    shortest_sleep=0.0,
    eager=never_eager,
)
"""Two writers under a commit lock that the caller brings along."""

SERVED_READERS = replace(
    configuration(
        EXTERNAL,
        "1w + reader, nothing goes wrong",
        [Actor("w1", writer(appending)), Actor("reader", reader(1), commits=0)],
    ),
    invariants=SERVED,
)


def doing(
    name: str,
    *bodies: Body,
    setup: Body | None = None,
    subject: Subject = PUT_IF_ABSENT,
) -> Configuration:
    """Actors that change rows, on a table of one fragment unless ``setup`` makes another one."""
    actors = [Actor(f"w{i + 1}", body, commits=2) for i, body in enumerate(bodies)]
    made = configuration(subject, name, actors)
    return replace(made, setup=setup or made.setup, only_adds=False, invariants=RULES)


def changing(name: str, *changes: Sequence[Change], setup: Body | None = None) -> Configuration:
    """Writers, each of which commits some changes."""
    return doing(name, *(writer(*some) for some in changes), setup=setup)


REDELIVERED = doing("redelivery + 1w", redelivering(appending), writer(appending))
SAME_IDENTITY = replace(
    doing("2w of one identity", *[sharing_identity(appending)] * 2), only_adds=True
)
OVERWRITES = changing("2 overwrites", [overwriting], [overwriting])
OVERTAKEN = changing("append + overwrite", [appending], [overwriting])
RESTORED = changing(
    "append and restore",
    [appending, restoring(1)],
    setup=prepared(stable_row_ids=True),
)
STAMPED = changing(
    "2 appends of stable rows", [appending], [appending], setup=prepared(stable_row_ids=True)
)
RESERVED = changing("2 reservations", [reserving], [reserving])
REMOVED = changing("remove and append", [removing(1), appending], setup=prepared(fragments=2))
BLIND_DELETES = changing(
    "2 deletes that cannot be rebased",
    [deleting(0, 1, known=False)],
    [deleting(0, 2, known=False), appending],
)
DELETES = changing("2 deletes of different rows", [deleting(0, 1)], [deleting(0, 2)])
UPDATES = changing("2 updates of the same row", [updating(0, 1)], [updating(0, 1)])
COMPACTED = changing("compact + delete", [rewriting], [deleting(0, 1)])
REPLACED = changing("2 replacements + update", [replacing(0)], [replacing(0)], [updating(0, 1)])
UPSERTS = changing("2 upserts of the same key", [upserting(7)], [upserting(7)])
SETTINGS = changing("configure + append", [configuring("a")], [appending])


def tidied(name: str, *actors: Actor, setup: Body, age: float = STALLS[1]) -> Configuration:
    """A cleanup beside actors, ``age`` seconds after the table was made."""
    made = configuration(PUT_IF_ABSENT, name, [*actors, Actor("cleaner", cleaner(), commits=0)])
    made = replace(made, setup=setup, begins=age, cleans=True, only_adds=False, eager=never_eager)
    return bounded(replace(made, invariants=RULES), 2)


CLEANED = with_cleaner(PUT_IF_ABSENT, 1)
CLEANED_YOUNG = tidied(
    "2w + cleaner, at once",
    Actor("w1", writer(appending)),
    Actor("w2", writer(appending, appending), commits=2),
    setup=aged(1),
    age=0.0,
)
CLEANER_DIES = replace(
    tidied("cleaner dies", setup=prepared(overwriting)), faults=(Fate.CRASH,), max_faults=1
)
CLEANED_DELETIONS = tidied(
    "delete + cleaner", setup=prepared(deleting(0, 1), appending), age=8 * 86400.0
)
CLEANED_BASES = tidied(
    "base path + cleaner", setup=prepared(basing, through_a_base), age=8 * 86400.0
)
CLEANED_TAG = tidied("tag + cleaner", Actor("w1", naming(1), commits=0), setup=aged(2))
CLEANED_BRANCH = tidied("branch + cleaner", setup=branched(2))
CLEANED_RESTORE = tidied(
    "restore + cleaner", Actor("w1", writer(restoring(1))), setup=prepared(overwriting)
)


FORGOTTEN = bounded(
    replace(
        configuration(
            PUT_IF_ABSENT,
            "redelivery + 1w + cleaner, late",
            [
                Actor("w1", forgetting(appending), commits=2),
                Actor("w2", writer(appending)),
                Actor("cleaner", cleaner(), commits=0, starts_late=True),
            ],
        ),
        passing=(STALLS[1],),
        max_passing=1,
        cleans=True,
        eager=never_eager,
        invariants=RULES,
    ),
    1,
)
"""A change is sent again when the version that it became has been cleaned up."""


def _hinted(effects: Effects) -> None:
    creating()(effects)
    effects.store.put(VERSION_HINT, b'{"version":1}')


BY_NAMES = bounded(by_names(beside_foreign_cleaner(PUT_IF_ABSENT, commits=3)), 2)
HINTED = replace(PAIR, name="2w and a hint", setup=_hinted)
