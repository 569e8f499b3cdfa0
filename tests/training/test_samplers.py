"""Samplers read what those of pylance read, in the same order, and all of them every row once."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import lance
import lance.sampler
import pyarrow as pa
import pytest

import lance_core
import lance_core.sampler
from lance_core.errors import InvalidInputError

ROWS = 1000


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """1,000 rows in 8 fragments, without row 7."""
    table = pa.table({"i": range(ROWS), "x": [n % 7 / 2 for n in range(ROWS)]})
    ds = lance_core.write_dataset(table, tmp_path / "t", max_rows_per_file=130)
    ds.delete("i = 7")
    return str(tmp_path / "t")


def both(uri: str, name: str, *arguments: Any, epoch: int = 0, **options: Any) -> list[list[Any]]:
    """The batches of a sampler of either library: ours, and pylance's."""
    results = []
    for library in (lance_core, lance):
        sampler = getattr(library.sampler, name)(*arguments)
        if epoch:
            sampler.set_epoch(epoch)
        batches = sampler(library.dataset(uri), columns=["i"], **options)
        results.append([batch.column("i").to_pylist() for batch in batches])
    return results


@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("randomize", [False, True])
@pytest.mark.parametrize("name", ["ShardedFragmentSampler", "ShardedBatchSampler"])
def test_a_share_is_that_of_pylance(uri: str, name: str, randomize: bool, rank: int) -> None:
    ours, theirs = both(uri, name, rank, 3, randomize, 5, batch_size=64)
    assert list(itertools.chain(*ours)) == list(itertools.chain(*theirs))
    if name == "ShardedBatchSampler":
        assert ours == theirs


@pytest.mark.parametrize("filter", [None, "x > 0.5"])
@pytest.mark.parametrize("randomize", [False, True])
@pytest.mark.parametrize("name", ["ShardedFragmentSampler", "ShardedBatchSampler"])
def test_all_shares_have_every_row_once(
    uri: str, name: str, randomize: bool, filter: str | None
) -> None:
    ds = lance_core.dataset(uri)
    rows = []
    for rank in range(3):
        sampler = getattr(lance_core.sampler, name)(rank, 3, randomize, 1)
        batches = list(sampler(ds, columns=["i"], filter=filter, batch_size=50))
        assert max(batch.num_rows for batch in batches) <= 50
        rows += [value for batch in batches for value in batch.column("i").to_pylist()]
    assert sorted(rows) == ds.to_table(["i"], filter=filter)["i"].to_pylist()


def test_an_epoch_has_an_order_of_its_own(uri: str) -> None:
    ds = lance_core.dataset(uri)
    orders = set()
    for epoch in (0, 1, 1):
        sampler = lance_core.sampler.ShardedFragmentSampler(0, 1, True, 3)
        sampler.set_epoch(epoch)
        orders.add(tuple(fragment.fragment_id for fragment in sampler.iter_fragments(ds)))
    assert len(orders) == 2


def test_lists_of_positions_are_those_of_pylance() -> None:
    for rank, total in itertools.product(range(4), (0, 3, 1000, 1001)):
        arguments = (rank, 4, True, 9, 100, total)
        samplers = [lib.sampler.ShardedFixedBatchSampler(*arguments) for lib in (lance_core, lance)]
        assert list(samplers[0]) == list(samplers[1])
        assert len(samplers[0]) == len(list(samplers[0]))


@pytest.mark.parametrize(("n", "max_takes"), [(10, 2048), (500, 20), (999, 20), (5000, 20)])
def test_a_sample_has_so_many_different_rows(uri: str, n: int, max_takes: int) -> None:
    batches = list(lance_core.sampler.maybe_sample(uri, n, "i", 64, max_takes))
    rows = [value for batch in batches for value in batch.column("i").to_pylist()]
    assert len(rows) == len(set(rows)) == min(n, ROWS - 1)
    assert max(batch.num_rows for batch in batches) <= 64


def test_a_sample_with_a_filter_has_rows_that_pass(uri: str) -> None:
    batches = list(lance_core.sampler.maybe_sample(uri, 40, ["i", "x"], filt="x >= 2"))
    rows = pa.Table.from_batches(batches)
    assert rows.num_rows == 40
    assert all(value >= 2 for value in rows["x"].to_pylist())


def test_items_of_a_reservoir_are_of_the_stream() -> None:
    items = lance_core.sampler.reservoir_sampling(iter(range(1000)), 20)
    assert len(set(items)) == 20
    assert lance_core.sampler.reservoir_sampling(iter("ab"), 5) == ["a", "b"]


def test_a_rank_outside_of_the_world_is_an_error() -> None:
    for rank in (-1, 3):
        with pytest.raises(InvalidInputError, match="world_size"):
            lance_core.sampler.ShardedBatchSampler(rank, 3)
    with pytest.raises(InvalidInputError, match="batch_size"):
        lance_core.sampler.ShardedFixedBatchSampler(0, 1, total_num_rows=5)
