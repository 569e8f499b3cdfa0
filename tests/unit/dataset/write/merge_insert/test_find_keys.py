"""The search for keys in the target of a merge: small and large fragments, deleted rows, nulls."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.write.merge_insert.keys import KeyIndex
from lance_core.dataset.write.merge_insert.target import find_keys

ROWS = 1200


def rows_of(start: int, stop: int) -> pa.Table:
    numbers = np.arange(start, stop)
    nulls = numbers % 11 == 0
    return pa.table(
        {
            "other": numbers * 2,
            "a": pa.array(numbers * 7 % ROWS // 2, mask=nulls),
            "b": pa.array([f"t{number % 5}" for number in numbers.tolist()]),
            "packed": numbers * 7 % ROWS // 2,
        }
    )


def _keys(table: pa.Table, names: list[str]) -> list[tuple[object, ...]]:
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


@pytest.mark.parametrize("names", [["a"], ["b"], ["b", "a"], ["packed"], ["packed", "b"]])
@pytest.mark.parametrize("per_fragment", [7, 500, ROWS])
@pytest.mark.parametrize("version", ["2.0", "2.2"])
def test_live_rows_with_the_keys_are_found(
    uri: str, version: str, per_fragment: int, names: list[str]
) -> None:
    data = rows_of(0, ROWS)
    dataset = lance.write_dataset(
        data, uri, max_rows_per_file=per_fragment, data_storage_version=version
    )
    dataset.delete("other % 3 = 0")
    source = rows_of(ROWS - 200, ROWS - 90)
    index = KeyIndex(source.select(names).columns)
    found = find_keys(dataset.snapshot, names, index)

    numbers = dict(zip(_keys(source, names), index.keys.tolist(), strict=True))
    table = dataset.to_table(columns=names, with_row_address=True)
    pairs = zip(_keys(table, names), table["_rowaddr"].to_pylist(), strict=True)
    expected = [
        (address, numbers[key]) for key, address in pairs if key in numbers and None not in key
    ]
    assert expected
    assert list(zip(*(part.tolist() for part in found), strict=True)) == expected
    no_keys = KeyIndex(source.slice(0, 0).select(names).columns)
    nothing = find_keys(dataset.snapshot, names, no_keys)
    assert not len(nothing.addresses)
    assert nothing.addresses.dtype == np.uint64


def test_an_index_finds_the_keys_of_few_source_rows(uri: str) -> None:
    dataset = lance.write_dataset(rows_of(0, ROWS), uri, max_rows_per_file=500)
    dataset.create_scalar_index("packed", "BTREE")
    dataset.delete("packed = 21")
    source = pa.table({"packed": [14, 21, 28, 5 * ROWS]})
    index = KeyIndex(source.columns)
    found = find_keys(dataset.snapshot, ["packed"], index, source=source)
    table = dataset.to_table(filter="packed IN (14, 28)", with_row_address=True)
    assert table.num_rows
    assert sorted(found.addresses.tolist()) == sorted(table["_rowaddr"].to_pylist())
