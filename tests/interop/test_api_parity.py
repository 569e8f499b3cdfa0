"""The same calls lead to the same tables, versions, metadata, transactions and kinds of errors."""

from __future__ import annotations

import dataclasses
import uuid
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_core
import lance_core.fragment
from tests.each_case import each_case

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

SCHEMA = pa.schema(
    [
        pa.field("a", pa.int64(), nullable=False),
        pa.field("s", pa.struct([pa.field("x", pa.int64())])),
    ]
)
LIBRARIES = (lance, lance_core)
INDEX = str(uuid.uuid4())
MADE = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)


def rows(start: int, count: int = 3) -> pa.Table:
    numbers = range(start, start + count)
    return pa.table({"a": list(numbers), "s": [{"x": -n} for n in numbers]}, SCHEMA)


def new_table(lib: Any, folder: Path, **options: Any) -> Any:
    """Version 3 of a table with a fragment of three and one of two rows, and some config."""
    path = str(folder / f"{lib.__name__}.lance")
    lib.write_dataset(rows(0), path, data_storage_version="2.0", **options)
    dataset = lib.write_dataset(rows(3, 2), path, mode="append")
    dataset.update_config({"kept": "1", "other": "2"})
    return dataset


def fragment(lib: Any, dataset: Any, start: int, count: int = 3) -> Any:
    return lib.fragment.LanceFragment.create(
        dataset.uri, rows(start, count), data_storage_version="2.0"
    )


def metadata(dataset: Any) -> list[Any]:
    return [found.metadata for found in dataset.get_fragments()]


def last_operation(dataset: Any) -> Any:
    return said(dataset.read_transaction(dataset.version))


def said(value: Any) -> Any:
    """A value of either library in words that both have; names of files and uuids left out."""
    name = type(value).__name__
    if name == "FragmentMetadata":
        return name, value.id, value.physical_rows, [file.fields for file in value.files]
    if name == "DataFile":
        return name, value.fields, value.column_indices
    if name in ("Bitmap", "frozenset"):
        return sorted(value)
    if name in ("LanceSchema", "Schema"):
        return value.to_pyarrow() if name == "LanceSchema" else value.to_arrow()
    if name == "DatasetBasePath":
        return name, value.id, value.name, value.path, value.is_dataset_root
    if name in ("BaseOperation", "Stored"):
        return "an operation without a class"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # Fields that only lance-core has are left out of the repr.
        parts = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.repr}
        return name, {key: said(part) for key, part in parts.items() if key not in _CHANCE}
    if isinstance(value, list | tuple):
        return [said(item) for item in value]
    if isinstance(value, dict):
        return {key: said(item) for key, item in value.items()}
    return value


_CHANCE = {"uuid", "path", "overlays", "old_id", "new_id"}


def state(dataset: Any) -> dict[str, Any]:
    return {
        "version": dataset.version,
        "versions": [found["version"] for found in dataset.versions()],
        "config": dataset.config(),
        "metadata": dataset.metadata,
        "rows": dataset.to_table().to_pydict(),
        "schema": dataset.schema,
        "schema metadata": dataset.schema.metadata,
        "field metadata": [dataset.schema.field(n).metadata for n in dataset.schema.names],
        "fragments": [found.metadata.id for found in dataset.get_fragments()],
        "bases": {id_: said(base)[1:] for id_, base in dataset.base_paths().items()},
    }


def commit(operation: Callable[[Any, Any], Any], **options: Any) -> Callable[[Any, Any], Any]:
    """A step that commits what ``operation`` makes for a library and a dataset."""

    def step(lib: Any, dataset: Any) -> Any:
        made = operation(lib, dataset)
        arguments = {"read_version": 3, **options}
        return lib.LanceDataset.commit(dataset.uri, made, **arguments)

    return step


def config_update(lib: Any, _: Any) -> Any:
    of = lib.LanceOperation
    return of.UpdateConfig(
        of.UpdateMap({"kept": "x", "other": None}),
        of.UpdateMap({"m": "1"}, replace=True),
        of.UpdateMap({"n": "2"}),
        {0: of.UpdateMap({"o": "3"})},
    )


def index(lib: Any, dataset: Any) -> Any:
    made = lib.Index(
        INDEX, "ix", [0], 1, {0}, 0, MADE, None, [lib.IndexFile("f", 5)], ("/of.Nobody", b"abc")
    )
    return lib.LanceOperation.CreateIndex([made], [])


def rewrite(lib: Any, dataset: Any) -> Any:
    of = lib.LanceOperation
    return of.Rewrite([of.RewriteGroup(metadata(dataset), [fragment(lib, dataset, 0, 5)])], [])


def replacement(lib: Any, dataset: Any) -> Any:
    of = lib.LanceOperation
    new = fragment(lib, dataset, 7)
    return of.DataReplacement([of.DataReplacementGroup(0, new.files[0])])


COMMITS: dict[str, Callable[[Any, Any], Any]] = {
    "Append": lambda lib, ds: lib.LanceOperation.Append([fragment(lib, ds, 10)]),
    "Overwrite": lambda lib, ds: lib.LanceOperation.Overwrite(SCHEMA, [fragment(lib, ds, 10)]),
    "Delete": lambda lib, _: lib.LanceOperation.Delete([], [0], "a < 3"),
    "Update": lambda lib, ds: lib.LanceOperation.Update([1], [], [fragment(lib, ds, 20)], [0]),
    "Merge": lambda lib, ds: lib.LanceOperation.Merge(metadata(ds), ds.lance_schema, True),
    "Project": lambda lib, ds: lib.LanceOperation.Project(ds.lance_schema),
    "Restore": lambda lib, _: lib.LanceOperation.Restore(1),
    "UpdateConfig": config_update,
    "UpdateConfig of nothing": lambda lib, _: lib.LanceOperation.UpdateConfig(),
    "CreateIndex": index,
    "Rewrite": rewrite,
    "DataReplacement": replacement,
}


def restore(lib: Any, dataset: Any) -> Any:
    old = lib.dataset(dataset.uri, version=1)
    old.restore()
    return old


def batch(lib: Any, dataset: Any) -> Any:
    transactions = [
        lib.Transaction(read, lib.LanceOperation.Append([fragment(lib, dataset, start)]))
        for read, start in ((3, 10), (2, 20))
    ]
    made = lib.LanceDataset.commit_batch(dataset.uri, transactions)
    assert said(made["merged"]) == last_operation(made["dataset"])
    return made["dataset"]


def message(lib: Any, dataset: Any) -> Any:
    operation = lib.LanceOperation.Append([fragment(lib, dataset, 10)])
    return lib.LanceDataset.commit(
        dataset, operation, 3, commit_message="hello", commit_timeout=timedelta(seconds=9)
    )


def properties(lib: Any, dataset: Any) -> Any:
    operation = lib.LanceOperation.Append([fragment(lib, dataset, 10)])
    given = lib.Transaction(3, operation, str(uuid.uuid4()), {"by": "me"})
    return lib.LanceDataset.commit(dataset.uri, given)


def base_paths(lib: Any, dataset: Any) -> Any:
    bases = [lib.DatasetBasePath("memory://one"), lib.DatasetBasePath("memory://two", "2", True)]
    return dataset.add_bases(bases, {"p": "q"})


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "restore": restore,
    "batch": batch,
    "message": message,
    "properties": properties,
    "add_bases": base_paths,
    "update_config": lambda _, ds: ds.update_config({"kept": None, "new": "3"}),
    "update_config, replacing": lambda _, ds: ds.update_config({"n": "3"}, replace=True),
    "update_config of nothing": lambda _, ds: ds.update_config({}),
    "delete_config_keys": lambda _, ds: ds.delete_config_keys(["kept", "missing"]),
    "update_metadata": lambda _, ds: ds.update_metadata({"m": "1"}),
    "update_schema_metadata": lambda _, ds: ds.update_schema_metadata({"m": "1"}),
    "replace_schema_metadata": lambda _, ds: ds.replace_schema_metadata({"m": "1"}),
    "update_field_metadata": lambda _, ds: ds.update_field_metadata(
        {"a": {"m": "1"}, "s.x": {"n": "2"}}
    ),
    "replace_field_metadata": lambda _, ds: ds.replace_field_metadata("s", {"m": "1"}),
    "primary key": lambda _, ds: ds.update_field_metadata(
        {"a": {"lance-schema:unenforced-primary-key": "true"}}
    ),
    "truncate_table": lambda _, ds: ds.truncate_table(),
}

STEPS = {**{name: commit(make) for name, make in COMMITS.items()}, **CALLS}


@pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning")
@each_case("name", STEPS)
def test_a_call_does_the_same(tmp_path: Path, name: str) -> None:
    ours, theirs = _done(lance_core, tmp_path, name), _done(lance, tmp_path, name)
    assert state(ours) == state(theirs)
    assert last_operation(ours) == last_operation(theirs)
    for made in (ours, theirs):
        seen = [lib.dataset(made.uri) for lib in LIBRARIES]
        assert state(seen[0]) == state(seen[1]) == state(made)
        assert said(seen[0].get_transactions()) == said(seen[1].get_transactions())


def _done(lib: Any, folder: Path, name: str) -> Any:
    dataset = new_table(lib, folder)
    result = STEPS[name](lib, dataset)
    if result is None or isinstance(result, dict):
        if result is not None:
            assert result in (dataset.config(), dataset.metadata, _text(dataset.schema.metadata))
        return dataset
    return result


def _text(metadata: dict[bytes, bytes] | None) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in (metadata or {}).items()}


def conflict(lib: Any, ds: Any) -> Any:
    return lib.dataset(ds.uri, version=2).update_config({"kept": "9"})


def transaction_with_message(lib: Any, ds: Any) -> Any:
    given = lib.Transaction(3, lib.LanceOperation.Append([]))
    return lib.LanceDataset.commit(ds, given, commit_message="hello")


def mixed_batch(lib: Any, ds: Any) -> Any:
    of = lib.LanceOperation
    given = [lib.Transaction(3, of.Append([])), lib.Transaction(3, of.Restore(1))]
    return lib.LanceDataset.commit_batch(ds, given)


def bases_of_an_old_table(lib: Any, ds: Any) -> Any:
    bases = [lib.DatasetBasePath("memory://one")]
    return lib.LanceOperation.Overwrite(SCHEMA, [fragment(lib, ds, 0)], bases)


def same_base_twice(lib: Any, ds: Any) -> Any:
    ds.add_bases([lib.DatasetBasePath("memory://one", "n")])
    return ds.add_bases([lib.DatasetBasePath("memory://one", "m")])


REFUSED: dict[str, tuple[Callable[[Any, Any], Any], type[Exception]]] = {
    "a value that is no text": (lambda _, ds: ds.update_config({"a": 1}), TypeError),
    "updates that are no dict": (lambda _, ds: ds.update_config([("a", "1")]), TypeError),
    "no such field": (lambda _, ds: ds.update_field_metadata({"q": {"a": "1"}}), OSError),
    "a field by its id": (lambda _, ds: ds.update_field_metadata({0: {"a": "1"}}), TypeError),
    "no such field id": (
        commit(
            lambda lib, _: lib.LanceOperation.UpdateConfig(
                field_metadata_updates={99: lib.LanceOperation.UpdateMap({"a": "1"})}
            )
        ),
        Exception,
    ),
    "the same key since": (conflict, OSError),
    "a primary key that may be null": (
        lambda _, ds: ds.update_field_metadata(
            {"s.x": {"lance-schema:unenforced-primary-key": "true"}}
        ),
        Exception,
    ),
    "a version that is not there": (
        commit(lambda lib, _: lib.LanceOperation.Restore(99)),
        OSError,
    ),
    "no version that was read": (
        lambda lib, ds: lib.LanceDataset.commit(ds, lib.LanceOperation.Append([])),
        ValueError,
    ),
    "a message beside a transaction": (transaction_with_message, ValueError),
    "not an operation": (lambda lib, ds: lib.LanceDataset.commit(ds, 5, 3), TypeError),
    "not a place": (
        lambda lib, _: lib.LanceDataset.commit(5, lib.LanceOperation.Restore(1)),
        TypeError,
    ),
    "not a lock": (
        commit(lambda lib, _: lib.LanceOperation.Restore(1), commit_lock=5),
        TypeError,
    ),
    "no time": (
        commit(lambda lib, _: lib.LanceOperation.Restore(1), commit_timeout=timedelta(0)),
        Exception,
    ),
    "not fragments": (lambda lib, _: lib.LanceOperation.Append([{}]), TypeError),
    "an empty batch": (lambda lib, ds: lib.LanceDataset.commit_batch(ds, []), Exception),
    "a batch of other changes": (mixed_batch, Exception),
    "bases of a table that is there": (commit(bases_of_an_old_table), Exception),
    "the same base twice": (same_base_twice, ValueError),
    "a copy as a commit": (
        commit(lambda lib, ds: lib.LanceOperation.Clone(True, None, 1, ds.uri, None)),
        OSError,
    ),
    "no such version": (lambda _, ds: ds.read_transaction(99), OSError),
    "a schema as a whole": (lambda _, ds: ds.replace_schema(SCHEMA), NotImplementedError),
    "an index without a uuid": (
        commit(
            lambda lib, _: lib.LanceOperation.CreateIndex([lib.Index("?", "i", [0], 1, {0}, 0)], [])
        ),
        ValueError,
    ),
}


@each_case("name", REFUSED)
def test_what_is_refused_raises_a_kindred_error_and_changes_nothing(
    tmp_path: Path, name: str
) -> None:
    call, kind = REFUSED[name]
    for lib in LIBRARIES:
        dataset = new_table(lib, tmp_path)
        with pytest.raises(kind):
            call(lib, dataset)
        assert lib.dataset(dataset.uri).version == (4 if name == "the same base twice" else 3)


@pytest.mark.parametrize("maker", LIBRARIES)
def test_detached_versions_are_read_by_both_and_are_no_part_of_the_history(
    tmp_path: Path, maker: Any
) -> None:
    dataset = new_table(maker, tmp_path)
    operation = maker.LanceOperation.Append([fragment(maker, dataset, 10)])
    made = maker.LanceDataset.commit(dataset.uri, operation, read_version=3, detached=True)
    assert made.version >> 63 == 1
    for lib in LIBRARIES:
        assert lib.dataset(dataset.uri).version == 3
        assert [found["version"] for found in lib.dataset(dataset.uri).versions()] == [1, 2, 3]
        seen = lib.dataset(dataset.uri, version=made.version)
        assert seen.count_rows() == made.count_rows() == 8
        assert seen.config() == dataset.config()
        assert said(seen.get_transactions()) == [said(made.read_transaction(made.version))]
        with pytest.raises((OSError, NotImplementedError)):
            lib.write_dataset(rows(0), seen, mode="append")
        after = lib.LanceOperation.Append([fragment(lib, dataset, 30)])
        second = lib.LanceDataset.commit(
            dataset.uri, after, read_version=made.version, detached=True
        )
        assert second.version >> 63 == 1
        assert second.version != made.version
        for other in LIBRARIES:
            assert other.dataset(dataset.uri, version=second.version).count_rows() == 8 + 3
        with pytest.raises((OSError, NotImplementedError, ValueError)):
            lib.LanceDataset.commit(
                str(tmp_path / "new"),
                lib.LanceOperation.Overwrite(SCHEMA, []),
                detached=True,
            )


def test_detached_commits_need_the_second_naming_scheme(tmp_path: Path) -> None:
    for lib in LIBRARIES:
        dataset = new_table(lib, tmp_path, enable_v2_manifest_paths=False)
        operation = lib.LanceOperation.Append([fragment(lib, dataset, 10)])
        with pytest.raises((OSError, NotImplementedError)):
            lib.LanceDataset.commit(dataset.uri, operation, read_version=3, detached=True)
        dataset.migrate_manifest_paths_v2()
        made = lib.LanceDataset.commit(dataset.uri, operation, read_version=3, detached=True)
        assert made.count_rows() == 8


@pytest.mark.parametrize("migrator", LIBRARIES)
def test_renamed_manifests_are_found_by_both(tmp_path: Path, migrator: Any) -> None:
    old = new_table(lance_core, tmp_path, enable_v2_manifest_paths=False)
    names = Path(old.uri, "_versions")
    assert sorted(path.name for path in names.glob("*.manifest"))[0] == "1.manifest"
    before = state(lance_core.dataset(old.uri))
    dataset = migrator.dataset(old.uri, version=1)
    dataset.migrate_manifest_paths_v2()
    assert all(len(path.stem) == 20 for path in names.glob("*.manifest"))
    assert dataset.version == 3
    for lib in LIBRARIES:
        assert state(lib.dataset(old.uri)) == before
    for lib in LIBRARIES:
        lib.write_dataset(rows(30), old.uri, mode="append")
    assert [lib.dataset(old.uri).version for lib in LIBRARIES] == [5, 5]


@pytest.mark.parametrize(
    "options",
    [
        {"interval": 3, "older_than_seconds": 3600},
        {"interval": 3},
        {"older_than_seconds": 90061},
        {"interval": 0, "older_than_seconds": 0},
        {"older_than_seconds": 2 * 31_557_600 + 2 * 2_630_016 + 86_400},
        {},
    ],
)
def test_auto_cleanup_is_configured_alike(tmp_path: Path, options: dict[str, int]) -> None:
    configs = []
    for lib in LIBRARIES:
        path = str(tmp_path / lib.__name__)
        made = lib.write_dataset(rows(0), path, auto_cleanup_options=options)
        configs.append(made.config())
        again = lib.write_dataset(
            rows(0), path, mode="overwrite", auto_cleanup_options={"interval": 9}
        )
        assert again.config() == made.config()
    assert configs[0] == configs[1]


def test_initial_bases_are_registered_alike(tmp_path: Path) -> None:
    found = []
    for lib in LIBRARIES:
        bases = [lib.DatasetBasePath("memory://one", "n"), lib.DatasetBasePath("memory://two", "m")]
        path = str(tmp_path / lib.__name__)
        made = lib.write_dataset(rows(0), path, initial_bases=bases, data_storage_version="2.0")
        found += [state(other.dataset(made.uri))["bases"] for other in LIBRARIES]
    assert found == [found[0]] * 4
    assert found[0].keys() == {1, 2}


def test_a_dropped_table_is_gone_for_both(tmp_path: Path) -> None:
    for dropper in LIBRARIES:
        dataset = new_table(lance_core, tmp_path)
        Path(dataset.uri, "notes.txt").write_text("of somebody")
        dropper.LanceDataset.drop(dataset.uri)
        assert not [path for path in Path(dataset.uri).rglob("*") if path.is_file()]
        for lib in LIBRARIES:
            with pytest.raises((OSError, ValueError)):
                lib.dataset(dataset.uri)
        dropper.LanceDataset.drop(str(tmp_path / "nothing"), ignore_not_found=True)
        with pytest.raises(OSError, match=r"[Nn]ot found"):
            dropper.LanceDataset.drop(str(tmp_path / "nothing"))
        (tmp_path / "foreign").mkdir(exist_ok=True)
        Path(tmp_path / "foreign" / "file").write_text("keep")
        with pytest.raises(ValueError, match="no"):
            dropper.LanceDataset.drop(str(tmp_path / "foreign"))
        assert Path(tmp_path / "foreign" / "file").read_text() == "keep"


def test_fragment_ids_are_those_of_the_fragments(tmp_path: Path) -> None:
    for lib in LIBRARIES:
        assert set(new_table(lib, tmp_path).fragment_ids()) == {0, 1}


def test_an_arrow_schema_in_a_merge_is_warned_of(tmp_path: Path) -> None:
    for lib in LIBRARIES:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lib.LanceOperation.Merge([], SCHEMA)
        assert [warning.category for warning in caught] == [DeprecationWarning]
