"""JSON functions return what pylance returns."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_core
from tests.each_case import each_case

SCALARS = [
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "255",
    "256",
    "-128",
    "-129",
    "65536",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "-9223372036854775808",
    "1.0",
    "1.5",
    "2.5",
    "-0.5",
    "-3.7",
    "-0.0",
    "0.1",
    "1e300",
    "1e-7",
    "1e-5",
    "1.5e-5",
    "0.0001",
    "1e15",
    "1e16",
    "123456789012345680.0",
    "5e-324",
    "12345678901234567890123",
    '""',
    '"x"',
    '"12"',
    '"+12"',
    '" 12"',
    '"1.5"',
    '"-1e3"',
    '"inf"',
    '"NaN"',
    '"true"',
    '"FALSE"',
    '"yes"',
    '"No"',
    '"t"',
    '"1"',
    '".5"',
    '"5."',
    '"1_000"',
    '"é\\n\\"\\\\/\\u0001\\u2028"',
    "[]",
    "[1]",
    '[[1],[2,"b"]]',
    "{}",
    '{"b":1}',
    '{"x":[1e-05,"e-09"],"ä":{"y":null}}',
]

GETS = [f"json_get{kind}(j, 'a')" for kind in ("", "_string", "_int", "_float", "_bool")]
PATHS = [
    "$",
    "a",
    "$.a",
    ".a",
    "$:a",
    "$.a[0]",
    "$.a[*]",
    "$.a[last]",
    "$.a[last-1]",
    "$.a[0,1]",
    "$.a[9]",
    "$.a[-1]",
    "$.a.b",
    '$."a"',
    '$["a"]',
    "$.a.*",
    "$.*.b",
    "$.**.b",
    "$.a[1][0]",
    "$[0]",
    "$[*]",
    "$.nothing",
    "$.a[0].b",
]


def of_both(paths: Path, text: str, row: int) -> list[Any]:
    """Value and type of ``text`` in one row, or None for an error, by pylance and by us."""
    found = []
    for module in (lance, lance_core):
        dataset = module.dataset(str(paths))
        try:
            result = dataset.scanner(columns={"v": text}, limit=1, offset=row).to_table()
            found.append((repr(result["v"].to_pylist()), result.schema.field("v")))
        except (ValueError, OSError, pa.ArrowInvalid, NotImplementedError):
            found.append(None)
    return found


@pytest.fixture(scope="module")
def scalars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("json") / "t"
    rows = [f'{{"a":{value}}}' for value in SCALARS]
    table = pa.table({"j": pa.array([*rows, "[1,[2]]", "7", None], pa.json_())})
    lance_core.write_dataset(table, path, data_storage_version="2.2")
    return path


@each_case("text", GETS)
def test_values_are_converted_as_in_pylance(scalars: Path, text: str) -> None:
    for row in range(len(SCALARS) + 3):
        theirs, ours = of_both(scalars, text, row)
        assert theirs == ours, (text, row)


@each_case("path", PATHS)
def test_paths_lead_where_pylance_goes(scalars: Path, path: str) -> None:
    quoted = path.replace("'", "''")
    for text in (
        f"json_extract(j, '{quoted}')",
        f"json_exists(j, '{quoted}')",
        f"json_array_length(j, '{quoted}')",
        f"json_array_contains(j, '{quoted}', '1')",
        f"json_array_contains(j, '{quoted}', '\"b\"')",
    ):
        tables = [
            module.dataset(str(scalars)).to_table(columns={"v": text})
            for module in (lance, lance_core)
        ]
        assert tables[0]["v"].to_pylist() == tables[1]["v"].to_pylist(), text
        assert tables[0].schema == tables[1].schema


def test_filters_select_the_rows_of_pylance(tmp_path: Path) -> None:
    rng = random.Random(7)
    rows = [
        json.dumps({"id": i, "tags": rng.sample("abcdef", rng.randrange(5)), "x": rng.random()})
        for i in range(1000)
    ]
    table = pa.table({"i": range(1000), "j": pa.array(rows, pa.json_())})
    lance.write_dataset(table, tmp_path / "t", data_storage_version="2.2", max_rows_per_file=300)
    for text in (
        "json_get_int(j, 'id') % 7 = 3",
        "json_array_contains(j, '$.tags', 'c') AND json_get_float(j, 'x') < 0.5",
        "json_array_length(j, '$.tags') > 2 OR json_extract(j, '$.tags[0]') = '\"a\"'",
    ):
        theirs, ours = (
            module.dataset(str(tmp_path / "t")).to_table(filter=text)
            for module in (lance, lance_core)
        )
        assert theirs == ours
        assert 0 < ours.num_rows < 1000
