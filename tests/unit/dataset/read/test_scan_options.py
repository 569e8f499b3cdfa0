"""Options of scans: deleted rows, sizes of batches, sets of rows, late columns, and the builder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset import ColumnOrdering, ScannerBuilder, ScanStatistics, serialize_row_addrs
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from tests.each_case import each_case
from tests.unit.dataset.conftest import DELETED, Sample


def test_deleted_rows_have_null_ids_and_addresses(sample: Sample) -> None:
    options: dict[str, Any] = {"include_deleted_rows": True, "with_row_id": True}
    found = sample.dataset.to_table(["i", "_rowaddr"], **options)
    assert found["i"].to_pylist() == list(range(100))
    deleted = {
        30 * fragment + offset for fragment, offsets in DELETED.items() for offset in offsets
    }
    for name in ("_rowid", "_rowaddr"):
        ids = found[name].to_pylist()
        assert {row for row, one in enumerate(ids) if one is None} == deleted
        assert [one for one in ids if one is not None] == sample.addresses.tolist()
    assert sample.dataset.scanner(["i"], **options).count_rows() == 100
    found = sample.dataset.to_table(["i"], **options, limit=4, offset=28)
    assert found["i"].to_pylist() == [28, 29, 30, 31]
    found = sample.dataset.to_table(["i"], "i > 58", **options, limit=3)
    assert found["_rowid"].to_pylist() == [(1 << 32) + 29, None, None]
    by = [ColumnOrdering("i", ascending=False)]
    found = sample.dataset.to_table(["i"], **options, order_by=by, limit=2)
    assert found["i"].to_pylist() == [99, 98]
    offsets = sample.dataset.to_table(["_rowoffset", "_rowid"], include_deleted_rows=True)
    assert offsets["_rowoffset"].to_pylist()[:6] == [0, 0, 1, 2, 2, 3]


def test_limits_end_the_reads(uri: str) -> None:
    rows = np.random.default_rng(0).random(400_000)
    table = pa.table({"i": range(400_000), "x": rows, "y": rows})
    dataset = lance.write_dataset(table, uri, max_rows_per_file=50_000)
    for fragment in dataset.get_fragments():
        fragment.count_rows("i + y > x")  # opens its file
    found: list[ScanStatistics] = []

    def cost(**options: Any) -> tuple[int, int, int]:
        """Rows, and fragments and bytes that were read for them."""
        result = dataset.to_table(scan_stats_callback=found.append, **options)
        counts = found[-1].all_counts
        return result.num_rows, counts["fragments_scanned"], found[-1].bytes_read

    cost()  # joins the files
    assert cost() == (400_000, 8, cost()[2])
    everything = found[-1].bytes_read
    assert everything > 400_000 * 16
    assert cost(limit=10)[:2] == (10, 1)
    assert found[-1].bytes_read < everything // 100
    assert cost(limit=20, offset=349_990)[:2] == (20, 2)
    assert found[-1].bytes_read < everything // 50
    assert cost(limit=10, filter="i % 2 = 0")[0] == 10
    assert found[-1].all_counts["fragments_scanned"] <= 4  # those read ahead in other threads
    assert cost(limit=0)[1:] == (0, 0)
    assert cost(filter="i < 0", columns=["x"])[1:] == (8, cost(columns=["i"])[2])
    assert cost(filter="i < 100")[0] == 100
    assert found[-1].bytes_read < cost(columns=["i"])[2] + everything // 100


def test_batches_have_about_the_wanted_bytes(uri: str) -> None:
    texts = ["x" * (10_000 if number % 50 == 0 else 10) for number in range(5_000)]
    table = pa.table({"i": range(5_000), "text": texts})
    dataset = lance.write_dataset(table, uri)
    for most in (0, 1 << 10, 1 << 14, 1 << 30):
        batches = list(dataset.to_batches(batch_size=1_000, batch_size_bytes=most))
        assert pa.Table.from_batches(batches).equals(table)
        assert all(batch.num_rows <= 1_000 for batch in batches)
        assert all(batch.num_rows == 1 or batch.nbytes <= 2 * most for batch in batches)
        assert len(batches) <= (5_000 if most == 0 else max(5, 8 * table.nbytes // most))


def test_the_environment_may_set_the_rows_of_batches(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANCE_DEFAULT_BATCH_SIZE", "12")
    scanner = sample.dataset.scanner(["i"], strict_batch_size=True)
    assert {batch.num_rows for batch in list(scanner.to_batches())[:-1]} == {12}
    assert max(len(batch) for batch in sample.dataset.to_batches(batch_size=20)) == 20
    for text in ("0", "many"):
        monkeypatch.setenv("LANCE_DEFAULT_BATCH_SIZE", text)
        with pytest.raises(InvalidInputError, match="LANCE_DEFAULT_BATCH_SIZE"):
            sample.dataset.scanner()


@each_case("filter", [None, "i > 20"])
def test_sets_of_rows_limit_what_is_returned(sample: Sample, filter: str | None) -> None:
    dataset = sample.dataset
    chosen = sample.addresses[[3, 40, 41, 60]].tolist()
    everything = dataset.to_table(["i"], filter, with_row_id=True)
    is_chosen = np.isin(everything["_rowid"], chosen)
    some, none = serialize_row_addrs([*chosen, 5 << 40]), serialize_row_addrs([])
    whole = (1).to_bytes(4, "little") + (2).to_bytes(4, "little") + bytes(4)
    for options, keep in (
        ({"row_addr_allowlist": some}, is_chosen),
        ({"row_addr_blocklist": some}, ~is_chosen),
        ({"row_addr_allowlist": some, "row_addr_blocklist": some}, is_chosen & ~is_chosen),
        ({"row_addr_allowlist": none}, is_chosen & ~is_chosen),
        ({"row_addr_blocklist": none}, is_chosen | ~is_chosen),
        ({"row_addr_allowlist": whole}, np.asarray(everything["_rowid"]) >> 32 == 2),
    ):
        expected = everything.filter(pa.array(keep))
        scanner = dataset.scanner(["i"], filter, with_row_id=True, **options)
        assert scanner.to_table().equals(expected)
        assert scanner.count_rows() == expected.num_rows
        found = dataset.to_table(["i"], filter, with_row_id=True, limit=2, offset=1, **options)
        assert found.equals(expected.slice(1, 2))
    with pytest.raises(InvalidInputError, match="row address"):
        serialize_row_addrs([-1])


@each_case("late", [None, True, False, [], ["s"], ["p.x", "f"], ["i"]])
def test_late_columns_change_no_result(sample: Sample, late: Any) -> None:
    for condition in ("i % 3 = 0", "i > 5", "i = 77"):
        expected = sample.dataset.to_table(filter=condition)
        options = {"filter": condition, "late_materialization": late}
        assert sample.dataset.to_table(**options).equals(expected)
        assert pa.Table.from_batches(sample.dataset.to_batches(**options)).equals(expected)


def test_a_builder_sets_the_options_of_a_scanner(sample: Sample) -> None:
    dataset = sample.dataset
    fragments = [dataset.get_fragment(2), dataset.get_fragment(1)]
    builder = (
        ScannerBuilder(dataset)
        .columns(("i",))
        .filter("i > 40")
        .with_fragments(fragments)
        .order_by([ColumnOrdering("i", ascending=False)])
        .limit(3)
        .offset(1)
        .with_row_id()
        .batch_size(2)
    )
    options: dict[str, Any] = {"limit": 3, "offset": 1, "with_row_id": True, "batch_size": 2}
    options |= {"fragments": fragments, "order_by": [ColumnOrdering("i", ascending=False)]}
    expected = dataset.scanner(["i"], "i > 40", **options)
    scanner = builder.to_scanner()
    assert scanner.to_table().equals(expected.to_table())
    assert [batch.num_rows for batch in scanner.to_batches()] == [2, 1]
    found = builder.order_by(None).limit().offset().with_row_id(False).to_scanner().to_table()
    assert found.equals(dataset.to_table(["i"], "i > 40", fragments=fragments))
    some = serialize_row_addrs([3])
    masked = ScannerBuilder(dataset).row_addr_prefilter(some).include_deleted_rows(False)
    assert masked.to_scanner().to_table().num_rows == 0
    assert masked.row_addr_prefilter().to_scanner().count_rows() == dataset.count_rows()


@each_case(
    ("method", "argument", "error", "message"),
    [
        ("limit", -1, ValueError, "Limit must be non-negative"),
        ("offset", -1, ValueError, "Offset must be non-negative"),
        ("batch_readahead", 0, ValueError, "greater than 0"),
        ("fragment_readahead", -1, ValueError, "non-negative"),
        ("columns", "i", TypeError, "list or dict"),
        ("order_by", ["i"], TypeError, "ColumnOrdering"),
        ("with_fragments", [1], TypeError, "LanceFragment"),
        ("blob_handling", "x", ValueError, "all_binary"),
        ("apply_defaults", {"limt": 1}, ValueError, "did you mean 'limit'"),
        ("minhash_search", "x", UnsupportedFeatureError, "minhash_search"),
        ("substrait_aggregate", b"", UnsupportedFeatureError, "substrait"),
    ],
)
def test_a_builder_refuses_arguments_at_once(
    sample: Sample, method: str, argument: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        getattr(ScannerBuilder(sample.dataset), method)(argument)


def test_default_options_have_the_names_of_a_builder(sample: Sample) -> None:
    uri = sample.dataset.uri
    first = sample.dataset.get_fragment(0)
    defaults = {"columns": ["i"], "with_fragments": [first], "limit": 3}
    dataset = lance.dataset(uri, default_scan_options=defaults)
    assert dataset.to_table()["i"].to_pylist() == [1, 2, 4]
    assert dataset.to_table(["s"], limit=2).num_rows == 2
    assert dataset.count_rows() == dataset.count_rows("i >= 0") == sample.live.num_rows
    built = ScannerBuilder(sample.dataset).apply_defaults(defaults).to_scanner()
    assert built.to_table().equals(dataset.to_table())
    wrong = lance.dataset(uri, default_scan_options={"with_rowid": True})
    with pytest.raises(ValueError, match="did you mean 'with_row_id'"):
        wrong.to_table()


@pytest.mark.parametrize("option", ["fragments", "order_by"])
def test_arguments_of_wrong_types_are_type_errors(sample: Sample, option: str) -> None:
    with pytest.raises(TypeError):
        sample.dataset.scanner(**{option: [1]})
