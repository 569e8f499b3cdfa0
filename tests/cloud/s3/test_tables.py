"""Tables in buckets, shared with pylance."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import lance as pylance
import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core_s3.client import S3Client
from lance_core_testing.network.fault_proxy import FaultProxy
from tests.cloud.s3.places import store_of
from tests.servers.moto import Moto

BOTH = pytest.mark.parametrize(
    ("first", "second"), [(lance, pylance), (pylance, lance)], ids=["ours", "pylance's"]
)


def rows(start: int, stop: int) -> pa.Table:
    numbers = range(start, stop)
    return pa.table({"id": numbers, "text": [f"täxt {number}" * 5 for number in numbers]})


@BOTH
def test_both_append_to_one_table_in_turn(
    moto: Moto, bucket: str, first: ModuleType, second: ModuleType
) -> None:
    uri = f"s3://{bucket}/folder/t.lance"
    for number in range(6):
        writer = (first, second)[number % 2]
        data = rows(100 * number, 100 * number + 100)
        writer.write_dataset(data, uri, mode="append", storage_options=moto.options)
        for reader in (first, second):
            found = reader.dataset(uri, storage_options=moto.options)
            assert found.version == number + 1
            assert found.to_table().equals(rows(0, 100 * number + 100))


@BOTH
def test_what_one_changes_the_other_reads(
    moto: Moto, bucket: str, first: ModuleType, second: ModuleType
) -> None:
    uri = f"s3://{bucket}/t.lance"
    first.write_dataset(rows(0, 500), uri, storage_options=moto.options)
    second.dataset(uri, storage_options=moto.options).delete("id % 2 = 1")
    first.dataset(uri, storage_options=moto.options).delete("id > 499")
    first.write_dataset(rows(500, 501), uri, mode="append", storage_options=moto.options)
    found = second.dataset(uri, storage_options=moto.options)
    assert found.count_rows() == 251
    assert found.take([3, 250]).column("id").to_pylist() == [6, 500]
    last = found.to_table(filter="id > 494", columns=["id"])
    assert last.column("id").to_pylist() == [496, 498, 500]
    assert second.dataset(uri, version=1, storage_options=moto.options).count_rows() == 500


def test_both_append_at_the_same_time_and_nothing_is_lost(moto: Moto, bucket: str) -> None:
    uri = f"s3://{bucket}/t.lance"
    lance.write_dataset(rows(0, 1), uri, storage_options=moto.options)

    def append(writer: int) -> None:
        library = (lance, pylance)[writer % 2]
        for turn in range(4):
            at = 1 + writer * 4 + turn
            data = rows(at, at + 1)
            library.write_dataset(data, uri, mode="append", storage_options=moto.options)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(4)))
    found = lance.dataset(uri, storage_options=moto.options)
    assert sorted(found.to_table().column("id").to_pylist()) == list(range(17))
    assert found.version == 17


@pytest.mark.parametrize("scheme", ["s3a", "S3N"])
def test_buckets_are_found_under_the_schemes_of_hadoop(
    moto: Moto, bucket: str, scheme: str
) -> None:
    lance.write_dataset(rows(0, 3), f"{scheme}://{bucket}/t", storage_options=moto.options)
    assert lance.dataset(f"s3://{bucket}/t", storage_options=moto.options).count_rows() == 3


def test_the_environment_suffices(moto: Moto, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in moto.options.items():
        monkeypatch.setenv(f"AWS_{name.removeprefix('aws_')}".upper(), value)
    for library in (lance, pylance):
        library.write_dataset(rows(0, 3), f"s3://{bucket}/t", mode="append")
    assert lance.dataset(f"s3://{bucket}/t").count_rows() == 6


def test_opening_appending_and_scanning_take_few_requests(moto: Moto, bucket: str) -> None:
    uri = f"s3://{bucket}/t"
    with FaultProxy(moto.endpoint) as proxy:
        # A server that is vouched for: a trial happens once.
        options = moto.options | {"aws_endpoint": proxy.url, "put_if_absent": "yes"}
        lance.write_dataset(rows(0, 1000), uri, storage_options=options)
        proxy.set_rules([])
        opened = lance.dataset(uri, storage_options=options)
        assert proxy.count() <= 2
        proxy.set_rules([])
        opened.insert(rows(1000, 1001))
        assert [proxy.count("PUT"), proxy.count("GET")] == [3, 1]
        proxy.set_rules([])
        opened.take([0, 1, 1000])
        assert proxy.count() <= 4
        assert proxy.count("PUT") == 0


def read(uri: str, options: dict[str, str], found: multiprocessing.Queue[int]) -> None:
    found.put(lance.dataset(uri, storage_options=options).count_rows("id >= 0"))


def test_a_forked_process_reads_what_this_one_opened(moto: Moto, bucket: str) -> None:
    uri = f"s3://{bucket}/t"
    lance.write_dataset(rows(0, 50), uri, storage_options=moto.options)
    context = multiprocessing.get_context("fork")
    found: multiprocessing.Queue[int] = context.Queue()
    child = context.Process(target=read, args=(uri, moto.options, found))
    child.start()
    assert lance.dataset(uri, storage_options=moto.options).count_rows("id >= 0") == 50
    assert found.get(timeout=60) == 50
    child.join()


def test_a_forked_process_makes_connections_of_its_own(moto: Moto, bucket: str) -> None:
    with store_of(moto, f"s3://{bucket}/t") as store:
        store.put("a", bytes(1000))
        context = multiprocessing.get_context("fork")
        found: multiprocessing.Queue[bool] = context.Queue()

        def child() -> None:
            found.put(store.client._sdk is None and store.get("a").size == 1000)

        process = context.Process(target=child)
        process.start()
        assert store.get("a").size == 1000
        assert found.get(timeout=60)
        process.join()


def test_a_compaction_copies_pages_inside_the_service(
    moto: Moto, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As at Amazon. Other services may need parts of one length, so shorter ranges are read there.
    monkeypatch.setattr(S3Client, "equal_parts", False)
    uri = f"s3://{bucket}/t"
    rng = np.random.default_rng(1)
    for start in range(3):
        rows = 900_000 if start == 1 else 1000
        table = pa.table({"x": rng.random(rows), "y": rng.random(rows), "n": [start] * rows})
        lance.write_dataset(table, uri, mode="append", storage_options=moto.options)
    expected = lance.dataset(uri, storage_options=moto.options).to_table()
    with FaultProxy(moto.endpoint) as proxy:
        options = {**moto.options, "aws_endpoint": proxy.url}
        dataset = lance.dataset(uri, storage_options=options)
        proxy.set_rules([])
        metrics = dataset.optimize.compact_files(compaction_mode="force_binary_copy")
        assert metrics.bytes_copied > 13 << 20
        read = sum(one.sent + one.received for one in proxy.requests if one.method == "GET")
        assert read < 6 << 20
    assert lance.dataset(uri, storage_options=moto.options).to_table().equals(expected)
