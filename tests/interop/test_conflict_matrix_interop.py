"""The conflict table against the reference implementation: every ordered pair of its operations.

One operation of a pair is committed, then the other, computed from the version before. Both touch
the same things (fragment, key, field, name) in one half of the pairs, different ones in the other.
"""

from __future__ import annotations

import dataclasses
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

import lance
import lance.file
import pyarrow as pa
import pytest
from lance import Index, LanceOperation
from lance.fragment import DataFile, FragmentMetadata
from lance.schema import LanceSchema

from lance_core.table.manifest.file import parse_manifest_file
from lance_core.table.transactions.conflicts import Verdict, verdict
from lance_core.table.transactions.operations import Operation
from lance_core.table.transactions.transaction import Transaction

SAME, OTHER = 0, 1
NAMES = ("a", "b")

Maker = Callable[[lance.LanceDataset, int], LanceOperation.BaseOperation]


def _rows(count: int = 5) -> pa.Table:
    return pa.table({name: pa.array(range(count), pa.int64()) for name in "abc"})


def _written(dataset: lance.LanceDataset) -> FragmentMetadata:
    (fragment,) = lance.fragment.write_fragments(
        _rows(), dataset.uri, data_storage_version="2.0", mode="append"
    )
    return fragment


def _deleted(dataset: lance.LanceDataset, which: int) -> FragmentMetadata:
    fragment = dataset.get_fragment(which).delete("a = 1")
    assert fragment is not None
    return fragment


def _append(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    return LanceOperation.Append([_written(dataset)])


def _delete(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    return LanceOperation.Delete([_deleted(dataset, which)], [], "a = 1")


def _delete_fragment(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    return LanceOperation.Delete([], [which], "true")


def _update_rows(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    return LanceOperation.Update(
        updated_fragments=[_deleted(dataset, which)],
        new_fragments=[_written(dataset)],
        update_mode="rewrite_rows",
    )


def _update_columns(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    values = pa.table({"_rowid": pa.array([which << 32], pa.uint64()), NAMES[which]: [7]})
    fragment, fields = dataset.get_fragment(which).update_columns(values)
    return LanceOperation.Update(
        updated_fragments=[fragment], fields_modified=fields, update_mode="rewrite_columns"
    )


def _overwrite(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    return LanceOperation.Overwrite(dataset.schema, [_written(dataset)])


def _create_index(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    """A copy of the entry of an index that exists, so that it can be opened."""
    old = dataset.read_transaction(2).operation.new_indices[0]
    name = f"by {NAMES[which]}"
    index = dataclasses.replace(
        old, uuid=str(uuid.uuid4()), name=name, fields=[which], fragment_ids={which}
    )
    assert isinstance(index, Index)
    source = Path(dataset.uri) / "_indices"
    shutil.copytree(source / old.uuid, source / index.uuid)
    return LanceOperation.CreateIndex([index], [])


def _rewrite(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    group = LanceOperation.RewriteGroup([dataset.get_fragment(which).metadata], [_written(dataset)])
    return LanceOperation.Rewrite([group], [])


def _merge(dataset: lance.LanceDataset, which: int) -> LanceOperation.Merge:
    fragments = [fragment.metadata for fragment in dataset.get_fragments()]
    schema = dataset.schema.append(pa.field(f"new_{which}", pa.int64()))
    return LanceOperation.Merge(fragments, LanceSchema.from_pyarrow(schema))


def _merge_safe(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    return dataclasses.replace(_merge(dataset, which), preserves_nullability=True)


def _project(dataset: lance.LanceDataset, which: int) -> LanceOperation.Project:
    return LanceOperation.Project(dataset.lance_schema)


def _project_safe(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    return dataclasses.replace(_project(dataset, which), preserves_nullability=True)


def _restore(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    return LanceOperation.Restore(1)


def _updates(which: int) -> LanceOperation.UpdateMap:
    return LanceOperation.UpdateMap({NAMES[which]: str(uuid.uuid4())})


def _config(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    return LanceOperation.UpdateConfig(config_updates=_updates(which))


def _table_metadata(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    return LanceOperation.UpdateConfig(table_metadata_updates=_updates(which))


def _schema_metadata(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    return LanceOperation.UpdateConfig(schema_metadata_updates=_updates(which))


def _field_metadata(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    return LanceOperation.UpdateConfig(field_metadata_updates={which: _updates(SAME)})


def _data_replacement(dataset: lance.LanceDataset, which: int) -> LanceOperation.BaseOperation:
    name = f"{uuid.uuid4()}.lance"
    path = Path(dataset.uri) / "data" / name
    rows = _rows().select([NAMES[which]])
    with lance.file.LanceFileWriter(str(path), rows.schema, version="2.0") as writer:
        writer.write_batch(rows)
    file = DataFile(name, [which], [0], 2, 0, path.stat().st_size)
    return LanceOperation.DataReplacement([LanceOperation.DataReplacementGroup(which, file)])


MAKERS: dict[str, Maker] = {
    "append": _append,
    "delete": _delete,
    "delete fragment": _delete_fragment,
    "update rows": _update_rows,
    "update columns": _update_columns,
    "overwrite": _overwrite,
    "create index": _create_index,
    "rewrite": _rewrite,
    "merge": _merge,
    "merge, safe": _merge_safe,
    "project": _project,
    "project, safe": _project_safe,
    "restore": _restore,
    "config": _config,
    "table metadata": _table_metadata,
    "schema metadata": _schema_metadata,
    "field metadata": _field_metadata,
    "data replacement": _data_replacement,
}


STRICTER = {
    ("create index", "update columns", SAME): Verdict.RETRYABLE,
    ("project", "field metadata", SAME): Verdict.RETRYABLE,
    ("project", "field metadata", OTHER): Verdict.RETRYABLE,
    ("project, safe", "field metadata", SAME): Verdict.RETRYABLE,
    ("project, safe", "field metadata", OTHER): Verdict.RETRYABLE,
}
"""Committing, committed: where an index would list values that are there no more, and where a
projection would bring back the metadata that its fields had before."""


@dataclasses.dataclass(frozen=True)
class Prepared:
    """An operation computed from version 2, and a table where it was committed as version 3."""

    theirs: LanceOperation.BaseOperation
    ours: Operation
    root: Path


def _copy_of_commits(source: Path, target: Path) -> None:
    """A table that has its own versions, and shares the files that a commit leaves alone."""
    target.mkdir()
    for entry in source.iterdir():
        if entry.name in ("_versions", "_transactions"):
            shutil.copytree(entry, target / entry.name)
        else:
            (target / entry.name).symlink_to(entry)


def _commit(root: Path, operation: LanceOperation.BaseOperation) -> Verdict:
    try:
        lance.LanceDataset.commit(str(root), operation, read_version=2, max_retries=1)
    except OSError as error:
        text = str(error)
        if "Retryable" in text or "retr" in text.lower():
            return Verdict.RETRYABLE
        assert "conflict" in text.lower() or "incompatible" in text.lower(), text
        return Verdict.INCOMPATIBLE
    return Verdict.COMPATIBLE


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Prepared]:
    """Each operation in both ways."""
    folder = tmp_path_factory.mktemp("matrix")
    base = folder / "base"
    dataset = lance.write_dataset(
        pa.concat_tables([_rows(), _rows(), _rows()]),
        base,
        max_rows_per_file=5,
        data_storage_version="2.0",
    )
    dataset.create_scalar_index("c", "BTREE")
    dataset = lance.dataset(base)
    made = {}
    computed = {
        (name, which): make(dataset, which)
        for name, make in MAKERS.items()
        for which in (SAME, OTHER)
    }
    for (name, which), operation in computed.items():
        root = folder / f"{name} {which}"
        shutil.copytree(base, root)
        assert _commit(root, operation) is Verdict.COMPATIBLE, name
        (newest, *_) = sorted((root / "_versions").glob("*.manifest"))
        stored = parse_manifest_file(newest.read_bytes()).transaction
        assert stored is not None
        made[name, which] = Prepared(operation, Transaction.from_bytes(stored).operation, root)
    return made


@pytest.mark.parametrize("ours", MAKERS)
def test_what_goes_together_is_what_the_reference_implementation_lets_go_together(
    ours: str, prepared: dict[tuple[str, int], Prepared], tmp_path: Path
) -> None:
    found, expected = {}, {}
    for committed in MAKERS:
        for which in (SAME, OTHER):
            mine, first = prepared[ours, which], prepared[committed, SAME]
            root = tmp_path / f"{committed} {which}"
            _copy_of_commits(first.root, root)
            measured = _commit(root, mine.theirs)
            expected[committed, which] = STRICTER.get((ours, committed, which), measured).name
            found[committed, which] = verdict(mine.ours, first.ours).name
            shutil.rmtree(root)
    assert found == expected
