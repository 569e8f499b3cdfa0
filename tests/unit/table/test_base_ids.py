"""No commit names files of a base path that the table does not list."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError
from lance_core.schema.tree import Schema
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.deletion_file import DeletionFile, DeletionFileType
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.manifest_parts import BasePath
from lance_core.table.transactions.apply import CommitFacts, apply
from lance_core.table.transactions.operations import (
    Append,
    DataReplacement,
    Delete,
    Merge,
    Operation,
    Overwrite,
    Update,
)
from lance_core.table.transactions.operations.data_replacement import DataReplacementGroup
from lance_core.table.transactions.transaction import Transaction

SCHEMA = Schema.from_arrow(pa.schema({"x": pa.int64()}))
FACTS = CommitFacts(timestamp_ns=0)
BASE = BasePath(4, "s3://bucket/x")


def file(name: str, base_id: int | None = None) -> DataFile:
    return DataFile(f"{name}.lance", (0,), (0,), 2, 0, 100, base_id)


def fragment(base_id: int | None = None, deletions: int | None = None) -> Fragment:
    deleted = None
    if deletions is not None:
        deleted = DeletionFile(DeletionFileType.ARROW_ARRAY, 1, 1, 2, deletions)
    return Fragment(0, (file("a", base_id),), physical_rows=5, deletion_file=deleted)


def made(operation: Operation, base: ManifestFile | None) -> ManifestFile:
    version = 0 if base is None else base.manifest.version
    return apply(base, Transaction(version, "id", operation), FACTS)


@pytest.fixture
def table() -> ManifestFile:
    """A table with a base path 4 and one fragment."""
    return made(Overwrite((fragment(),), SCHEMA, {}, (BASE,)), None)


def operations(base_id: int) -> list[Operation]:
    return [
        Append((fragment(base_id),)),
        Overwrite((fragment(base_id),), SCHEMA),
        Delete((fragment(deletions=base_id),), (), "x = 1"),
        Update((), (fragment(deletions=base_id),), ()),
        Update((), (), (fragment(base_id),)),
        Merge((fragment(base_id),), SCHEMA),
        DataReplacement((DataReplacementGroup(0, file("b", base_id)),)),
    ]


@pytest.mark.parametrize("number", range(len(operations(0))))
def test_base_paths_that_are_not_listed_are_refused(table: ManifestFile, number: int) -> None:
    with pytest.raises(InvalidInputError, match="base path 5"):
        made(operations(5)[number], table)
    after = made(operations(4)[number], table).manifest
    ids = {f.base_id for fragment in after.fragments for f in fragment.files}
    ids |= {f.deletion_file.base_id for f in after.fragments if f.deletion_file is not None}
    assert 4 in ids
    assert after.base_paths == (BASE,)


def test_a_new_table_can_use_the_base_paths_that_it_begins_with() -> None:
    bases = (BASE, dataclasses.replace(BASE, id=6))
    after = made(Overwrite((fragment(6),), SCHEMA, {}, bases), None)
    assert after.manifest.fragments[0].files[0].base_id == 6
    with pytest.raises(InvalidInputError, match="base path 5"):
        made(Overwrite((fragment(5),), SCHEMA, {}, bases), None)
