from __future__ import annotations

import dataclasses
import uuid as uuids
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from lance_core.errors import CommitConflictError, RetryableCommitConflictError
from lance_core.schema.field import Field
from lance_core.schema.tree import Schema
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.indices.index_metadata import (
    IndexMetadata,
    encode_fragment_ids,
    fragment_bitmap,
)
from lance_core.table.manifest_parts import BasePath
from lance_core.table.transactions.conflict_conditions import (
    same_base,
    shared_fragments_or_keys,
    unresolved_rows_or_keys,
)
from lance_core.table.transactions.conflicts import MATRIX, Verdict, check, verdict
from lance_core.table.transactions.operations import (
    Append,
    BloomKeys,
    Clone,
    CreateIndex,
    DataReplacement,
    DataReplacementGroup,
    Delete,
    ExactKeys,
    KeyExistenceFilter,
    Merge,
    Operation,
    OperationKind,
    Overwrite,
    PreservedOperation,
    Project,
    ReserveFragments,
    Restore,
    Rewrite,
    RewriteGroup,
    RewrittenIndex,
    UnknownOperation,
    Update,
    UpdateBases,
    UpdateConfig,
    UpdateMap,
    UpdateMode,
)
from lance_core.table.transactions.transaction import Transaction
from tests.each_case import each_case

KIND = OperationKind
SAME, OTHER = 1, 2
APPEND, OVERWRITE = Append((Fragment(0),)), Overwrite((), Schema())


def index(number: int, name: str = "", covered: tuple[int, ...] = ()) -> IndexMetadata:
    """An index over the field ``number``; it covers the fragment of the same number."""
    bitmap = encode_fragment_ids(fragment_bitmap(covered or (number,)))
    return IndexMetadata(uuids.uuid4(), name or f"by {number}", (number,), 1, bitmap)


def replacement(fragment: int, field: int) -> DataReplacement:
    file = DataFile("x.lance", (field,), (0,), 2, 0)
    return DataReplacement((DataReplacementGroup(fragment, file),))


def operation(kind: OperationKind, which: int) -> Operation:
    """An operation on the fragment, field, key or name with this number."""
    schema, fragment = Schema(), Fragment(which)
    updates = UpdateMap({str(which): "v"})
    made: dict[OperationKind, Operation] = {
        KIND.APPEND: APPEND,
        KIND.DELETE: Delete((fragment,), (), ""),
        KIND.UPDATE_ROWS: Update((), (fragment,), ()),
        KIND.UPDATE_COLUMNS: Update(
            (), (fragment,), (), (which,), update_mode=UpdateMode.REWRITE_COLUMNS
        ),
        KIND.OVERWRITE: OVERWRITE,
        KIND.CREATE_INDEX: CreateIndex((index(which),)),
        KIND.REWRITE: Rewrite((RewriteGroup((fragment,), ()),)),
        KIND.MERGE: Merge((fragment,), schema),
        KIND.MERGE_SAFE: Merge((fragment,), schema, True),
        KIND.PROJECT: Project(schema),
        KIND.PROJECT_SAFE: Project(schema, True),
        KIND.RESTORE: Restore(1),
        KIND.UPDATE_CONFIG: UpdateConfig(updates, updates),
        KIND.UPDATE_METADATA: UpdateConfig(field_metadata={which: updates}),
        KIND.DATA_REPLACEMENT: replacement(which, which),
        KIND.RESERVE_FRAGMENTS: ReserveFragments(1),
        KIND.UPDATE_MEM_WAL: PreservedOperation("", (KIND.UPDATE_MEM_WAL,), frozenset(), b""),
        KIND.CLONE: Clone(True, None, 1, "/a"),
        KIND.UPDATE_BASES: UpdateBases((BasePath(0, f"/{which}", name=str(which)),)),
        KIND.DATA_OVERLAY: PreservedOperation("", (KIND.DATA_OVERLAY,), frozenset((which,)), b""),
        KIND.UNKNOWN: UnknownOperation(),
    }
    assert made[kind].kinds == (kind,)
    return made[kind]


# Each line: the operation to commit. Each column: what was committed, in the order of `KIND`.
# Two letters: the verdict if both touch the same things, and if they touch different ones.
EXPECTED = """
                      Ap De Ur Uc Ov CI Rw Me Ms Pr Ps Re Uc Um DR RF MW Cl UB DO ??
    APPEND            .. .. .. .. XX .. .. RR .. RR .. XX .. .. .. .. XX XX .. .. XX
    DELETE            .. R. R. R. XX .. R. RR RR .. .. XX .. .. R. .. XX XX .. R. XX
    UPDATE_ROWS       .. R. R. R. XX .. R. RR RR RR .. XX .. .. R. .. XX XX .. R. XX
    UPDATE_COLUMNS    .. R. R. R. XX .. R. RR RR RR .. XX .. .. R. .. XX XX .. R. XX
    OVERWRITE         .. .. .. .. RR .. .. .. .. .. .. .. .. .. .. .. XX XX .. .. XX
    CREATE_INDEX      .. .. .. R. XX R. R. .. .. .. .. XX .. .. R. .. .. XX .. RR XX
    REWRITE           .. R. R. R. XX R. R. RR RR .. .. XX .. .. R. .. .. XX .. R. XX
    MERGE             RR RR RR RR XX RR RR RR RR XX XX XX .. RR RR .. XX XX .. RR XX
    MERGE_SAFE        RR RR RR RR XX RR RR RR RR XX XX XX .. RR RR .. XX XX .. RR XX
    PROJECT           RR .. RR RR XX .. .. RR RR RR RR XX .. .. RR .. XX XX .. RR XX
    PROJECT_SAFE      .. .. .. .. XX .. .. RR RR RR RR XX .. .. .. .. XX XX .. RR XX
    RESTORE           .. .. .. .. .. .. .. .. .. .. .. .. .. XX .. .. XX XX .. .. XX
    UPDATE_CONFIG     .. .. .. .. .. .. .. .. .. .. .. .. X. .. .. .. .. XX .. .. XX
    UPDATE_METADATA   .. .. .. .. XX .. .. RR RR .. .. XX .. X. .. .. XX XX .. .. XX
    DATA_REPLACEMENT  .. .. R. R. XX R. R. RR RR RR .. XX .. .. R. .. XX XX .. R. XX
    RESERVE_FRAGMENTS .. .. .. .. XX .. .. .. .. .. .. XX .. .. .. .. .. XX .. .. XX
    UPDATE_BASES      .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. XX X. .. XX
    CLONE             XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX
    UPDATE_MEM_WAL    XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX
    DATA_OVERLAY      XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX
    UNKNOWN           XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX XX
"""


def cases() -> Iterator[tuple[OperationKind, OperationKind, int, Verdict]]:
    for line in EXPECTED.strip().splitlines()[1:]:
        name, *cells = line.split()
        for committed, cell in zip(KIND, cells, strict=True):
            for which, letter in zip((SAME, OTHER), cell, strict=True):
                yield OperationKind[name], committed, which, Verdict(letter)


CASES = list(cases())


@each_case("ours", KIND)
def test_the_matrix_is_the_measured_one(ours: OperationKind) -> None:
    found = {
        (committed, which): verdict(operation(ours, which), operation(committed, SAME))
        for committed in KIND
        for which in (SAME, OTHER)
    }
    expected = {(theirs, which): word for kind, theirs, which, word in CASES if kind is ours}
    assert found == expected


def test_an_update_that_replaces_values_counts_as_one_whatever_its_mode() -> None:
    stated = operation(KIND.UPDATE_COLUMNS, SAME)
    assert isinstance(stated, Update)
    unstated = dataclasses.replace(stated, update_mode=UpdateMode.REWRITE_ROWS)
    rows = operation(KIND.UPDATE_ROWS, SAME)
    for kind in KIND:
        for which in (SAME, OTHER):
            other = operation(kind, which)
            expected = {verdict(other, stated), verdict(other, rows)}
            assert verdict(other, unstated) in expected
            assert len(expected) == 1 or verdict(other, unstated) is not Verdict.COMPATIBLE


def test_the_matrix_has_a_verdict_for_every_pair() -> None:
    assert len(CASES) == 2 * len(OperationKind) ** 2
    for row in MATRIX.values():
        assert set(row) == set(OperationKind)


@each_case(("ours", "theirs", "which", "expected"), CASES[:: len(KIND) + 2])
def test_a_conflict_says_who_meets_whom(
    ours: OperationKind, theirs: OperationKind, which: int, expected: Verdict
) -> None:
    transaction = Transaction(3, "ours", operation(ours, which))
    other = Transaction(3, "theirs", operation(theirs, SAME))
    if expected is Verdict.COMPATIBLE:
        check(transaction, other, 4)
        return
    with pytest.raises(CommitConflictError) as caught:
        check(transaction, other, 4)
    is_retryable = expected is Verdict.RETRYABLE
    assert isinstance(caught.value, RetryableCommitConflictError) is is_retryable
    assert str(caught.value).startswith("Retryable commit") is is_retryable
    for text in ("version 3", "version 4", ours.value, theirs.value):
        assert text in str(caught.value)


@pytest.mark.parametrize("safe", [False, True])
def test_a_projection_does_not_undo_what_was_said_of_the_fields_that_it_keeps(safe: bool) -> None:
    schema = Schema.from_arrow(pa.schema({"a": pa.int64(), "b": pa.int64()}))
    described = UpdateConfig(field_metadata={1: UpdateMap({"k": "v"})})
    assert verdict(Project(schema, safe), described) is Verdict.RETRYABLE
    dropped = dataclasses.replace(schema, fields=schema.fields[:1])
    assert verdict(Project(dropped, safe), described) is Verdict.COMPATIBLE
    of_schema = UpdateConfig(schema_metadata=UpdateMap({"k": "v"}))
    assert verdict(Project(schema, safe), of_schema) is Verdict.COMPATIBLE


def test_rows_are_not_appended_in_a_field_that_was_replaced() -> None:
    fragment = Fragment(0, (DataFile("x.lance", (0, 1), (0, 1), 2, 0),), physical_rows=1)
    ours = Append((fragment,))
    for ids, expected in (((0, 1, 2), Verdict.COMPATIBLE), ((0, 2), Verdict.RETRYABLE)):
        schema = Schema(tuple(Field(f"f{id_}", "int64", True, id_) for id_ in ids))
        assert verdict(ours, Merge((), schema, preserves_nullability=True)) is expected


def test_removing_an_index_and_exchanging_it_do_not_go_together() -> None:
    old, other = index(SAME), index(SAME)
    group = RewriteGroup((Fragment(OTHER),), ())
    rewrite = Rewrite((group,), (RewrittenIndex(old.uuid, uuids.uuid4()),))
    drop = CreateIndex((), (old,))
    assert verdict(drop, rewrite) is verdict(rewrite, drop) is Verdict.RETRYABLE
    assert verdict(CreateIndex((), (other,)), rewrite) is Verdict.COMPATIBLE
    assert verdict(drop, Rewrite((group,))) is Verdict.COMPATIBLE


@pytest.mark.parametrize("kind", [KIND.DELETE, KIND.UPDATE_ROWS])
def test_changes_of_known_rows_can_follow_changes_of_the_same_fragment(kind: OperationKind) -> None:
    rows = {SAME: np.array([4], dtype=np.uint32)}
    ours = operation(kind, SAME)
    assert isinstance(ours, Delete | Update)
    known = dataclasses.replace(ours, affected_rows=rows)
    for theirs in (KIND.DELETE, KIND.UPDATE_ROWS):
        assert verdict(ours, operation(theirs, SAME)) is Verdict.RETRYABLE
        assert verdict(known, operation(theirs, SAME)) is Verdict.COMPATIBLE
    for theirs in (KIND.UPDATE_COLUMNS, KIND.REWRITE, KIND.DATA_REPLACEMENT):
        assert verdict(known, operation(theirs, SAME)) is Verdict.RETRYABLE


def bloom(*words: int, bits: int = 512) -> BloomKeys:
    return BloomKeys(np.array(words, dtype="<u4").tobytes(), bits, 8192, 0.00057)


FULL, EMPTY = (1,) * 8, (0,) * 8


@each_case(
    ("one", "other", "expected"),
    [
        (ExactKeys((1, 2)), ExactKeys((2, 3)), Verdict.RETRYABLE),
        (ExactKeys((1, 2)), ExactKeys((3, 4)), Verdict.COMPATIBLE),
        (ExactKeys((1,)), bloom(*FULL), Verdict.RETRYABLE),
        (bloom(*FULL, *EMPTY), bloom(*FULL, *FULL), Verdict.RETRYABLE),
        (bloom(*FULL, *EMPTY), bloom(*EMPTY, *FULL), Verdict.COMPATIBLE),
        (bloom(*FULL), bloom(*([2] * 8)), Verdict.COMPATIBLE),
        (bloom(*FULL), bloom(*([1] * 7), 2), Verdict.COMPATIBLE),
        (bloom(*FULL), bloom(*EMPTY, bits=256), Verdict.RETRYABLE),
        (bloom(1, 2, 3), bloom(1, 2, 3), Verdict.RETRYABLE),
        (None, ExactKeys((1,)), Verdict.RETRYABLE),
    ],
)
def test_updates_that_may_insert_the_same_key_do_not_go_together(
    one: ExactKeys | BloomKeys | None, other: ExactKeys | BloomKeys | None, expected: Verdict
) -> None:
    def update(fields: tuple[int, ...], keys: ExactKeys | BloomKeys | None) -> Update:
        return Update((), (), (Fragment(0),), inserted_rows=KeyExistenceFilter(fields, keys))

    assert verdict(update((1,), one), update((1,), other)) is expected
    assert verdict(update((1,), other), update((1,), one)) is expected
    assert verdict(update((1,), one), update((2,), other)) is Verdict.RETRYABLE
    assert verdict(update((1,), one), Update((), (), ())) is Verdict.COMPATIBLE


@pytest.mark.parametrize("mode", list(UpdateMode))
def test_updates_of_known_rows_or_of_columns_must_not_insert_the_same_key(mode: UpdateMode) -> None:
    def update(fragment: int, key: int, mode: UpdateMode) -> Update:
        keys = KeyExistenceFilter((1,), ExactKeys((key,)))
        rows = {fragment: np.array([key], np.uint32)}
        return Update(
            (), (Fragment(fragment),), (), update_mode=mode, inserted_rows=keys, affected_rows=rows
        )

    committed = update(2, 7, UpdateMode.REWRITE_ROWS)
    assert verdict(update(1, 7, mode), committed) is Verdict.RETRYABLE
    assert verdict(update(1, 8, mode), committed) is Verdict.COMPATIBLE
    for condition in (unresolved_rows_or_keys, shared_fragments_or_keys):
        assert condition(update(1, 7, mode), committed)
        assert not condition(update(1, 8, mode), committed)


def test_an_index_that_does_not_say_what_it_covers_may_cover_what_is_rewritten() -> None:
    unknown = dataclasses.replace(index(OTHER), fragment_bitmap=b"")
    rewrite = operation(KIND.REWRITE, SAME)
    assert verdict(CreateIndex((unknown,)), rewrite) is Verdict.RETRYABLE
    assert verdict(rewrite, CreateIndex((unknown,))) is Verdict.RETRYABLE
    assert verdict(rewrite, CreateIndex((), (index(SAME),))) is Verdict.COMPATIBLE


def test_an_index_is_not_made_twice_under_one_name() -> None:
    first = CreateIndex((index(SAME, "x"),))
    assert verdict(CreateIndex((index(OTHER, "x"),)), first) is Verdict.RETRYABLE
    assert verdict(CreateIndex((), (index(OTHER, "x"),)), first) is Verdict.RETRYABLE


def test_a_replaced_fragment_must_not_be_removed_meanwhile() -> None:
    ours = replacement(SAME, 0)
    assert verdict(ours, Delete((), (SAME,), "")) is Verdict.INCOMPATIBLE
    assert verdict(ours, Delete((), (OTHER,), "")) is Verdict.COMPATIBLE


@pytest.mark.parametrize(("fragment", "field"), [(SAME, OTHER), (OTHER, SAME)])
def test_replacements_of_different_cells_go_together(fragment: int, field: int) -> None:
    assert verdict(replacement(fragment, field), replacement(SAME, SAME)) is Verdict.COMPATIBLE


SET, REMOVE, REPLACE = UpdateMap({"k": "v"}), UpdateMap({"k": None}), UpdateMap({}, replace=True)


@each_case(
    ("one", "other", "config", "table_metadata"),
    [
        (SET, SET, "X", "X"),
        (SET, REMOVE, "X", "X"),
        (REMOVE, REMOVE, ".", "X"),
        (SET, REPLACE, ".", "X"),
        (SET, UpdateMap({"k": "w"}, replace=True), "X", "X"),
        (SET, UpdateMap({"l": "v"}), ".", "."),
    ],
)
def test_who_decides_about_a_key_first_is_not_overruled(
    one: UpdateMap, other: UpdateMap, config: str, table_metadata: str
) -> None:
    for ours, theirs in ((one, other), (other, one)):
        found = verdict(UpdateConfig(ours), UpdateConfig(theirs))
        assert found is Verdict(config)
        found = verdict(UpdateConfig(None, ours), UpdateConfig(None, theirs))
        assert found is Verdict(table_metadata)
        assert verdict(UpdateConfig(ours), UpdateConfig(None, theirs)) is Verdict.COMPATIBLE


def test_metadata_of_the_schema_is_changed_by_one_at_a_time() -> None:
    ours = UpdateConfig(schema_metadata=UpdateMap({"a": "1"}))
    assert verdict(ours, UpdateConfig(schema_metadata=SET)) is Verdict.INCOMPATIBLE
    assert verdict(ours, UpdateConfig(field_metadata={1: SET})) is Verdict.COMPATIBLE


def test_base_paths_are_given_once() -> None:
    def bases(*args: object) -> UpdateBases:
        return UpdateBases((BasePath(*args),))  # type: ignore[arg-type]

    first = bases(7, "/a", False, "x")
    assert verdict(bases(0, "/a"), first) is Verdict.INCOMPATIBLE
    assert verdict(bases(0, "/b", False, "x"), first) is Verdict.INCOMPATIBLE
    assert verdict(bases(7, "/b"), first) is Verdict.INCOMPATIBLE
    assert verdict(bases(0, "/b"), bases(0, "/c")) is Verdict.COMPATIBLE
    assert not same_base(APPEND, first)
    assert not same_base(first, APPEND)


def test_an_operation_that_does_several_things_meets_the_worst_of_them() -> None:
    both = PreservedOperation("", (KIND.APPEND, KIND.RESTORE, KIND.PROJECT), frozenset(), b"")
    assert verdict(APPEND, both) is Verdict.INCOMPATIBLE


def test_a_version_without_a_known_transaction_is_incompatible() -> None:
    with pytest.raises(CommitConflictError, match=r"for version 4: .* transaction is not known"):
        check(Transaction(3, "u", APPEND), None, 4)
