"""Tables whose commits a SQL database decides, as users see them."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance as pylance
import pyarrow as pa
import pytest

import lance_core
from lance_core.commits.handlers.checked_manifest_store import CheckedManifestStore
from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.dataset.maintenance.naming_migration import migrate_manifest_paths_v2
from lance_core.errors import NoSafeCommitHandlerError, UnsupportedFeatureError
from lance_core.plugins.handler_choice import MARKER
from lance_core_sql.store import SqlManifestStore
from tests.forked import Forks, forking

PROCESSES = 2
APPENDS = 5

WRITER = """
import sys, pyarrow as pa, lance_core
uri, writer, count, *options = sys.argv[1:]
given = dict(option.split("=", 1) for option in options)
for number in range(int(count)):
    table = pa.table({"writer": [int(writer)], "number": [number]})
    lance_core.write_dataset(table, uri, mode="append", storage_options=given)
"""


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    """Makes processes that have imported what writers need."""
    with forking(
        "import pandas, sqlalchemy.dialects.sqlite, sqlalchemy.dialects.postgresql, psycopg\n"
        "import lance_core.dataset.write.write, lance_core.dataset.maintenance.cleanup\n"
        "import lance_core_sql.store"
    ) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def options(request: pytest.FixtureRequest) -> dict[str, str]:
    """Of a table whose rows are in its default file, or on a server."""
    if request.param == "sqlite":
        return {"durability": "fast"}
    server: Any = request.getfixturevalue("postgresql")
    return {"durability": "fast", "sqlUrl": server.url, "sqlPassword": server.password}


def table_of(rows: list[tuple[int, int]]) -> pa.Table:
    writers, numbers = [row[0] for row in rows], [row[1] for row in rows]
    return pa.table(
        {"writer": pa.array(writers, pa.int64()), "number": pa.array(numbers, pa.int64())}
    )


def test_no_append_of_any_process_is_lost_or_doubled(
    tmp_path: Path, options: dict[str, str], forks: Forks
) -> None:
    uri = f"file+sql://{tmp_path}/table.lance"
    lance_core.write_dataset(table_of([]), uri, storage_options=options)
    given = [f"{name}={value}" for name, value in options.items()]
    ended = forks.run(WRITER, *((uri, writer, APPENDS, *given) for writer in range(PROCESSES)))
    assert ended == [0] * PROCESSES
    dataset = lance_core.dataset(uri, storage_options=options)
    assert dataset.version == 1 + PROCESSES * APPENDS
    expected = sorted((w, n) for w in range(PROCESSES) for n in range(APPENDS))
    assert rows_of(dataset) == expected
    check_pylance_opens(tmp_path, expected)


def rows_of(dataset: Any) -> list[tuple[int, int]]:
    return sorted((row["writer"], row["number"]) for row in dataset.to_table().to_pylist())


def check_pylance_opens(folder: Path, expected: list[tuple[int, int]]) -> None:
    """The table itself, and a copy of nothing but its folder."""
    shutil.copytree(folder / "table.lance", folder / "copy.lance")
    for name in ("table.lance", "copy.lance"):
        assert rows_of(pylance.dataset(str(folder / name))) == expected
        assert rows_of(lance_core.dataset(folder / name)) == expected
    assert not [path for path in (folder / "copy.lance").rglob("*") if "sqlite" in path.name]


def test_the_rows_of_a_local_table_are_in_a_file_beside_it(tmp_path: Path) -> None:
    uri = f"file+sql://{tmp_path}/new/table.lance"
    dataset = lance_core.write_dataset(table_of([(0, 0)]), uri)
    assert {path.name for path in (tmp_path / "new").iterdir()} == {
        "table.lance",
        "table.lance.manifests.sqlite",
    }
    handler = dataset.snapshot.root.handler
    assert isinstance(handler, ExternalManifestCommitHandler)
    assert isinstance(handler.rows, CheckedManifestStore)
    assert isinstance(handler.rows.inner, SqlManifestStore)
    found = handler.rows.get_latest(handler.base_uri)
    assert found is not None
    assert found.path.startswith(f"{str(tmp_path)[1:]}/new/table.lance/_versions/")


def test_opening_for_reading_makes_no_file(tmp_path: Path) -> None:
    lance_core.write_dataset(table_of([(0, 0)]), tmp_path / "table.lance")
    dataset = lance_core.dataset(f"file+sql://{tmp_path}/table.lance")
    assert rows_of(dataset) == [(0, 0)]
    assert [path.name for path in tmp_path.iterdir()] == ["table.lance"]


def test_a_table_from_before_goes_on_with_the_database(
    tmp_path: Path, options: dict[str, str]
) -> None:
    pylance.write_dataset(
        table_of([(0, 0)]), str(tmp_path / "table.lance"), data_storage_version="2.0"
    )
    uri = f"file+sql://{tmp_path}/table.lance"
    lance_core.write_dataset(table_of([(0, 1)]), uri, mode="append", storage_options=options)
    pylance.write_dataset(table_of([(0, 2)]), str(tmp_path / "table.lance"), mode="append")
    lance_core.write_dataset(table_of([(0, 3)]), uri, mode="append", storage_options=options)
    check_pylance_opens(tmp_path, [(0, 0), (0, 1), (0, 2), (0, 3)])


KILLED = """
import os, sys, pyarrow as pa, lance_core
from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler as Handler
Handler._copy = lambda *_: os._exit(9)
lance_core.write_dataset(
    pa.table({"writer": [7], "number": [7]}), sys.argv[1], mode="append",
    storage_options=dict(option.split("=", 1) for option in sys.argv[2:]),
)
"""


@pytest.mark.parametrize("next_one", ["reader", "writer"])
def test_a_writer_that_died_after_its_row_has_committed(
    tmp_path: Path, options: dict[str, str], next_one: str, forks: Forks
) -> None:
    uri = f"file+sql://{tmp_path}/table.lance"
    lance_core.write_dataset(table_of([(0, 0)]), uri, storage_options=options)
    given = [f"{name}={value}" for name, value in options.items()]
    assert forks.run(KILLED, [uri, *given]) == [9]
    assert pylance.dataset(str(tmp_path / "table.lance")).version == 1
    expected = [(0, 0), (7, 7)]
    if next_one == "writer":
        lance_core.write_dataset(table_of([(9, 9)]), uri, mode="append", storage_options=options)
        expected.append((9, 9))
    assert rows_of(lance_core.dataset(uri, storage_options=options)) == expected
    check_pylance_opens(tmp_path, expected)
    assert not list((tmp_path / "table.lance" / "_versions").glob("*-*"))


def test_a_dataset_travels_to_another_process(tmp_path: Path) -> None:
    uri = f"file+sql://{tmp_path}/table.lance"
    dataset = lance_core.write_dataset(table_of([(0, 0)]), uri)
    travelled = pickle.loads(pickle.dumps(dataset))
    assert rows_of(travelled) == [(0, 0)]
    handler = travelled.snapshot.root.handler
    assert isinstance(handler, ExternalManifestCommitHandler)


def test_a_dropped_table_and_a_deleted_branch_can_be_made_again(
    tmp_path: Path, options: dict[str, str]
) -> None:
    uri = f"file+sql://{tmp_path}/table.lance"
    for _ in range(2):
        dataset = lance_core.write_dataset(table_of([(0, 0)]), uri, storage_options=options)
        for _ in range(2):
            branch = dataset.create_branch("b")
            lance_core.write_dataset(table_of([(1, 1)]), branch, mode="append")
            assert rows_of(dataset.checkout_version(("b", None))) == [(0, 0), (1, 1)]
            dataset.branches.delete("b")
        lance_core.LanceDataset.drop(uri, storage_options=options)
        assert not (tmp_path / "table.lance").exists() or not list(
            (tmp_path / "table.lance").rglob("*.manifest")
        )


def test_a_table_that_asks_for_the_rows_by_its_config_is_dropped_with_them(tmp_path: Path) -> None:
    path = str(tmp_path / "table.lance")
    for _ in range(2):
        made = lance_core.write_dataset(table_of([(0, 0)]), f"file+sql://{path}")
        made.update_config({MARKER: "sql"})
        for _ in range(2):
            branch = lance_core.dataset(path).create_branch("b")
            lance_core.write_dataset(table_of([(1, 1)]), branch, mode="append")
            lance_core.dataset(path).branches.delete("b")
        lance_core.LanceDataset.drop(path)


def test_a_table_that_asks_for_the_rows_by_its_config_keeps_its_names(tmp_path: Path) -> None:
    path = str(tmp_path / "table.lance")
    uri = f"file+sql://{path}"
    made = lance_core.write_dataset(table_of([]), uri, enable_v2_manifest_paths=False)
    made.update_config({MARKER: "sql"})
    with pytest.raises(UnsupportedFeatureError):
        migrate_manifest_paths_v2(path)
    assert lance_core.dataset(path).version == 2


def test_vouching_against_the_store_keeps_from_committing(tmp_path: Path) -> None:
    with pytest.raises(NoSafeCommitHandlerError, match="strong_reads"):
        lance_core.write_dataset(
            table_of([]),
            f"file+sql://{tmp_path}/table.lance",
            storage_options={"strong_reads": "no"},
        )
    assert not (tmp_path / "table.lance" / "_versions").exists()
