"""pylance reads tables whose rows we replaced, and goes on with them."""

from __future__ import annotations

from pathlib import Path

import lance as pylance
import pyarrow as pa
import pytest

import lance_core
from lance_core.schema import LanceSchema
from tests.unit.dataset.write.test_replace_rows import ROWS, new_rows

LEFT = {
    "day = 'b'": [0, 1, 4, 5],
    "id < 3": [3, 4, 5],
    "day = 'z'": [0, 1, 2, 3, 4, 5],
    "true": [],
    "false": [0, 1, 2, 3, 4, 5],
}
"""The ids that each condition leaves."""


def ids(uri: str) -> list[int]:
    return sorted(pylance.dataset(uri).to_table()["id"].to_pylist())


@pytest.mark.parametrize("where", LEFT)
@pytest.mark.parametrize("stable", [False, True])
def test_pylance_reads_the_table_and_changes_it_again(
    where: str, stable: bool, tmp_path: Path
) -> None:
    uri = str(tmp_path / "t.lance")
    table = lance_core.write_dataset(ROWS, uri, max_rows_per_file=3, enable_stable_row_ids=stable)
    table.replace_rows(where, new_rows(uri, "z", 7, 8))
    assert ids(uri) == [*LEFT[where], 7, 8]
    rows = lance_core.dataset(uri).to_table(with_row_id=True)
    assert rows.equals(pylance.dataset(uri).to_table(with_row_id=True))
    pylance.dataset(uri).delete("id = 7")
    assert ids(uri) == [*LEFT[where], 8]
    assert sorted(lance_core.dataset(uri).to_table()["id"].to_pylist()) == ids(uri)


def test_pylance_reads_columns_that_came_with_the_new_rows(tmp_path: Path) -> None:
    uri = str(tmp_path / "t.lance")
    dataset = lance_core.write_dataset(ROWS, uri, max_rows_per_file=3)
    dataset.update({"id": "id + 10"}, where="id = 2")
    schema = LanceSchema.from_pyarrow(dataset.schema.append(pa.field("more", pa.int64())))
    dataset.replace_rows("day = 'b'", new_rows(uri, "b", 7), schema=schema)
    assert ids(uri) == [0, 1, 4, 5, 7]
    assert pylance.dataset(uri).to_table()["more"].null_count == 5
