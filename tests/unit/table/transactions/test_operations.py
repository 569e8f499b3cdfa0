"""What operations make of a version, and what they refuse; see also the tests beside pylance."""

from __future__ import annotations

import dataclasses
import uuid as uuids

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap

from lance_core.errors import (
    CorruptFileError,
    InvalidInputError,
    RetryableCommitConflictError,
    UnsupportedFeatureError,
)
from lance_core.schema.tree import Schema
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.deletion_file import DeletionFile, DeletionFileType
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.indices.index_metadata import (
    IndexDetails,
    IndexMetadata,
    encode_fragment_ids,
    parse_index_section,
    serialize_index_section,
)
from lance_core.table.manifest.feature_flags import FeatureFlags
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.manifest.manifest import CarriedFields
from lance_core.table.manifest_parts import BasePath
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.row_ids.row_versions import RowVersions
from lance_core.table.transactions.apply import CommitFacts, apply
from lance_core.table.transactions.operations import (
    Append,
    Clone,
    CreateIndex,
    DataReplacement,
    DataReplacementGroup,
    Delete,
    Merge,
    Operation,
    Overwrite,
    PreservedOperation,
    Project,
    ReserveFragments,
    Restore,
    Rewrite,
    RewriteGroup,
    RewrittenIndex,
    Update,
    UpdateBases,
    UpdateConfig,
    UpdateMap,
)
from lance_core.table.transactions.operations.base import OperationKind
from lance_core.table.transactions.operations.update import UpdateMode
from lance_core.table.transactions.transaction import Transaction
from tests.each_case import each_case

SCHEMA = Schema.from_arrow(pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.int64())]))
MORE = Schema.from_arrow(pa.schema([pa.field(name, pa.int64()) for name in "abc"]))
NEEDS_C = Schema.from_arrow(
    pa.schema([*(pa.field(n, pa.int64()) for n in "ab"), pa.field("c", pa.int64(), nullable=False)])
)
FILE = DataFile("ab.lance", (0, 1), (0, 1), 2, 0, 700)
NEW = Fragment(0, (FILE,), physical_rows=10)
DELETION = DeletionFile(DeletionFileType.ARROW_ARRAY, 1, 77, 4)
FACTS = CommitFacts(1)


def commit(base: ManifestFile | None, operation: Operation, **facts: object) -> ManifestFile:
    read_version = 0 if base is None else base.manifest.version
    changed = dataclasses.replace(FACTS, **facts)  # type: ignore[arg-type]
    return apply(base, Transaction(read_version, "u", operation), changed)


def table(stable: bool = False) -> ManifestFile:
    """Fragments 0, 1 and 2 of ten rows each; an index over each column."""
    made = commit(None, Overwrite((NEW, NEW, NEW), SCHEMA), stable_row_ids=stable)
    return commit(made, CreateIndex((index(0, 0, 1, 2), index(1, 0, 1))))


def index(field: int, *covered: int, name: str = "", **more: object) -> IndexMetadata:
    number = uuids.UUID(int=1000 * field + 100 * len(covered) + sum(covered) + len(name))
    bitmap = encode_fragment_ids(BitMap(covered))
    made = IndexMetadata(number, name or f"by {field}", (field,), 1, bitmap)
    return dataclasses.replace(made, **more)  # type: ignore[arg-type]


def coverage(file: ManifestFile) -> dict[str, list[int]]:
    return {i.name: list(i.fragments or ()) for i in parse_index_section(file.index_section)}


def fragment(file: ManifestFile, id_: int) -> Fragment:
    found = file.manifest.fragments.by_id(id_)
    assert found is not None
    return found


def ids(file: ManifestFile) -> list[int]:
    return [f.id for f in file.manifest.fragments]


def moved(*row_ids: int, rows: int | None = None) -> Fragment:
    """A new fragment of rows that were elsewhere before."""
    segments = [RowIdSequence.from_range(row, 1).segments[0] for row in row_ids]
    data = RowIdSequence.of(segments).to_bytes()
    return dataclasses.replace(NEW, physical_rows=rows or len(row_ids), row_ids=data)


def versions(data: object, count: int) -> list[int]:
    assert isinstance(data, bytes)
    found = RowVersions.from_bytes(data, count).take(np.arange(count))
    return [int(version) for version in found]


def replacement(fragment_id: int, *fields: int, path: str = "new.lance") -> DataReplacement:
    file = DataFile(path, fields, tuple(range(len(fields))), 2, 0, 90)
    return DataReplacement((DataReplacementGroup(fragment_id, file),))


UNKNOWN = Fragment(9, (FILE,), physical_rows=10)
DELETED = Fragment(1, (FILE,), DELETION, 10)
UNKNOWN_DELETED = Fragment(9, (FILE,), DELETION, 10)
GROUP = RewriteGroup((Fragment(0), Fragment(1)), (dataclasses.replace(NEW, physical_rows=20),))
NO_FIELDS = DataFile("rows.lance", (), (), 2, 2, 60)
WRONG: dict[str, Operation] = {
    "a file without fields": Append((Fragment(0, (NO_FIELDS,), None, 5),)),
    "an index that is there": CreateIndex((index(0, 0, 1, 2),)),
    "an index over no field": CreateIndex((index(7, 0),)),
    "a rewrite of nothing known": Rewrite((RewriteGroup((UNKNOWN,), (NEW,)),)),
    "a rewrite of a fragment twice": Rewrite((GROUP, GROUP)),
    "a rewrite that loses rows": Rewrite((RewriteGroup((Fragment(0),), ()),)),
    "a rewritten index that is not there": Rewrite(
        (GROUP,), (RewrittenIndex(uuids.UUID(int=5), uuids.UUID(int=6)),)
    ),
    "a merge of some fragments": Merge((Fragment(0, (FILE,)),), SCHEMA),
    "a merge of a new fragment": Merge((Fragment(0), Fragment(1), UNKNOWN), SCHEMA),
    "a merge with a needed column that is nowhere": Merge(
        tuple(Fragment(i, (FILE,)) for i in range(3)), NEEDS_C
    ),
    "a merge with other row counts": Merge(
        tuple(Fragment(i, (FILE,), None, 9) for i in range(3)), SCHEMA
    ),
    "a projection to a needed column that is nowhere": Project(NEEDS_C),
    "a restore without a version": Restore(1),
    "an update of an unknown fragment": Update((), (UNKNOWN,), ()),
    "a removal of an unknown fragment": Update((9,), (), ()),
    "an update of a removed fragment": Update((1,), (DELETED,), ()),
    "an update with other row counts": Update(
        (), (dataclasses.replace(DELETED, physical_rows=11),), ()
    ),
    "a replacement in an unknown fragment": replacement(9, 1),
    "a replacement of an unknown field": replacement(1, 5),
    "a replacement of nothing": replacement(1),
    "replacements of different fields": DataReplacement(
        replacement(0, 0).replacements + replacement(1, 1).replacements
    ),
    "two replacements in one fragment": DataReplacement(replacement(0, 0).replacements * 2),
    "metadata of an unknown field": UpdateConfig(field_metadata={9: UpdateMap({"a": "b"})}),
    "more fragment ids than there are": ReserveFragments((1 << 32) - 1),
    "a clone where there is a table": Clone(True, None, 1, "/a"),
    "the same base path twice": UpdateBases((BasePath(0, "/a"), BasePath(0, "/a"))),
    "the same base name twice": UpdateBases(
        (BasePath(0, "/a", name="x"), BasePath(0, "/b", name="x"))
    ),
    "the same base id twice": UpdateBases((BasePath(3, "/a"), BasePath(3, "/b"))),
}


@each_case("operation", WRONG.values(), ids=WRONG)
def test_what_does_not_fit_the_table_is_refused(operation: Operation) -> None:
    with pytest.raises(InvalidInputError):
        commit(table(), operation)


@each_case(
    "operation",
    [Append(()), Merge((), SCHEMA), Project(SCHEMA), Restore(1), UpdateConfig(UpdateMap({}))],
)
def test_only_an_overwrite_or_a_clone_makes_a_table(operation: Operation) -> None:
    with pytest.raises(InvalidInputError):
        commit(None, operation)
    with pytest.raises(InvalidInputError):
        commit(None, Clone(True, None, 4, "/a"), source=table())


def test_what_is_not_interpreted_is_not_applied() -> None:
    operation = PreservedOperation("data_overlay", (OperationKind.DATA_OVERLAY,), frozenset(), b"")
    with pytest.raises(UnsupportedFeatureError):
        commit(table(), operation)


def test_reserving_takes_ids_and_nothing_else() -> None:
    before = table()
    after = commit(before, ReserveFragments(4))
    assert after.manifest.max_fragment_id == 6
    assert after.manifest.fragments == before.manifest.fragments
    assert ids(commit(after, Append((NEW,)))) == [0, 1, 2, 7]


def test_rewritten_fragments_take_reserved_ids_and_their_place() -> None:
    reserved = commit(table(), ReserveFragments(1))
    grown = commit(reserved, Append((NEW,)))
    new = dataclasses.replace(NEW, id=3, physical_rows=20)
    old, renewed = index(0, 0, 1, 2), uuids.UUID(int=77)
    operation = Rewrite(
        (RewriteGroup((Fragment(0), Fragment(1)), (new,)),),
        (RewrittenIndex(index(1, 0, 1).uuid, renewed, IndexDetails("/x"), 2),),
    )
    after = commit(grown, operation)
    assert ids(after) == [2, 3, 4]
    assert coverage(after) == {"by 0": [0, 1, 2], "by 1": [3]}
    found = {i.name: i for i in parse_index_section(after.index_section)}
    assert found["by 0"] == old
    assert (found["by 1"].uuid, found["by 1"].index_version) == (renewed, 2)


def test_a_rewrite_whose_index_went_meanwhile_can_be_tried_again() -> None:
    before = table()
    removed = index(1, 0, 1)
    after = commit(before, CreateIndex((), (removed,)))
    new = dataclasses.replace(NEW, physical_rows=20)
    operation = Rewrite(
        (RewriteGroup((Fragment(0), Fragment(1)), (new,)),),
        (RewrittenIndex(removed.uuid, uuids.UUID(int=77)),),
    )
    late = Transaction(before.manifest.version, "u", operation)
    with pytest.raises(
        RetryableCommitConflictError, match=r"for version 3: .* does not exist in it"
    ):
        apply(after, late, FACTS)
    with pytest.raises(InvalidInputError, match="not in the table"):
        commit(after, operation)


def test_with_stable_row_ids_indices_follow_rewritten_rows() -> None:
    new = dataclasses.replace(
        NEW, physical_rows=20, row_ids=RowIdSequence.from_range(0, 20).to_bytes()
    )
    group = RewriteGroup((Fragment(0), Fragment(1)), (new,))
    after = commit(table(stable=True), Rewrite((group,)))
    assert coverage(after) == {"by 0": [2, 3], "by 1": [3]}
    assert after.manifest.next_row_id == 30
    without = RewriteGroup(group.old_fragments, (dataclasses.replace(new, row_ids=None),))
    with pytest.raises(InvalidInputError, match="has no row ids"):
        commit(table(stable=True), Rewrite((without,)))
    mixed = RewriteGroup((Fragment(1), Fragment(2)), (new,))
    with pytest.raises(InvalidInputError, match="both fragments that an index covers and others"):
        commit(table(stable=True), Rewrite((mixed,)))


def test_rows_that_an_update_moves_keep_their_ids_and_their_creation() -> None:
    appended = commit(table(stable=True), Append((NEW,)))
    update = Update((0,), (dataclasses.replace(DELETED, id=3),), (moved(35, 7, rows=3), NEW))
    after = commit(appended, update)
    assert ids(after) == [1, 2, 3, 4, 5]
    assert fragment(after, 3).deletion_file == DELETION
    first, second = fragment(after, 4), fragment(after, 5)
    assert isinstance(first.row_ids, bytes)
    assert RowIdSequence.from_bytes(first.row_ids, 3).slice(0, 3).tolist() == [35, 7, 40]
    assert versions(first.created_at_versions, 3) == [3, 1, 4]
    assert versions(first.last_updated_at_versions, 3) == [4, 4, 4]
    assert versions(second.created_at_versions, 10) == [4] * 10
    assert after.manifest.next_row_id == 51
    assert after.manifest.flags.has(1)


def test_indices_of_unchanged_columns_cover_rows_that_moved_with_their_ids() -> None:
    deleted = [dataclasses.replace(NEW, id=id_, deletion_file=DELETION) for id_ in (0, 1, 2)]
    mixed = moved(3, 4, rows=3)
    for fields, sources, expected in (
        ((1,), deleted[:2], {"by 0": [0, 1, 2, 3], "by 1": [0, 1]}),
        ((0,), deleted[:2], {"by 0": [0, 1, 2], "by 1": [0, 1, 3]}),
        ((0,), deleted, {"by 0": [0, 1, 2], "by 1": [0, 1]}),
        ((), deleted[:2], {"by 0": [0, 1, 2], "by 1": [0, 1]}),
    ):
        operation = Update((), sources, (moved(1, 12), mixed), (), fields)
        assert coverage(commit(table(stable=True), operation)) == expected, fields
    plain = dataclasses.replace(NEW, physical_rows=2)
    after = commit(table(), Update((), deleted[:2], (plain,), (), (1,)))
    assert coverage(after) == {"by 0": [0, 1, 2], "by 1": [0, 1]}


def test_an_update_of_columns_ends_the_coverage_of_their_indices() -> None:
    files = (dataclasses.replace(FILE, fields=(0, -2)), DataFile("b.lance", (1,), (0,), 2, 0))
    changed = Fragment(1, files, None, 10)
    bitmap = encode_fragment_ids(BitMap([2, 3]))
    mode = UpdateMode.REWRITE_COLUMNS
    offsets = {1: bitmap}
    update = Update((), (changed,), (), (1,), update_mode=mode, updated_fragment_offsets=offsets)
    after = commit(table(stable=True), update)
    assert coverage(after) == {"by 0": [0, 1, 2], "by 1": [0]}
    assert fragment(after, 1).files == files
    assert versions(fragment(after, 1).last_updated_at_versions, 10) == [1, 1, 3, 3, *[1] * 6]
    beyond = dataclasses.replace(
        update, updated_fragment_offsets={1: encode_fragment_ids(BitMap([10]))}
    )
    with pytest.raises(InvalidInputError, match="row 10 of 10"):
        commit(table(stable=True), beyond)
    elsewhere = dataclasses.replace(update, updated_fragment_offsets={0: bitmap})
    with pytest.raises(InvalidInputError, match="fragment 0, which is not updated"):
        commit(table(stable=True), elsewhere)


def test_offsets_of_changed_rows_count_for_updates_of_columns_only() -> None:
    bitmap = encode_fragment_ids(BitMap([2, 3]))
    changed = Fragment(1, (FILE,), None, 10)
    update = Update((), (changed,), (), updated_fragment_offsets={1: bitmap})
    after = commit(table(stable=True), update)
    assert versions(fragment(after, 1).last_updated_at_versions, 10) == [1] * 10


def test_a_moved_row_keeps_its_creation_version_wherever_it_was_before() -> None:
    appended = commit(table(stable=True), Append((NEW,)))
    update = Update((), (Fragment(0, (FILE,), DELETION, 10),), (moved(32, 7, 15, 90),))
    after = commit(appended, update)
    created = versions(after.manifest.fragments[-1].created_at_versions, 4)
    assert created == [appended.manifest.version, 1, 1, after.manifest.version]


def test_rows_of_tables_that_recorded_no_versions_were_created_in_the_first() -> None:
    base = table(stable=True)
    without = [
        dataclasses.replace(one, created_at_versions=None, last_updated_at_versions=None)
        for one in base.manifest.fragments
    ]
    manifest = dataclasses.replace(base.manifest, fragments=FragmentList.of(without))
    update = Update((), (Fragment(0, (FILE,), DELETION, 10),), (moved(7),))
    after = commit(dataclasses.replace(base, manifest=manifest), update)
    assert versions(after.manifest.fragments[-1].created_at_versions, 1) == [1]


def test_an_update_does_not_bring_back_what_was_dropped_meanwhile() -> None:
    files = (dataclasses.replace(FILE, fields=(0,), column_indices=(0,)),)
    extra = DataFile("b.lance", (1,), (0,), 2, 0)
    made = commit(None, Overwrite((dataclasses.replace(NEW, files=(*files, extra)),), SCHEMA))
    dropped = commit(made, Project(SCHEMA.project(["a"])))
    assert fragment(dropped, 0).files == files
    after = commit(dropped, Update((), (Fragment(0, (*files, extra), DELETION, 10),), ()))
    assert fragment(after, 0) == Fragment(0, files, DELETION, 10)


def test_a_replaced_column_is_marked_in_its_old_file_and_the_file_goes_with_its_last_one() -> None:
    once = commit(table(), replacement(1, 1))
    assert [f.fields for f in fragment(once, 1).files] == [(0, -2), (1,)]
    assert coverage(once) == {"by 0": [0, 1, 2], "by 1": [0]}
    again = commit(once, replacement(1, 1, path="newer.lance"))
    assert [f.path for f in fragment(again, 1).files] == ["ab.lance", "newer.lance"]
    # The number of the field and that of the fragment are two things.
    other = commit(table(), replacement(2, 0))
    assert coverage(other) == {"by 0": [0, 1], "by 1": [0, 1]}
    both = commit(again, replacement(1, 0, 1, path="both.lance"))
    assert [f.path for f in fragment(both, 1).files] == ["both.lance"]
    stable = commit(table(stable=True), replacement(1, 1))
    assert versions(fragment(stable, 1).last_updated_at_versions, 10) == [3] * 10
    assert versions(fragment(stable, 0).last_updated_at_versions, 10) == [1] * 10


def test_a_merge_adds_columns_and_keeps_the_rows() -> None:
    base = table(stable=True)
    added = DataFile("c.lance", (2,), (0,), 2, 0)
    given = tuple(Fragment(i, (FILE, added) if i else (FILE,), None, 10) for i in range(3))
    after = commit(base, Merge(given, MORE))
    assert after.manifest.schema == MORE
    assert fragment(after, 0) == fragment(base, 0)
    assert fragment(after, 1).row_ids == fragment(base, 1).row_ids
    assert versions(fragment(after, 1).last_updated_at_versions, 10) == [3] * 10
    assert versions(fragment(after, 1).created_at_versions, 10) == [1] * 10
    assert coverage(after) == coverage(base)
    with pytest.raises(InvalidInputError, match="fragment 0 has no values"):
        commit(base, Merge(given, NEEDS_C))


def test_a_projection_drops_files_and_indices_of_what_it_leaves_out() -> None:
    named = dataclasses.replace(SCHEMA, metadata={"k": "v"})
    split = tuple(DataFile(f"{n}.lance", (i,), (0,), 2, 0) for i, n in enumerate("ab"))
    made = commit(None, Overwrite((dataclasses.replace(NEW, files=split),), named))
    base = commit(made, CreateIndex((index(0, 0), index(1, 0))))
    after = commit(base, Project(SCHEMA.project(["b"]), True))
    assert after.manifest.schema.names == ["b"]
    assert after.manifest.schema.metadata == {"k": "v"}
    assert fragment(after, 0).files == split[1:]
    assert coverage(after) == {"by 1": [0]}


def test_a_restored_version_comes_back_without_giving_its_ids_out_again() -> None:
    old = commit(table(stable=True), UpdateConfig(UpdateMap({"k": "1"})))
    new = commit(old, Overwrite((NEW,), MORE))
    new = commit(new, UpdateConfig(UpdateMap({"k": "2"}), schema_metadata=UpdateMap({"s": "1"})))
    carried = CarriedFields(max_allocated_field_id=8)
    flags = FeatureFlags(2, 2 | 8 | 32)
    manifest = dataclasses.replace(new.manifest, carried=carried, flags=flags)
    after = commit(dataclasses.replace(new, manifest=manifest), Restore(3), source=old)
    expected = dataclasses.replace(
        old.manifest,
        version=6,
        max_fragment_id=3,
        next_row_id=40,
        carried=carried,
        flags=flags,
        transaction_file="",
    )
    assert after.manifest == expected
    assert after.index_section == old.index_section


def test_a_shallow_clone_refers_to_the_files_of_its_source() -> None:
    source = commit(table(), Delete((DELETED,), (), ""))
    source = commit(source, UpdateBases((BasePath(4, "/far", name="far"),)))
    far = dataclasses.replace(NEW, files=(dataclasses.replace(FILE, base_id=4),))
    source = commit(source, Append((far,)))
    clone = commit(None, Clone(True, "dev", 5, "/from", "team"), source=source)
    assert (clone.manifest.version, clone.manifest.branch) == (5, "team")
    root = BasePath(5, "/from", is_dataset_root=True, name="dev")
    assert clone.manifest.base_paths == (BasePath(4, "/far", name="far"), root)
    assert [f.files[0].base_id for f in clone.manifest.fragments] == [5, 5, 5, 4]
    deletions = fragment(clone, 1).deletion_file
    assert deletions is not None
    assert deletions.base_id == 5
    assert [i.base_id for i in parse_index_section(clone.index_section)] == [5, 5]
    assert clone.manifest.flags == FeatureFlags(17, 17)
    first = commit(None, Clone(True, None, 2, "/from"), source=table())
    assert [base.id for base in first.manifest.base_paths] == [0]


def test_a_deep_clone_has_all_files_itself() -> None:
    shallow = commit(None, Clone(True, None, 2, "/from"), source=table())
    deep = commit(None, Clone(False, None, 2, "/from"), source=shallow)
    assert deep.manifest.base_paths == ()
    assert all(f.files[0].base_id is None for f in deep.manifest.fragments)
    assert [i.base_id for i in parse_index_section(deep.index_section)] == [None, None]
    assert not deep.manifest.flags.has(16)


def test_base_paths_get_the_next_free_ids() -> None:
    after = commit(table(), UpdateBases((BasePath(0, "/a"), BasePath(0, "/b"))))
    after = commit(after, UpdateBases((BasePath(9, "/c"), BasePath(0, "/d"))))
    assert [base.id for base in after.manifest.base_paths] == [1, 2, 9, 10]


def test_settings_are_set_removed_and_replaced() -> None:
    base = commit(table(), UpdateConfig(UpdateMap({"a": "1", "b": "2"})))
    after = commit(
        base,
        UpdateConfig(
            UpdateMap({"a": None, "c": "3"}),
            UpdateMap({"t": "1"}),
            UpdateMap({"s": "1"}),
            {1: UpdateMap({"f": "1"})},
        ),
    )
    manifest = after.manifest
    assert (manifest.config, manifest.table_metadata) == ({"b": "2", "c": "3"}, {"t": "1"})
    assert manifest.schema.metadata == {"s": "1"}
    assert [dict(field.metadata) for field in manifest.schema.fields] == [{}, {"f": "1"}]
    emptied = commit(after, UpdateConfig(UpdateMap({}, replace=True)))
    assert emptied.manifest.config == {}
    assert not emptied.manifest.flags.has(8)


def test_metadata_of_a_member_is_changed_where_it_is() -> None:
    member = pa.struct([pa.field("x", pa.int64()), pa.field("y", pa.int64())])
    schema = Schema.from_arrow(pa.schema([pa.field("s", member), pa.field("z", pa.int64())]))
    base = commit(None, Overwrite((), schema))
    after = commit(base, UpdateConfig(field_metadata={2: UpdateMap({"f": "1"})}))
    found = {
        field.id: dict(field.metadata)
        for top in after.manifest.schema.fields
        for field in top.walk()
    }
    assert found == {0: {}, 1: {}, 2: {"f": "1"}, 3: {}}


VECTOR = IndexDetails("/lance.index.pb.VectorIndexDetails")


@each_case(
    ("parts", "kept"),
    [
        ((index(0, 0),), 1),
        ((index(0, 0, index_details=VECTOR),), 1),
        ((index(0, 1), index(0, fragment_bitmap=None)), 2),
        ((index(0, 0), index(0, 1)), 1),
        ((index(0, 0), index(0)), 1),
        ((index(0, 0, name="__lance_frag_reuse"), index(5, name="__lance_frag_reuse")), 2),
    ],
)
def test_of_indices_that_cover_nothing_the_definition_stays(
    parts: tuple[IndexMetadata, ...], kept: int
) -> None:
    base = dataclasses.replace(table(), index_section=serialize_index_section(parts))
    after = commit(base, Delete((), (0,), ""))
    assert len(parse_index_section(after.index_section)) == kept


@each_case(
    "operation",
    [
        Delete((UNKNOWN_DELETED,), (), ""),
        Delete((DELETED, DELETED), (), ""),
        Delete((DELETED,), (1,), ""),
    ],
)
def test_a_delete_changes_each_fragment_of_the_table_once(operation: Delete) -> None:
    with pytest.raises(InvalidInputError, match="is not in the table or is named twice"):
        commit(table(), operation)


def test_a_damaged_bitmap_of_an_index_is_reported() -> None:
    broken = index(0, fragment_bitmap=b"\xff\xff")
    base = dataclasses.replace(table(), index_section=serialize_index_section([broken]))
    with pytest.raises(CorruptFileError, match="fragment_bitmap"):
        commit(base, Delete((), (0,), ""))
