"""Tables with columns in the example's encoding, in processes that find it by its entry point."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core as lance

ALP = {"lance-encoding:encoding": "alp"}
VERSIONS = ("2.0", "2.1", "2.2")


def prices(count: int, seed: int = 0) -> np.ndarray:
    return np.round(np.random.default_rng(seed).normal(50, 9, count), 2)


def table(count: int, asked: dict[str, str] | None = ALP) -> pa.Table:
    """Prices at every depth, with nulls, and a column that nobody asked anything for."""
    numbers = prices(count)
    item = pa.field("item", pa.float64(), metadata=asked)
    lists = [None if i % 13 == 0 else numbers[i : i + i % 4].tolist() for i in range(count)]
    struct = pa.StructArray.from_arrays([pa.array(numbers)], fields=[item.with_name("price")])
    columns = [
        pa.array(numbers),
        pa.array(numbers, mask=np.arange(count) % 11 == 0),
        pa.array(lists, pa.list_(item)),
        struct,
        pa.array(range(count)),
    ]
    fields = [
        item.with_name("price"),
        item.with_name("maybe"),
        pa.field("prices", columns[2].type),
        pa.field("inner", struct.type),
        pa.field("id", pa.int64()),
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


SCRIPT = """
import sys
import pyarrow.compute as pc
import lance_core as lance
from tests.conformance.test_example_encoding import VERSIONS, table

whole = table(3000)
for version in VERSIONS:
    uri = f"{sys.argv[1]}/{version}.lance"
    lance.write_dataset(whole, uri, data_storage_version=version)
    dataset = lance.dataset(uri)
    assert dataset.data_storage_version == version
    assert dataset.to_table().equals(whole)
    picked = [0, 5, 77, 1500, 2999]
    assert dataset.take(picked).equals(whole.take(picked))
    some = dataset.to_table(columns=["prices", "inner"], filter="price > 60")
    assert some.equals(whole.filter(pc.field("price") > 60).select(["prices", "inner"])), version
    lance.write_dataset(whole, uri, mode="append")
    lance.dataset(uri).delete("id % 3 = 0")
    rows = [i for i in range(3000) if i % 3]
    expected = lance.dataset(uri).to_table()
    assert expected.slice(0, 2000).equals(whole.take(rows)), version
    assert expected.num_rows == 4000
    print(version)
"""


def run(script: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=os.environ | environ,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_fresh_process_writes_and_reads_tables(tmp_path: Path) -> None:
    done = run(SCRIPT, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == list(VERSIONS)


READ = """
import sys
import lance_core as lance
from lance_core.errors import PluginNotFoundError

for uri in sys.argv[1:]:
    dataset = lance.dataset(uri)
    assert dataset.to_table(columns=["id"]).num_rows == dataset.count_rows() == 200
    for column in ("price", "maybe", "prices", "inner"):
        for read in (dataset.to_table, lambda columns: dataset.take([1], columns)):
            try:
                read([column])
            except PluginNotFoundError as error:
                print(error)
            else:
                raise AssertionError(column)
"""


def test_without_the_plugin_the_other_columns_are_read(tmp_path: Path) -> None:
    uris = [str(tmp_path / f"{version}.lance") for version in VERSIONS]
    for version, uri in zip(VERSIONS, uris, strict=True):
        lance.write_dataset(table(200), uri, data_storage_version=version)
    done = run(READ, *uris, LANCE_CORE_DISABLE_PLUGINS="alp")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 8 * len(VERSIONS)
    for line in lines:
        assert "'/example.org/alp'" in line
        assert "pip install lance-core-example-vault" in line
    assert all("'inner.price'" in line for line in lines[6::8])


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_encoding_writes_nothing(version: str, tmp_path: Path) -> None:
    wrong = table(10, {"lance-encoding:encoding": "alpp"})
    with pytest.raises(lance.errors.PluginNotFoundError, match=r"'price'.*'alpp'.*alp \(/example"):
        lance.write_dataset(wrong, tmp_path / "t.lance", data_storage_version=version)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("column", "error"),
    [
        (pa.array([1]), lance.errors.UnsupportedFeatureError),
        (pa.array([[1.5]]), lance.errors.InvalidInputError),
        (pa.array([{"y": 1.5}]), lance.errors.InvalidInputError),
    ],
)
def test_an_encoding_is_for_the_fields_that_it_can_hold(
    column: pa.Array, error: type[Exception], tmp_path: Path
) -> None:
    schema = pa.schema([pa.field("x", column.type, metadata=ALP)])
    with pytest.raises(error, match="field 'x'"):
        lance.write_dataset(pa.Table.from_arrays([column], schema=schema), tmp_path / "t.lance")


def test_files_of_version_0_1_have_no_such_encodings(tmp_path: Path) -> None:
    part = table(10).select(["price"])
    with pytest.raises(lance.errors.UnsupportedFeatureError, match=r"'price'.*'alp'.*0\.1"):
        lance.write_dataset(part, tmp_path / "t.lance", data_storage_version="legacy")


@pytest.mark.parametrize("version", VERSIONS)
def test_prices_take_less_space_than_without_it(version: str, tmp_path: Path) -> None:
    sizes = []
    for asked in (ALP, None):
        whole = pa.table(
            [pa.array(prices(100_000))],
            schema=pa.schema([pa.field("p", pa.float64(), metadata=asked)]),
        )
        path = tmp_path / f"{bool(asked)}.lance"
        dataset = lance.write_dataset(whole, path, data_storage_version=version)
        assert dataset.to_table().equals(whole)
        sizes.append(sum(file.stat().st_size for file in path.rglob("data/*")))
    assert sizes[0] < 0.35 * sizes[1]


def test_a_column_is_filtered_by_what_it_holds(tmp_path: Path) -> None:
    whole = table(5000)
    dataset = lance.write_dataset(whole, tmp_path / "t.lance")
    found = dataset.to_table(columns=["id"], filter="maybe IS NULL OR price < 30")
    wanted = whole.filter(pc.or_(pc.is_null(whole["maybe"]), pc.less(whole["price"], 30)))
    assert found.equals(wanted.select(["id"]))
