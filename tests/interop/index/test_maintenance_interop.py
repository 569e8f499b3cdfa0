"""Indices of both libraries stay right through the changes of both."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_core
from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of
from lance_core.table.indices.index_metadata import (
    IndexDetails,
    IndexMetadata,
    parse_index_section,
)
from lance_core.table.transactions.operations import CreateIndex
from tests.each_case import each_case
from tests.unit.dataset.maintenance.indices.test_optimize import (
    check_lists,
    segments_with_lost_rows,
)

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

BOTH: tuple[Any, Any] = (lance, lance_core)
KINDS = {
    "tree": "BTREE",
    "few": "BITMAP",
    "tags": "LABEL_LIST",
    "zone": "ZONEMAP",
    "bloom": "BLOOMFILTER",
    "text": "NGRAM",
}
FILTERS = (
    "tree = 77 OR tree IN (3, 150)",
    "NOT (tree > 20)",
    "few = 2",
    "NOT (few = 2 OR few = 3)",
    "few IS NULL",
    "array_has_any(tags, ['t1', 't5'])",
    "NOT array_has(tags, 't2')",
    "zone >= 100 AND zone < 131",
    "zone IS NULL",
    "bloom = 42",
    "bloom IS NULL",
    "contains(text, 'row 12')",
)


def rows(start: int, count: int) -> pa.Table:
    numbers = range(start, start + count)
    return pa.table(
        {
            "tree": pa.array(numbers, pa.int64()),
            "few": pa.array([None if n % 9 == 4 else n % 5 for n in numbers], pa.int32()),
            "tags": pa.array(
                [None if n % 11 == 3 else [f"t{n % 7}", f"t{n % 3}"] for n in numbers],
                pa.list_(pa.string()),
            ),
            "zone": pa.array([None if n % 13 == 5 else n for n in numbers], pa.int64()),
            "bloom": pa.array([None if n % 17 == 5 else n for n in numbers], pa.int64()),
            "text": pa.array([None if n % 8 == 1 else f"the row {n}" for n in numbers]),
        }
    )


def create(library: Any, path: Path, **options: Any) -> None:
    """Five fragments with deleted rows, indices of all kinds, more deleted rows, and a new one."""
    uri = str(path)
    lance.write_dataset(rows(0, 200), uri, max_rows_per_file=40, max_rows_per_group=40, **options)
    lance.dataset(uri).delete("tree % 10 = 9")
    dataset = library.dataset(uri)
    for column, kind in KINDS.items():
        dataset.create_scalar_index(column, kind)
    lance.dataset(uri).delete("tree IN (3, 4, 80, 121) OR tree >= 160 AND tree < 163")
    lance.write_dataset(rows(200, 10), uri, mode="append")


def check(path: Path, uncovered: int | None = None) -> None:
    """Filters of both libraries return what scans return; ``uncovered``: rows without coverage."""
    datasets = [library.dataset(str(path)) for library in BOTH]
    for where in FILTERS:
        expected = datasets[0].to_table(filter=where, use_scalar_index=False)
        for dataset in datasets:
            assert dataset.to_table(filter=where).equals(expected), (type(dataset), where)
    for dataset in datasets if uncovered is not None else ():
        counts = {
            column: dataset.stats.index_stats(f"{column}_idx")["num_unindexed_rows"]
            for column in KINDS
        }
        assert counts == dict.fromkeys(KINDS, uncovered), type(dataset)


@each_case(
    "maker, compactor, stable, defer",
    [
        (*pair, stable, defer)
        for pair in (BOTH, BOTH[::-1])
        for stable, defer in ((False, False), (False, True), (True, False))
    ],
)
def test_indices_lead_to_compacted_rows(
    tmp_path: Path, maker: Any, compactor: Any, stable: bool, defer: bool
) -> None:
    path = tmp_path / "t"
    create(maker, path, enable_stable_row_ids=stable)
    options = {"defer_index_remap": defer, "target_rows_per_fragment": 80}
    compactor.dataset(str(path)).optimize.compact_files(**options)
    # pylance does not move the indices of zones.
    check(path, 10 if compactor is lance_core or defer else None)
    lance.dataset(str(path)).delete("tree = 8 OR tree = 205")
    # After a deferred remap, pylance 14.0.2 loses the rows of indices that it remaps itself.
    second = lance_core if defer else compactor
    second.dataset(str(path)).optimize.compact_files(target_rows_per_fragment=120)
    check(path, 9 if second is lance_core and compactor is lance_core else None)
    maker.dataset(str(path)).optimize.optimize_indices()
    check(path, 0)


def covered(path: Path) -> tuple[dict[str, list[int] | None], list[int]]:
    """The fragments that each index lists, and those of the table."""
    snapshot = lance_core.dataset(str(path)).snapshot
    indices = parse_index_section(snapshot.file.index_section)
    return (
        {index.name: None if index.fragments is None else [*index.fragments] for index in indices},
        list(snapshot.manifest.fragments.ids),
    )


def update_columns(library: Any, dataset: Any) -> None:
    fragment = dataset.get_fragments()[0]
    address = pa.array([fragment.fragment_id << 32 | 7], pa.uint64())
    new = pa.table({"few": pa.array([70], pa.int32()), "_rowaddr": address})
    updated, fields = fragment.update_columns(new, "_rowaddr", "_rowaddr")
    operation = library.LanceOperation.Update(
        updated_fragments=[updated], fields_modified=fields, update_mode="rewrite_columns"
    )
    library.LanceDataset.commit(dataset.uri, operation, read_version=dataset.version)


def upsert(dataset: Any, new: pa.Table) -> None:
    merge = dataset.merge_insert("tree").when_matched_update_all()
    merge.when_not_matched_insert_all().execute(new)


CHANGES: dict[str, Callable[[Any, Any], object]] = {
    "append": lambda lib, ds: lib.write_dataset(rows(300, 3), ds.uri, mode="append"),
    "delete": lambda _, ds: ds.delete("tree < 40 OR tree IN (41, 42)"),
    "update": lambda _, ds: ds.update({"text": "'new'"}, "tree IN (1, 50)"),
    "update a fragment": lambda _, ds: ds.update({"few": "7", "text": "'x'"}, "tree < 40"),
    "update uncovered rows": lambda _, ds: ds.update({"text": "'new'"}, "tree IN (1, 203)"),
    "upsert": lambda _, ds: upsert(ds, pa.concat_tables([rows(30, 3), rows(400, 2)])),
    "add": lambda _, ds: ds.add_columns({"n": "tree"}),
    "drop": lambda _, ds: ds.drop_columns(["few"]),
    "rename": lambda _, ds: ds.alter_columns({"path": "few", "name": "lot"}),
    "overwrite": lambda lib, ds: lib.write_dataset(rows(300, 3), ds.uri, mode="overwrite"),
    "restore": lambda lib, ds: lib.dataset(ds.uri, version=4).restore(),
    "update_columns": update_columns,
}


@pytest.mark.parametrize("stable", [False, True])
def test_changes_of_both_leave_the_same_coverage(tmp_path: Path, stable: bool) -> None:
    create(lance, tmp_path / "t", enable_stable_row_ids=stable)
    for name, change in CHANGES.items():
        found = []
        for library in BOTH:
            path = tmp_path / f"{name} by {library.__name__}"
            shutil.copytree(tmp_path / "t", path)
            change(library, library.dataset(str(path)))
            found.append(covered(path))
        assert found[0] == found[1], name
        if name in ("delete", "update", "update a fragment", "upsert", "update_columns"):
            check(path)


def test_an_indexed_column_is_not_cast(tmp_path: Path) -> None:
    create(lance, tmp_path / "t")
    for library in BOTH:
        dataset = library.dataset(str(tmp_path / "t"))
        with pytest.raises(OSError, match=r"Cannot cast column.*few"):
            dataset.alter_columns({"path": "few", "data_type": pa.int64()})
    dataset.drop_index("few_idx")
    dataset.alter_columns({"path": "few", "data_type": pa.int64()})
    assert "few_idx" not in covered(tmp_path / "t")[0]


def replace_indices(path: Path, change: Callable[[IndexMetadata], IndexMetadata]) -> None:
    """Commit other metadata for the three types of index that old tables have."""
    dataset = lance_core.dataset(str(path))
    old = [index for index in indices_of(dataset.snapshot) if index.name in OLD]
    new = [dataclasses.replace(change(index), uuid=index.uuid) for index in old]
    for removed, added in (old, []), ([], new):
        operation = CreateIndex(tuple(added), tuple(removed))
        lance_core.LanceDataset.commit(
            str(path), lance_core.LanceOperation.Stored(operation), read_version=dataset.version
        )
        dataset.checkout_latest()


OLD = ("tree_idx", "few_idx", "tags_idx")


def test_old_indices_without_details_follow_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "t"
    create(lance, path)
    replace_indices(
        path,
        lambda index: IndexMetadata(
            index.uuid, index.name, index.fields, index.dataset_version, index.fragment_bitmap
        ),
    )
    check(path)
    dataset = lance_core.dataset(str(path))
    dataset.optimize.compact_files()
    names = [index.index_details for index in indices_of(dataset.snapshot)]
    assert None not in names
    check(path)


def test_indices_of_unknown_types_and_versions_are_kept_as_they_are(tmp_path: Path) -> None:
    for number, change in enumerate((later_version, unknown_type)):
        path = tmp_path / str(number)
        create(lance, path)
        replace_indices(path, change)
        dataset = lance_core.dataset(str(path))
        before = indices_of(dataset.snapshot)
        ids = [fragment.fragment_id for fragment in dataset.get_fragments()]
        with pytest.warns(UserWarning, match="5 fragments are not compacted"):
            dataset.optimize.compact_files()
        dataset.delete("tree = 50")
        assert [fragment.fragment_id for fragment in dataset.get_fragments()] == ids
        assert indices_of(dataset.snapshot) == before
        dataset.drop_index("few_idx")
        assert {index.name for index in indices_of(dataset.snapshot)} == {
            f"{column}_idx" for column in KINDS if column != "few"
        }


def later_version(index: IndexMetadata) -> IndexMetadata:
    return dataclasses.replace(index, index_version=9)


def unknown_type(index: IndexMetadata) -> IndexMetadata:
    return dataclasses.replace(index, index_details=IndexDetails("/of.nobody.Details", b"\x01"))


def test_pylance_searches_a_segment_merged_with_one_that_had_lost_rows(tmp_path: Path) -> None:
    dataset = segments_with_lost_rows(str(tmp_path))
    dataset.optimize.optimize_indices()
    check_lists(lance.dataset(str(tmp_path)))
