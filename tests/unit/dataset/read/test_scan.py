"""Scans return the rows and columns that were asked for, in order, deleted rows left out."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core as lance
from lance_core.dataset import ColumnOrdering
from lance_core.dataset.read import scan
from lance_core.dataset.read.fragments import run_reader
from lance_core.dataset.read.steps import column_reader
from lance_core.dataset.read.windows import scan_sizers, scan_windows
from lance_core.dataset.read.windows.window_sizing import WindowSizer
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core_compaction.stored_rows import all_rows, rows_plan
from tests.each_case import each_case
from tests.scan_numbers import tune
from tests.table_surgery import delete_rows
from tests.unit.dataset.conftest import Sample

Rows = Callable[..., pa.Table]


@pytest.fixture(autouse=True, params=["whole windows", "small windows"])
def _windows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scans cut into few and into many windows give the same."""
    if request.param == "small windows":
        tune(monkeypatch, table={"max_rows": 7, "search_rows": 5})


@pytest.fixture(scope="module")
def live_rows(sample: Sample) -> list[dict[str, Any]]:
    return sample.live.to_pylist()


def test_without_options_everything_is_returned(sample: Sample) -> None:
    found = sample.dataset.to_table()
    found.validate(full=True)
    assert found.equals(sample.live)
    assert sample.dataset.count_rows() == len(sample.dataset) == sample.live.num_rows


@pytest.mark.parametrize(
    "columns", [["i"], ["s", "i"], ["p"], ["l", "b"], ["b", "f", "l", "p", "s", "i"], ("f",)]
)
def test_columns_come_in_the_order_asked_for(sample: Sample, columns: list[str]) -> None:
    found = sample.dataset.to_table(columns)
    assert found.equals(sample.live.select(list(columns)))
    assert found.schema.equals(sample.dataset.scanner(columns).projected_schema)


def test_a_nested_name_gives_a_column_of_that_name(sample: Sample) -> None:
    found = sample.dataset.to_table(["p.y", "i", "p.q.z", "p.q", "p"])
    struct = sample.live.column("p")
    expected = {
        "p.y": pc.struct_field(struct, "y"),
        "i": sample.live.column("i"),
        "p.q.z": pc.struct_field(struct, ["q", "z"]),
        "p.q": pc.struct_field(struct, "q"),
        "p": struct,
    }
    assert found.equals(pa.table(expected))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"a": "i"}, lambda t: {"a": t["i"]}),
        ({"a": "p.x", "i": "i + 1"}, lambda t: {"a": t["i"], "i": pc.add(t["i"], 1)}),
        ({"a": "i", "b": "i"}, lambda t: {"a": t["i"], "b": t["i"]}),
        ({"a": "f * 2"}, lambda t: {"a": pc.multiply(t["f"], pa.scalar(2, pa.float32()))}),
        ({"a": "s IS NULL"}, lambda t: {"a": pc.is_null(t["s"])}),
        ({"one": "1"}, lambda t: {"one": pa.repeat(1, len(t))}),
    ],
)
def test_columns_can_be_computed(
    sample: Sample,
    columns: Mapping[str, str],
    expected: Callable[[pa.Table], Mapping[str, Any]],
) -> None:
    found = sample.dataset.to_table(columns)
    assert found.to_pydict() == pa.table(expected(sample.live)).to_pydict()


def test_a_renamed_column_keeps_its_metadata_and_nullability(uri: str) -> None:
    field = pa.field("a", pa.int32(), False, {"unit": "m"})
    inner = pa.field("p", pa.struct([pa.field("x", pa.int8(), False, {"k": "v"})]))
    table = pa.table([[1], [{"x": 2}]], schema=pa.schema([field, inner], {"t": "u"}))
    dataset = lance.write_dataset(table, uri)
    found = dataset.to_table({"b": "a", "y": "p.x"})
    expected = pa.schema([field.with_name("b"), pa.field("y", pa.int8(), True, {"k": "v"})])
    assert found.schema.equals(expected.with_metadata({"t": "u"}), check_metadata=True)


@pytest.mark.parametrize("columns", [[], {}])
def test_no_columns_still_have_rows(sample: Sample, columns: Any) -> None:
    dataset, count = sample.dataset, sample.live.num_rows
    assert dataset.to_table(columns).num_rows == count
    assert dataset.to_table(columns, filter="i >= 50").num_rows == 42
    assert dataset.to_table(columns, limit=40, offset=3).num_rows == 40
    assert sum(batch.num_rows for batch in dataset.to_batches(columns, batch_size=7)) == count
    assert dataset.scanner(columns).to_reader().read_all().num_rows == count
    assert dataset.to_table(columns, fragments=[dataset.get_fragment(3)]).num_rows == 9


def test_meta_columns_are_what_they_say(sample: Sample) -> None:
    found = sample.dataset.to_table(["_rowoffset", "i", "_rowid", "_rowaddr"])
    assert found.column_names == ["_rowoffset", "i", "_rowid", "_rowaddr"]
    assert np.array_equal(found["_rowaddr"], sample.addresses)
    assert found["_rowid"].equals(found["_rowaddr"])
    assert np.array_equal(found["_rowoffset"], np.arange(found.num_rows))


def test_row_ids_and_addresses_come_last_unless_named(sample: Sample) -> None:
    def names(**options: Any) -> list[str]:
        scanner = sample.dataset.scanner(**options)
        assert scanner.to_table().column_names == scanner.projected_schema.names
        return list(scanner.projected_schema.names)

    both = {"with_row_id": True, "with_row_address": True}
    assert names(columns=["i"], **both) == ["i", "_rowid", "_rowaddr"]
    assert names(columns=["_rowaddr", "i"], **both) == ["_rowaddr", "i", "_rowid"]
    assert names(columns=[], with_row_id=True) == ["_rowid"]
    assert names(columns={"a": "_rowid"}) == ["a"]


@each_case(
    ("filter", "keep"),
    [
        ("i >= 50", lambda r: r["i"] >= 50),
        ("i % 10 = 3 AND s IS NOT NULL", lambda r: r["i"] % 10 == 3 and r["s"]),
        ("p.y = 'y3' OR b", lambda r: r["p"]["y"] == "y3" or r["b"]),
        ("s LIKE 'text 1%'", lambda r: (r["s"] or "").startswith("text 1")),
        ("i < 0", lambda r: False),
        ("true", lambda r: True),
        ("1 = 2", lambda r: False),
        (pc.field("i") > 90, lambda r: r["i"] > 90),
        (pc.field("p", "x").isin([5, 6, 95]), lambda r: r["i"] in (5, 6, 95)),
    ],
)
@each_case("columns", [None, ["f"], ["i"], ["p.x", "s"], ["p"], []])
def test_a_filter_keeps_the_rows_that_pass_it(
    sample: Sample,
    live_rows: list[dict[str, Any]],
    filter: Any,
    keep: Callable[[dict[str, Any]], bool],
    columns: Any,
) -> None:
    chosen = [number for number, row in enumerate(live_rows) if keep(row)]
    found = sample.dataset.to_table(columns, filter)
    expected = sample.dataset.to_table(columns).take(pa.array(chosen, pa.int64()))
    assert found.equals(expected) or not found.num_columns
    assert found.num_rows == len(chosen) == sample.dataset.count_rows(filter)


def test_a_filter_can_use_meta_columns_that_are_not_returned(sample: Sample) -> None:
    address = int(sample.addresses[40])
    found = sample.dataset.to_table(["i"], filter=f"_rowaddr = {address} OR _rowoffset = 3")
    assert found["i"].to_pylist() == sample.live["i"].take([3, 40]).to_pylist()
    found = sample.dataset.to_table(["_rowid", "s"], filter="_rowid < 5")
    assert found["_rowid"].to_pylist() == [1, 2, 4]


def reads_of(dataset: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """A log that each reading of a column adds its name and number of rows to."""
    log: list[tuple[str, int]] = []
    real = run_reader.read_rows

    def logged(snapshot: Any, fragment: Any, fields: Any, meta: Any, rows: Any) -> pa.Table:
        log.extend((field.name, len(rows)) for field in fields)
        return real(snapshot, fragment, fields, meta, rows)

    monkeypatch.setattr(column_reader, "read_rows", logged)  # of windows
    monkeypatch.setattr(run_reader, "read_rows", logged)  # without windows
    return log


def test_other_columns_are_read_only_where_the_filter_holds(
    uri: str, some_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    tune(monkeypatch, table={"max_rows": 1000})
    dataset = lance.write_dataset(some_rows(500), uri)
    log = reads_of(dataset, monkeypatch)
    assert dataset.to_table(["s", "i"], filter="i = 77").to_pydict() == {"s": [None], "i": [77]}
    assert log == [("i", 500), ("s", 1)]
    log.clear()
    assert dataset.count_rows("p.x > 490") == 9
    assert log == [("p", 500)]
    log.clear()
    assert dataset.to_table(["s"], filter="i < 0").num_rows == 0
    assert log == [("i", 500)]


def test_a_short_column_beside_long_ones_is_read_at_once(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(1 << 20, np.float32)), 4096)
    texts = pa.array([f"text {number}" for number in range(len(vectors))])
    table = pa.table({"id": pa.array(range(len(vectors))), "text": texts, "vector": vectors})
    dataset = lance.write_dataset(table, uri)
    tune(monkeypatch, table={"stored_bytes": 64 << 10, "max_rows": 1000})
    log = reads_of(dataset, monkeypatch)
    assert dataset.to_table(["id", "text"]) == table.select(["id", "text"])
    assert log == [("id", 256), ("text", 256)]
    log.clear()
    assert dataset.to_table(["vector"]) == table.select(["vector"])
    assert len(log) > 1
    assert sum(rows for _, rows in log) == 256


def test_a_limit_reads_no_more_than_it_needs(
    uri: str, some_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    tune(monkeypatch, table={"max_rows": 1000})
    dataset = lance.write_dataset(some_rows(500), uri, max_rows_per_file=100)
    dataset = delete_rows(dataset, {1: range(50)})
    log = reads_of(dataset, monkeypatch)
    found = dataset.to_table(["i"], limit=60, offset=90)
    assert found["i"].to_pylist() == [*range(90, 100), *range(150, 200)]
    assert sum(rows for _, rows in log) == 60


OFFSETS = [0, 1, 2, 27, 28, 29, 30, 57, 58, 88, 89, 90, 200]
LIMITS = [None, 0, 1, 2, 27, 57, 200]
"""Added to `OFFSETS`, they give the same places, within fragments and at their ends."""


@pytest.mark.parametrize("filter", [None, "i % 2 = 0"])
def test_limit_and_offset_count_the_rows_that_are_left(sample: Sample, filter: str | None) -> None:
    everything = sample.dataset.to_table(["i"], filter)
    for offset in OFFSETS:
        for limit in LIMITS:
            found = sample.dataset.to_table(["i"], filter, limit=limit, offset=offset)
            assert found.equals(everything.slice(offset, limit)), (offset, limit)
            scanner = sample.dataset.scanner(["i"], filter, limit=limit, offset=offset)
            assert scanner.count_rows() == found.num_rows


def test_fragments_are_read_in_the_order_given_and_as_often(sample: Sample) -> None:
    dataset = sample.dataset
    parts = {number: dataset.get_fragment(number).to_table() for number in range(4)}
    assert pa.concat_tables(parts.values()).equals(sample.live)
    for chosen in ([2, 0], [3], [], [1, 1]):
        fragments = iter([dataset.get_fragment(number) for number in chosen])
        found = dataset.to_table(fragments=fragments)
        expected = [sample.live.slice(0, 0), *(parts[number] for number in chosen)]
        assert found.equals(pa.concat_tables(expected))
    found = dataset.to_table(["i"], fragments=[dataset.get_fragment(2)], limit=3, offset=1)
    assert found["i"].to_pylist() == [66, 67, 68]


def test_row_ranges_are_physical_and_leave_deleted_rows_out(sample: Sample) -> None:
    dataset = sample.dataset
    ranges = [(2, 3, 7), (0, 0, 5), (1, 4, 4), (3, 8, 10)]
    found = dataset.to_table(["i"], row_ranges=ranges)
    assert found["i"].to_pylist() == [65, 66, 1, 2, 4, 98]
    found = dataset.to_table(["i"], filter="i > 2", row_ranges=ranges, limit=3, offset=1)
    assert found["i"].to_pylist() == [66, 4, 98]
    assert dataset.scanner(row_ranges=ranges).count_rows() == 6


@pytest.mark.parametrize(
    "ranges", [[(0, 0, 31)], [(0, -1, 3)], [(0, 5, 4)], [(9, 0, 1)], [(0, 1)], [3], [(0, 0.5, 1)]]
)
def test_row_ranges_that_a_table_does_not_have_are_refused(sample: Sample, ranges: Any) -> None:
    with pytest.raises(InvalidInputError):
        sample.dataset.to_table(row_ranges=ranges)


@each_case(
    ("options", "message"),
    [
        ({"columns": ["nope"]}, "nope"),
        ({"columns": ["p.nope"]}, "p.nope"),
        ({"columns": ["l.item"]}, "not a struct"),
        ({"columns": ["i", "i"]}, "twice"),
        ({"columns": "i"}, "list of names"),
        ({"columns": [1]}, "strings"),
        ({"columns": {1: "i"}}, "strings"),
        ({"columns": {"a": "nope"}}, "nope"),
        ({"columns": {"a": 5}}, "SQL"),
        ({"filter": "nope = 1"}, "nope"),
        ({"filter": "i +"}, "parse"),
        ({"filter": "i + 1"}, "int64"),
        ({"filter": 5}, "filter"),
        ({"filter": pc.field("nope") > 1}, "nope"),
        ({"limit": -1}, "Limit"),
        ({"limit": 1.5}, "Limit"),
        ({"offset": -1}, "Offset"),
        ({"offset": "1"}, "Offset"),
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 2**32}, "batch_size"),
        ({"blob_handling": "nope"}, "blob_handling"),
        ({"fragments": [0]}, "LanceFragment"),
        ({"fragments": [], "row_ranges": []}, "both"),
        ({"order_by": ["nope"]}, "nope"),
        ({"order_by": ["p.nope"]}, "p.nope"),
        ({"order_by": "i"}, "list"),
        ({"order_by": [1]}, "ColumnOrdering"),
        ({"order_by": [ColumnOrdering(1)]}, "string"),
        ({"include_deleted_rows": True}, "with_row_id"),
        ({"batch_size_bytes": -1}, "batch_size_bytes"),
        ({"batch_size_bytes": 8, "strict_batch_size": True}, "strict"),
        ({"late_materialization": ["nope"]}, "nope"),
        ({"late_materialization": "i"}, "list of strings"),
        ({"late_materialization": 3}, "bool"),
        ({"scan_stats_callback": 3}, "callable"),
        ({"row_addr_allowlist": b"abc"}, "allowlist"),
        ({"row_addr_blocklist": b"\1\0\0\0\0\0\0\0\3\0\0\0abc"}, "blocklist"),
        ({"row_addr_blocklist": [1]}, "serialize_row_addrs"),
        ({"batch_readahead": 0}, "greater than 0"),
        ({"fragment_readahead": -1}, "non-negative"),
        ({"filter": {"search": "x"}}, "did you mean 'search_filter'"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    sample: Sample, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        sample.dataset.scanner(**options)


@pytest.mark.parametrize("option", ["index_segments"])
def test_options_that_would_change_the_result_are_not_ignored(sample: Sample, option: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=option):
        sample.dataset.to_table(**{option: ["i"]})


def test_unknown_options_are_refused(sample: Sample) -> None:
    with pytest.raises(TypeError, match="nonsense"):
        sample.dataset.to_table(nonsense=1)
    with pytest.raises(TypeError, match="did you mean 'with_row_id'"):
        sample.dataset.scanner(with_rowid=True)


def test_options_that_only_tune_change_nothing(sample: Sample) -> None:
    found = sample.dataset.to_table(
        ["i"],
        filter="i > 5",
        batch_readahead=3,
        fragment_readahead=1,
        scan_in_order=False,
        prefilter=True,
        late_materialization=False,
        use_stats=False,
        io_buffer_size=1,
        use_scalar_index=False,
        fast_search=False,
    )
    assert found.equals(sample.dataset.to_table(["i"], filter="i > 5"))


def test_a_slice_and_a_head_are_rows_by_position(sample: Sample) -> None:
    dataset, live = sample.dataset, sample.live
    assert dataset.head(5).equals(live.slice(0, 5))
    assert dataset.head(0).equals(live.slice(0, 0))
    assert dataset.head(1000).equals(live)
    assert dataset.head(3, columns=["i"], filter="i > 50")["i"].to_pylist() == [51, 52, 53]
    assert dataset.slice(26, 31).equals(live.slice(26, 5))
    assert dataset.slice(5, 5, ["i"]).equals(live.select(["i"]).slice(0, 0))
    for start, end in ((-1, 2), (5, 2)):
        with pytest.raises(InvalidInputError):
            dataset.slice(start, end)
    with pytest.raises(InvalidInputError):
        dataset.head(-1)


def test_the_schema_metadata_is_part_of_every_result(uri: str, some_rows: Rows) -> None:
    table = some_rows(5).replace_schema_metadata({"k": "v"})
    dataset = lance.write_dataset(table, uri)
    results = [
        dataset.to_table(),
        dataset.to_table([]),
        dataset.to_table(["p.x"], filter="i < 0"),
        dataset.to_table({"a": "i + 1"}),
        dataset.take([0]),
        dataset.take([]),
        dataset.take([1], columns=[]),
        dataset.head(1),
        next(dataset.to_batches()),
        dataset.scanner(with_row_id=True).to_reader().read_all(),
    ]
    assert {str(result.schema.metadata) for result in results} == {str({b"k": b"v"})}


@pytest.mark.parametrize("how", ["no fragments", "all rows deleted", "no fragments are left"])
def test_an_empty_table_scans_to_nothing(uri: str, some_rows: Rows, how: str) -> None:
    table = some_rows(8 if how != "no fragments" else 0)
    dataset = lance.write_dataset(table, uri)
    if how == "all rows deleted":
        dataset = delete_rows(dataset, {0: range(8)})
    elif how == "no fragments are left":
        dataset = delete_rows(dataset, {}, gone=[0])
    empty = table.slice(0, 0)
    assert dataset.to_table().equals(empty)
    assert dataset.to_table(["s"], "i > 3", limit=3, offset=1).equals(empty.select(["s"]))
    assert list(dataset.to_batches()) == []
    assert dataset.scanner().to_reader().read_all().equals(empty)
    assert dataset.count_rows() == dataset.count_rows("i > 3") == 0
    assert dataset.take([]).equals(empty)
    assert dataset.head(3).equals(empty)
    assert dataset.sample(0).equals(empty)
    assert dataset.to_table([], with_row_id=True).num_rows == 0
    dataset.validate()


def test_with_one_processor_only_a_stream_is_read_in_another_thread(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[bool] = []

    def in_order(work: Any, items: Any, ahead: int, **_: object) -> Any:
        handed.append(True)
        return map(work, items)

    monkeypatch.setattr(scan_windows, "in_order", in_order)
    tune(monkeypatch, table={"small_span_rows": 0})
    for processors, expected in ((1, 0), (2, 1)):
        for module in (scan_sizers, scan_windows):
            monkeypatch.setattr(module, "num_threads", lambda count=processors: count)
        assert sample.dataset.to_table().equals(sample.live)
        assert len(handed) == expected
    for module in (scan_sizers, scan_windows):
        monkeypatch.setattr(module, "num_threads", lambda: 1)
    assert sum(batch.num_rows for batch in sample.dataset.to_batches()) == sample.live.num_rows
    assert len(handed) == 2


def test_windows_for_writers_have_all_live_rows_and_are_not_kept(sample: Sample) -> None:
    snapshot = sample.dataset.snapshot
    fragments = list(snapshot.manifest.fragments)
    plan = rows_plan(snapshot.schema, all_rows(snapshot, fragments))
    parts = []
    windows = scan.scan_windows(snapshot, plan, WindowSizer(7, 7))
    for batch in windows:
        parts.append(pa.Table.from_batches([batch.slice(0)]))
        last = weakref.ref(batch)
        del batch
        assert last() is None
    assert len(parts) > 2
    assert pa.concat_tables(parts).equals(sample.live)
