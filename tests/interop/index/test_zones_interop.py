"""ZONEMAP and BLOOMFILTER beside pylance: the same files, and the same rows from them."""

from __future__ import annotations

import datetime
import decimal
import uuid
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance.file import LanceFileReader
from lance.indices import IndexConfig

import lance_core
from lance_core_indices.bloom_filter import BloomFilter

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

ROWS = 200
SIZES = {"zonemap": "rows_per_zone", "bloomfilter": "number_of_items"}
DAY = datetime.date(2020, 1, 1)


def columns() -> dict[str, pa.Array]:
    """Values of each type that both kinds of index have, and of others, with nulls."""
    random = np.random.default_rng(5)
    numbers = np.sort(random.integers(0, 500, ROWS))
    absent = random.random(ROWS) < 0.1
    absent[20:50] = True
    floats = numbers / 4.0 - 50
    floats[100:125] = np.nan
    floats[130] = -0.0
    texts = [f"{number:03d}" * (number % 15) for number in numbers.tolist()]
    small = (numbers // 4).astype(np.int8)
    times = {
        "date32": pa.date32(),
        "date64": pa.date64(),
        "time32": pa.time32("s"),
        "time64": pa.time64("us"),
        "timestamp": pa.timestamp("ns", "UTC"),
    }
    wide = pa.array(numbers * 86_400_000, mask=absent)
    found = {
        "int8": pa.array(small, mask=absent),
        "uint16": pa.array(numbers.astype(np.uint16), mask=absent),
        "int32": pa.array(numbers.astype(np.int32), mask=absent),
        "uint64": pa.array(numbers.astype(np.uint64) << np.uint64(55), mask=absent),
        "float32": pa.array(floats.astype(np.float32), mask=absent),
        "float64": pa.array(floats, mask=absent),
        "string": pa.array(texts, mask=absent),
        "large_string": pa.array(texts, pa.large_string(), mask=absent),
        "binary": pa.array([text.encode() for text in texts], mask=absent),
        "large_binary": pa.array([t.encode() for t in texts], pa.large_binary(), mask=absent),
    }
    for name, kind in times.items():
        bits = kind.bit_width
        days = wide if name == "date64" else pa.array(numbers.astype(f"i{bits // 8}"), mask=absent)
        found[name] = days.view(kind)
    amounts = [decimal.Decimal(number).scaleb(-2) for number in numbers.tolist()]
    lists = [[number] for number in numbers.tolist()]
    return found | {
        "bool": pa.array(numbers > 250, mask=absent),
        "float16": pa.array(floats.astype(np.float16), mask=absent),
        "duration": pa.array(numbers, pa.duration("s"), mask=absent),
        "decimal": pa.array(amounts, pa.decimal128(12, 2), mask=absent),
        "decimal256": pa.array(amounts, pa.decimal256(50, 2), mask=absent),
        "list": pa.array(lists, mask=absent),
        "fsl": pa.FixedSizeListArray.from_arrays(pa.array(floats), 2).take(pa.array([0] * ROWS)),
    }


def write(path: Path, data: pa.Table, **options: Any) -> str:
    uri = str(path / uuid.uuid4().hex)
    lance.write_dataset(data, uri, max_rows_per_file=80, **options)
    lance.dataset(uri).delete("i % 7 = 3")
    return uri


def create(module: Any, uri: str, column: str, kind: str) -> None:
    parameters = {SIZES[kind]: 16}
    if module is lance:
        lance.dataset(uri).create_scalar_index(column, IndexConfig(kind, parameters))
    else:
        lance_core.dataset(uri).create_scalar_index(column, kind, **parameters)


def stored(uri: str) -> tuple[Any, ...]:
    """What the newest index of a table has in its file, its details and its statistics."""
    index = lance.dataset(uri).describe_indices()[-1]
    (path,) = (Path(uri) / "_indices" / str(index.segments[0].uuid)).iterdir()
    reader = LanceFileReader(str(path))
    table = reader.read_all().to_table()
    statistics = lance.dataset(uri).stats.index_stats(index.name)["indices"]
    metadata = dict(reader.metadata().schema.metadata)
    rows = repr(table.to_pylist())  # NaN is equal to NaN here
    return path.name, table.schema, metadata, index.type_url, statistics, rows


def test_files_are_those_of_pylance(tmp_path: Path) -> None:
    for version in ("2.0", "2.1", "2.2"):
        for name, values in columns().items():
            if version != "2.1" and name not in ("float64", "string", "list", "bool"):
                continue
            data = pa.table({"x": values, "i": np.arange(ROWS)})
            uri = write(tmp_path, data, data_storage_version=version)
            for kind in SIZES:
                if kind == "bloomfilter" and not BloomFilter().accepts(values.type):
                    continue
                found = []
                for module in (lance, lance_core):
                    create(module, uri, "x", kind)
                    found.append(stored(uri))
                assert found[0] == found[1], (version, name, kind)


NUMBERS = [
    "x = 7",
    "x > 40",
    "x < -20",
    "x >= 10 AND x < 12",
    "x IN (1, 2, 3, 4, 5, 60)",
    "x IS NULL",
    "x IS NOT NULL",
    "x != 20",
    "x IS NULL OR x > 70",
]
TEXTS = [
    "x = '003003003'",
    "x > '4'",
    "starts_with(x, '10')",
    "x LIKE '2%'",
    "x IN ('', 'a', '007007007007007007007')",
    "x IS NULL",
    "NOT (x IS NULL)",
]
FILTERS = {
    "int32": NUMBERS,
    "float64": [*NUMBERS, "x = 0.0", "x = -0.0", "isnan(x)"],
    "string": TEXTS,
    "bool": ["x", "NOT x", "x IS NULL"],
    "decimal": ["x IS NULL"],
    "date32": ["x = date '1970-01-08'", "x > date '1971-01-01'", "x IS NULL"],
    "binary": ["x = X'303033303033303033'", "x > X'34'", "x IS NULL"],
}


def check(uri: str, column: str, at: str) -> None:
    theirs, ours = lance.dataset(uri), lance_core.dataset(uri)
    for filter_ in FILTERS[column]:
        expected = theirs.scanner(filter=filter_, use_scalar_index=False)
        rows = expected.to_table()["i"].to_pylist()
        for dataset in (theirs, ours):
            found = dataset.to_table(filter=filter_)["i"].to_pylist()
            assert found == rows, (at, column, filter_, type(dataset).__module__)


def test_both_find_the_rows_of_a_scan_with_an_index_of_either(tmp_path: Path) -> None:
    for column in FILTERS:
        values = columns()[column]
        data = pa.table({"x": values, "i": np.arange(ROWS)})
        for kind in SIZES:
            if kind == "bloomfilter" and not BloomFilter().accepts(values.type):
                continue
            for module, stable in ((lance, column == "int32"), (lance_core, column == "string")):
                uri = write(tmp_path, data, enable_stable_row_ids=stable)
                create(module, uri, "x", kind)
                lance.dataset(uri).delete("i % 11 = 4")
                more = data.slice(0, 30).set_column(1, "i", pa.array(np.arange(1000, 1030)))
                lance.write_dataset(more, uri, mode="append")
                at = f"{kind} of {module.__name__}, stable {stable}"
                check(uri, column, at)
                plan = lance_core.dataset(uri).scanner(filter=FILTERS[column][0]).explain_plan()
                assert "x_idx" in plan, at
                if column in ("int32", "string"):
                    lance.dataset(uri).optimize.optimize_indices()
                    check(uri, column, f"{at}, after pylance's optimize")
