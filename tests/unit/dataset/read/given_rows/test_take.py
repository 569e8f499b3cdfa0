"""Takes return rows by position, in the order asked for."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.encodings.v2_1.codecs import values, values_take
from lance_core.errors import InvalidInputError
from lance_core.store.local.store import LocalStore
from tests.table_surgery import delete_rows
from tests.unit.dataset.conftest import Sample

Rows = Callable[..., pa.Table]

ORDERS = [
    [0],
    [88],
    [0, 88],
    [88, 0],
    [26, 27, 56, 57, 79, 80],
    [57, 57, 3, 57, 3],
    list(range(89)),
    list(range(88, -1, -1)),
]


@pytest.mark.parametrize("indices", ORDERS)
def test_rows_come_in_the_order_asked_for_and_as_often(sample: Sample, indices: list[int]) -> None:
    found = sample.dataset.take(indices)
    found.validate(full=True)
    assert found.combine_chunks().equals(sample.live.take(indices))
    assert sample.dataset.take(indices, ["s", "_rowaddr"])["_rowaddr"].to_pylist() == [
        int(address) for address in sample.addresses[indices]
    ]


@pytest.mark.parametrize(
    "indices",
    [
        (3, 1),
        range(3, 0, -2),
        np.array([3, 1]),
        np.array([3, 1], np.uint64),
        np.array([3, 1], np.int8),
        pa.array([3, 1]),
        pa.array([3, 1], pa.uint64()),
        pa.chunked_array([[3], [1]]),
        [np.int32(3), np.uint8(1)],
    ],
)
def test_indices_may_be_any_sequence_of_whole_numbers(sample: Sample, indices: Any) -> None:
    assert (
        sample.dataset.take(indices)["i"].to_pylist() == sample.live["i"].take([3, 1]).to_pylist()
    )


@pytest.mark.parametrize("indices", [[], (), np.array([]), pa.array([], pa.int64()), range(0)])
def test_no_indices_give_no_rows(sample: Sample, indices: Any) -> None:
    assert sample.dataset.take(indices).equals(sample.live.slice(0, 0))
    assert sample.dataset.get_fragment(0).take(indices, ["i"]).num_rows == 0


@pytest.mark.parametrize(
    "indices",
    [
        [89],
        [0, 2**62],
        [-1],
        [2**63],
        [2**64],
        [0.5],
        ["a"],
        [None],
        pa.array([1, None]),
        [[1, 2]],
        3,
        None,
        [True],
        "12",
    ],
)
def test_indices_that_name_no_row_are_refused(sample: Sample, indices: Any) -> None:
    with pytest.raises(InvalidInputError):
        sample.dataset.take(indices)


def test_positions_count_live_rows_only(uri: str) -> None:
    dataset = lance.write_dataset({"i": range(20)}, uri, max_rows_per_file=5)
    dataset = delete_rows(dataset, {0: range(5), 1: [0, 4], 3: [2]}, gone=[2])
    live = [6, 7, 8, 15, 16, 18, 19]
    assert dataset.to_table()["i"].to_pylist() == live
    assert dataset.take(range(7))["i"].to_pylist() == live
    for position, value in enumerate(live):
        assert dataset.take([position])["i"].to_pylist() == [value]
    with pytest.raises(InvalidInputError, match="7 rows"):
        dataset.take([7])


@pytest.mark.parametrize(
    ("columns", "fields"),
    [
        (["p.y"], {"p": ["y"]}),
        (["p.q.z", "i", "p.x"], {"p": ["x", "q"], "i": None}),
        (["p", "p.x"], {"p": ["x", "y", "q"]}),
        (["i", "i"], {"i": None}),
        (["l.item"], {"l": None}),
    ],
)
def test_a_nested_name_takes_a_struct_with_that_member_only(
    sample: Sample, columns: list[str], fields: dict[str, list[str] | None]
) -> None:
    found = sample.dataset.take([5, 2], columns)
    assert found.column_names == list(fields)
    for name, members in fields.items():
        given = sample.live[name].take([5, 2]).to_pylist()
        if members is not None:
            given = [{member: value[member] for member in members} for value in given]
        assert found[name].to_pylist() == given


def test_columns_can_be_computed_and_counted_without_any(sample: Sample) -> None:
    dataset = sample.dataset
    assert dataset.take([3, 1], {"a": "i * 2"}).to_pydict() == {"a": [10, 4]}
    assert dataset.take([3, 1, 3], []).num_rows == 3
    assert dataset.take([1, 3], []).num_rows == 2
    assert dataset.take([3, 1], ["_rowoffset"]).to_pydict() == {"_rowoffset": [3, 1]}
    assert dataset.get_fragment(1).take([1, 0, 1], []).num_rows == 3


@pytest.mark.parametrize("columns", [["nope"], ["p.nope"], "i", [1], {"a": "nope"}])
def test_columns_that_are_not_there_are_refused(sample: Sample, columns: Any) -> None:
    with pytest.raises(InvalidInputError):
        sample.dataset.take([0], columns)
    with pytest.raises(InvalidInputError):
        sample.dataset.get_fragment(0).take([0], columns)


def test_a_fragment_takes_by_its_own_positions(sample: Sample) -> None:
    fragment = sample.dataset.get_fragment(2)
    assert fragment.take([22, 0, 0])["i"].to_pylist() == [87, 65, 65]
    for indices in ([23], [-1]):
        with pytest.raises(InvalidInputError):
            fragment.take(indices)


def test_a_take_from_many_fragments_keeps_every_type(uri: str, some_rows: Rows) -> None:
    table = some_rows(60)
    dataset = lance.write_dataset(table, uri, max_rows_per_file=4)
    chosen = np.random.default_rng(0).integers(0, 60, 200)
    assert dataset.take(chosen).combine_chunks().equals(table.take(chosen).combine_chunks())


def test_a_sample_has_distinct_rows(sample: Sample) -> None:
    dataset = sample.dataset
    found = dataset.sample(50, ["i"])["i"].to_pylist()
    assert len(set(found)) == 50
    assert set(found) <= set(sample.live["i"].to_pylist())
    assert dataset.sample(89, randomize_order=False).equals(sample.live)
    for count in (-1, 90):
        with pytest.raises(InvalidInputError):
            dataset.sample(count)


def _in_read_rows(monkeypatch: pytest.MonkeyPatch, before: Callable[[], object]) -> None:
    """Call ``before`` whenever a take reads rows of a fragment."""
    module = importlib.import_module("lance_core.dataset.read.fragments.run_reader")
    read_rows = module.read_rows

    def read(*arguments: Any) -> pa.Table:
        before()
        return read_rows(*arguments)

    monkeypatch.setattr(module, "read_rows", read)


def test_fragments_in_a_store_that_makes_wait_are_read_at_the_same_time(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalStore, "has_views", False)
    together = threading.Barrier(2, timeout=30)
    _in_read_rows(monkeypatch, together.wait)
    assert sample.dataset.take([0, 30, 60, 88]).equals(sample.live.take([0, 30, 60, 88]))


def test_few_rows_of_mapped_files_are_read_by_the_calling_thread(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    _in_read_rows(monkeypatch, lambda: threads.append(threading.get_ident()))
    assert sample.dataset.take([0, 30, 60]).equals(sample.live.take([0, 30, 60]))
    assert threads == [threading.get_ident()] * 3


@pytest.mark.fast_path
@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_more_bytes_than_an_array_holds_are_taken_in_chunks(
    version: str, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pa.table({"s": [f"{number:0160}" for number in range(1000)]})
    dataset = lance.write_dataset(data, uri, data_storage_version=version)
    rows = [5, 1] * 600
    assert dataset.take(rows) == data.take(rows)
    for module in (values, values_take):
        monkeypatch.setattr(module, "MAX_OFFSET", 100_000)
    taken = dataset.take(rows)
    assert taken["s"].num_chunks > 1
    assert taken == data.take(rows)


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize("share", [0.0, 0.1], ids=["no nulls", "nulls"])
@pytest.mark.parametrize("rows_per_file", [1000, 300], ids=["one file", "files"])
def test_vectors_come_in_the_order_asked_for(
    version: str, share: float, rows_per_file: int, uri: str
) -> None:
    rng = np.random.default_rng(6)
    numbers = pa.array(rng.random(1000 * 256, np.float32))
    hidden = pa.array(rng.random(1000) < share)
    data = pa.table(
        {
            "i": range(1000),
            "v": pa.FixedSizeListArray.from_arrays(numbers, 256, mask=hidden),
            "w": pa.FixedSizeListArray.from_arrays(pa.array(range(3000)), 3),
        }
    )
    dataset = lance.write_dataset(
        data, uri, data_storage_version=version, max_rows_per_file=rows_per_file
    )
    dataset.delete("i % 10 = 3")
    live = dataset.to_table()
    for wanted in ([5], [899, 0, 450], [7, 7, 2], rng.integers(0, 900, 400), range(890, 5, -7)):
        rows = pa.array(wanted, pa.int64())
        assert dataset.take(rows) == live.take(rows)
        assert dataset.take(rows, columns=["v"]) == live.select(["v"]).take(rows)
        assert dataset.take(rows, columns={"n": "i + 1", "w": "w"})["w"] == live["w"].take(rows)
