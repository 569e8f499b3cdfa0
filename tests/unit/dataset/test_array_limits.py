"""No call fails because a column has more bytes than one Arrow array can address.

Arrays of strings, binary and lists have 32-bit offsets. The tests lower the limit of 2 GiB to
`LIMIT`, in decoders and in the functions of Arrow that join arrays, so that little data exceeds it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.expressions.sql.nodes import evaluate
from lance_core.dataset.maintenance.indices import rows as index_rows
from lance_core.dataset.read.columns.ordering import ColumnOrdering
from lance_core.encodings.arrow import memory_pool, take
from lance_core.errors import ResultTooLargeError
from lance_core.file import LanceFileReader
from tests.each_case import each_case
from tests.examples import IS_FULL_RUN

LIMIT = 20_000
ROWS = 60
VERSIONS = ("2.0", "2.1", "2.2")
FILES = (ROWS, 9)
TEXTS = ("strings", "few strings", "one string or null", "runs")
RANDOM = random.Random(5)
LONG = ["".join(RANDOM.choices("abcdefghijkl0123", k=600)) for _ in range(3)]


def text(row: int, size: int = 900) -> str:
    """Text of ``size`` characters that no encoding makes much smaller."""
    return f"{row:05d}" + "".join(random.Random(row).choices("abcdefghijkl0123456789", k=size))


COLUMNS: dict[str, Callable[[], pa.Array]] = {
    "strings": lambda: pa.array(map(text, range(ROWS))),
    "few strings": lambda: pa.array([LONG[row % 3] for row in range(ROWS)]),
    "one string": lambda: pa.array([LONG[0]] * ROWS),
    "one string or null": lambda: pa.array([LONG[0] if row % 5 else None for row in range(ROWS)]),
    "runs": lambda: pa.array([LONG[row // 20] for row in range(ROWS)]),
    "repetitive": lambda: pa.array([f"{row:07d}" * 120 for row in range(ROWS)]),
    "binary": lambda: pa.array([text(row).encode() for row in range(ROWS)]),
    "large strings": lambda: pa.array(map(text, range(ROWS)), pa.large_string()),
    "json": lambda: pa.array([f'{{"k":"{text(row)}"}}' for row in range(ROWS)], pa.json_()),
    "lists": lambda: pa.array(
        [[text(row, 300), None, text(row, 9)] if row % 4 else None for row in range(ROWS)]
    ),
    "structs": lambda: pa.array(
        [{"a": text(row), "b": {"c": LONG[row % 3]}} for row in range(ROWS)]
    ),
    "lists of structs": lambda: pa.array([[{"a": text(row, 300)}] * 2 for row in range(ROWS)]),
    "numbers": lambda: pa.array([list(range(row * 10)) for row in range(ROWS)]),
}


def is_limited(kind: pa.DataType) -> bool:
    """True for types with 32-bit offsets to bytes."""
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return True
    inner = [] if pa.types.is_dictionary(kind) else range(kind.num_fields)
    return any(is_limited(kind.field(number).type) for number in inner)


def check(arrays: list[pa.Array | pa.ChunkedArray]) -> None:
    if is_limited(arrays[0].type) and sum(array.nbytes for array in arrays) > LIMIT:
        raise pa.ArrowInvalid("offset overflow while concatenating arrays, consider casting")


@contextmanager
def small_arrays() -> Iterator[None]:
    """Lower the limits."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        _lower_limits(monkeypatch)
        yield


def _lower_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    def concat_arrays(arrays: list[pa.Array], pool: pa.MemoryPool | None = None) -> pa.Array:
        check(arrays)
        return pa.concat_arrays(arrays, pool)

    def take_of(data: Any, rows: pa.Array) -> Any:
        columns = data.columns if isinstance(data, pa.Table) else [data]
        for column in columns:
            if isinstance(column, pa.ChunkedArray) and column.num_chunks > 1:
                check([column])
        found = arrow_take(data, rows)
        for column in found.columns if isinstance(data, pa.Table) else [found]:
            check([column])
        return found

    arrow_take = take._take
    arrow = SimpleNamespace(**{**vars(pa), "concat_arrays": concat_arrays})
    monkeypatch.setattr(memory_pool, "pa", arrow)
    monkeypatch.setattr(take, "_take", take_of)
    monkeypatch.setattr(evaluate, "MAX_EVALUATED_BYTES", LIMIT)
    for name, module in list(sys.modules.items()):
        if name.startswith("lance_core.encodings") and hasattr(module, "MAX_OFFSET"):
            monkeypatch.setattr(module, "MAX_OFFSET", LIMIT)


def cases() -> list[tuple[str, str, int]]:
    """Names of columns, versions, and rows of a file; in a full run all that 2.0 files can hold."""
    if IS_FULL_RUN:
        found = [
            (name, version, rows) for name in COLUMNS for version in VERSIONS for rows in FILES
        ]
    else:
        found = [(name, "2.2", ROWS) for name in COLUMNS]
        found += [(name, version, 9) for name in TEXTS[:2] for version in VERSIONS]
        found += [(name, "2.0", ROWS) for name in (*TEXTS[:2], "lists")]
        found += [(name, "2.1", ROWS) for name in TEXTS]
    return [case for case in found if case[1] != "2.0" or "structs" not in case[0]]


def written(path: Path, name: str, version: str, rows: int) -> tuple[pa.Table, Any]:
    table = pa.table({"id": range(ROWS), "c": COLUMNS[name]()})
    dataset = lance.write_dataset(
        table, path / "t", data_storage_version=version, max_rows_per_file=rows, mode="overwrite"
    )
    return table, dataset


@each_case(("name", "version", "rows"), cases)
def test_all_rows_are_read(name: str, version: str, rows: int, tmp_path: Path) -> None:
    table, dataset = written(tmp_path, name, version, rows)
    expected = table.to_pylist()
    order = [5, 3, 3, 50, 0, 59, *range(10, 58)]
    backwards = [ColumnOrdering("id", ascending=False)]
    with small_arrays():
        assert dataset.to_table().to_pylist() == expected
        for options in ({}, {"batch_size": 50, "filter": "id < 1000"}):
            batches = list(dataset.to_batches(**options))
            assert [row for batch in batches for row in batch.to_pylist()] == expected
        assert dataset.to_table(filter="id % 2 = 0").to_pylist() == expected[::2]
        assert dataset.to_table(filter="id % 40 = 0").to_pylist() == expected[::40]
        assert dataset.to_table(order_by=backwards).to_pylist() == expected[::-1]
        assert dataset.to_table(limit=45, offset=5).to_pylist() == expected[5:50]
        assert dataset.take(order).to_pylist() == [expected[row] for row in order]
        if rows == ROWS and name != "json":
            (path,) = (tmp_path / "t" / "data").iterdir()
            assert LanceFileReader(str(path)).read_all().to_table().num_rows == ROWS


@each_case("version", VERSIONS)
def test_a_strict_batch_is_divided_only_if_one_array_cannot_hold_it(
    version: str, tmp_path: Path
) -> None:
    table, dataset = written(tmp_path, "strings", version, 9)
    for batch_size in (10, 50):
        with small_arrays():
            batches = list(dataset.to_batches(batch_size=batch_size, strict_batch_size=True))
        assert pa.Table.from_batches(batches)["id"] == table["id"]
        ends = np.cumsum([batch.num_rows for batch in batches]).tolist()
        assert set(range(batch_size, ROWS, batch_size)) < set(ends)
        assert (len(ends) > -(-ROWS // batch_size)) == (batch_size == 50)


@each_case("name", TEXTS)
@each_case("version", ["2.0", "2.2"])
def test_text_is_evaluated(name: str, version: str, tmp_path: Path) -> None:
    table, dataset = written(tmp_path, name, version, ROWS)
    values = table["c"].to_pylist()
    with small_arrays():
        rows = dataset.to_table(columns={"x": "concat(c, c)", "y": "upper(c)"})
        assert rows["x"].to_pylist() == [2 * (value or "") for value in values]
        assert rows["y"].to_pylist() == [value and value.upper() for value in values]
        assert dataset.count_rows("c IS NULL OR length(c) > 5") == ROWS
        assert dataset.to_table(filter="lower(c) IS NULL OR lower(c) = c") == table


@each_case("name", lambda: [*TEXTS[:2], "lists", "structs"] if not IS_FULL_RUN else COLUMNS)
@each_case("rows", FILES)
def test_rows_are_rewritten(
    name: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, dataset = written(tmp_path, name, "2.2", rows)
    expected = table.to_pylist()
    # Pages are much smaller than arrays can be.
    monkeypatch.setenv("LANCE_FILE_WRITER_MAX_PAGE_BYTES", str(LIMIT // 2))

    def now() -> list[dict[str, Any]]:
        latest = lance.dataset(tmp_path / "t")
        return latest.to_table(["id", "c"], order_by=["id"]).to_pylist()

    with small_arrays():
        dataset.update({"c": "c"})
        assert now() == expected
        dataset.optimize.compact_files()
        merge = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(table)
        assert now() == expected
        dataset = lance.dataset(tmp_path / "t")
        dataset.optimize.compact_files(compaction_mode="reencode")
        dataset.add_columns({"d": "c"})
        assert dataset.to_table()["d"].to_pylist() == dataset.to_table()["c"].to_pylist()
        dataset.drop_columns(["c", "d"])
        dataset.merge(table, "id")
        assert now() == expected
        dataset.delete("id % 3 = 1")
        dataset.optimize.compact_files()
        assert now() == [row for row in expected if row["id"] % 3 != 1]


@each_case("kind", ["BTREE", "BITMAP", "ZONEMAP"])
@each_case("name", TEXTS[:2])
def test_text_is_indexed(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, dataset = written(tmp_path, name, "2.2", ROWS)
    monkeypatch.setattr(index_rows, "BATCH_BYTES", LIMIT)
    with small_arrays():
        dataset.create_scalar_index("c", kind)
    wanted = table["c"][1].as_py()
    assert dataset.count_rows(f"c = '{wanted}'") == table["c"].to_pylist().count(wanted)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_value_that_no_array_can_hold_is_named(version: str, tmp_path: Path) -> None:
    data = pa.table({"i": [0, 1, 2], "c": ["a", text(1, LIMIT), "c"]})
    dataset = lance.write_dataset(data, tmp_path / "t", data_storage_version=version)
    with small_arrays():
        assert dataset.take([0, 2]) == data.take([0, 2])
        with pytest.raises(ResultTooLargeError, match=r"'c', row 1 of '.*\.lance': .*large_string"):
            dataset.to_table()
        assert dataset.to_table(["i"], filter="i = 1")["i"].to_pylist() == [1]
