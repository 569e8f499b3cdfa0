from __future__ import annotations

import dataclasses
import pickle

import pytest

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.table.fragments.data_file import DataFile, ExternalFile
from lance_core.table.fragments.deletion_file import DeletionFile, DeletionFileType
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_counts import Count
from lance_core.table.fragments.fragment_list import FragmentList, without_counts
from lance_core.table.manifest_parts import BasePath
from tests.each_case import each_case

FILE = DataFile("a.lance", (0, 1, -2), (0, -1, 2), 2, 0, 700)
DELETION = DeletionFile(DeletionFileType.BITMAP, 7, 99, 3)


def fragment(id_: int, **changes: object) -> Fragment:
    made = Fragment(id_, (FILE,), physical_rows=10)
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


FULL = Fragment(
    5,
    (FILE, DataFile("b.lance", (2,), (0,), 0, 3, None, base_id=0)),
    DELETION,
    10,
    b"ids",
    ExternalFile("lineage", 3, 4),
    b"",
    (b"\x18\x07",),
)


def test_a_fragment_survives_serialization() -> None:
    assert Fragment.from_bytes(FULL.to_bytes()) == FULL
    assert Fragment.from_bytes(fragment(0).to_bytes()) == fragment(0)


def test_counts_come_from_the_manifest_alone() -> None:
    fragments = FragmentList.of([fragment(3), fragment(9, deletion_file=DELETION)])
    counts = FragmentList(fragments.raw).counts
    assert FragmentList(fragments.raw).ids == (3, 9)
    totals = counts.totals()
    assert totals[Count.PHYSICAL_ROWS] == 20
    assert (totals[Count.DELETED_ROWS], counts.num_rows) == (3, 17)
    assert counts.has_deletion_files
    assert [f.num_rows for f in fragments] == [10, 7]


def test_unknown_counts_make_the_total_unknown() -> None:
    unknown_deletions = dataclasses.replace(DELETION, num_deleted_rows=None)
    for lacking in (fragment(1, physical_rows=None), fragment(1, deletion_file=unknown_deletions)):
        fragments = FragmentList.of([fragment(0), lacking])
        assert fragments.counts.num_rows is None
        assert lacking.num_rows is None
    assert FragmentList.of([lacking]).counts.has_deletion_files


def test_counts_that_are_not_believed_become_unknown() -> None:
    fragments = FragmentList.of([fragment(0), fragment(1, deletion_file=DELETION)])
    found = without_counts(fragments)
    assert [f.physical_rows for f in found] == [None, None]
    unknown = dataclasses.replace(DELETION, num_deleted_rows=None)
    assert [f.deletion_file for f in found] == [None, unknown]
    assert without_counts(found) is found


def test_more_deleted_rows_than_rows_are_corrupt() -> None:
    wrong = fragment(1, physical_rows=2, deletion_file=DELETION)
    with pytest.raises(CorruptFileError):
        _ = wrong.num_rows
    with pytest.raises(CorruptFileError, match=r"fragments\[1\]"):
        _ = FragmentList.of([fragment(0), wrong]).counts


def test_a_broken_fragment_is_named_by_its_place() -> None:
    with pytest.raises(CorruptFileError, match=r"fragments\[1\]"):
        _ = FragmentList([fragment(0).to_bytes(), b"\xff"]).counts


def test_an_id_that_is_used_twice_is_corruption() -> None:
    twice = FragmentList.of([fragment(0), fragment(1), fragment(0)])
    with pytest.raises(CorruptFileError, match="same id"):
        twice.by_id(1)


def test_unchanged_fragments_keep_their_bytes() -> None:
    raw = [fragment(i).to_bytes() + bytes.fromhex("fa07036e6577") for i in range(4)]
    changed = fragment(2, deletion_file=DELETION)
    after = FragmentList(raw).changed({2: changed}, {0})
    assert after.raw == (raw[1], changed.to_bytes(), raw[3])
    assert after.by_id(2) == changed
    assert after.by_id(0) is None
    joined = after + FragmentList(raw[:1])
    assert joined.raw == (*after.raw, raw[0])
    assert [f.id for f in joined] == [1, 2, 3, 0]


def test_new_data_is_in_other_data_files_and_unchanged_fragments_stay_undecoded() -> None:
    other = (dataclasses.replace(FILE, path="b.lance"),)
    unreadable = FULL.to_bytes().replace(b"\x08\x01\x10\x07\x18c", b"\x08\x02\x10\x07\x18c")
    before = FragmentList([fragment(0).to_bytes(), unreadable, fragment(2).to_bytes()])
    changed = [
        fragment(0, deletion_file=DELETION).to_bytes(),
        unreadable,
        fragment(2, files=other).to_bytes(),
        fragment(7).to_bytes(),
    ]
    found = FragmentList(changed).new_data_since(before)
    assert list(found) == [fragment(2, files=other), fragment(7)]


def test_a_list_behaves_as_a_sequence() -> None:
    fragments = FragmentList.of([fragment(i) for i in range(3)])
    assert fragments[-1].id == 2
    assert [f.id for f in fragments[1:]] == [1, 2]
    assert FragmentList.of(fragments) is fragments
    assert pickle.loads(pickle.dumps(fragments)) == fragments
    with pytest.raises(IndexError):
        fragments[3]


def test_a_file_maps_fields_to_columns_but_not_unused_ones() -> None:
    assert FILE.columns() == {0: 0}
    assert dataclasses.replace(FILE, fields=(-2,), column_indices=(0,)).columns() == {}


@each_case(
    ("fields", "columns"),
    [((0, 1), (0,)), ((0,), ()), ((0, 0), (0, 1)), ((0, 1), (2, 2)), ((0,), (-5,))],
)
def test_fields_and_columns_that_do_not_fit_are_corrupt(
    fields: tuple[int, ...], columns: tuple[int, ...]
) -> None:
    with pytest.raises(CorruptFileError, match=r"a\.lance"):
        dataclasses.replace(FILE, fields=fields, column_indices=columns).columns()


@each_case(
    ("pair", "name"),
    [
        ((0, 0), "0.1"),
        ((0, 2), "0.1"),
        ((0, 3), "2.0"),
        ((2, 0), "2.0"),
        ((2, 2), "2.2"),
        ((9, 1), "9.1"),
    ],
)
def test_version_pairs_have_names(pair: tuple[int, int], name: str) -> None:
    file = dataclasses.replace(FILE, file_major_version=pair[0], file_minor_version=pair[1])
    assert file.file_version == name


def test_the_later_file_of_a_field_wins() -> None:
    old = DataFile("old", (0, 1), (0, 1), 2, 0)
    new = DataFile("new", (1, -2), (0, 1), 2, 0)
    assert Fragment(0, (old, new)).file_of_field() == {0: 0, 1: 1}


def test_files_are_found_inside_of_the_table_or_base_path_only() -> None:
    table, folder = BasePath(0, "/t", is_dataset_root=True), BasePath(0, "/f")
    for base, data, deletions in (
        (None, "data/", "_deletions/"),
        (table, "data/", "_deletions/"),
        (folder, "", ""),
    ):
        assert FILE.store_path(base) == f"{data}a.lance"
        assert DELETION.store_path(5, base) == f"{deletions}5-7-99.bin"
        for wrong in ("../a", "/a", "", "a/../../b", "%2e%2e/a", "C:a", "a\\b"):
            with pytest.raises(CorruptFileError, match=r"DataFile\.path"):
                dataclasses.replace(FILE, path=wrong, base_id=0).store_path(base)
    for wrong in ("../a", "/a", ""):
        with pytest.raises(CorruptFileError, match=r"DataFile\.path"):
            dataclasses.replace(FILE, path=wrong).store_path()
        with pytest.raises(CorruptFileError, match=r"ExternalFile\.path"):
            ExternalFile(wrong, 0, 0).store_path()


def test_a_deletion_file_of_a_newer_type_is_unsupported() -> None:
    data = FULL.to_bytes().replace(b"\x08\x01\x10\x07\x18c", b"\x08\x02\x10\x07\x18c")
    with pytest.raises(UnsupportedFeatureError, match="type 2"):
        Fragment.from_bytes(data)
