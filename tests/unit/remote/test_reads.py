"""Which requests reads are made of, and what happens if an object is replaced meanwhile."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.errors import CorruptFileError, InvalidInputError, ObjectNotFoundError, StoreError
from lance_core.store.read_planning import plan_reads
from lance_core_remote.client import Content
from lance_core_remote.settings import RemoteSettings
from lance_core_remote.store import RemoteStore
from lance_core_testing.memory_client import MemoryClient
from tests.unit.remote.scripted import Time

BYTES = random.Random(0).randbytes(100_000)
SETTINGS = RemoteSettings(coalesce_gap=100, read_size=4000, parallel=4)


class Client(MemoryClient):
    """Remembers ranges; ``distort`` changes answers, ``before`` is called before each."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges: list[ByteRange] = []
        self.distort: Callable[[Content], Content] = lambda content: content
        self.before: Callable[[], None] = lambda: None

    def get(self, key: str, wanted: ByteRange | None, etag: str | None = None) -> Content:
        assert wanted is not None
        self.ranges.append(wanted)
        self.before()
        return self.distort(super().get(key, wanted, etag))


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
def store(client: Client) -> RemoteStore:
    store = RemoteStore(client, "root", SETTINGS, Time().waiting)
    store.put("file", BYTES)
    return store


@pytest.mark.parametrize(
    ("ranges", "requests"),
    [
        ([(0, 10)], [(0, 10)]),
        ([(500, 510), (0, 10), (520, 530)], [(0, 10), (500, 530)]),
        ([(0, 10), (109, 120)], [(0, 120)]),
        ([(0, 10), (110, 120)], [(0, 10), (110, 120)]),
        ([(5, 5), (100_000, 100_000)], []),
        ([(0, 10), (0, 10), (3, 7)], [(0, 10)]),
        ([(0, 3000), (3000, 6000)], [(0, 3000), (3000, 6000)]),
        ([(0, 3000), (2999, 6000)], [(0, 3000), (3000, 6000)]),
        ([(0, 9000)], [(0, 3000), (3000, 6000), (6000, 9000)]),
        ([(0, 4001)], [(0, 2001), (2001, 4001)]),
    ],
)
def test_ranges_are_merged_and_split(
    store: RemoteStore,
    client: Client,
    ranges: list[tuple[int, int]],
    requests: list[tuple[int, int]],
) -> None:
    buffers = store.get_ranges("file", [ByteRange(*one) for one in ranges])
    assert [bytes(buffer) for buffer in buffers] == [BYTES[slice(*one)] for one in ranges]
    assert sorted(client.ranges) == requests


def test_any_ranges_are_what_the_object_holds(store: RemoteStore) -> None:
    chance = random.Random(2)
    for _ in range(200):
        starts = [chance.randrange(100_000) for _ in range(chance.randrange(1, 30))]
        longest = chance.choice([10, 500, 20_000])
        ranges = [ByteRange(s, min(100_000, s + chance.randrange(longest))) for s in starts]
        buffers = store.get_ranges("file", ranges)
        assert [bytes(b) for b in buffers] == [BYTES[s:e] for s, e in ranges]


def test_a_range_that_no_object_has_is_the_callers_mistake() -> None:
    for wrong in ((-1, 5), (5, 4), (-5, -5)):
        with pytest.raises(InvalidInputError, match="are not a valid range"):
            plan_reads([ByteRange(0, 1), ByteRange(*wrong)], 10, 100)
        with pytest.raises(InvalidInputError, match="are not a valid range"):
            plan_reads([ByteRange(*wrong)], 10, 100)


@pytest.mark.parametrize("start", [50, 99_000, 100_000, 200_000])
def test_a_range_past_the_end_names_path_offset_and_size(store: RemoteStore, start: int) -> None:
    with pytest.raises(CorruptFileError, match="the file has 100000") as caught:
        store.get_ranges("file", [ByteRange(0, 10), ByteRange(start, 100_001 + start)])
    assert (caught.value.path, caught.value.offset) == ("file", start)


def test_a_long_object_is_read_by_several_requests(store: RemoteStore, client: Client) -> None:
    assert bytes(store.get("file")) == BYTES
    assert client.ranges[0] == (0, 4000)
    assert len(client.ranges) == 25
    store.put("empty", b"")
    assert bytes(store.get("empty")) == b""
    with pytest.raises(ObjectNotFoundError):
        store.get("none")


def test_parts_of_two_versions_are_not_put_together(store: RemoteStore, client: Client) -> None:
    answered = 0

    def replace_after_the_second() -> None:
        nonlocal answered
        answered += 1
        if answered == 2:
            store.put("file", BYTES[::-1])

    client.before = replace_after_the_second
    with pytest.raises(CorruptFileError, match="replaced while it was read") as caught:
        store.get_ranges("file", [ByteRange(0, 20_000)])
    assert caught.value.path == "file"
    answered = 0
    assert bytes(store.get("file")) in (BYTES, BYTES[::-1])


def test_an_object_that_keeps_changing_is_an_error(store: RemoteStore, client: Client) -> None:
    client.before = lambda: store.put("file", BYTES)
    with pytest.raises(CorruptFileError, match="faster than it can be read"):
        store.get("file")


@pytest.mark.parametrize("times", [1, 99])
def test_a_body_that_breaks_off_is_asked_for_again(
    store: RemoteStore, client: Client, times: int
) -> None:
    left = times

    def cut(content: Content) -> Content:
        nonlocal left
        left -= 1
        return content._replace(data=content.data.slice(0, 3)) if left >= 0 else content

    client.distort = cut
    if times == 1:
        assert bytes(store.get_ranges("file", [ByteRange(5, 15)])[0]) == BYTES[5:15]
        assert client.ranges == [(5, 15)] * 2
    else:
        with pytest.raises(StoreError, match="received 3 instead of 10 bytes"):
            store.get_ranges("file", [ByteRange(5, 15)])


def test_a_service_that_ignores_ranges_is_noticed(store: RemoteStore, client: Client) -> None:
    whole = store.get("file")
    client.distort = lambda content: content._replace(data=whole)
    with pytest.raises(StoreError, match="received 100000 instead of 10 bytes"):
        store.get_ranges("file", [ByteRange(5, 15)])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_reads_by_threads_of_its_own(store: RemoteStore) -> None:
    store.get("file")
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if bytes(store.get("file")) == BYTES else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_store_says_what_it_is_and_does_not_travel(store: RemoteStore) -> None:
    assert repr(store) == "RemoteStore('memory://service/root')"
    assert repr(RemoteStore(Client())) == "RemoteStore('memory://service')"
    with pytest.raises(InvalidInputError, match="cannot be sent"):
        store.__reduce__()


def test_bytes_that_only_a_damaged_file_names_cost_one_request(
    store: RemoteStore, client: Client
) -> None:
    with pytest.raises(CorruptFileError, match="has 100000"):
        store.get_ranges("file", [ByteRange(0, 10), ByteRange(20, 1 << 62)])
    assert client.ranges == []


def test_a_size_beyond_belief_is_no_plan_for_reads(store: RemoteStore, client: Client) -> None:
    client.distort = lambda content: content._replace(size=10**17)
    with pytest.raises(CorruptFileError, match="too many to read as a whole"):
        store.get("file")
    assert len(client.ranges) == 1
