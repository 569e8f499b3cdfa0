"""Creating, replacing and dropping indices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.maintenance.indices.create import reported
from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of
from lance_core.errors import (
    ColumnNotFoundError,
    CommitConflictError,
    CommitUnknownError,
    IndexNameError,
    IndexNotFoundError,
    InvalidInputError,
    InvalidTypeError,
    LanceError,
    RetryableCommitConflictError,
    UnsupportedFeatureError,
)
from lance_core.index.queries import IsNull
from lance_core.indices import IndexConfig
from lance_core.progress import IndexProgress
from tests.each_case import each_case
from tests.unit.dataset.maintenance.indices.index_tables import (
    KIND,
    coverage,
    found,
    new_table,
    numbers,
    stored,
)


def test_each_stage_of_a_type_is_reported_from_its_start_to_its_end() -> None:
    events: list[IndexProgress] = []
    with reported(events.append, 7) as progress:
        for stage, done in (("read", 2), ("read", 4), ("sort", 0), ("sort", 4)):
            progress(stage, done, 4)
    assert [(one.event, one.stage, one.completed, one.total) for one in events] == [
        ("start", "read", 0, 4),
        ("progress", "read", 2, 4),
        ("progress", "read", 4, 4),
        ("complete", "read", 4, 4),
        ("start", "sort", 0, 4),
        ("progress", "sort", 0, 4),
        ("progress", "sort", 4, 4),
        ("complete", "sort", 4, 4),
    ]


def test_an_index_has_the_live_rows_of_all_fragments(uri: str) -> None:
    dataset = new_table(uri)
    dataset.delete("x % 7 = 0")
    events: list[IndexProgress] = []
    dataset.create_scalar_index("X", "Sorted_Hash", progress_callback=events.append)
    assert dataset.version == 3
    assert found(dataset, "x_idx", [1, 7, 26, 99]) == stored(dataset, [1, 26])
    assert len(found(dataset, "x_idx", IsNull())) == 10
    (index,) = indices_of(dataset.snapshot)
    assert (index.fields, index.dataset_version, index.index_version) == ((0,), 2, 0)
    sizes = {path.name: path.stat().st_size for path in Path(uri).glob("_indices/*/*")}
    assert {file.path: file.size_bytes for file in index.files} == sizes
    assert [(one.event, one.stage, one.fraction) for one in events] == [
        ("start", "hash", 0.0),
        ("progress", "hash", 1.0),
        ("complete", "hash", 1.0),
    ]
    assert lance.dataset(uri).list_indices() == [
        {
            "name": "x_idx",
            "type": "SortedHash",
            "uuid": str(index.uuid),
            "fields": ["x"],
            "version": 2,
            "fragment_ids": frozenset({0, 1, 2, 3}),
            "base_id": None,
        }
    ]


def test_a_name_tells_the_path_and_is_unique_among_columns_and_types(uri: str) -> None:
    dataset = new_table(uri)

    def names() -> list[tuple[str, list[str]]]:
        return [(index.name, index.field_names) for index in dataset.describe_indices()]

    dataset.create_scalar_index("s.b", KIND)
    dataset.create_scalar_index("x", KIND, name="Y_idx")
    dataset.create_scalar_index(["y"], IndexConfig(KIND, {}))
    expected = [("Y_idx", ["x"]), ("Y_idx_2", ["Y"]), ("s.b_idx", ["s.b"])]
    assert names() == expected
    dataset.create_scalar_index("Y", KIND)
    dataset.create_scalar_index("X", KIND, name="Y_idx")
    assert names() == expected
    assert found(dataset, "s.b_idx", [3]) == {3}
    for index in dataset.describe_indices():
        dataset.drop_index(index.name)
    assert not dataset.has_index


def test_an_invalid_request_is_an_error_of_its_own_and_writes_nothing(uri: str) -> None:
    dataset = new_table(uri)
    dataset.create_scalar_index("x", KIND)
    before = sorted(Path(uri).rglob("*"))

    def create(*args: Any, **options: Any) -> Callable[[], None]:
        return lambda: dataset.create_scalar_index(*args, **options)

    cases: list[tuple[Callable[[], object], type[LanceError], type[Exception], str]] = [
        (create("xx", KIND), ColumnNotFoundError, KeyError, "'xx' not found in schema"),
        (create("s.c", KIND), ColumnNotFoundError, KeyError, "mean 's.b'"),
        (create("a..b", KIND), ColumnNotFoundError, KeyError, "not found"),
        (create(["x", "Y"], KIND), UnsupportedFeatureError, NotImplementedError, "one column"),
        (create("s", KIND), InvalidTypeError, TypeError, "column s .* struct<"),
        (create("s.`d.e`", KIND), InvalidTypeError, TypeError, "SortedHash.* string"),
        (create("x", "sorted_hush"), UnsupportedFeatureError, NotImplementedError, "sorted_hash"),
        (create("x", "FM"), UnsupportedFeatureError, NotImplementedError, "FM"),
        (create("x", "RTREE"), UnsupportedFeatureError, NotImplementedError, "RTREE"),
        (create("x", 5), InvalidTypeError, TypeError, "index_type"),
        (create("x", KIND, size=5), InvalidInputError, ValueError, "'size'"),
        (create("x", IndexConfig(KIND, {"a": 1})), InvalidInputError, ValueError, "'a'"),
        (create("x", KIND, replace=False), IndexNameError, RuntimeError, "x_idx.* exists"),
        (create("Y", KIND, "x_idx"), IndexNameError, RuntimeError, "different fields"),
        (create("x", KIND, "__lance_frag_reuse"), IndexNameError, RuntimeError, "reserved"),
        (create("x", KIND, "__lance_mem_wal"), IndexNameError, RuntimeError, "reserved"),
        (create("x", KIND, 7), InvalidTypeError, TypeError, "name"),
        (create("x", KIND, index_uuid="7"), InvalidInputError, ValueError, "UUID"),
        (create("x", KIND, fragment_ids=[0]), InvalidInputError, ValueError, "uncommitted"),
        (create("x", KIND, progress_callback=7), InvalidTypeError, TypeError, "progress"),
        (lambda: dataset.drop_index("x_ix"), IndexNotFoundError, RuntimeError, "mean 'x_idx'"),
        (lambda: dataset.prewarm_index("x"), IndexNotFoundError, RuntimeError, "name=x"),
        (lambda: dataset.stats.index_stats("x"), IndexNotFoundError, KeyError, "name=x"),
        (
            lambda: dataset.merge_index_metadata("0" * 32, "BTREE"),
            InvalidInputError,
            ValueError,
            "no parts",
        ),
    ]
    for call, kind, builtin, text in cases:
        with pytest.raises(kind, match=text) as caught:
            call()
        assert isinstance(caught.value, builtin), text
    assert sorted(Path(uri).rglob("*")) == before


def test_a_failed_index_leaves_no_file_and_an_unknown_outcome_keeps_them(
    uri: str, lose_outcomes: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = new_table(uri)
    (data, *_) = Path(uri).glob("data/*")
    saved = data.read_bytes()
    data.write_bytes(b"\0" * len(saved))
    with pytest.raises(LanceError):
        lance.dataset(uri).create_scalar_index("x", KIND)
    assert not list(Path(uri).glob("_indices/*/*"))
    data.write_bytes(saved)
    lose_outcomes()
    with pytest.raises(CommitUnknownError):
        dataset.create_scalar_index("x", KIND)
    assert len(list(Path(uri).glob("_indices/*/*"))) == 1


def test_other_changes_at_the_same_time_are_kept_and_the_same_name_is_a_conflict(uri: str) -> None:
    dataset = new_table(uri)
    other = lance.dataset(uri)
    other.delete("x = 5")
    lance.write_dataset(numbers(100, 10), uri, mode="append")
    dataset.create_scalar_index("x", KIND)
    assert dataset.count_rows() == 109
    assert coverage(dataset, "x_idx") == [[0, 1, 2, 3]]
    other.create_scalar_index("Y", KIND)
    with pytest.raises(CommitConflictError):
        lance.dataset(uri, version=1).create_scalar_index("x", KIND)
    assert len(list(Path(uri).glob("_indices/*/*"))) == 2
    dataset.checkout_latest()
    assert len(dataset.list_indices()) == 2


def _replace_values(uri: str, rows: list[int], value: int, **mode: str) -> None:
    """Replace values of ``x`` in the first fragment, in place."""
    dataset = lance.dataset(uri)
    new = pa.table({"_rowid": pa.array(rows, pa.uint64()), "x": [value] * len(rows)})
    fragment, fields = dataset.get_fragments()[0].update_columns(new)
    operation = lance.LanceOperation.Update(
        updated_fragments=[fragment], fields_modified=list(fields), **mode
    )
    lance.LanceDataset.commit(dataset, operation, dataset.version)


@each_case("mode", [{}, {"update_mode": "rewrite_columns"}])
def test_an_index_of_values_that_were_replaced_is_a_conflict(
    tmp_path: Path, mode: dict[str, str]
) -> None:
    uri = str(tmp_path / "t")
    old = new_table(uri)
    other = lance.dataset(uri)
    _replace_values(uri, [1, 2], 77, **mode)
    with pytest.raises(RetryableCommitConflictError, match="Retryable commit conflict for version"):
        old.create_scalar_index("x", KIND)
    assert not list(Path(uri).glob("_indices/*/*"))
    other.create_scalar_index("Y", KIND)
    old.checkout_latest()
    old.create_scalar_index("x", KIND)
    assert found(old, "x_idx", [1, 77]) == stored(old, [1, 77])


def test_an_index_of_rows_that_a_compaction_has_moved_is_built_again(uri: str) -> None:
    dataset = new_table(uri)
    lance.dataset(uri).optimize.compact_files()
    dataset.create_scalar_index("x", KIND)
    assert len(dataset.get_fragments()) == 1
    assert found(dataset, "x_idx", [1, 77]) == stored(dataset, [1, 77])


def test_an_index_without_training_is_empty_until_it_is_optimised(uri: str) -> None:
    dataset = new_table(uri)
    dataset.create_scalar_index("x", KIND, train=False)
    assert coverage(dataset, "x_idx") == [[]]
    assert found(dataset, "x_idx", [1]) == set()
    dataset.optimize.optimize_indices()
    assert coverage(dataset, "x_idx") == [[0, 1, 2, 3]]
    assert found(dataset, "x_idx", [1, 60]) == stored(dataset, [1, 60])
