"""Tables of many small columns, which are encoded and decoded together, in both directions."""

from __future__ import annotations

from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core

ROWS = 1100


def _table() -> pa.Table:
    random = np.random.default_rng(3)
    columns: dict[str, pa.Array] = {}
    for number in range(15):
        values = random.integers(0, 1 << (number + 2), ROWS)
        columns[f"long{number}"] = pa.array(values)
        columns[f"int{number}"] = pa.array(values.astype(np.int32))
        columns[f"double{number}"] = pa.array(random.random(ROWS))
        columns[f"null{number}"] = pa.array(values, mask=random.random(ROWS) < 0.1)
        columns[f"word{number}"] = pa.array([f"word {value % 9}" for value in values])
        columns[f"text{number}"] = pa.array([f"text {value}" for value in values])
    columns["same"] = pa.array(np.full(ROWS, 7))
    columns["list"] = pa.array([[number] for number in range(ROWS)])
    return pa.table(columns)


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_both_read_wide_tables_of_the_other(tmp_path: Path, version: str) -> None:
    table = _table()
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    lance_core.write_dataset(table, ours, data_storage_version=version)
    lance.write_dataset(table, theirs, data_storage_version=version)
    rows = [0, 1023, 1024, 1099, 5, 5]
    for module, path in ((lance, ours), (lance_core, theirs), (lance_core, ours)):
        opened = module.dataset(path)
        assert opened.to_table() == table
        assert opened.take(rows) == table.take(rows)
        assert opened.to_table(filter="int9 < 40 and long2 > 3") == table.filter(
            (pc.field("int9") < 40) & (pc.field("long2") > 3)
        )
    for module, path in ((lance, ours), (lance_core, theirs)):
        opened = module.dataset(path)
        opened.delete("int3 < 10")
        for other in (lance, lance_core):
            assert other.dataset(path).to_table() == table.filter(pc.field("int3") >= 10)
