"""`LanceScanner`: a scan that can be looked at and run again."""

from __future__ import annotations

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError
from tests.unit.dataset.conftest import Sample


def test_all_ways_to_run_a_scan_agree(sample: Sample) -> None:
    scanner = sample.dataset.scanner(["i", "s"], filter="i > 40", limit=30, offset=5)
    table = scanner.to_table()
    assert table.num_rows == scanner.count_rows() == 30
    assert scanner.to_reader().read_all().equals(table)
    assert pa.Table.from_batches(scanner.to_batches()).equals(table)
    assert pa.Table.from_batches(scanner.scan_batches()).equals(table)
    assert scanner.to_pandas().equals(table.to_pandas())
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


def test_data_frames_take_options_of_scans_and_of_arrow(sample: Sample) -> None:
    dataset = sample.dataset
    options = {"limit": 4, "strings_to_categorical": True}
    frame = dataset.to_pandas(["p.y"], "i > 3", **options)
    assert (str(frame["p.y"].dtype), frame["p.y"].tolist()) == (
        "category",
        ["y4", "y0", "y1", "y2"],
    )
    frame = dataset.get_fragment(1).to_pandas(["p.y"], offset=2, **options)
    assert (str(frame["p.y"].dtype), len(frame)) == ("category", 4)
    with pytest.raises(TypeError, match="nonsense"):
        dataset.to_pandas(nonsense=1)


def test_a_scanner_keeps_its_version(uri: str) -> None:
    dataset = lance.write_dataset({"i": [1]}, uri)
    scanner = dataset.scanner()
    dataset.insert({"i": [2]})
    assert (scanner.count_rows(), dataset.count_rows()) == (1, 2)


def test_a_plan_says_what_will_be_read(sample: Sample) -> None:
    plan = sample.dataset.scanner(["i"], filter="i > 4", limit=3).explain_plan(verbose=True)
    for part in ("read i", "4 fragments", "version 2", "i > 4", "limit 3", "8192 rows"):
        assert part in plan
    assert "no columns" in sample.dataset.scanner([]).explain_plan()
