"""What pylance does to tables is seen by us, on its tables and on ours; and what we then append."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lance as pylance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.fragment import write_fragments
from tests.examples import IS_FULL_RUN
from tests.table_surgery import delete_rows

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

LIBRARIES = [pylance, lance_core]
POINT = pa.struct({"x": pa.int64(), "y": pa.list_(pa.int64())})


def rows(count: int, start: int = 0) -> pa.Table:
    numbers = range(start, start + count)
    return pa.table(
        {
            "i": pa.array(numbers, pa.int64()),
            "s": pa.array([None if n % 9 == 0 else f"text {n % 40}" for n in numbers], pa.string()),
            "p": pa.array([{"x": n, "y": [n] * (n % 3)} for n in numbers], POINT),
            "d": pa.array([f"kind {n % 3}" for n in numbers], pa.string()).dictionary_encode(),
        }
    )


@pytest.fixture(params=LIBRARIES, ids=["theirs", "ours"])
def writer(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=[False, True], ids=["addresses", "stable row ids"])
def stable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return str(tmp_path / "table")


@pytest.fixture
def table(uri: str, writer: Any, stable: bool) -> str:
    """100 rows in fragments of 40, 40 and 20."""
    writer.write_dataset(
        rows(100),
        uri,
        data_storage_version="2.2",
        max_rows_per_file=40,
        enable_stable_row_ids=stable,
    )
    return uri


def same_rows(found: pa.Table, expected: pa.Table) -> bool:
    """Arrow compares fast, but takes dictionaries in another order for other values."""
    return found.equals(expected) or found.to_pylist() == expected.to_pylist()


def agree(uri: str, version: int | None = None) -> pa.Table:
    """Assert that both libraries read the same in every way; returns what they read."""
    theirs, ours = pylance.dataset(uri, version=version), lance_core.dataset(uri, version=version)
    assert ours.schema.equals(theirs.schema, check_metadata=True)
    assert ours.version == theirs.version
    assert ours.count_rows() == theirs.count_rows()
    meta = {"with_row_id": True, "with_row_address": True}
    found, expected = ours.to_table(**meta), theirs.to_table(**meta)
    found.validate(full=True)
    assert found.schema.equals(expected.schema, check_metadata=True)
    assert same_rows(found, expected)
    chosen = np.random.default_rng(0).permutation(found.num_rows)[:20]
    assert same_rows(ours.take(chosen), theirs.take(chosen))
    part = found.select(ours.schema.names).slice(25, 30)
    assert same_rows(ours.to_table(limit=30, offset=25), part)
    mine, given = ours.get_fragments(), theirs.get_fragments()
    assert [f.fragment_id for f in mine] == [f.fragment_id for f in given]
    assert [f.count_rows() for f in mine] == [f.count_rows() for f in given]
    assert [f.num_deletions for f in mine] == [f.num_deletions for f in given]
    assert [f.metadata.to_json() for f in mine] == [f.metadata.to_json() for f in given]
    assert ours.stats.dataset_stats() == theirs.stats.dataset_stats()
    ours.validate()
    theirs.validate()
    return found.select(ours.schema.names)


def test_deletions_of_pylance_are_honoured(table: str) -> None:
    theirs = pylance.dataset(table)
    expected = rows(100)
    for condition, keep in [
        ("i in (0, 39, 40, 79, 99)", lambda n: n not in (0, 39, 40, 79, 99)),
        ("i % 10 = 3", lambda n: n % 10 != 3),
        ("i >= 40 AND i < 80", lambda n: not 40 <= n < 80),
        ("s IS NULL", lambda n: n % 9 != 0),
    ]:
        theirs.delete(condition)
        kept = [place for place, n in enumerate(expected["i"].to_pylist()) if keep(n)]
        expected = expected.take(kept)
        assert agree(table).to_pylist() == expected.to_pylist()
    ours = lance_core.dataset(table)
    for condition in ("i > 50", "p.x % 2 = 1", "d = 'kind 1'", "s LIKE '%3%'"):
        given = theirs.to_table(filter=condition)
        assert ours.to_table(filter=condition).to_pylist() == given.to_pylist()
        assert ours.count_rows(condition) == given.num_rows
        for options in ({"limit": 5}, {"limit": 5, "offset": 7}, {"offset": 11}):
            found = ours.to_table(["i"], condition, **options)
            assert found.equals(theirs.to_table(["i"], condition, **options))
    lance_core.write_dataset(rows(10, 200), table, mode="append")
    theirs.checkout_latest()
    theirs.delete("i in (200, 3, 5)")
    agree(table)
    theirs.delete("true")
    assert agree(table).num_rows == 0
    lance_core.write_dataset(rows(3), table, mode="append")
    assert agree(table).to_pylist() == rows(3).to_pylist()


def test_many_deletions_are_honoured_in_both_kinds_of_files(uri: str, writer: Any) -> None:
    numbers = pa.table({"i": pa.array(range(20_000))})
    writer.write_dataset(numbers, uri, data_storage_version="2.2")
    theirs = pylance.dataset(uri)
    gone = np.zeros(20_000, bool)
    kinds = []
    for condition, mask in [
        ("i % 50 = 7", np.arange(20_000) % 50 == 7),
        ("i % 4 = 1", np.arange(20_000) % 4 == 1),
        ("i < 8000", np.arange(20_000) < 8000),
    ]:
        theirs.delete(condition)
        gone |= mask
        ours = lance_core.dataset(uri)
        assert np.array_equal(ours.to_table()["i"], np.flatnonzero(~gone))
        kinds.append(ours.get_fragments()[0].metadata.deletion_file.file_type)
        assert ours.to_table(limit=3, offset=4000).equals(theirs.to_table(limit=3, offset=4000))
        chosen = [0, 5000, 17]
        assert ours.take(chosen).equals(theirs.take(chosen))
    assert kinds == ["array", "bitmap", "bitmap"]


def test_rows_that_we_delete_are_gone_for_pylance(uri: str, stable: bool) -> None:
    dataset = lance_core.write_dataset(
        rows(12_000), uri, max_rows_per_file=6000, enable_stable_row_ids=stable
    )
    dataset = delete_rows(dataset, {0: range(5500), 1: [0, 7, 5999]})
    assert agree(uri)["i"].to_pylist()[:2] == [5500, 5501]
    pylance.dataset(uri).delete("i < 6010")
    agree(uri)


def delete(dataset: Any) -> None:
    dataset.delete("i % 7 = 2")


def update(dataset: Any) -> None:
    dataset.update({"s": "'new'"}, where="i % 5 = 1")


def merge_insert(dataset: Any) -> None:
    new = rows(20, 90)
    dataset.merge_insert("i").when_matched_update_all().when_not_matched_insert_all().execute(new)


def compact(dataset: Any) -> None:
    dataset.delete("i % 4 = 0")
    dataset.optimize.compact_files(target_rows_per_fragment=1000)


def add_columns(dataset: Any) -> None:
    dataset.add_columns({"double": "i * 2", "upper": "upper(s)"})


def add_null_columns(dataset: Any) -> None:
    dataset.add_columns(pa.schema({"empty": pa.float32(), "list": pa.list_(pa.int8())}))


def drop_columns(dataset: Any) -> None:
    dataset.add_columns({"more": "i + 1"})
    dataset.drop_columns(["s"])
    dataset.drop_columns(["p.y"])


def rename_columns(dataset: Any) -> None:
    dataset.alter_columns({"path": "s", "name": "text"}, {"path": "p.x", "name": "ex"})


def cast_column(dataset: Any) -> None:
    dataset.alter_columns({"path": "i", "data_type": pa.int32()})


def merge(dataset: Any) -> None:
    dataset.merge(pa.table({"key": range(50), "joined": [f"j{n}" for n in range(50)]}), "i", "key")


def restore(dataset: Any) -> None:
    dataset.delete("i < 50")
    old = dataset.checkout_version(1)
    old.restore()
    dataset.checkout_latest()


def metadata(dataset: Any) -> None:
    dataset.update_config({"lance.some": "thing"})
    dataset.update_metadata({"table": "meta"})
    dataset.update_schema_metadata({"schema": "meta"})
    dataset.update_field_metadata({"i": {"unit": "m"}})


def index(dataset: Any) -> None:
    dataset.create_scalar_index("i", "BTREE")
    dataset.create_scalar_index("s", "BITMAP")


def index_and_compact(dataset: Any) -> None:
    index(dataset)
    compact(dataset)


CHANGES: list[Callable[[Any], None]] = [
    delete,
    update,
    merge_insert,
    compact,
    add_columns,
    add_null_columns,
    drop_columns,
    rename_columns,
    cast_column,
    merge,
    restore,
    metadata,
    index,
    index_and_compact,
]


ALL = list(itertools.product(LIBRARIES, [False, True]))
"""Writers, and whether rows have stable ids. A change has two of them that differ in both."""
OPPOSITE = [ALL[:1] + ALL[3:], ALL[1:3]]
CASES = [
    (change, writer, stable)
    for number, change in enumerate(CHANGES)
    for writer, stable in (ALL if IS_FULL_RUN else OPPOSITE[number % 2])
]


@pytest.mark.parametrize(("change", "writer", "stable"), CASES)
def test_changes_of_pylance_are_seen_and_appended_to(
    table: str, change: Callable[[Any], None]
) -> None:
    change(pylance.dataset(table))
    found = lance_core.dataset(table).to_table()
    more = found.take(list(range(7)))
    # Columns of nothing but nulls may be left out.
    more = more.select([name for name in more.column_names if more[name].null_count < 7])
    lance_core.write_dataset(more, table, mode="append")
    appended = agree(table).slice(found.num_rows)
    assert appended.select(more.column_names).to_pylist() == more.to_pylist()
    after_append = lance_core.dataset(table).version
    change_again(table)
    agree(table)
    # The versions between; what pylance changed is read as it was before the append.
    for number in range(2, lance_core.dataset(table).version):
        if number != after_append:
            agree(table, number)
    assert same_rows(lance_core.dataset(table, version=1).to_table(), rows(100))
    assert lance_core.write_dataset(rows(3), table, mode="overwrite").count_rows() == 3
    assert agree(table).to_pylist() == rows(3).to_pylist()


def test_a_struct_that_was_added_is_null_to_both(table: str) -> None:
    pylance.dataset(table).add_columns(pa.schema({"q": pa.struct({"a": pa.int8()})}))
    assert agree(table)["q"].null_count == 100
    lance_core.write_dataset(rows(3), table, mode="append")
    struct = pa.table({"q": pa.array([{"a": 1}], pa.struct({"a": pa.int8()}))})
    lance_core.write_dataset(struct, table, mode="append")
    assert agree(table)["q"].null_count == 103


def change_again(uri: str) -> None:
    """After our append pylance goes on with the table."""
    dataset = pylance.dataset(uri)
    name = dataset.schema.names[0]
    dataset.delete(f"{name} = 4")
    dataset.optimize.compact_files(target_rows_per_fragment=1000)


def test_an_index_of_pylance_still_finds_what_we_append(table: str) -> None:
    index(pylance.dataset(table))
    dataset = lance_core.dataset(table)
    lance_core.write_dataset(rows(50, 90), dataset, mode="append")
    theirs, ours = pylance.dataset(table), lance_core.dataset(table)
    assert theirs.has_index
    for condition in ("i = 95", "i >= 88 AND i < 101", "d = 'kind 2'", "i = 3 OR d = 'kind 1'"):
        found = ours.to_table(filter=condition).sort_by("i").to_pylist()
        assert found == theirs.to_table(filter=condition).sort_by("i").to_pylist()
    theirs.optimize.optimize_indices()
    agree(table)


def test_config_and_metadata_survive_what_we_write(table: str) -> None:
    metadata(pylance.dataset(table))
    for mode in ("append", "overwrite"):
        dataset = lance_core.dataset(table)
        dataset.insert(dataset.to_table(), mode=mode)
        theirs, ours = pylance.dataset(table), lance_core.dataset(table)
        assert ours.config() == theirs.config() == {"lance.some": "thing"}
        assert ours.metadata == theirs.metadata == {"table": "meta"}
        assert ours.schema_metadata == theirs.schema_metadata
        assert ours.schema.field("i").metadata == {b"unit": b"m"}


def test_tags_and_branches_do_not_disturb(table: str) -> None:
    theirs = pylance.dataset(table)
    theirs.tags.create("v1", 1)
    branch = theirs.create_branch("side")
    pylance.write_dataset(rows(5), branch, mode="append")
    lance_core.write_dataset(rows(2), table, mode="append")
    assert agree(table).num_rows == 102
    theirs.tags.create("v2", 2)
    assert theirs.checkout_version("v2").count_rows() == 102


def versions(uri: str) -> Iterator[tuple[Any, Any]]:
    return zip(pylance.dataset(uri).versions(), lance_core.dataset(uri).versions(), strict=True)


def test_histories_are_told_alike(uri: str) -> None:
    operations: list[Callable[[], object]] = [
        lambda: lance_core.write_dataset(rows(9), uri, commit_message="one"),
        lambda: pylance.write_dataset(rows(3), uri, mode="append", commit_message="two"),
        lambda: lance_core.write_dataset(
            rows(2), uri, mode="append", transaction_properties={"k": "v"}
        ),
        lambda: pylance.dataset(uri).delete("i = 1"),
        lambda: pylance.write_dataset(
            rows(3), uri, mode="overwrite", data_storage_version="2.2", commit_message="five"
        ),
        lambda: lance_core.write_dataset(rows(4), uri, mode="overwrite"),
    ]
    for operation in operations:
        operation()
    for theirs, ours in versions(uri):
        assert ours["version"] == theirs["version"]
        # pylance computes its times in floating point.
        assert abs((ours["timestamp"] - theirs["timestamp"]).total_seconds()) < 2e-6
        assert ours["metadata"] == theirs["metadata"]
    theirs, ours = pylance.dataset(uri), lance_core.dataset(uri)
    told = list(zip(theirs.get_transactions(), ours.get_transactions(), strict=True))
    assert len(told) == 6
    for their, our in told:
        assert our.uuid == their.uuid
        assert our.read_version == their.read_version
        assert our.transaction_properties == (their.transaction_properties or {})
        kind = type(their.operation).__name__
        if kind in ("Append", "Overwrite"):
            assert type(our.operation).__name__ == kind
            mine = [fragment.to_json() for fragment in our.operation.fragments]
            assert mine == [fragment.to_json() for fragment in their.operation.fragments]
    for number in range(1, 7):
        assert ours.read_transaction(number).uuid == theirs.read_transaction(number).uuid
    assert theirs.read_transaction(1).transaction_properties == {"__lance_commit_message": "one"}
    assert ours.read_transaction(2).transaction_properties == {"__lance_commit_message": "two"}
    assert theirs.read_transaction(3).transaction_properties == {"k": "v"}


def test_times_find_the_same_version(uri: str) -> None:
    for number, library in enumerate([lance_core, pylance, lance_core]):
        library.write_dataset(rows(number + 1), uri, mode="append", data_storage_version="2.2")
    made = [version["timestamp"] for version in lance_core.dataset(uri).versions()]
    for number in (1, 2):
        between = made[number - 1] + (made[number] - made[number - 1]) / 2
        assert pylance.dataset(uri, asof=between).version == number
        assert lance_core.dataset(uri, asof=between).version == number


def test_a_detached_version_can_be_opened_by_its_number(uri: str) -> None:
    pylance.write_dataset(rows(5), uri, data_storage_version="2.2")
    fragments = pylance.fragment.write_fragments(rows(3, 5), uri)
    operation = pylance.LanceOperation.Append(fragments)
    detached = pylance.LanceDataset.commit(uri, operation, read_version=1, detached=True)
    ours = lance_core.dataset(uri, version=detached.version)
    assert ours.version == detached.version
    assert ours.to_table().to_pylist() == rows(8).to_pylist()
    assert lance_core.dataset(uri).version == ours.latest_version == 1
    with pytest.raises(NotImplementedError, match="detached"):
        ours.insert(rows(1))


def test_fragments_are_exchanged_as_json(uri: str, stable: bool) -> None:
    pylance.write_dataset(rows(5), uri, data_storage_version="2.2", enable_stable_row_ids=stable)
    theirs = pylance.fragment.write_fragments(rows(4, 5), uri, max_rows_per_file=2)
    ours = write_fragments(rows(3, 9), uri, max_rows_per_file=2)
    read = [lance_core.FragmentMetadata.from_json(json.dumps(f.to_json())) for f in theirs]
    lance_core.LanceDataset.commit(uri, lance_core.LanceOperation.Append(read), read_version=1)
    read = [pylance.FragmentMetadata.from_json(json.dumps(f.to_json())) for f in ours]
    pylance.LanceDataset.commit(uri, pylance.LanceOperation.Append(read), read_version=2)
    assert agree(uri).to_pylist() == rows(12).to_pylist()
    for version in (1, 2, 3):
        for library, other in ((lance_core, pylance), (pylance, lance_core)):
            given = library.dataset(uri, version=version).get_fragments()
            texts = [json.dumps(fragment.metadata.to_json()) for fragment in given]
            again = [other.FragmentMetadata.from_json(text).to_json() for text in texts]
            assert [json.dumps(tree, sort_keys=True) for tree in again] == [
                json.dumps(json.loads(text), sort_keys=True) for text in texts
            ]


def test_both_append_at_the_same_time(uri: str) -> None:
    lance_core.write_dataset(rows(0), uri)

    def append(number: int) -> None:
        library: Any = LIBRARIES[number % 2]
        for turn in range(4):
            start = 100 * number + 10 * turn
            library.write_dataset(rows(10, start), uri, mode="append")

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(append, number) for number in range(4)]:
            future.result()
    expected = [100 * n + 10 * turn + k for n in range(4) for turn in range(4) for k in range(10)]
    assert sorted(agree(uri)["i"].to_pylist()) == sorted(expected)
    assert lance_core.dataset(uri).version == 17


@pytest.mark.parametrize("first", LIBRARIES)
def test_a_stale_overwrite_conflicts_for_both(uri: str, first: Any) -> None:
    second: Any = next(library for library in LIBRARIES if library is not first)
    first.write_dataset(rows(3), uri, data_storage_version="2.2")
    stale = second.dataset(uri)
    first.write_dataset(rows(4), uri, mode="overwrite")
    for mode in ("append", "overwrite"):
        with pytest.raises(OSError, match=r"onflict|ncompatible"):
            stale.insert(rows(2), mode=mode)
    assert agree(uri).num_rows == 4
