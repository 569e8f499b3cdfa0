"""Data sets of PyTorch: the tensors of pylance, in any workers, from any batch on."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import lance.torch.data
import numpy as np
import pyarrow as pa
import pytest
import torch

import lance_core
from lance_core.arrow import bfloat16_array
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.torch.data import LanceDataset, SafeLanceDataset, TensorDataset, get_safe_loader

ROWS = 1000
LIBRARIES = (lance_core.torch.data.LanceDataset, lance.torch.data.LanceDataset)


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """1,000 rows of all types that become tensors, in 4 fragments."""
    numbers = np.arange(ROWS)
    vectors = np.random.default_rng(0).random((ROWS, 8), np.float32)
    table = pa.table(
        {
            "i": numbers,
            "u": pa.array(numbers, pa.uint64()),
            "b": numbers % 3 == 0,
            "h": numbers.astype(np.float16),
            "n": pa.array([None if n % 9 == 0 else n for n in range(ROWS)], pa.int32()),
            "bf": bfloat16_array([None if n % 5 == 0 else n / 4 for n in range(ROWS)]),
            "v": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 8),
        }
    )
    lance_core.write_dataset(table, tmp_path / "t", max_rows_per_file=256)
    return str(tmp_path / "t")


def _same(ours: Any, theirs: Any) -> None:
    assert ours.keys() == theirs.keys()
    for name, tensor in ours.items():
        assert tensor.dtype == theirs[name].dtype, name
        assert torch.equal(torch.nan_to_num(tensor), torch.nan_to_num(theirs[name])), name


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable", "ignore:with_row_id")
@pytest.mark.parametrize("options", [{}, {"filter": "i % 3 = 1"}, {"shard_granularity": "batch"}])
def test_the_tensors_are_those_of_pylance(uri: str, options: dict[str, Any]) -> None:
    """Of rows, whatever batches they come in. pylance's have no bfloat16 beside another library."""
    options = {**options, "columns": ["i", "u", "b", "h", "n", "v"]}
    ranks = {"rank": 0, "world_size": 1} if "shard_granularity" in options else {}
    passes = []
    for kind in LIBRARIES:
        with pytest.warns(DeprecationWarning, match="rank") if ranks else nullcontext():
            batches = list(kind(uri, 100, **options, **ranks))
        assert kind is LIBRARIES[1] or all(len(batch["i"]) <= 100 for batch in batches)
        passes.append({name: torch.cat([batch[name] for batch in batches]) for name in batches[0]})
    _same(*passes)


def test_a_single_column_is_a_tensor_that_may_be_written_to(uri: str) -> None:
    first = next(iter(LanceDataset(uri, 10, columns=["v"])))
    before = first.clone()
    first += 1
    assert torch.equal(next(iter(LanceDataset(uri, 10, columns=["v"]))), before)


def test_bfloat16_stays_what_it_is(uri: str) -> None:
    tensor = torch.cat(list(LanceDataset(uri, 300, columns=["bf"])))
    assert tensor.dtype == torch.bfloat16
    assert tensor[1:5].tolist() == [0.25, 0.5, 0.75, 1.0]
    assert torch.isnan(tensor[::5]).all()


@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("granularity", [None, "batch"])
def test_workers_read_every_row_once(uri: str, context: str, granularity: Any) -> None:
    rows = LanceDataset(uri, 64, columns=["i"], shard_granularity=granularity)
    loader = torch.utils.data.DataLoader(
        rows, batch_size=None, num_workers=2, multiprocessing_context=context
    )
    assert sorted(torch.cat(list(loader)).tolist()) == list(range(ROWS))


@pytest.mark.parametrize(
    "options", [{}, {"filter": "i % 3 = 1"}, {"shard_granularity": "batch"}, {"cache": True}]
)
def test_a_pass_goes_on_where_one_has_stopped(uri: str, options: dict[str, Any]) -> None:
    whole = [batch.tolist() for batch in LanceDataset(uri, 50, columns=["i"], **options)]
    for stop in {0, 1, 6, len(whole) - 1, len(whole)}:
        first = LanceDataset(uri, 50, columns=["i"], **options)
        batches = iter(first)
        before = [next(batches).tolist() for _ in range(stop)]
        second = LanceDataset(uri, 50, columns=["i"], **options)
        second.load_state_dict(first.state_dict())
        assert before + [batch.tolist() for batch in second] == whole
        assert [batch.tolist() for batch in second] == whole


def test_a_second_pass_reads_the_cache(uri: str, tmp_path: Path) -> None:
    rows = LanceDataset(uri, 50, columns=["i"], cache=str(tmp_path))
    first = [batch.tolist() for batch in rows]
    rows.dataset = None
    assert [batch.tolist() for batch in rows] == first


def test_a_sample_has_so_many_rows(uri: str) -> None:
    assert sum(map(len, LanceDataset(uri, 50, columns=["i"], samples=120))) == 120


def test_batches_may_stay_as_they_are(uri: str) -> None:
    rows = LanceDataset(uri, 50, columns=["i"], with_row_id=True, to_tensor_fn=None)
    batch = next(iter(rows))
    assert batch.schema.names == ["i", "_rowid"]
    assert rows.schema.names == ["i"]
    assert "50" not in repr(rows)


def test_blobs_are_files_for_a_function_of_the_user(tmp_path: Path) -> None:
    field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    table = pa.table([[b"x", b"yy"], [1, 2]], pa.schema([field, pa.field("i", pa.int64())]))
    lance_core.write_dataset(table, tmp_path / "t", data_storage_version="2.0")

    def sizes(batch: Any, **_: Any) -> list[int]:
        return [len(blob.read()) for blob in batch["b"]]

    assert list(LanceDataset(tmp_path / "t", 10, to_tensor_fn=sizes)) == [[1, 2]]
    with pytest.raises(UnsupportedFeatureError, match="'b' has blobs"):
        next(iter(LanceDataset(tmp_path / "t", 10)))


def test_a_column_that_is_no_tensor_is_named(tmp_path: Path) -> None:
    lance_core.write_dataset(pa.table({"s": ["a"]}), tmp_path / "t")
    with pytest.raises(UnsupportedFeatureError, match="'s' has the type string"):
        next(iter(LanceDataset(tmp_path / "t", 10)))


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"shard_granularity": "row"}])
def test_bad_arguments_are_named(uri: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        LanceDataset(uri, **{"batch_size": 10, **options})


def test_rows_by_position_are_those_of_the_version_that_was_opened(uri: str) -> None:
    rows = SafeLanceDataset(uri)
    lance_core.dataset(uri).delete("i < 10")
    loader = get_safe_loader(rows, 100, num_workers=2, collate_fn=ids_of)
    assert [value for batch in loader for value in batch] == list(range(ROWS))
    assert rows[3]["i"] == 3


def ids_of(rows: list[dict[str, Any]]) -> list[int]:
    """The numbers of rows: a function that spawned workers can import."""
    return [row["i"] for row in rows]


def test_tensors_come_in_batches() -> None:
    data = TensorDataset(np.arange(20.0).reshape(10, 2), 4)
    assert [len(batch) for batch in data] == [4, 4, 2]
    assert len(data) == 3


def test_a_model_learns_from_a_table(tmp_path: Path) -> None:
    """The loop of the documentation."""
    torch.manual_seed(0)
    vectors = np.random.default_rng(0).random((2000, 4), np.float32)
    target = vectors @ np.array([1, -2, 3, 0.5], np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 4)
    lance_core.write_dataset(pa.table({"x": column, "y": target}), tmp_path / "t")
    rows = LanceDataset(tmp_path / "t", batch_size=100)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(20):
        for batch in torch.utils.data.DataLoader(rows, batch_size=None):
            loss = torch.nn.functional.mse_loss(model(batch["x"]).squeeze(), batch["y"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert loss.item() < 1e-2
