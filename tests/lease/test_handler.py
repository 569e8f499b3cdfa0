"""Committing under a lease."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lance_core.commits.environment import SYSTEM
from lance_core.errors import (
    CommitLockError,
    CorruptFileError,
    InvalidInputError,
    NoSafeCommitHandlerError,
    ObjectExistsError,
    OutcomeUnknownError,
    RetryableCommitConflictError,
    StoreError,
)
from lance_core.store.base import (
    Buffers,
    Guarantee,
    ObjectMeta,
    ObjectStore,
    PutMode,
    StoreCapabilities,
)
from lance_core.store.functions import list_paths
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.store.wrappers.capability_override import DeclaredStore
from lance_core_lease import store_leases
from lance_core_lease.handler import MAX_TERM, Lease, LeaseCommitHandler, LeaseTerms
from lance_core_lease.store_leases import (
    FOLDER,
    KEPT_SECONDS,
    StoreLeases,
)
from lance_core_testing.sample_transactions import first_candidate
from lance_core_testing.stores.faulty import (
    Fault,
    FaultRule,
    FaultyStore,
    LandsLate,
    Refused,
    RequestLost,
    ResponseLost,
    SentTwice,
)
from lance_core_testing.stores.tracing import TracingStore
from tests.each_case import each_case
from tests.virtual_time import VirtualTime

PLAIN = StoreCapabilities(strong_reads=Guarantee.YES, put_if_absent=Guarantee.NO)
TERMS = LeaseTerms(duration=150.0, request_lifetime=60.0, patience=600.0)
NEXT = f"{FOLDER}/{(1 << 64) - 2:020}.json"
"""The first record."""


@pytest.fixture
def time() -> VirtualTime:
    return VirtualTime()


@pytest.fixture(params=["ordered", "unordered"])
def store(request: pytest.FixtureRequest, tmp_path) -> ObjectStore:
    if request.param == "ordered":
        return MemoryStore()
    return LocalStore(tmp_path, Durability.fast)


def leases(store: ObjectStore, time: VirtualTime, terms: LeaseTerms = TERMS) -> StoreLeases:
    return StoreLeases(store, terms, time.environment)


# --- leases -------------------------------------------------------------------------------------


def test_a_released_lease_can_be_had_at_once(store: ObjectStore, time: VirtualTime) -> None:
    one, other = leases(store, time), leases(store, time)
    numbers = []
    for holder in (one, other, other, one):
        lease = holder.acquire()
        numbers.append(lease.number)
        holder.release(lease)
    assert numbers == sorted(set(numbers))
    assert time.seconds == 1000.0


def test_a_lease_of_a_dead_holder_is_had_after_its_time_and_that_of_a_request(
    store: ObjectStore, time: VirtualTime
) -> None:
    dead = leases(store, time).acquire()
    time.seconds += 149.0  # what passed before the lease was seen does not count
    start = time.seconds
    lease = leases(store, time).acquire()
    assert lease.number > dead.number
    assert start + 210.0 <= time.seconds < start + 220.0


def test_what_a_lease_says_of_its_duration_counts(store: ObjectStore, time: VirtualTime) -> None:
    leases(store, time, LeaseTerms(300.0, 100.0)).acquire()
    start = time.seconds
    leases(store, time).acquire()
    assert time.seconds >= start + 400.0


def test_a_renewed_lease_is_waited_for_anew(store: ObjectStore, time: VirtualTime) -> None:
    holder = leases(store, time)
    lease = holder.acquire()
    renewals = [time.seconds + 100.0]

    def sleep(seconds: float) -> None:
        nonlocal lease
        time.sleep(seconds)
        if renewals and time.seconds >= renewals[0]:
            renewals.pop()
            lease = holder.renew(lease)

    start = time.seconds
    StoreLeases(store, TERMS, replace(time.environment, sleep=sleep)).acquire()
    assert time.seconds >= start + 100.0 + 210.0
    with pytest.raises(StoreError, match="expired"):
        holder.renew(lease)


def test_a_lease_that_others_keep_is_not_waited_for_beyond_patience(
    store: ObjectStore, time: VirtualTime
) -> None:
    leases(store, time).acquire()
    with pytest.raises(RetryableCommitConflictError, match="100"):
        leases(store, time, LeaseTerms(patience=100.0)).acquire()
    assert time.seconds < 1110


def test_a_lease_that_was_taken_over_cannot_be_renewed_or_released(
    store: ObjectStore, time: VirtualTime
) -> None:
    """Not even by a holder whose own clock has stood still."""
    holder = leases(store, time)
    lease = replace(holder.acquire(), elapsed=lambda: 0.0)
    taken = leases(store, time).acquire()
    with pytest.raises(StoreError, match="taken"):
        holder.renew(lease)
    holder.release(lease)
    with pytest.raises(RetryableCommitConflictError):
        leases(store, time, LeaseTerms(patience=1.0)).acquire()
    assert taken.remains > 0


@pytest.mark.parametrize("fault", [ResponseLost(), SentTwice()])
def test_a_lost_answer_is_looked_up(store: ObjectStore, time: VirtualTime, fault: Fault) -> None:
    holder = leases(FaultyStore(store, [FaultRule(fault, "put")]), time)
    lease = holder.renew(holder.acquire())
    assert lease.number == 2
    assert time.seconds == 1000.0


def test_a_lease_that_lands_late_is_nobodys(store: ObjectStore, time: VirtualTime) -> None:
    """Others may have seen it since it landed, so its time cannot start when it is looked up."""
    faulty = FaultyStore(store, [FaultRule(LandsLate(), "put", nth=1)])

    def sleep(seconds: float) -> None:
        time.sleep(seconds)
        faulty.land()

    world = replace(time.environment, sleep=sleep)
    lease = StoreLeases(faulty, TERMS, world).acquire()
    assert lease.number == 2
    assert time.seconds >= 1210.0
    assert lease.remains == 150.0


def test_a_record_made_long_after_the_look_does_not_count(
    store: ObjectStore, time: VirtualTime
) -> None:
    """Its number may have been used, and removed, in the meantime."""

    class Stops(FaultyStore):
        def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
            if not list_paths(store):
                time.seconds += 10 * KEPT_SECONDS
            super().put(path, data, mode)

    lease = leases(Stops(store), time, LeaseTerms(patience=MAX_TERM))
    with pytest.raises(RetryableCommitConflictError):
        lease.acquire()


@pytest.mark.parametrize("number", range(1, 4))
def test_of_two_that_want_a_number_one_gets_it(time: VirtualTime, number: int) -> None:
    inner = MemoryStore()
    first = leases(inner, time)
    for _ in range(number - 1):
        first.release(first.acquire())
    won: list[Lease] = []

    class Slow(FaultyStore):
        def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
            if not won:
                won.append(first.acquire())
            super().put(path, data, mode)

    start = time.seconds
    later = leases(Slow(inner), time).acquire()
    assert later.number > won[0].number
    assert time.seconds >= start + 210.0


def test_old_records_are_removed_and_new_ones_kept(
    time: VirtualTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_leases, "KEPT_RECORDS", 20)
    monkeypatch.setattr(store_leases, "REMOVED_EVERY", 16)
    dates: dict[str, datetime] = {}

    class Dated(MemoryStore):
        def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
            super().put(path, data, mode)
            dates[path] = datetime.fromtimestamp(time.seconds, UTC)

        def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
            for meta in super().list(prefix, start_after):
                yield replace(meta, last_modified=dates[meta.path])

    store = Dated()
    holder = leases(store, time)
    for _ in range(100):
        holder.release(holder.acquire())
    assert len(list_paths(store)) == 200
    time.seconds += KEPT_SECONDS
    for _ in range(50):
        holder.release(holder.acquire())
    assert len(list_paths(store)) == 300  # nobody may be about to use a number of before
    time.seconds += 1
    for _ in range(8):
        last = holder.acquire()
        holder.release(last)
    assert len(list_paths(store)) == 100 + 16 + 1  # what the first new one came after stays, too
    assert holder.acquire().number == last.number + 2


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        b"[]",
        b"1",
        b'{"token":1,"duration":1,"request_lifetime":1}',
        b'{"token":"a","duration":1}',
        b'{"token":"a","duration":"1","request_lifetime":1}',
        b'{"token":"a","duration":NaN,"request_lifetime":1}',
        b'{"token":"a","duration":1e300,"request_lifetime":1}',
        b'{"token":"a","duration":-1,"request_lifetime":1}',
        b"[" * 4000,
        b'{"token":"' + b"a" * 5000 + b'","duration":1,"request_lifetime":1}',
    ],
)
def test_a_damaged_record_is_named(store: ObjectStore, time: VirtualTime, content: bytes) -> None:
    store.put(NEXT, content)
    with pytest.raises(CorruptFileError) as damaged:
        leases(store, time).acquire()
    assert damaged.value.path == NEXT
    handler = LeaseCommitHandler(store, leases(store, time), TERMS, time.environment)
    with pytest.raises(CommitLockError, match="nothing was sent"):
        handler.commit(first_candidate())


def test_other_files_are_no_records(store: ObjectStore, time: VirtualTime) -> None:
    for name in ("1.json", "0" * 20, f"{'0' * 20}.json.tmp", "notes", f"{'0' * 19}a.json"):
        store.put(f"{FOLDER}/{name}", b"?")
    assert leases(store, time).acquire().number == 1


def test_a_store_that_cannot_keep_leases_is_refused(time: VirtualTime) -> None:
    with pytest.raises(NoSafeCommitHandlerError, match="put_if_absent"):
        leases(DeclaredStore(MemoryStore(), PLAIN), time)


@each_case(
    "terms",
    [
        {"duration": 60.0},
        {"duration": 0.0},
        {"request_lifetime": -1.0},
        {"patience": float("nan")},
        {"duration": float("inf")},
        {"duration": MAX_TERM + 1},
    ],
)
def test_terms_that_cannot_work_are_refused(terms: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError):
        LeaseTerms(**terms)


# --- commits ------------------------------------------------------------------------------------


class Table:
    """Data on a store without conditions, leases on one with them."""

    def __init__(self, time: VirtualTime) -> None:
        self.time = time
        self.data = MemoryStore()
        self.leases = MemoryStore()

    def handler(
        self,
        during_write: Callable[[], None] = lambda: None,
        rules: tuple[FaultRule, ...] = (),
        kept: ObjectStore | None = None,
    ) -> LeaseCommitHandler:
        """A writer; ``during_write`` happens right before the store applies its write."""

        class Watched(FaultyStore):
            def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
                during_write()
                super().put(path, data, mode)

        data = DeclaredStore(Watched(self.data, rules), PLAIN)
        world = self.time.environment
        held = StoreLeases(kept or self.leases, TERMS, world)
        return LeaseCommitHandler(data, held, TERMS, world)


@pytest.fixture
def table(time: VirtualTime) -> Table:
    return Table(time)


def test_a_commit_takes_its_lease_and_gives_it_back(table: Table) -> None:
    for version in range(1, 5):
        candidate = first_candidate(version=version)
        assert table.handler().commit(candidate) == candidate.location
    assert table.time.seconds == 1000.0
    with pytest.raises(ObjectExistsError):
        table.handler().commit(first_candidate(version=4))
    table.handler().commit(first_candidate(version=5))
    assert table.time.seconds == 1000.0


def test_a_commit_asks_the_stores_seldom(time: VirtualTime) -> None:
    data = TracingStore(DeclaredStore(MemoryStore(), PLAIN))
    kept = TracingStore(MemoryStore())
    handler = LeaseCommitHandler(data, leases(kept, time), TERMS, time.environment)
    handler.commit(first_candidate())
    kept.trace.clear()
    data.trace.clear()
    handler.commit(first_candidate(version=2))
    assert kept.trace.counts == {"list_names": 1, "get": 1, "put": 2}
    assert data.trace.counts == {"head": 1, "put": 1}


def test_an_expired_lease_cannot_publish(table: Table) -> None:
    """The holder is stopped between its look and its write; another takes over and commits."""
    theirs = first_candidate()
    handler = table.handler()
    look = handler._writer.store.head

    def stopped(path: str) -> object:
        try:
            return look(path)
        finally:
            handler._writer.store.head = look
            table.handler().commit(theirs)

    handler._writer.store.head = stopped
    with pytest.raises(StoreError, match="nothing was sent") as refused:
        handler.commit(first_candidate())
    assert not isinstance(refused.value, OutcomeUnknownError)
    assert bytes(table.data.get(theirs.path)) == theirs.data


def test_a_holder_that_notices_its_pause_by_its_wall_clock_cannot_publish(table: Table) -> None:
    """Its monotonic clock stood still while the machine was suspended."""
    suspended = replace(table.time.environment, monotonic=lambda: 5.0)
    data = DeclaredStore(table.data, PLAIN)
    handler = LeaseCommitHandler(data, StoreLeases(table.leases, TERMS, suspended), TERMS)
    lease = handler._leases.acquire()
    table.time.seconds += 100.0
    assert lease.remains == 50.0


def test_a_lease_that_is_nearly_over_is_renewed_before_the_write(table: Table) -> None:
    handler = table.handler()
    acquired = handler._leases.acquire

    def slowly() -> Lease:
        lease = acquired()
        table.time.seconds += 100.0  # 50 seconds are left, a write may take 60
        return lease

    handler._leases.acquire = slowly
    handler.commit(first_candidate())
    assert len(list_paths(table.leases)) == 3


def test_a_write_that_outlives_its_lease_is_not_believed(table: Table) -> None:
    def linger() -> None:
        table.time.seconds += 151.0

    with pytest.raises(OutcomeUnknownError, match="longer than its lease"):
        table.handler(linger).commit(first_candidate())


@pytest.mark.parametrize("fault", [RequestLost(), LandsLate()])
def test_nobody_writes_before_a_lost_write_has_had_its_time(table: Table, fault: Fault) -> None:
    with pytest.raises(OutcomeUnknownError):
        table.handler(rules=(FaultRule(fault, "put"),)).commit(first_candidate())
    given_back = table.time.seconds
    assert given_back >= 1060.0
    table.handler().commit(first_candidate())
    assert table.time.seconds == given_back


def test_a_lost_answer_is_settled_under_the_lease(table: Table) -> None:
    ours = first_candidate()
    table.handler(rules=(FaultRule(ResponseLost(), "put"),)).commit(ours)
    with pytest.raises(ObjectExistsError):
        table.handler().commit(first_candidate())
    assert bytes(table.data.get(ours.path)) == ours.data


def test_an_interrupted_writer_keeps_its_lease_until_its_write_has_had_its_time(
    table: Table,
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.handler(interrupt).commit(first_candidate())
    table.handler().commit(first_candidate())
    assert table.time.seconds >= 1210.0


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("fault", [RequestLost(), ResponseLost()])
def test_a_lost_answer_of_the_lease_store_costs_time_at_most(
    table: Table, fault: Fault, nth: int
) -> None:
    kept = FaultyStore(table.leases, [FaultRule(fault, "put", nth=nth)])
    table.handler(kept=kept).commit(first_candidate())
    table.handler().commit(first_candidate(version=2))
    assert table.time.seconds < 1230


def test_without_a_lease_nothing_is_sent(table: Table) -> None:
    kept = FaultyStore(table.leases, [FaultRule(Refused(), "put", nth=1)])
    with pytest.raises(CommitLockError, match="nothing was sent"):
        table.handler(kept=kept).commit(first_candidate())
    assert list_paths(table.data) == []


def test_leases_are_in_real_time_by_default() -> None:
    store = MemoryStore()
    handler = LeaseCommitHandler(store, StoreLeases(store))
    handler.commit(first_candidate())
    assert handler.locate(1).version == 1
    assert SYSTEM.monotonic() > 0
