"""How many requests a remote service gets for what is done with a table."""

from __future__ import annotations

import math
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.byte_ranges import ByteRange
from lance_core.commits import loop, verification
from lance_core.dataset.dataset import LanceDataset
from lance_core.fragment import write_fragments
from lance_core.hookspecs import ObjectStoreSpec, StoreUrl, hookimpl
from lance_core.plugins import get_manager
from lance_core.store.base import ObjectStore
from lance_core.store.secret import Secret
from lance_core_remote.client import Content
from lance_core_remote.store import RemoteStore
from lance_core_testing.memory_client import MemoryClient

ROWS = 200_000
COLUMNS = ("id", "x", "text", "vector")


class Client(MemoryClient):
    """Also remembers which bytes it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges: list[ByteRange] = []

    def get(self, key: str, wanted: ByteRange | None, etag: str | None = None) -> Content:
        assert wanted is not None
        self.ranges.append(wanted)
        return super().get(key, wanted, etag)

    def clear(self) -> None:
        self.requests.clear()
        self.ranges.clear()

    @property
    def counts(self) -> Counter[str]:
        """Requests by method."""
        return Counter(method for method, _ in self.requests)


@pytest.fixture(autouse=True)
def nothing_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits look again if they take long; how busy the machine is must not count here."""
    monkeypatch.setattr(loop, "slow_after", lambda usual: math.inf)
    monkeypatch.setattr(verification, "FRESH", 1e9)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """The service behind ``counted://`` URLs."""
    client = Client()

    def open_counted(url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
        return RemoteStore(client, url.path)

    spec = ObjectStoreSpec("counted", ("counted",), open_counted)
    plugin = SimpleNamespace(lance_object_stores=hookimpl(lambda: [spec]))
    name = get_manager().register(plugin, "counted")
    yield client
    get_manager().unregister(name)


@pytest.fixture(scope="module", params=["2.0", "2.1", "2.2"])
def uri(request: pytest.FixtureRequest, client: Client) -> str:
    """A table of one fragment, of 1.6 to 6.4 MB for each column."""
    chance = np.random.default_rng(0)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(chance.random(ROWS * 4, np.float32)), 4)
    columns = [
        pa.array(chance.integers(0, 1 << 60, ROWS)),
        pa.array(chance.random(ROWS)),
        pa.array(chance.integers(0, 1 << 60, ROWS)).cast(pa.string()),
        vectors,
    ]
    uri = f"counted://service/{uuid.uuid4()}"
    lance.write_dataset(pa.table(columns, list(COLUMNS)), uri, data_storage_version=request.param)
    return uri


def small() -> pa.Table:
    return pa.table({"id": pa.array([1], pa.int64())})


def test_a_table_is_opened_by_a_listing_and_a_read(client: Client, uri: str) -> None:
    client.clear()
    dataset = lance.dataset(uri)
    assert dataset.count_rows() == ROWS
    assert client.counts == {"list_page": 1, "get": 1}


def test_one_version_is_opened_without_a_listing(client: Client, uri: str) -> None:
    client.clear()
    lance.dataset(uri, version=1)
    assert client.counts["list_page"] == 0
    assert client.counts.total() <= 2


def test_an_append_takes_four_requests(client: Client) -> None:
    uri = f"counted://service/{uuid.uuid4()}"
    lance.write_dataset(small(), uri)
    opened = lance.dataset(uri)
    client.clear()
    written = lance.write_dataset(small(), opened, mode="append")
    assert client.counts == {"put": 3, "list_page": 1}
    client.clear()
    # Writing does not tell the tag of what was written: that it is still there is looked up.
    lance.write_dataset(small(), written, mode="append")
    assert client.counts == {"put": 3, "list_page": 1, "get": 1}
    client.clear()
    lance.write_dataset(small(), uri, mode="append")
    assert client.counts == {"put": 3, "list_page": 2, "get": 1}
    assert client.unfinished_uploads == 0


@pytest.fixture
def opened(client: Client, uri: str) -> LanceDataset:
    """The table, of which nothing but the manifest was read."""
    dataset = lance.dataset(uri)
    client.clear()
    return dataset


def test_a_file_is_opened_by_one_read_of_its_end(client: Client, opened: LanceDataset) -> None:
    opened.take([5], columns=["id"])
    end = client.ranges[0]
    assert end.length == 64 << 10
    assert client.counts["head"] == 0
    client.clear()
    opened.take([ROWS - 5], columns=["id"])
    assert client.counts.total() <= 2


@pytest.mark.parametrize("columns", [["id"], ["text"], ["vector"], list(COLUMNS)])
def test_a_take_of_a_hundred_rows_takes_a_few_requests_for_each_column(
    client: Client, opened: LanceDataset, columns: list[str]
) -> None:
    rows = np.sort(np.random.default_rng(1).choice(ROWS, 100, replace=False))
    assert opened.take(rows, columns=columns).num_rows == 100
    assert client.counts.keys() == {"get"}
    assert client.counts["get"] <= 1 + 4 * len(columns)


SCANS: dict[str, Callable[[LanceDataset, list[str]], int]] = {
    "table": lambda dataset, columns: dataset.to_table(columns=columns).num_rows,
    "stream": lambda dataset, columns: sum(
        batch.num_rows for batch in dataset.scanner(columns=columns).to_batches()
    ),
}


@pytest.mark.parametrize("kind", SCANS)
@pytest.mark.parametrize("columns", [["x"], ["text"], ["id", "vector"], list(COLUMNS)])
def test_a_scan_reads_the_pages_of_its_columns_once(
    client: Client, opened: LanceDataset, kind: str, columns: list[str]
) -> None:
    assert SCANS[kind](opened, columns) == ROWS
    assert client.counts.keys() == {"get"}
    assert client.counts["get"] <= 1 + 2 * len(columns)
    on_disk = {field.id: field.bytes_on_disk for field in opened.stats.data_stats().fields}
    ids = {field.name: field.id for field in opened.snapshot.schema.fields}
    wanted = sum(on_disk[ids[name]] for name in columns)
    read = sum(one.length for one in client.ranges[1:])
    assert read <= wanted * 1.02 + (64 << 10)


def test_a_limit_reads_little(client: Client, opened: LanceDataset) -> None:
    assert opened.to_table(columns=["x", "text"], limit=10).num_rows == 10
    assert sum(one.length for one in client.ranges[1:]) < 200_000


def test_a_filter_that_few_rows_pass_reads_little_of_other_columns(
    client: Client, opened: LanceDataset
) -> None:
    target = opened.take([77], columns=["id"]).column(0)[0].as_py()
    client.clear()
    found = opened.to_table(filter=f"id = {target}")
    assert found.num_rows == 1
    own = opened.to_table(columns=["id"]).nbytes
    assert client.counts["get"] <= 16
    assert sum(one.length for one in client.ranges) < 2 * own + 1_000_000


def test_a_small_file_is_read_once(client: Client) -> None:
    chance = np.random.default_rng(2)
    data = pa.table({name: chance.random(5000) for name in "abcde"})
    uri = f"counted://service/{uuid.uuid4()}"
    lance.write_dataset(data, uri, max_rows_per_file=1000)
    opened = lance.dataset(uri)
    client.clear()
    assert opened.to_table() == data
    assert opened.take([7, 4007], columns=["b"]).num_rows == 2
    assert client.counts == {"get": 5}


def test_a_commit_of_given_fragments_looks_for_each_of_their_files_once(client: Client) -> None:
    uri = f"counted://service/{uuid.uuid4()}"
    table = lance.write_dataset(small(), uri)
    fragments = write_fragments(pa.concat_tables([small()] * 3), uri, max_rows_per_file=1)
    client.clear()
    operation = lance.LanceOperation.Append(fragments)
    made = lance.LanceDataset.commit(table, operation, read_version=1)
    assert made.count_rows() == 4
    assert client.counts == {"put": 2, "list_page": 1, "get": 1, "head": 3}


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_few_rows_of_an_index_are_read_with_all_columns_at_once(
    client: Client, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {"id": np.arange(ROWS), "x": np.random.default_rng(3).random(ROWS)}
    uri = f"counted://service/{uuid.uuid4()}"
    dataset = lance.write_dataset(pa.table(columns), uri, data_storage_version=version)
    dataset.create_scalar_index("id", "ZONEMAP")
    calls: list[str] = []
    get_ranges = RemoteStore.get_ranges

    def counted(self: RemoteStore, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        calls.append(path)
        return get_ranges(self, path, ranges)

    monkeypatch.setattr(RemoteStore, "get_ranges", counted)
    for _ in range(2):  # the first time, also the index and the ends of files are read
        calls.clear()
        found = dataset.to_table(columns=["x"], filter="id BETWEEN 9000 AND 9003")
    assert len(calls) == 1
    assert found == dataset.take([9000, 9001, 9002, 9003], ["x"])
