"""`LanceScanner`: a scan that can be looked at and run again."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset import ScanStatistics
from lance_core.errors import InvalidInputError
from tests.each_case import each_case
from tests.unit.dataset.conftest import Sample


def test_all_ways_to_run_a_scan_agree(sample: Sample) -> None:
    scanner = sample.dataset.scanner(["i", "s"], filter="i > 40", limit=30, offset=5)
    table = scanner.to_table()
    assert table.num_rows == scanner.count_rows() == 30
    assert scanner.to_reader().read_all().equals(table)
    assert pa.Table.from_batches(scanner.to_batches()).equals(table)
    tagged = list(scanner.scan_batches())
    assert pa.Table.from_batches([one.record_batch for one in tagged]).equals(table)
    assert all(one.fragment.fragment_id in sample.dataset.fragment_ids() for one in tagged)
    assert scanner.head(4).equals(table.slice(0, 4))
    assert scanner.head(400).equals(table)
    assert scanner.take([3, 0, 3]).equals(table.take([3, 0, 3]))


def test_a_scanner_knows_its_schemas(sample: Sample) -> None:
    scanner = sample.dataset.scanner({"a": "i", "b": "p.y"}, with_row_id=True)
    expected = pa.schema({"a": pa.int64(), "b": pa.string(), "_rowid": pa.uint64()})
    assert scanner.projected_schema.equals(expected)
    assert scanner.to_reader().schema.equals(expected)
    assert scanner.dataset_schema.equals(sample.dataset.schema)


@pytest.mark.parametrize("indices", [[30], [-1], [0.5], "x"])
def test_rows_that_a_result_does_not_have_cannot_be_taken(
    sample: Sample, indices: list[int]
) -> None:
    scanner = sample.dataset.scanner(["i"], limit=30)
    with pytest.raises(InvalidInputError):
        scanner.take(indices)


def test_a_result_without_columns_can_be_taken_from(sample: Sample) -> None:
    scanner = sample.dataset.scanner([])
    assert scanner.take([0, 1, 0]).num_rows == 3
    assert scanner.head(3).num_rows == 3
    with pytest.raises(InvalidInputError):
        scanner.head(-1)


def test_a_scanner_keeps_its_version(uri: str) -> None:
    dataset = lance.write_dataset({"i": [1]}, uri)
    scanner = dataset.scanner()
    dataset.insert({"i": [2]})
    assert (scanner.count_rows(), dataset.count_rows()) == (1, 2)


def test_a_plan_says_what_will_be_read(sample: Sample) -> None:
    scanner = sample.dataset.scanner(["i"], filter="i > 4", limit=3)
    plan = scanner.explain_plan(verbose=True)
    for part in (
        "projection=[i]",
        "num_fragments=4",
        "full_filter=i > 4",
        "range_after=Some(0..3)",
    ):
        assert part in plan
    assert repr(plan) == str(plan)
    assert [step.name for step in plan.steps] == ["LanceRead"]
    assert str(plan) in repr(scanner)
    assert "projection=[]" in sample.dataset.scanner([]).explain_plan()


@each_case(
    ("options", "steps"),
    [
        ({"filter": "i > 4"}, ["ProjectionExec", "LanceRead", "LanceRead"]),
        ({"filter": "i > 4", "late_materialization": False}, ["LanceRead"]),
        ({"columns": {"a": "i + 1"}}, ["ProjectionExec", "LanceRead"]),
        ({"order_by": ["i"]}, ["SortExec", "LanceRead"]),
        (
            {"order_by": ["i"], "limit": 1},
            ["ProjectionExec", "LanceRead", "GlobalLimitExec", "SortExec", "LanceRead"],
        ),
    ],
)
def test_a_plan_has_a_step_for_each_read(
    sample: Sample, options: dict[str, Any], steps: list[str]
) -> None:
    scanner = sample.dataset.scanner(**options)
    assert [step.name for step in scanner.explain_plan().steps] == steps
    analyzed = scanner.analyze_plan()
    assert [step.name for step in analyzed.steps] == ["AnalyzeExec", *steps]
    assert all("output_rows=" in str(step.metrics) for step in analyzed.steps[1:])


def test_an_analysis_counts_rows_and_bytes(uri: str) -> None:
    dataset = lance.write_dataset({"i": list(range(100_000)), "j": [5] * 100_000}, uri)
    filtered = dataset.scanner(filter="i < 50")
    late, first = filtered.analyze_plan().steps[-2:]
    assert "output_rows=50," in late.metrics
    assert "rows_scanned=50," in late.metrics
    for part in ("output_rows=50,", "rows_scanned=100000,", "fragments_scanned=1,"):
        assert part in first.metrics
    assert "bytes_read=0," not in first.metrics
    counted = filtered.analyze_plan(count_rows=True).steps
    assert [step.name for step in counted] == ["AnalyzeExec", "AggregateExec", "LanceRead"]
    assert "projection=[i]" in counted[-1].details


def test_statistics_are_reported_after_each_scan(uri: str, caplog: Any) -> None:
    dataset = lance.write_dataset({"i": list(range(100_000)), "j": [5] * 100_000}, uri)
    found: list[ScanStatistics] = []
    scanner = dataset.scanner(filter="i < 50", scan_stats_callback=found.append)
    assert scanner.to_table().num_rows == 50
    assert sum(batch.num_rows for batch in scanner.to_batches()) == 50
    assert scanner.to_reader().read_all().num_rows == 50
    assert len(found) == 3
    for one in found:
        assert one.bytes_read > 0
        assert one.requests >= one.iops > 0
        assert one.all_counts["rows_scanned"] == 100_050
        assert one.all_counts["output_rows"] == 50
        assert one.all_times["read_elapsed_compute"] > 0
    one_column = dataset.scanner(["i"], scan_stats_callback=found.append)
    one_column.to_table()
    assert found[-1].bytes_read < 100_000 * 8 + 4096
    next(one_column.to_batches())
    assert len(found) == 4

    def fail(statistics: ScanStatistics) -> None:
        raise RuntimeError("of the caller")

    assert dataset.scanner(scan_stats_callback=fail).to_table().num_rows == 100_000
    assert "of the caller" in caplog.text
    assert dataset.scanner(scan_stats_callback=fail).count_rows() == 100_000


def test_scanners_are_not_made_of_other_things(sample: Sample) -> None:
    for name in ("from_dataset", "from_fragment", "from_batches"):
        with pytest.raises(NotImplementedError, match=name):
            getattr(lance.LanceScanner, name)(sample.dataset)
    with pytest.raises(NotImplementedError):
        sample.dataset.join(sample.dataset, "i")
