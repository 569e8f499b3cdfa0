"""The same options of a scan give the same rows as in pylance."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, NamedTuple

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance.dataset import ColumnOrdering as TheirOrdering
from lance.dataset import ScannerBuilder as TheirBuilder
from lance.dataset import serialize_row_addrs as their_row_addrs

import lance_core
from lance_core.dataset import ColumnOrdering, ScannerBuilder, serialize_row_addrs
from tests.each_case import each_case
from tests.examples import share

ROWS = 60


class Tables(NamedTuple):
    """One table, opened by both libraries."""

    ours: Any
    theirs: Any


def content(version: str) -> pa.Table:
    numbers = range(ROWS)
    floats = [float("nan"), -0.0, 0.0, float("-inf"), 1.5, -2.5, float("inf")]
    few = [number * 7 % 5 for number in numbers]
    has_nulls = version != "2.0"
    return pa.table(
        {
            "i": numbers,
            "f": [None if n % 9 == 0 else floats[n % 7] for n in numbers],
            "s": [None if n % 11 == 0 else "aBé\U0001f600z"[n % 4 :] for n in numbers],
            "st": [{"a": n % 3, "b": {"c": -n}} if n % 4 or not has_nulls else None for n in few],
            "l": [None if n % 7 == 0 else [few[n], None][: n % 3] for n in numbers],
            "d": pa.array(["xyz"[n % 3] for n in numbers]).dictionary_encode(),
            "b": [n % 2 == 0 for n in numbers],
            "t": pa.array(few, pa.timestamp("us")),
            "u": pa.array([2**64 - 1 - n for n in few], pa.uint64()),
            "h": pa.array(np.array(few, np.float16)),
            "m": pa.array(few).cast(pa.decimal128(30, 2)),
            "y": [bytes([n]) for n in few],
        }
    )


@pytest.fixture(
    scope="module", params=itertools.product(["2.0", "2.1", "2.2"], [False, True]), ids=str
)
def tables(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """A table of pylance with deleted rows, with and without stable row ids."""
    version, stable = request.param
    uri = str(tmp_path_factory.mktemp("scanner") / "table")
    theirs = lance.write_dataset(
        content(version),
        uri,
        max_rows_per_file=25,
        data_storage_version=version,
        enable_stable_row_ids=stable,
    )
    theirs.delete("i IN (0, 7, 30, 59)")
    return Tables(lance_core.dataset(uri), lance.dataset(uri))


SORTED = ("f", "s", "st", "st.a", "st.b.c", "l", "d", "b", "t", "u", "h", "m", "y")


def test_rows_sort_alike(tables: Tables) -> None:
    """The two tables of a version have all columns together, those of two versions all orders."""
    orders = share(
        list(itertools.product([True, False], repeat=3)),
        2,
        turn=tables.ours.data_storage_version == "2.1",
    )
    columns = share(SORTED, 2, turn=int(tables.ours.has_stable_row_ids))
    for column, (ascending, nulls_first, last) in itertools.product(columns, orders):
        by = [(column, ascending, nulls_first), ("i", last)]
        ours, theirs = ([kind(*one) for one in by] for kind in (ColumnOrdering, TheirOrdering))
        read = list(dict.fromkeys(["i", column.partition(".")[0]]))
        for limit, offset in ((None, None), (3, None), (1, 4)):
            options = {"columns": read, "limit": limit, "offset": offset}
            found = tables.ours.to_table(order_by=ours, **options)
            expected = tables.theirs.to_table(order_by=theirs, **options)
            assert found["i"].equals(expected["i"]), (by, limit, offset)
            assert found.schema.equals(expected.schema)


@each_case(
    "options",
    [
        {"columns": ["i", "s"], "include_deleted_rows": True, "with_row_id": True},
        {"columns": ["i"], "include_deleted_rows": True, "with_row_id": True, "offset": 20},
        {"columns": ["i"], "include_deleted_rows": True, "with_row_id": True, "filter": "i < 9"},
        {"columns": ["i", "_rowoffset", "_rowid"], "include_deleted_rows": True},
        {"filter": "i % 3 = 0", "late_materialization": True, "columns": ["i", "s", "t"]},
        {"filter": "i % 3 = 0", "late_materialization": ["s"], "columns": ["i", "s", "t"]},
        {"filter": "i % 3 = 0", "limit": 4, "offset": 5, "columns": {"x": "i * 2", "s": "s"}},
        {"filter": {"expr_filter": "i > 50"}, "columns": ["i"]},
        {"order_by": ["t", "i"], "filter": "i > 20", "limit": 7, "columns": ["i", "t"]},
        {"columns": ["i"], "limit": 9, "offset": 21, "with_row_id": True},
        {"columns": ["i"], "use_stats": False, "scan_in_order": False, "batch_readahead": 1},
    ],
)
def test_options_have_the_same_result(tables: Tables, options: dict[str, Any]) -> None:
    found = tables.ours.scanner(**options)
    expected = tables.theirs.scanner(**options)
    assert found.projected_schema.equals(expected.projected_schema)
    assert found.to_table().to_pydict() == expected.to_table().to_pydict()


@each_case(
    "options",
    [{"batch_size": 7}, {"batch_size": 7, "strict_batch_size": True}, {"batch_size_bytes": 64}],
)
def test_batches_have_the_wanted_sizes(tables: Tables, options: dict[str, Any]) -> None:
    ours = list(tables.ours.scanner(["i"], **options).to_batches())
    theirs = list(tables.theirs.scanner(["i"], **options).to_batches())
    assert pa.Table.from_batches(ours).equals(pa.Table.from_batches(theirs))
    if "batch_size" in options:
        assert [len(batch) for batch in ours] == [len(batch) for batch in theirs]
    else:
        assert max(batch.nbytes for batch in ours) <= 64 + 8


def test_sets_of_rows_have_one_form(tables: Tables) -> None:
    ids = tables.theirs.to_table(["i"], with_row_id=True)["_rowid"].to_pylist()
    for some in ([], ids[5:40:3], ids, range(70_000)):
        assert serialize_row_addrs(some) == their_row_addrs(some)
    chosen = their_row_addrs(ids[5:40:3])
    for name in ("row_addr_allowlist", "row_addr_blocklist"):
        found = tables.ours.scanner(["i"], **{name: chosen}).to_table()
        assert found.equals(tables.theirs.scanner(["i"], **{name: chosen}).to_table())


def test_builders_have_the_same_methods(tables: Tables) -> None:
    def methods(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert methods(TheirBuilder) <= methods(ScannerBuilder)
    for kind, dataset in ((ScannerBuilder, tables.ours), (TheirBuilder, tables.theirs)):
        builder = kind(dataset).columns(["i"]).filter("i > 2").limit(3).offset(1).with_row_id()
        assert builder.to_scanner().to_table()["i"].to_pylist() == [4, 5, 6]


@each_case(
    "options",
    [
        {"order_by": ["nope"]},
        {"order_by": [1]},
        {"include_deleted_rows": True},
        {"scan_stats_callback": 3},
        {"late_materialization": 3},
        {"row_addr_allowlist": b"abc"},
        {"limit": -1},
        {"limit": "3"},
        {"batch_size": 0},
        {"batch_readahead": 0},
        {"batch_size_bytes": 16, "strict_batch_size": True},
        {"fragments": [1]},
        {"nonsense": 1},
    ],
)
def test_the_same_errors_as_in_pylance(tables: Tables, options: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)) as theirs:
        tables.theirs.scanner(**options).to_table()
    kind = TypeError if isinstance(theirs.value, TypeError) else ValueError
    with pytest.raises(kind):
        tables.ours.scanner(**options).to_table()


def test_statistics_and_plans_have_the_same_parts(tables: Tables, tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    for name, dataset in (("ours", tables.ours), ("theirs", tables.theirs)):
        statistics: list[Any] = []
        scanner = dataset.scanner(filter="i > 3", scan_stats_callback=statistics.append)
        assert scanner.to_table().num_rows == 53
        (found[name],) = statistics
        plan = scanner.analyze_plan()
        for part in ("output_rows=53", "bytes_read=", "iops=", "requests=", "full_filter=i > "):
            assert part in plan
    attributes = [name for name in dir(found["theirs"]) if not name.startswith("_")]
    for name in attributes:
        assert type(getattr(found["ours"], name)) is type(getattr(found["theirs"], name))
