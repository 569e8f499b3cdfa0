"""Merges of both libraries give the same rows, and each reads and follows the other's."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap

import lance_core
from lance_core.errors import InvalidInputError
from lance_core.table.transactions.transaction import Transaction

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

BOTH = [lance_core, lance]
PAIRS = list(itertools.product(BOTH, BOTH))
IDS = ["ours-ours", "ours-pylance", "pylance-ours", "pylance-pylance"]
VERSIONS = ["0.1", "2.0", "2.1", "2.2"]
COUNT = 60


def table(first: int = 0, last: int = COUNT, mark: str = "old") -> pa.Table:
    """Rows of several types with a key, some of which is null."""
    numbers = range(first, last)
    point = pa.struct([("x", pa.int32()), ("y", pa.string())])
    return pa.table(
        {
            "k": pa.array([None if n % 13 == 5 else n for n in numbers], pa.int64()),
            "s": pa.array([f"key {n % 40}" for n in numbers]),
            "w": pa.array([n * 0.5 for n in numbers]),
            "p": pa.array([{"x": n, "y": mark} for n in numbers], point),
            "l": pa.array([None if n % 8 == 0 else list(range(n % 4)) for n in numbers]),
            "d": pa.array([f"{mark} {n % 3}" for n in numbers]),
        }
    )


def create(
    path: Path, writer: ModuleType = lance, rows: pa.Table | None = None, **options: Any
) -> Any:
    rows = table() if rows is None else rows
    given = {"max_rows_per_file": 20, "data_storage_version": "2.2", **options}
    return writer.write_dataset(rows, str(path), **given)


def content(path: Path) -> list[str]:
    """What both libraries agree is in the table, in no order."""
    ours, peer = lance_core.dataset(str(path)), lance.dataset(str(path))
    found = sorted(map(repr, ours.to_table().to_pylist()))
    assert found == sorted(map(repr, peer.to_table().to_pylist()))
    assert len(found) == ours.count_rows() == peer.count_rows()
    peer.validate()  # type: ignore[no-untyped-call]  # pylance does not annotate it
    ours.validate()
    return found


MERGES: dict[str, Callable[[Any], Any]] = {
    "upsert": lambda d: d.merge_insert("k").when_matched_update_all().when_not_matched_insert_all(),
    "update": lambda d: d.merge_insert("k").when_matched_update_all(),
    "insert": lambda d: d.merge_insert(["k"]).when_not_matched_insert_all(),
    "delete": lambda d: d.merge_insert("k").when_matched_delete(),
    "replace": lambda d: MERGES["upsert"](d).when_not_matched_by_source_delete(),
    "replace some": lambda d: MERGES["upsert"](d).when_not_matched_by_source_delete("w < 10"),
    "condition": lambda d: (
        d.merge_insert("k")
        .when_matched_update_all("source.w > 25 AND target.d = 'old 1'")
        .when_not_matched_insert_all()
    ),
    "two keys": lambda d: (
        d.merge_insert(["k", "s"]).when_matched_update_all().when_not_matched_insert_all()
    ),
    "only unmatched": lambda d: d.merge_insert("k").when_not_matched_by_source_delete(
        "s > 'key 2'"
    ),
}


@pytest.mark.parametrize("columns", [None, ["w", "k", "s"]], ids=["full", "partial"])
@pytest.mark.parametrize("merge", MERGES)
def test_both_merge_the_same_rows(tmp_path: Path, merge: str, columns: list[str] | None) -> None:
    outcomes = []
    new = table(40, 80, "new").select(columns or table().column_names)
    for library in BOTH:
        path = tmp_path / library.__name__
        dataset = create(path)
        dataset.delete("w = 22")
        dataset = library.dataset(str(path))
        result = MERGES[merge](dataset).execute(new)
        outcomes.append((result, dataset.version, content(path)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_merges_of_both_alternate(tmp_path: Path, version: str, stable: bool) -> None:
    paths = [tmp_path / name for name in ("ours first", "peer first")]
    columns = ["k", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    for path in paths:
        create(path, data_storage_version=version, enable_stable_row_ids=stable)
    for step in range(4):
        for place, path in enumerate(paths):
            dataset = BOTH[(step + place) % 2].dataset(str(path))
            new = table(20 * step + 10, 20 * step + 50, f"new {step}")
            # Files of version 2.0 cannot store the null structs of rows without values.
            some = ["k", "w", "p"] if version == "2.0" else ["k", "w"]
            MERGES["upsert"](dataset).execute(new if step % 2 else new.select(some))
        assert content(paths[0]) == content(paths[1])
        if stable:
            lineages = [
                Counter(map(repr, library.dataset(str(path)).to_table(columns).to_pylist()))
                for path in paths
                for library in BOTH
            ]
            assert all(lineage == lineages[0] for lineage in lineages)


@pytest.mark.parametrize("merge", ["upsert", "delete", "only unmatched"])
@pytest.mark.parametrize("stable", [False, True])
def test_both_record_the_same(tmp_path: Path, merge: str, stable: bool) -> None:
    seen = []
    for library in BOTH:
        path = tmp_path / library.__name__
        create(path, enable_stable_row_ids=stable)
        dataset = library.dataset(str(path))
        MERGES[merge](dataset).execute(table(30, 70))
        made_by: Any = lance.dataset(str(path)).read_transaction(2)
        operation = made_by.operation
        seen.append(
            (
                operation.removed_fragment_ids,
                sorted((one.id, one.num_deletions) for one in operation.updated_fragments),
                [(one.physical_rows, one.row_id_meta is None) for one in operation.new_fragments],
                operation.fields_modified,
                operation.fields_for_preserving_frag_bitmap,
                operation.update_mode,
            )
        )
    assert seen[0] == seen[1]


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_both_write_the_same_columns(tmp_path: Path, version: str, stable: bool) -> None:
    seen, outcomes = [], []
    new = table(15, 70, "new").select(["w", "k", "p", "l"])
    for library in BOTH:
        path = tmp_path / library.__name__
        dataset = create(path, data_storage_version=version, enable_stable_row_ids=stable)
        dataset.delete("w = 10 OR w = 22")
        merge = library.dataset(str(path)).merge_insert("k").write_mode("rewrite_columns")
        outcomes.append(merge.when_matched_update_all("source.w < 25").execute(new))
        outcomes[-1] = (outcomes[-1], content(path))
        stored = lance_core.dataset(str(path)).snapshot.file.transaction
        assert stored is not None
        update = Transaction.from_bytes(stored).to_proto().update
        columns = ["k", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
        seen.append(
            (
                sorted(update.fields_modified),
                update.update_mode,
                {
                    fragment_id: list(BitMap.deserialize(offsets))
                    for fragment_id, offsets in update.updated_fragment_offset_bitmaps.items()
                },
                [
                    (f.fragment_id, [list(map(sorted, [file.fields])) for file in f.data_files()])
                    for f in lance.dataset(str(path)).get_fragments()
                ],
                lance.dataset(str(path)).to_table(columns=columns).to_pylist() if stable else None,
            )
        )
    assert outcomes[0] == outcomes[1]
    assert seen[0] == seen[1]


KEY_TYPES = [
    *(pa.int64(), pa.int32(), pa.uint32(), pa.uint64(), pa.int16(), pa.float64(), pa.date32()),
    *(pa.string(), pa.large_string(), pa.binary(), pa.bool_(), pa.timestamp("us")),
]


def with_key(kind: pa.DataType, numbers: list[int], also: str | None = None) -> pa.Table:
    """Rows with an unenforced primary key of one or two columns."""
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)
    values = [f"{n:05} {'x' * (n % 40)}" if texts else n for n in numbers]
    keys = pa.array(values if not pa.types.is_binary(kind) else [v.encode() for v in values])
    position = b"lance-schema:unenforced-primary-key:position"
    fields = [pa.field("k", kind, False, {position: b"2"})]
    if pa.types.is_date(kind):
        keys = keys.cast(pa.int32())
    columns = [keys.cast(kind)]
    if also:
        fields.append(pa.field(also, pa.string(), False, {position: b"1"}))
        columns.append(pa.array([str(n) for n in numbers]))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def inserted(path: Path) -> bytes:
    stored = lance_core.dataset(str(path)).snapshot.file.transaction
    assert stored is not None
    message = Transaction.from_bytes(stored).to_proto()
    assert message.update.HasField("inserted_rows")
    return message.update.inserted_rows.SerializeToString()


@pytest.mark.parametrize("also", [None, "j"])
@pytest.mark.parametrize("kind", KEY_TYPES, ids=str)
def test_both_list_the_same_inserted_keys(
    tmp_path: Path, kind: pa.DataType, also: str | None
) -> None:
    found = []
    numbers = [0, 1] if pa.types.is_boolean(kind) else [*range(0, 300, 7)]
    for library in BOTH:
        path = tmp_path / library.__name__
        create(path, rows=with_key(kind, numbers[:1], also))
        dataset = library.dataset(str(path))
        upsert = dataset.merge_insert().when_matched_update_all().when_not_matched_insert_all()
        assert upsert.execute(with_key(kind, numbers, also))["num_updated_rows"] == 1
        found.append(inserted(path))
    assert found[0] == found[1]


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=IDS)
def test_two_that_insert_the_same_keys_at_the_same_version(
    tmp_path: Path, first: ModuleType, second: ModuleType, declared: bool
) -> None:
    if second is lance and not declared:
        pytest.skip("pylance compares keys only if they are declared")
    path = tmp_path / "table"
    rows = with_key(pa.int64(), [*range(10)])
    create(path, rows=rows if declared else pa.table({"k": rows["k"]}))
    one, two = first.dataset(str(path)), second.dataset(str(path))
    for dataset, numbers in ((one, [5, 20, 21]), (two, [6, 21, 22])):
        new = pa.table({"k": numbers})
        MERGES["upsert"](dataset).execute(new.cast(dataset.schema))
    assert two.version == 3
    keys = lance.dataset(str(path)).to_table()["k"].to_pylist()
    assert sorted(keys) == [*range(10), 20, 21, 22]


@pytest.mark.parametrize("verb", ["append", "update", "merge", "compact"])
def test_our_merges_follow_other_changes_by_pylance(tmp_path: Path, verb: str) -> None:
    path = tmp_path / "table"
    create(path, rows=pa.table({"k": range(30), "v": [0] * 30}), max_rows_per_file=10)
    late, peer = lance_core.dataset(str(path)), lance.dataset(str(path))
    new = pa.table({"k": [31], "v": [1]})
    if verb == "append":
        lance.write_dataset(new, peer, mode="append")
    elif verb == "update":
        peer.update({"k": "31"}, where="k = 3")
    elif verb == "merge":
        MERGES["upsert"](peer).execute(new)
    else:
        peer.optimize.compact_files()
    mine = pa.table({"k": [31, 32, 4], "v": [2, 2, 2]})
    result = MERGES["upsert"](late).execute(mine)
    assert sum(result.values()) == 3
    keys = Counter(lance.dataset(str(path)).to_table()["k"].to_pylist())
    assert max(keys.values()) == 1
    assert keys[31] == keys[32] == 1
    assert lance.dataset(str(path)).count_rows("v = 2") == 3


@pytest.mark.parametrize(("writer", "committer"), PAIRS, ids=IDS)
def test_merges_are_committed_by_either(
    tmp_path: Path, writer: ModuleType, committer: ModuleType
) -> None:
    path = tmp_path / "table"
    create(path)
    builder = MERGES["upsert"](writer.dataset(str(path)))
    transaction, result = builder.execute_uncommitted(table(50, 70, "new"))
    if writer is not committer:
        with pytest.raises((TypeError, ValueError, AttributeError)):
            committer.LanceDataset.commit(str(path), transaction)
        committer = writer
    committer.LanceDataset.commit(str(path), transaction)
    assert result["num_inserted_rows"] + result["num_updated_rows"] == 20
    assert len(content(path)) == COUNT + result["num_inserted_rows"]


BLOB = {b"lance-encoding:blob": b"true"}


@pytest.mark.parametrize("library", BOTH, ids=["ours", "pylance"])
@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_blobs_are_kept_and_written(tmp_path: Path, version: str, library: ModuleType) -> None:
    schema = pa.schema([("k", pa.int64()), pa.field("b", pa.large_binary(), metadata=BLOB)])
    rows = pa.Table.from_arrays(
        [pa.array([1, 2, 3]), pa.array([b"a", b"b" * 9999, b"c"])], schema=schema
    )
    path = tmp_path / "table"
    create(path, rows=rows, data_storage_version=version)
    new = pa.Table.from_arrays([pa.array([2, 4]), pa.array([b"B", b"D"])], schema=schema)
    MERGES["upsert"](library.dataset(str(path))).execute(new)
    found = lance_core.dataset(str(path)).to_table(blob_handling="all_binary").sort_by("k")
    assert found["b"].to_pylist() == [b"a", b"B", b"c", b"D"]
    peer = lance.dataset(str(path)).to_table(blob_handling="all_binary").sort_by("k")
    assert peer["b"].to_pylist() == [b"a", b"B", b"c", b"D"]


@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("partial", [False, True])
def test_json_extension_and_dictionary_columns_are_kept(
    tmp_path: Path, version: str, partial: bool
) -> None:
    def rows(numbers: list[int], mark: str) -> pa.Table:
        identities = pa.array([bytes([n] * 16) for n in numbers], pa.binary(16))
        return pa.table(
            {
                "k": numbers,
                "v": [mark] * len(numbers),
                "j": pa.array([f'{{"a": "{mark}"}}' for n in numbers], pa.json_()),
                "u": pa.ExtensionArray.from_storage(pa.uuid(), identities),
                "d": pa.array([mark, *[f"x{n}" for n in numbers[1:]]]).dictionary_encode(),
            }
        )

    outcomes = []
    for library in BOTH:
        path = tmp_path / library.__name__
        create(path, rows=rows([1, 2, 3], "old"), data_storage_version=version)
        new = rows([2, 4], "new")
        MERGES["upsert"](library.dataset(str(path))).execute(
            new.select(["k", "v"]) if partial else new
        )
        seen = [one.dataset(str(path)).to_table().sort_by("k") for one in BOTH]
        assert seen[0].schema == seen[1].schema
        assert seen[0].to_pylist() == seen[1].to_pylist()
        outcomes.append(seen[0].to_pylist())
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    ("configure", "new"),
    [
        (MERGES["upsert"], pa.concat_tables([table(0, 3), table(0, 3)])),
        (lambda d: d.merge_insert("k").when_matched_fail(), table(0, 3)),
        (lambda d: d.merge_insert("k"), table(0, 3)),
        (lambda d: d.merge_insert("kk"), table(0, 3)),
        (lambda d: d.merge_insert(None), table(0, 3)),
        (MERGES["upsert"], table(0, 3).select(["s"])),
        (MERGES["upsert"], table(0, 3).append_column("z", pa.array([1, 2, 3]))),
        (MERGES["upsert"], pa.table({"k": ["text"]})),
        (lambda d: d.merge_insert("k").when_matched_update_all("w > 1"), table(0, 3)),
        (lambda d: d.merge_insert("k").when_matched_update_all("source.q > 1"), table(0, 3)),
        (lambda d: d.merge_insert("k").when_not_matched_by_source_delete("q > 1"), table(0, 3)),
        (lambda d: MERGES["update"](d).write_mode("rewrite_columns"), table(0, 3)),
    ],
)
def test_both_refuse_the_same(
    tmp_path: Path, configure: Callable[[Any], Any], new: pa.Table
) -> None:
    create(tmp_path / "table")
    for library, errors in ((lance, (OSError, ValueError)), (lance_core, InvalidInputError)):
        with pytest.raises(errors):
            configure(library.dataset(str(tmp_path / "table"))).execute(new)
    assert lance.dataset(str(tmp_path / "table")).version == 1


PYLANCE_WRITER = """
import sys, lance, pyarrow as pa
path, writer = sys.argv[1], int(sys.argv[2])
for step in range(5):
    keys = pa.array(range(5 * step, 5 * step + 20), pa.int64())
    new = pa.table({"k": keys}).cast(lance.dataset(path).schema)
    merge = lance.dataset(path).merge_insert("k").conflict_retries(100)
    merge.when_matched_update_all().when_not_matched_insert_all().execute(new)
"""


def test_writers_of_both_upsert_the_same_keys_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "table"
    create(path, rows=with_key(pa.int64(), [1000]))
    foreign = subprocess.Popen([sys.executable, "-c", PYLANCE_WRITER, str(path), "0"])
    for step in range(5):
        dataset = lance_core.dataset(str(path))
        new = pa.table({"k": np.arange(5 * step, 5 * step + 20)}).cast(dataset.schema)
        MERGES["upsert"](dataset).conflict_retries(100).execute(new)
    assert foreign.wait() == 0
    keys = lance.dataset(str(path)).to_table()["k"].to_pylist()
    assert sorted(keys) == [*range(40), 1000]
