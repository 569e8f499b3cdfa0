"""A small file may hold a lot: reading some of it takes little, and a scan is bounded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path

import pytest

import lance_core as lance
from lance_core.errors import ResultTooLargeError
from tests.bombs.amplified import AMPLIFIED
from tests.bombs.limits import limited
from tests.golden.columns import CASES
from tests.golden.reading import column, leaf_columns, opened

BATCHES = 3


def table_of(raw: bytes, like: str, folder: Path) -> lance.LanceDataset:
    """A table whose only data file is ``raw``, of the schema of the golden file ``like``."""
    reader = opened(raw)
    columns = leaf_columns(reader.schema.fields)
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "bomb.lance").write_bytes(raw)
    file = lance.fragment.DataFile(
        "bomb.lance", list(columns), list(columns.values()), 2, 2, len(raw)
    )
    fragment = lance.FragmentMetadata(0, [file], reader.num_rows)
    schema = CASES[like].table().schema
    return lance.LanceDataset.commit(
        str(folder), lance.LanceOperation.Overwrite(schema, [fragment])
    )


FEW: dict[str, Callable[[lance.LanceDataset], object]] = {
    "counting": lambda table: table.count_rows(),
    "single rows": lambda table: table.take([0, 5, table.count_rows() - 1]),
    "the first rows": lambda table: table.to_table(limit=7),
}
MANY: dict[str, Callable[[lance.LanceDataset], object]] = {
    "batches": lambda table: [*islice(table.to_batches(), BATCHES)],
    "batches under a filter": lambda table: [
        *islice(table.to_batches(filter="c is null or c is not null"), BATCHES)
    ],
}


@pytest.mark.parametrize("name", AMPLIFIED)
def test_a_scan_of_much_from_few_bytes_is_bounded(name: str, tmp_path: Path) -> None:
    like, make = AMPLIFIED[name]
    table = table_of(make(), like, tmp_path / "t")
    for act in FEW.values():
        with limited():
            act(table)
    for act in MANY.values():
        with limited(), suppress(ResultTooLargeError):
            act(table)


def test_more_rows_than_memory_can_hold_are_an_error() -> None:
    reader = opened(AMPLIFIED["2^31 equal integers"][1]())
    with limited(), pytest.raises(ResultTooLargeError, match="ask for fewer"):
        column(reader)
