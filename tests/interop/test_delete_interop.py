"""Deletes of both libraries remove the same rows, and each reads and follows the other's."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core
from lance_core.errors import InvalidInputError
from tests.each_case import each_case

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

BOTH = [lance_core, lance]
PAIRS = list(itertools.product(BOTH, BOTH))
IDS = ["ours-ours", "ours-pylance", "pylance-ours", "pylance-pylance"]

POINT = pa.struct([("x", pa.int32()), ("y", pa.string())])
TABLE = pa.table(
    {
        "i": pa.array(range(60), pa.int64()),
        "n": pa.array([None if n % 4 == 0 else n % 9 for n in range(60)], pa.int32()),
        "f": pa.array([(None, math.nan, 0.0, -0.0, n / 3)[n % 5] for n in range(60)], pa.float64()),
        "s": pa.array([None if n % 7 == 0 else f"{'ab'[n % 2]}_{n}%" for n in range(60)]),
        "b": pa.array([(True, False, None)[n % 3] for n in range(60)]),
        "p": pa.array([{"x": n, "y": None if n % 5 == 0 else str(n)} for n in range(60)], POINT),
        "l": pa.array([None if n % 8 == 0 else list(range(n % 4)) for n in range(60)]),
        "d": pa.array([n * 1000 for n in range(60)], pa.date32()),
        "t": pa.array([n * 10**9 for n in range(60)], pa.timestamp("us")),
    }
)

PREDICATES = [
    "true",
    "false",
    "1 = 1",
    "i = 7",
    "i >= 20",
    "i < 20 OR i > 50",
    "i > 1000",
    "i % 3 = 0 AND NOT (i % 2 = 0)",
    "i BETWEEN 5 AND 25",
    "i NOT BETWEEN 5 AND 55",
    "i IN (1, 2, 3, 59)",
    "i NOT IN (1, 2, 3, 59)",
    "n = 3",
    "n <> 3",
    "NOT (n = 3)",
    "n IS NULL",
    "n IS NOT NULL",
    "n IN (1, 5)",
    "n NOT IN (1, 5)",
    "n > 2 OR n IS NULL",
    "n + 1 > 5",
    "f = 0",
    "f > 0",
    "f < 5",
    "f IS NULL",
    "f <> f",
    "f = f",
    "s LIKE 'a%'",
    "s NOT LIKE 'a%'",
    "s LIKE '%5\\%'",
    "s = 'b_1%'",
    "s > 'b'",
    "lower(s) = 'a_2%'",
    "b",
    "NOT b",
    "b IS NULL",
    "b = true AND i < 30",
    "p.x > 30",
    "p.y IS NULL",
    "p.y IS NOT NULL AND p.x < 20",
    "l IS NULL",
    "array_length(l) = 2",
    "d < date '1990-01-01'",
    "t >= timestamp '1970-01-01 00:00:30'",
    "CAST(i AS string) LIKE '1%'",
    "_rowid < 10",
    "_rowaddr >= 4294967296",
]

EXPRESSIONS = [
    pc.field("i") > 40,
    pc.field("n").is_null(),
    pc.field("s").isin(["a_2%", "b_3%"]),
    (pc.field("i") < 10) | (pc.field("b") == pc.scalar(True)),
]


def create(path: Path, writer: ModuleType = lance, rows: pa.Table = TABLE, **options: Any) -> Any:
    """The same table whoever writes it; fragments of 20 rows."""
    given = {"max_rows_per_file": 20, "data_storage_version": "2.2", **options}
    return writer.write_dataset(rows, str(path), **given)


def left(path: Path) -> list[int]:
    """What both libraries agree is in the table."""
    ours, peer = lance_core.dataset(str(path)), lance.dataset(str(path))
    found: list[int] = ours.to_table(["i"])["i"].to_pylist()
    assert found == peer.to_table(["i"])["i"].to_pylist()
    assert len(found) == ours.count_rows() == peer.count_rows()
    peer.validate()  # type: ignore[no-untyped-call]  # pylance does not annotate it
    ours.validate()
    return found


def description(path: Path) -> list[tuple[int, int, str | None]]:
    """Id, deletions, and form of the deletion file of each fragment, as pylance sees them."""
    return [
        (f.fragment_id, f.num_deletions, (f.deletion_file() or "").rpartition(".")[2] or None)
        for f in lance.dataset(str(path)).get_fragments()
    ]


def delete_in_both(tmp_path: Path, predicate: Any) -> None:
    paths = {library: tmp_path / library.__name__ for library in BOTH}
    outcomes = {}
    for library, path in paths.items():
        create(path)
        dataset = library.dataset(str(path))
        result = dataset.delete(predicate)
        outcomes[library] = (result, dataset.version, left(path), description(path))
    assert outcomes[lance_core] == outcomes[lance]


@each_case("predicate", PREDICATES)
def test_both_delete_the_same_rows_and_record_the_same(tmp_path: Path, predicate: str) -> None:
    delete_in_both(tmp_path, predicate)
    for library in BOTH:
        made_by: Any = lance.dataset(str(tmp_path / library.__name__)).read_transaction(2)
        assert made_by.operation.predicate == predicate


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_both_delete_the_same_rows_by_an_arrow_expression(
    tmp_path: Path, expression: pc.Expression
) -> None:
    delete_in_both(tmp_path, expression)


@pytest.mark.parametrize("predicate", ["", "i", "i + 1", "nothing = 1", "i = 'x", "NULL"])
def test_both_refuse_the_same(tmp_path: Path, predicate: str) -> None:
    create(tmp_path / "table")
    with pytest.raises(OSError, match=r"."):
        lance.dataset(str(tmp_path / "table")).delete(predicate)
    with pytest.raises(InvalidInputError):
        lance_core.dataset(str(tmp_path / "table")).delete(predicate)
    assert lance.dataset(str(tmp_path / "table")).version == 1


@pytest.mark.parametrize("count", [1, 4999, 5000, 5001])
@pytest.mark.parametrize("before", [0, 1])
def test_both_choose_the_same_form_of_file(tmp_path: Path, count: int, before: int) -> None:
    rows = pa.table({"i": np.arange(12_000)})
    seen = []
    for library in BOTH:
        path = tmp_path / library.__name__
        create(path, rows=rows, max_rows_per_file=20_000)
        dataset = library.dataset(str(path))
        if before:
            dataset.delete("i = 11999")
        dataset.delete(f"i < {count - before}")
        assert len(left(path)) == 12_000 - count
        seen.append(description(path))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("stable_row_ids", [False, True])
def test_deletes_of_both_alternate(tmp_path: Path, stable_row_ids: bool) -> None:
    path = tmp_path / "table"
    rows = TABLE.select(["i", "s"])
    create(path, rows=rows, enable_stable_row_ids=stable_row_ids)
    expected = set(range(60))
    for step, library in enumerate([lance_core, lance, lance_core, lance, lance_core, lance]):
        gone = {n for n in expected if n % (11 - step) == step % 3}
        dataset = library.dataset(str(path))
        assert dataset.delete(f"i % {11 - step} = {step % 3}") == {"num_deleted_rows": len(gone)}
        expected -= gone
        assert left(path) == sorted(expected)
    ids = [library.dataset(str(path)).to_table(columns=["i"], with_row_id=True) for library in BOTH]
    assert ids[0].equals(ids[1])


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=IDS)
def test_disjoint_rows_of_one_fragment_are_deleted_by_two_at_the_same_version(
    tmp_path: Path, first: ModuleType, second: ModuleType
) -> None:
    path = tmp_path / "table"
    create(path)
    one, two = first.dataset(str(path)), second.dataset(str(path))
    assert one.delete("i IN (1, 25)") == {"num_deleted_rows": 2}
    assert two.delete("i IN (2, 26, 45)") == {"num_deleted_rows": 3}
    assert (one.version, two.version) == (2, 3)
    assert left(path) == [n for n in range(60) if n not in {1, 2, 25, 26, 45}]
    # Merged by pylance, a few rows are a bitmap as well; any reader takes either form.
    assert [entry[:2] for entry in description(path)] == [(0, 2), (1, 2), (2, 1)]


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=IDS)
def test_rows_that_two_delete_at_the_same_version_count_once(
    tmp_path: Path, first: ModuleType, second: ModuleType
) -> None:
    path = tmp_path / "table"
    create(path)
    one, two = first.dataset(str(path)), second.dataset(str(path))
    assert one.delete("i < 10") == {"num_deleted_rows": 10}
    assert two.delete("i < 15") == {"num_deleted_rows": 5}
    assert left(path) == list(range(15, 60))


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=IDS)
def test_two_that_together_delete_a_fragment_remove_its_rows(
    tmp_path: Path, first: ModuleType, second: ModuleType
) -> None:
    path = tmp_path / "table"
    create(path)
    one, two = first.dataset(str(path)), second.dataset(str(path))
    one.delete("i < 10")
    two.delete("i >= 10 AND i < 20")
    assert left(path) == list(range(20, 60))


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=IDS)
def test_a_delete_follows_updates_and_compactions_of_the_same_rows(
    tmp_path: Path, first: ModuleType, second: ModuleType
) -> None:
    path = tmp_path / "table"
    create(path, rows=TABLE.select(["i", "n"]))
    late = first.dataset(str(path))
    lance.dataset(str(path)).update({"n": "100"}, where="i < 5")
    late.delete("i = 3 OR i = 7")
    later = second.dataset(str(path))
    lance.dataset(str(path)).optimize.compact_files()
    assert later.delete("n = 100") == {"num_deleted_rows": 4}
    assert sorted(left(path)) == [5, 6, *range(8, 60)]


@pytest.mark.parametrize(("writer", "committer"), PAIRS, ids=IDS)
def test_deletions_of_fragments_are_committed_by_either(
    tmp_path: Path, writer: ModuleType, committer: ModuleType
) -> None:
    path = tmp_path / "table"
    create(path)
    fragments = writer.dataset(str(path)).get_fragments()
    metadata = fragments[0].delete("i > 5")
    rows = fragments[1].delete_rows([0, 19])
    assert fragments[2].delete("i >= 40") is None
    exchanged = [
        committer.fragment.FragmentMetadata.from_json(_json(given)) for given in (metadata, rows)
    ]
    operation = committer.LanceOperation.Delete(exchanged, [2], "by hand")
    committer.LanceDataset.commit(str(path), operation, read_version=1)
    assert left(path) == [*range(6), *range(21, 39)]


PYLANCE_DELETER = """
import sys, lance
path, first, count = sys.argv[1], *map(int, sys.argv[2:])
for row in range(first, first + count):
    result = lance.dataset(path).delete(f"i = {row}", conflict_retries=100)
    assert result == {"num_deleted_rows": 1}, result
"""


def test_writers_of_both_delete_rows_of_one_fragment_at_the_same_time(tmp_path: Path) -> None:
    path, count = tmp_path / "table", 12
    create(path, rows=pa.table({"i": range(200)}), max_rows_per_file=1000)
    foreign = [
        subprocess.Popen(
            [sys.executable, "-c", PYLANCE_DELETER, str(path), str(writer * count), str(count)]
        )
        for writer in (0, 1)
    ]

    def work(writer: int) -> int:
        rows = range(writer * count, (writer + 1) * count)
        return sum(
            lance_core.dataset(str(path)).delete(f"i = {row}", conflict_retries=100)[
                "num_deleted_rows"
            ]
            for row in rows
        )

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, (2, 3))) == [count, count]
    assert [process.wait() for process in foreign] == [0, 0]
    assert left(path) == list(range(4 * count, 200))
    assert lance.dataset(str(path)).version == 1 + 4 * count


@pytest.mark.parametrize(("maker", "other"), PAIRS, ids=IDS)
def test_deletes_on_a_branch_follow_each_other(
    tmp_path: Path, maker: ModuleType, other: ModuleType
) -> None:
    path = tmp_path / "table"
    create(path)
    table = maker.dataset(str(path))
    table.delete("i < 5")
    branch = table.create_branch("try")
    late = other.dataset(str(path)).checkout_version(("try", None))
    assert branch.delete("i < 8") == {"num_deleted_rows": 3}
    assert late.delete("i >= 9 AND i < 11") == {"num_deleted_rows": 2}
    assert branch.delete("i = 8 OR i = 30") == {"num_deleted_rows": 2}
    for library in BOTH:
        seen = library.dataset(str(path)).checkout_version(("try", None))
        found = seen.to_table(columns=["i"])["i"].to_pylist()
        assert found == [n for n in range(11, 60) if n != 30]
    assert left(path) == list(range(5, 60))


def _json(metadata: Any) -> str:
    tree = metadata.to_json()
    return tree if isinstance(tree, str) else json.dumps(tree)
