"""Threads change when pages are made, never where they are nor what becomes of errors."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from lance_core.concurrency import pools
from lance_core.datafile import FileWriter, writer
from lance_core.datafile.file_output import FileOptions
from lance_core.datafile.parallel import as_ready, in_order, num_threads
from lance_core.encodings.version import FileVersion
from lance_core.errors import ObjectNotFoundError
from lance_core.plugins import get_manager
from lance_core.schema import Schema
from lance_core.store.memory import MemoryStore, Objects
from tests.each_case import each_case

PATH = "data/x.lance"


class Sources:
    """Sources of ``items`` each, which note what is made when."""

    def __init__(self, count: int, items: int, fails: int | None = None) -> None:
        self.count, self.items, self.fails = count, items, fails
        self.made: list[tuple[int, int]] = []
        self.threads: set[str] = set()

    def source(self, number: int) -> Callable[[], Iterator[tuple[int, int]]]:
        def items() -> Iterator[tuple[int, int]]:
            for item in range(self.items):
                time.sleep(0.001 * ((number + item) % 3))
                if number == self.fails and item == self.items - 1:
                    raise ValueError(f"source {number}")
                self.threads.add(threading.current_thread().name)
                self.made.append((number, item))
                yield number, item

        return items

    def all(self) -> list[Callable[[], Iterator[tuple[int, int]]]]:
        return [self.source(number) for number in range(self.count)]


@each_case("count", [0, 1, 2, 9])
@each_case("items", [0, 1, 3])
def test_what_sources_give_comes_in_their_order(count: int, items: int) -> None:
    sources = Sources(count, items)
    found = list(in_order(sources.all()))
    expected = [(number, item) for number in range(count) for item in range(items)]
    assert [item for _, item in found] == expected
    assert [number for number, _ in found] == [number for number, _ in expected]
    assert all(name.startswith("lance-core-compute") for name in sources.threads)


def test_threads_of_a_pool_make_pages_themselves() -> None:
    """They would wait for each other otherwise."""

    def outer(_: int) -> list[int]:
        return [item for item, _ in in_order(Sources(5, 2).all())]

    tasks = 4 * pools.num_threads()
    found = list(pools.in_order(outer, range(tasks), tasks))
    assert found == [[item for item in range(5) for _ in range(2)]] * tasks


def test_few_items_are_made_ahead() -> None:
    sources = Sources(30, 3)
    for taken, _ in enumerate(in_order(sources.all()), 1):
        time.sleep(0.002)
        assert len(sources.made) <= taken + 2 * (num_threads() + 2)


def idle() -> bool:
    return False


@each_case("count", [0, 1, 2, 9])
@each_case("items", [0, 1, 3])
def test_all_that_sources_give_comes_when_it_is_ready(count: int, items: int) -> None:
    sources = Sources(count, items)
    found = list(as_ready(sources.all(), idle))
    assert all(number == item[0] for number, item in found)
    for number in range(count):
        assert [item for _, item in found if item[0] == number] == [
            (number, item) for item in range(items)
        ]
    assert all(name.startswith("lance-core-compute") for name in sources.threads)


def test_a_slow_source_lets_others_pass() -> None:
    others = threading.Event()

    def slow() -> Iterator[str]:
        assert others.wait(60)
        yield "slow"

    def quick(number: int) -> list[str]:
        return [f"{number} first", f"{number} second"]

    found = []
    for _, item in as_ready([slow, *(partial(quick, number) for number in range(8))], idle):
        found.append(item)
        if len(found) == 16:
            others.set()
    assert found == [
        f"{number} {place}" for number in range(8) for place in ("first", "second")
    ] + ["slow"]


def test_few_sources_are_asked_ahead() -> None:
    sources = Sources(30, 3)
    for taken, _ in enumerate(as_ready(sources.all(), idle), 1):
        time.sleep(0.002)
        assert len(sources.made) <= taken + num_threads() + 2


def test_the_caller_works_while_no_item_is_ready() -> None:
    done = threading.Event()
    steps: list[str] = []

    def slow() -> Iterator[str]:
        assert done.wait(60)
        yield "item"

    def work() -> bool:
        steps.append(threading.current_thread().name)
        if len(steps) == 3:
            done.set()
        return len(steps) < 3

    assert list(as_ready([slow], work)) == [(0, "item")]
    assert steps == [threading.current_thread().name] * 3


def test_nothing_goes_on_after_an_error_or_a_close_of_what_is_ready() -> None:
    for fails, wanted in ((4, pytest.raises(ValueError, match="source 4")), (None, nullcontext())):
        sources = Sources(9, 2, fails=fails)
        with wanted, closing(as_ready(sources.all(), idle)) as ready:
            for taken, _ in enumerate(ready):
                if fails is None and taken == 3:
                    break
        made = list(sources.made)
        assert len(made) < 18
        time.sleep(0.02)
        assert sources.made == made


def test_an_error_comes_in_the_place_of_its_source_and_nothing_goes_on_after_it() -> None:
    sources = Sources(9, 2, fails=4)
    found: list[tuple[int, int]] = []
    with pytest.raises(ValueError, match="source 4"):
        found.extend(item for _, item in in_order(sources.all()))
    assert found == [(number, item) for number in range(4) for item in range(2)]
    made = list(sources.made)
    time.sleep(0.02)
    assert sources.made == made


def test_nothing_goes_on_after_it_is_closed() -> None:
    sources = Sources(9, 2)
    pages = in_order(sources.all())
    next(pages)
    pages.close()
    made = list(sources.made)
    time.sleep(0.02)
    assert sources.made == made


def table() -> pa.Table:
    rng = np.random.default_rng(3)
    rows = 40_000
    texts = [f"text {number % 997} of {number}" for number in range(rows)]
    return pa.table(
        {
            "n": pa.array(rng.integers(0, 1000, rows)),
            "s": pa.array(texts),
            "f": pa.array(rng.random(rows)),
            "l": pa.array([[number, None] for number in range(rows)], pa.list_(pa.int64())),
            "b": pa.array(texts, pa.large_binary()),
            "t": pa.array([{"a": number, "b": "x" * (number % 7)} for number in range(rows)]),
        },
        schema=pa.schema(
            [
                pa.field("n", pa.int64()),
                pa.field("s", pa.string()),
                pa.field("f", pa.float64()),
                pa.field("l", pa.list_(pa.int64())),
                pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"}),
                pa.field("t", pa.struct({"a": pa.int64(), "b": pa.string()})),
            ]
        ),
    )


def written(data: pa.Table, version: FileVersion, store: MemoryStore) -> bytes:
    """The bytes of a file of several pages for each column."""
    out = FileWriter(
        store.open_writer(PATH),
        Schema.from_arrow(data.schema),
        FileOptions(version, data_cache_bytes=1 << 20, max_page_bytes=150_000),
        registry=get_manager().encodings,
    )
    for batch in data.to_batches(max_chunksize=15_000):
        out.write_batch(batch)
    out.finish()
    return store.get(PATH).to_pybytes()


@pytest.mark.parametrize("version", [FileVersion.V2_0, FileVersion.V2_1])
def test_files_are_the_same_with_and_without_threads(
    version: FileVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = table()
    files = []
    for threshold in (0, 1 << 60):
        monkeypatch.setattr(writer, "_PARALLEL_BYTES", threshold)
        files.append(written(data, version, MemoryStore(Objects())))
    assert files[0] == files[1]


def test_a_page_that_cannot_be_made_in_a_thread_leaves_no_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = MemoryStore(Objects())
    monkeypatch.setattr(writer, "_PARALLEL_BYTES", 0)

    def failing(*arguments: object) -> None:
        raise RuntimeError("no page")

    module = "lance_core.encodings.v2_1.write.page_encoder.ravel"
    monkeypatch.setattr(module, failing)
    with pytest.raises(RuntimeError, match="no page"):
        written(table().select(["n", "s"]), FileVersion.V2_1, store)
    with pytest.raises(ObjectNotFoundError):
        store.head(PATH)
