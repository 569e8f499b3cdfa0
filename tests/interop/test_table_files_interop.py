"""Files of a table, addresses after compactions and other listings, of pylance and ours."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import lance
import lance.fragment
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance.bitmap import Bitmap as TheirBitmap

import lance_core
import lance_core.debug
import lance_core.fragment
from lance_core.bitmap import Bitmap
from tests.each_case import each_case

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

LIBRARIES = (lance, lance_core)


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four fragments, an index, deleted rows, a deferred compaction, and a branch."""
    uri = str(tmp_path_factory.mktemp("tables") / "t.lance")
    made: Any = lance.write_dataset(pa.table({"x": range(20)}), uri, max_rows_per_file=5)
    made.create_scalar_index("x", "BTREE")
    made.delete("x in (1, 7)")
    made.optimize.compact_files(target_rows_per_fragment=10, defer_index_remap=True)
    made.create_branch("side")
    return uri


def listed(reader: pa.RecordBatchReader) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in reader.read_all().to_pylist())


def without_indices_elsewhere(dataset: Any) -> list[tuple[Any, ...]]:
    """pylance does not list the files of indices that are in another table, or on main."""
    rows = listed(dataset.tracked_files())
    return [row for row in rows if row[1] == dataset.uri or row[3] != "index file"]


@each_case("version", [None, 2, ("side", None)])
def test_the_files_of_versions_are_the_same(uri: str, version: Any) -> None:
    datasets = (lib.dataset(uri) for lib in LIBRARIES)
    theirs, ours = (each.checkout_version(version) if version else each for each in datasets)
    assert ours.tracked_files().schema == theirs.tracked_files().schema
    assert ours.all_files().schema == theirs.all_files().schema
    assert without_indices_elsewhere(ours) == listed(theirs.tracked_files())
    # The objects of the branch have a folder of their own, which pylance opens as the root, too.
    assert {row[:3] for row in listed(ours.all_files())} == {
        row[:3] for row in listed(theirs.all_files())
    }


def test_versions_are_chosen_and_counted_alike(uri: str) -> None:
    for lib in LIBRARIES:
        calls: list[tuple[int, int | None]] = []
        reader = lib.dataset(uri).tracked_files(
            min_version=4, progress=lambda *given, calls=calls: calls.append(given)
        )
        assert set(reader.read_all()["version"].to_pylist()) == {4, 5}
        assert [done for done, _ in calls] == [1, 2]
        assert calls[-1] == (2, 2)  # pylance may say earlier that it does not know yet
        with pytest.raises(ValueError, match="callable"):
            lib.dataset(uri).tracked_files(progress=3)


def test_files_of_another_table_are_listed_below_its_root(uri: str, tmp_path: Path) -> None:
    lance.dataset(uri).shallow_clone(str(tmp_path / "c.lance"), 3)
    place = str(tmp_path / "c.lance")
    theirs, ours = lance.dataset(place), lance_core.dataset(place, allow_base_paths=uri)
    assert without_indices_elsewhere(ours) == listed(theirs.tracked_files())
    assert (uri, "index file") in {(row[1], row[3]) for row in listed(ours.tracked_files())}


def test_files_of_blobs_are_data_files(tmp_path: Path) -> None:
    blobs = lance_core.blob_array([b"a" * (5 << 20), b"b"])
    made = lance_core.write_dataset(
        pa.table({"b": blobs}), tmp_path / "t.lance", data_storage_version="2.2"
    )
    present = {row[1] for row in listed(made.all_files())}
    tracked = {row[2] for row in listed(made.tracked_files())}
    assert present - tracked == {"_versions/latest_version_hint.json"} & present
    assert any(path.endswith(".blob") for path in tracked)


def test_addresses_are_moved_alike(uri: str) -> None:
    addresses = [0, 1, 2, (1 << 32) + 1, (1 << 32) + 2, 2 << 32, 9 << 32, None]
    for given in (addresses, []):
        theirs, ours = (
            lib.dataset(uri).remap_row_addrs(pa.array(given, pa.uint64())) for lib in LIBRARIES
        )
        assert ours == theirs
    assert ours.type == pa.uint64()
    for lib in LIBRARIES:
        assert lib.dataset(uri, 3).remap_row_addrs(pa.array([0], pa.uint64())) is None
        with pytest.raises(TypeError):
            lib.dataset(uri).remap_row_addrs([0])
    with pytest.raises(TypeError):
        lance_core.dataset(uri).remap_row_addrs(pa.array([0]))


def test_statistics_of_an_index_are_named_as_before(uri: str) -> None:
    for lib in LIBRARIES:
        dataset = lib.dataset(uri, 2)
        with pytest.warns(DeprecationWarning, match="index_statistics"):
            assert dataset.index_statistics("x_idx") == dataset.stats.index_stats("x_idx")
        with warnings.catch_warnings(action="ignore"), pytest.raises(KeyError):
            dataset.index_statistics("none")


def test_what_arrow_datasets_have_is_refused_alike(uri: str) -> None:
    for lib in LIBRARIES:
        dataset = lib.dataset(uri)
        for owner in (dataset, dataset.get_fragments()[0]):
            with pytest.raises(NotImplementedError):
                _ = owner.partition_expression
        with pytest.raises(NotImplementedError):
            dataset.join(dataset, "x")
    ours: Any = lance_core.dataset(uri)
    for call in (
        lambda: ours.filter(pc.field("x") > 1),
        lambda: ours.sort_by("x"),
        lambda: ours.join_asof(ours, "x", "x", 1),
    ):
        with pytest.raises(NotImplementedError):
            call()


def test_the_bytes_of_open_indices_grow_by_a_search(uri: str) -> None:
    for lib in LIBRARIES:
        dataset = lib.dataset(uri, 2)
        before = dataset.session().index_cache_size_bytes()
        assert dataset.count_rows("x = 3") == 1
        assert dataset.session().index_cache_size_bytes() > before >= 0


SETS: dict[str, Any] = {
    "values": list,
    "text": repr,
    "without": lambda b: b - [1],
    "without, reversed": lambda b: [1, 7] - b,
    "both": lambda b: b & [1],
    "either": lambda b: {9} | b,
    "one of them": lambda b: b ^ [1, 2],
    "subset": lambda b: (b <= [1, 2, 3], b < {1, 3}, b >= [1], b > [1], b.issubset([1])),
    "disjoint": lambda b: (b.isdisjoint([4]), b.issuperset([1])),
    "equal": lambda b: (b == [3, 1, 1], b == frozenset([1, 3]), {1, 3} == b, b != 5),
    "smallest": lambda b: (b.pop(), list(b)),
    "updated": lambda b: (b.update(pa.array([7])), b.add(2), b.discard(9), list(b)),
    "named": lambda b: (b.union([4]), b.intersection([3]), b.difference([3])),
    "symmetric": lambda b: b.symmetric_difference([3, 4]),
    "in place": lambda b: b.__ior__([5]),
    "a negative number": lambda b: b.update([-1]),
    "a large number": lambda b: b.update([1 << 33]),
    "a text": lambda b: b.update(["a"]),
    "a missing number": lambda b: b.remove(9),
    "hashed": hash,
}


@each_case("name", SETS)
def test_bitmaps_do_the_same(name: str) -> None:
    results = []
    for kind in (TheirBitmap, Bitmap):
        try:
            results.append(repr(SETS[name](kind([3, 1, 1]))))
        except (ValueError, TypeError, KeyError) as error:
            kinds = (KeyError, TypeError, ValueError)
            results.append(next(str(known) for known in kinds if isinstance(error, known)))
    assert results[0] == results[1]


def test_fragment_ids_are_a_bitmap(uri: str) -> None:
    for lib, kind in zip(LIBRARIES, (TheirBitmap, Bitmap), strict=True):
        ids = lib.dataset(uri).fragment_ids()
        assert isinstance(ids, kind)
        assert ids == [fragment.fragment_id for fragment in lib.dataset(uri).get_fragments()]


def test_deletion_files_are_texts_and_paths_alike(uri: str) -> None:
    theirs, ours = (
        lib.dataset(uri, 3).get_fragments()[0].metadata.deletion_file for lib in LIBRARIES
    )
    assert ours.json() == theirs.json()
    assert ours.path(7) == theirs.path(7)
    assert ours.path(7, "a/b") == theirs.path(7, "a/b")
    assert type(ours).from_json(theirs.json()) == ours
    for text in ("{}", "x", "3"):
        with pytest.raises(ValueError, match="JSON"):
            type(ours).from_json(text)


def test_row_ids_are_texts_alike() -> None:
    theirs, ours = (
        lib.fragment.RowIdSequence(range(3, 9)).to_inline_metadata() for lib in LIBRARIES
    )
    assert ours.json() == theirs.json()
    assert ours.asdict() == theirs.asdict()
    kind = lance_core.fragment.RowIdMeta
    assert kind.from_json(theirs.json()) == kind.from_dict(theirs.asdict()) == ours
    for value in ("{}", "x", '{"a": [1]}', '{"Inline": 3}'):
        with pytest.raises((ValueError, NotImplementedError)):
            kind.from_json(value)


def test_a_written_file_is_described_alike(uri: str) -> None:
    (file,) = lance.dataset(uri, 1).get_fragments()[0].metadata.files
    theirs, ours = (lib.fragment.DataFile.create(lib.dataset(uri), file.path) for lib in LIBRARIES)
    assert {**vars(ours), "_path": ours.path} == {**vars(theirs), "path": file.path}
    assert lance_core.fragment.DataFile("a", [1]).column_indices == []
    with pytest.raises(OSError, match="lance"):
        lance_core.fragment.DataFile.create(lance_core.dataset(uri), "none.lance")


def test_overlays_are_refused() -> None:
    empty = lance_core.FragmentMetadata(0, [], 0)
    assert empty.overlays == []
    with pytest.raises(NotImplementedError, match="overlays"):
        lance_core.FragmentMetadata(0, [], 0, overlays=["?"]).to_fragment()


def test_features_of_the_processor_are_the_same() -> None:
    theirs, ours = lance.simd_info(), lance_core.simd_info()
    assert {**ours, "tier": ""} == {**theirs, "tier": ""}
    assert isinstance(ours["tier"], str)
