"""Tables of data files of several versions: what sets their feature flag, and that it stays."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError
from lance_core.schema.tree import Schema
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.feature_flags import MIXED_FILE_VERSIONS
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.storage_version import may_mix
from lance_core.table.transactions.apply import CommitFacts, apply
from lance_core.table.transactions.operations import (
    Append,
    Clone,
    DataReplacement,
    Delete,
    Merge,
    Operation,
    Overwrite,
    Restore,
    Update,
)
from lance_core.table.transactions.operations.data_replacement import DataReplacementGroup
from lance_core.table.transactions.transaction import Transaction
from tests.each_case import each_case

SCHEMA = Schema.from_arrow(pa.schema([pa.field("a", pa.int64())]))
FACTS = CommitFacts(1_700_000_000_123_456_789)
OLD_FILE = DataFile("a.lance", (0,), (0,), 2, 0, 700)
NEW_FILE = DataFile("b.lance", (0,), (0,), 2, 2, 700)
OLD, NEW = (Fragment(0, (file,), physical_rows=10) for file in (OLD_FILE, NEW_FILE))


def commit(
    base: ManifestFile | None, operation: Operation, facts: CommitFacts = FACTS
) -> ManifestFile:
    read_version = 0 if base is None else base.manifest.version
    return apply(base, Transaction(read_version, "u", operation), facts)


def is_mixed(version: ManifestFile) -> bool:
    flags = version.manifest.flags
    assert flags.reader & MIXED_FILE_VERSIONS == flags.writer & MIXED_FILE_VERSIONS
    return flags.has(MIXED_FILE_VERSIONS)


BEFORE = commit(None, Overwrite((OLD,), SCHEMA))
MIXED = commit(BEFORE, Append((NEW,)))
CHANGED = dataclasses.replace(NEW, id=0)


@each_case(
    "operation",
    [
        Append((OLD, NEW)),
        Overwrite((NEW,), SCHEMA),
        DataReplacement((DataReplacementGroup(0, NEW_FILE),)),
        Merge((CHANGED,), SCHEMA),
        Update((), (CHANGED,), ()),
        Update((0,), (), (NEW,)),
    ],
    ids=lambda operation: type(operation).__name__,
)
def test_a_file_of_another_version_makes_a_mixed_table(operation: Operation) -> None:
    made = commit(BEFORE, operation)
    assert is_mixed(made)
    assert made.manifest.storage_version == "2.0"
    assert not is_mixed(BEFORE)


@each_case(
    "operation",
    [
        Append((OLD,)),
        Append((NEW,)),
        Overwrite((), SCHEMA),
        Overwrite((OLD,), SCHEMA),
        Delete((), (0, 1), "true"),
        Update((1,), (), (OLD,)),
        Restore(1),
    ],
    ids=lambda operation: type(operation).__name__,
)
def test_a_mixed_table_stays_one(operation: Operation) -> None:
    made = commit(MIXED, operation, dataclasses.replace(FACTS, source=BEFORE))
    assert is_mixed(made)
    assert made.manifest.storage_version == "2.0"


def test_an_overwrite_may_give_a_mixed_table_another_version() -> None:
    made = commit(
        MIXED, Overwrite((NEW,), SCHEMA), dataclasses.replace(FACTS, storage_version="2.2")
    )
    assert (made.manifest.storage_version, is_mixed(made)) == ("2.2", True)
    with pytest.raises(InvalidInputError, match=r"several versions cannot be one of version 0\.1"):
        commit(MIXED, Overwrite((), SCHEMA), dataclasses.replace(FACTS, storage_version="0.1"))


@pytest.mark.parametrize("source", [BEFORE, MIXED])
def test_a_clone_is_mixed_as_the_version_that_it_copies(source: ManifestFile) -> None:
    clone = Clone(True, None, source.manifest.version, "elsewhere")
    made = commit(None, clone, dataclasses.replace(FACTS, source=source))
    assert is_mixed(made) is is_mixed(source)


def test_the_files_of_a_new_table_are_alike() -> None:
    with pytest.raises(InvalidInputError, match=r"2\.2.*2\.0"):
        commit(None, Overwrite((OLD, NEW), SCHEMA))


@each_case(
    ("one", "other", "expected"),
    [
        ("2.0", "2.2", True),
        ("2.1", "2.1", True),
        ("0.1", "0.1", True),
        ("0.1", "2.0", False),
        ("2.2", "0.1", False),
        ("2.2", "2.3", False),
    ],
)
def test_only_versions_from_2_0_on_go_together(one: str, other: str, expected: bool) -> None:
    assert may_mix(one, other) is expected
