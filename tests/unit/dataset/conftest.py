"""A table with several fragments and deleted rows, and what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.write import discard_on_failure as discarding
from lance_core.errors import CommitUnknownError
from lance_core.hookspecs import ObjectStoreSpec, hookimpl
from lance_core.plugins import get_manager
from lance_core.store.memory import MemoryStore
from tests.table_surgery import delete_rows

POINT = pa.struct({"x": pa.int64(), "y": pa.string(), "q": pa.struct({"z": pa.float64()})})
DELETED = {0: [0, 3, 29], 2: [0, 1, 2, 3, 4, 28, 29], 3: [9]}
"""Physical offsets by fragment."""


def rows(count: int, start: int = 0) -> pa.Table:
    """Rows of several types, told apart by ``i``."""
    numbers = range(start, start + count)
    return pa.table(
        {
            "i": pa.array(numbers, pa.int64()),
            "s": pa.array([None if n % 7 == 0 else f"text {n}" for n in numbers], pa.string()),
            "p": pa.array([{"x": n, "y": f"y{n % 5}", "q": {"z": n / 2}} for n in numbers], POINT),
            "l": pa.array([[*range(n % 4)] for n in numbers], pa.list_(pa.int32())),
            "f": pa.array([n * 0.5 for n in numbers], pa.float32()),
            "b": pa.array([n % 3 == 0 for n in numbers], pa.bool_()),
        }
    )


@dataclass(frozen=True)
class Sample:
    """A table with deleted rows and its content: ``live`` rows with their addresses."""

    dataset: lance.LanceDataset
    live: pa.Table
    addresses: np.ndarray


@pytest.fixture(autouse=True)
def _without_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_CORE_DURABILITY", "fast")


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return str(tmp_path / "table")


@pytest.fixture
def lose_outcomes(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let the outcome of every later change be unknown; nothing is committed."""

    def lost(*_: object) -> None:
        raise CommitUnknownError("lost", "uuid", 2)

    return lambda: monkeypatch.setattr(discarding, "commit", lost)


@pytest.fixture
def service() -> Iterator[None]:
    """A plugin of a service with options; tables on this machine ignore these."""
    names = frozenset({"secret_access_key", "region"})
    spec = ObjectStoreSpec("service", ("service",), lambda *_: MemoryStore(), options=names)
    plugin = SimpleNamespace(lance_object_stores=hookimpl(lambda: [spec]))
    name = get_manager().register(plugin, "service")
    assert name is not None
    yield
    get_manager().unregister(name=name)


@pytest.fixture
def some_rows() -> Callable[..., pa.Table]:
    return rows


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """100 rows in fragments of 30; not to be changed."""
    return make_sample(str(tmp_path_factory.mktemp("sample") / "table"))


def make_sample(uri: str) -> Sample:
    table = rows(100)
    dataset = lance.write_dataset(table, uri, max_rows_per_file=30)
    dataset = delete_rows(dataset, DELETED)
    offsets = np.concatenate([np.arange(30), np.arange(30), np.arange(30), np.arange(10)])
    fragments = np.repeat(np.arange(4), [30, 30, 30, 10])
    deleted = {(fragment, row) for fragment, gone in DELETED.items() for row in gone}
    keep = [pair not in deleted for pair in zip(fragments, offsets, strict=True)]
    addresses = (fragments << 32 | offsets).astype(np.uint64)[keep]
    return Sample(dataset, table.filter(pa.array(keep)).combine_chunks(), addresses)
