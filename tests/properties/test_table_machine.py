"""A table beside a plain list of rows: whatever is done in whatever order, both hold the same."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

import lance as pylance
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import lance_core
from lance_core.errors import CommitConflictError, InvalidInputError
from tests.examples import examples

SCHEMA = pa.schema(
    {
        "k": pa.int64(),
        "n": pa.int32(),
        "s": pa.string(),
        "l": pa.list_(pa.int16()),
        "p": pa.struct({"x": pa.float64(), "y": pa.string()}),
    }
)
Row = dict[str, Any]

VALUES = st.fixed_dictionaries(
    {
        "n": st.none() | st.integers(-3, 3),
        "s": st.none() | st.sampled_from(["", "a", "bb", "a longer text", "ä€"]),
        "l": st.none() | st.lists(st.none() | st.integers(0, 9), max_size=3),
        "p": st.fixed_dictionaries(
            {"x": st.none() | st.sampled_from([0.5, -1.0]), "y": st.none() | st.just("y")}
        ),
    }
)
ROWS = st.lists(VALUES, max_size=12)
LIBRARIES = st.sampled_from([lance_core, lance_core, pylance])


class TableMachine(RuleBasedStateMachine):
    """``versions`` are the rows of every version; the last one is the newest."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="lance-machine-")
        self.uri = str(Path(self.folder, "table"))
        self.versions: list[list[Row]] = []
        self.next_key = 0
        self.stale: tuple[lance_core.LanceDataset, int] | None = None

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @property
    def rows(self) -> list[Row]:
        return self.versions[-1]

    def table(self, rows: list[Row]) -> tuple[list[Row], pa.Table]:
        """The rows with keys of their own, as a list and as a table."""
        keyed = [{"k": self.next_key + place, **row} for place, row in enumerate(rows)]
        self.next_key += len(rows)
        return keyed, pa.Table.from_pylist(keyed, SCHEMA)

    def write(self, library: Any, rows: list[Row], mode: str, limit: int, **options: Any) -> None:
        keyed, table = self.table(rows)
        library.write_dataset(
            table,
            self.uri,
            mode=mode,
            max_rows_per_file=limit,
            data_storage_version="2.0" if mode != "append" else None,
            **options,
        )
        self.versions.append(keyed if mode != "append" else self.rows + keyed)

    @initialize(library=LIBRARIES, rows=ROWS, limit=st.integers(1, 6), stable=st.booleans())
    def create(self, library: Any, rows: list[Row], limit: int, stable: bool) -> None:
        self.write(library, rows, "create", limit, enable_stable_row_ids=stable)

    @rule(library=LIBRARIES, rows=ROWS, limit=st.integers(1, 6))
    def append(self, library: Any, rows: list[Row], limit: int) -> None:
        self.write(library, rows, "append", limit)

    @rule(rows=ROWS, cache=st.sampled_from([1, 100]))
    def append_in_small_pages(self, rows: list[Row], cache: int) -> None:
        self.write(lance_core, rows, "append", 100, data_cache_bytes=cache)

    @rule(rows=ROWS, columns=st.sets(st.sampled_from(SCHEMA.names[1:]), min_size=1))
    def append_some_columns(self, rows: list[Row], columns: set[str]) -> None:
        keyed, table = self.table(rows)
        names = ["k", *sorted(columns - {"p"})]
        lance_core.write_dataset(table.select(names), self.uri, mode="append")
        left_out = dict.fromkeys(SCHEMA.names)
        kept = [{**left_out, **{name: row[name] for name in names}} for row in keyed]
        self.versions.append(self.rows + kept)

    @rule(library=LIBRARIES, rows=ROWS, limit=st.integers(1, 6))
    def overwrite(self, library: Any, rows: list[Row], limit: int) -> None:
        self.write(library, rows, "overwrite", limit)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        keys = [row["k"] for row in self.rows]
        gone = set(data.draw(st.lists(st.sampled_from(keys), max_size=6)) if keys else [])
        pylance.dataset(self.uri).delete(f"k IN ({', '.join(map(str, {-1, *gone}))})")
        self.versions.append([row for row in self.rows if row["k"] not in gone])

    @precondition(lambda self: self.rows)
    @rule()
    def compact(self) -> None:
        # Null structs come from appends without that column; version 2.0 cannot store them.
        if any(row["p"] is None for row in self.rows):
            return
        dataset = pylance.dataset(self.uri)
        dataset.optimize.compact_files()
        for _ in range(dataset.latest_version - len(self.versions)):
            self.versions.append(self.rows)

    @rule()
    def keep_a_handle(self) -> None:
        self.stale = lance_core.dataset(self.uri), len(self.versions)

    @precondition(lambda self: self.stale is not None)
    @rule(rows=ROWS)
    def append_through_an_old_handle(self, rows: list[Row]) -> None:
        assert self.stale is not None
        dataset, version = self.stale
        assert dataset.version == version
        keyed, table = self.table(rows)
        with contextlib.suppress(CommitConflictError):  # the table was overwritten since
            dataset.insert(table)
            self.versions.append(self.rows + keyed)
        self.stale = None

    @rule(low=st.integers(-2, 3), limit=st.none() | st.integers(0, 8), offset=st.integers(0, 8))
    def read_filtered(self, low: int, limit: int | None, offset: int) -> None:
        dataset = lance_core.dataset(self.uri)
        passing = [row for row in self.rows if row["n"] is not None and row["n"] >= low]
        found = dataset.to_table(filter=f"n >= {low}", limit=limit, offset=offset)
        stop = None if limit is None else offset + limit
        assert found.to_pylist() == passing[offset:stop]
        assert dataset.count_rows(f"n >= {low}") == len(passing)

    @rule(limit=st.none() | st.integers(0, 15), offset=st.integers(0, 15), size=st.integers(1, 5))
    def read_a_range(self, limit: int | None, offset: int, size: int) -> None:
        dataset = lance_core.dataset(self.uri)
        stop = None if limit is None else offset + limit
        options = {"limit": limit, "offset": offset, "batch_size": size}
        batches = list(dataset.to_batches(["k", "p.y"], **options))
        assert all(1 <= batch.num_rows <= size for batch in batches)
        found = [row for batch in batches for row in batch.to_pylist()]
        assert found == [
            {"k": row["k"], "p.y": row["p"] and row["p"]["y"]} for row in self.rows[offset:stop]
        ]

    @rule(data=st.data())
    def take(self, data: st.DataObject) -> None:
        dataset = lance_core.dataset(self.uri)
        positions = st.integers(0, max(0, len(self.rows) - 1))
        chosen = data.draw(st.lists(positions, max_size=8)) if self.rows else []
        assert dataset.take(chosen).to_pylist() == [self.rows[place] for place in chosen]
        with pytest.raises(InvalidInputError):
            dataset.take([*chosen, len(self.rows)])

    @rule(data=st.data())
    def travel_in_time(self, data: st.DataObject) -> None:
        number = data.draw(st.integers(1, len(self.versions)))
        dataset = lance_core.dataset(self.uri, version=number)
        assert dataset.to_table().to_pylist() == self.versions[number - 1]

    @invariant()
    def both_libraries_read_the_newest_rows(self) -> None:
        if not self.versions:
            return
        dataset = lance_core.dataset(self.uri)
        assert dataset.version == len(self.versions)
        assert dataset.count_rows() == len(self.rows)
        found = dataset.to_table(with_row_id=True)
        assert found.drop_columns("_rowid").to_pylist() == self.rows
        theirs = pylance.dataset(self.uri).to_table(with_row_id=True)
        assert found.to_pylist() == theirs.to_pylist()


@pytest.fixture(autouse=True, scope="module")
def _without_waiting_for_the_disk() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANCE_CORE_DURABILITY", "fast")
        yield


TestTable = TableMachine.TestCase
TestTable.settings = settings(
    max_examples=examples(16),
    stateful_step_count=15,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
