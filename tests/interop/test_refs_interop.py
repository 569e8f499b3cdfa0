"""Tags, branches and clones beside pylance: each reads, lists and continues the other's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance as pylance
import pyarrow as pa
import pytest

import lance_core
from lance_core.table.refs import branch_path, tag_path

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

BOTH = [(lance_core, pylance), (pylance, lance_core)]
both = pytest.mark.parametrize(("maker", "other"), BOTH, ids=["ours", "theirs"])


def rows(*values: int) -> pa.Table:
    return pa.table({"x": pa.array(values, pa.int64())})


def content(dataset: Any) -> list[int]:
    values: list[int] = dataset.to_table()["x"].to_pylist()
    return values


def write(library: Any, values: pa.Table, target: Any, **options: Any) -> Any:
    return library.write_dataset(values, target, data_storage_version="2.0", **options)


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """A table of two versions."""
    place = str(tmp_path / "table")
    write(pylance, rows(1, 2, 3), place)
    write(pylance, rows(4), place, mode="append")
    return place


def without_times(refs: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {key: value for key, value in ref.items() if key not in ("created_at", "updated_at")}
        for name, ref in refs.items()
    }


@both
def test_tags_of_one_are_those_of_the_other(uri: str, maker: Any, other: Any) -> None:
    made, read = maker.dataset(uri), other.dataset(uri)
    made.tags.create("one", 1)
    made.tags.create("two", "one")
    made.tags.update("two", (None, None))
    made.tags.replace_metadata("two", {"a": "b"})
    made.create_branch("b/c")
    made.tags.create("three", ("b/c", None))
    assert read.tags.list() == made.tags.list()
    assert read.tags.list_ordered("asc") == made.tags.list_ordered("asc")
    assert read.tags.list_ordered() == made.tags.list_ordered()
    assert [read.tags.get_version(t) for t in ("one", "two", "three")] == [1, 2, 2]
    assert other.dataset(uri, version="one").count_rows() == 3
    read.tags.update("one", 2)
    read.tags.delete("two")
    assert without_times(made.tags.list()) == without_times(read.tags.list())
    assert made.tags.get_version("one") == 2
    assert list(made.tags.list()["one"]) == list(read.tags.list()["one"])


def test_files_of_refs_have_the_same_members(uri: str) -> None:
    ours, theirs = lance_core.dataset(uri), pylance.dataset(uri)
    ours.tags.create("ours")
    theirs.tags.create("theirs")
    ours.create_branch("our/branch")
    theirs.create_branch("their/branch")
    for one, two in (
        (tag_path("ours"), tag_path("theirs")),
        (branch_path("our/branch"), branch_path("their/branch")),
    ):
        shapes = []
        for path in (one, two):
            text = Path(uri, path).read_text()
            shapes.append([line.split(":")[0].strip() for line in text.splitlines() if ":" in line])
        assert shapes[0] == shapes[1]


@both
def test_a_branch_of_one_is_continued_by_the_other(uri: str, maker: Any, other: Any) -> None:
    write(maker, rows(5), maker.dataset(uri).create_branch("b"), mode="append")
    theirs = other.dataset(uri).checkout_version(("b", None))
    assert (theirs.version, content(theirs)) == (3, [1, 2, 3, 4, 5])
    theirs = write(other, rows(6), theirs, mode="append")
    theirs.delete("x = 2 OR x = 5")
    ours = maker.dataset(uri).checkout_version(("b", None))
    assert (ours.version, content(ours)) == (5, [1, 3, 4, 6])
    ours.delete("x = 3")
    ours = write(maker, rows(7), f"{uri}/tree/b", mode="append")
    for library in (maker, other):
        branch = library.dataset(f"{uri}/tree/b")
        assert (branch.version, content(branch)) == (7, [1, 4, 6, 7])
        branch.validate()
        assert [v["version"] for v in branch.version_refs()] == [2, 3, 4, 5, 6, 7]
        assert content(library.dataset(uri)) == [1, 2, 3, 4]
    write(maker, rows(8), f"{uri}/tree/b", mode="overwrite")
    assert content(other.dataset(f"{uri}/tree/b")) == [8]


@both
def test_branches_of_branches_are_read_by_both(uri: str, maker: Any, other: Any) -> None:
    first = write(maker, rows(5), maker.dataset(uri).create_branch("a"), mode="append")
    first.delete("x = 1")
    second = write(
        other, rows(6), other.dataset(uri).create_branch("a/b", ("a", None)), mode="append"
    )
    third = write(maker, rows(7), maker.dataset(second.uri).create_branch("c"), mode="append")
    for library in (maker, other):
        assert content(library.dataset(third.uri)) == [2, 3, 4, 5, 6, 7]
        dataset = library.dataset(uri)
        assert content(dataset.checkout_version(("a/b", None))) == [2, 3, 4, 5, 6]
    assert maker.dataset(uri).branches.list() == other.dataset(uri).branches.list()
    ordered = [maker.dataset(uri).branches.list_ordered(o) for o in (None, "asc")]
    assert ordered == [other.dataset(uri).branches.list_ordered(o) for o in (None, "asc")]
    ways = [len(b["branch_identifier"]) for _, b in ordered[1]]
    assert ways == [1, 2, 3]


def test_first_versions_of_branches_differ_in_nothing_but_names(uri: str) -> None:
    ours = lance_core.dataset(uri).create_branch("x1", 2).snapshot.file.manifest
    theirs = lance_core.dataset(pylance.dataset(uri).create_branch("x2", 2).uri)
    manifest = theirs.snapshot.file.manifest
    assert ours.version == manifest.version
    assert list(ours.fragments) == list(manifest.fragments)
    assert ours.base_paths == manifest.base_paths
    assert ours.flags == manifest.flags
    assert (ours.branch, manifest.branch) == ("x1", "x2")
    assert ours.schema == manifest.schema


@both
def test_one_deletes_the_branches_of_the_other(uri: str, maker: Any, other: Any) -> None:
    write(maker, rows(5), maker.dataset(uri).create_branch("b"), mode="append")
    maker.dataset(uri).create_branch("b/c")
    maker.dataset(uri).tags.create("t", ("b/c", None))
    with pytest.raises(OSError, match="referenced"):
        other.dataset(uri).branches.delete("b/c")
    other.dataset(uri).tags.delete("t")
    other.dataset(uri).branches.delete("b")
    assert list(maker.dataset(uri).branches.list()) == ["b/c"]
    assert content(maker.dataset(f"{uri}/tree/b/c")) == [1, 2, 3, 4]
    other.dataset(uri).branches.delete("b/c")
    assert maker.dataset(uri).branches.list() == {}
    assert content(maker.dataset(uri).create_branch("b", 1)) == [1, 2, 3]


@both
def test_clones_of_one_are_read_and_continued_by_the_other(
    uri: str, tmp_path: Path, maker: Any, other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANCE_CORE_ALLOW_BASE_PATHS", str(tmp_path))
    source = write(maker, rows(5), maker.dataset(uri).create_branch("b"), mode="append")
    source.delete("x = 1")
    source = maker.dataset(source.uri)
    shallow = source.shallow_clone(str(tmp_path / "shallow"), source.version)
    deep = source.deep_clone(str(tmp_path / "deep"), ("b", None))
    for clone in (shallow, deep):
        theirs = other.dataset(clone.uri)
        assert (theirs.version, content(theirs)) == (4, [2, 3, 4, 5])
        theirs.validate()
        theirs = write(other, rows(6), theirs, mode="append")
        theirs.delete("x = 2")
        ours = maker.dataset(clone.uri)
        assert (ours.version, content(ours)) == (6, [3, 4, 5, 6])
        assert len(ours.base_paths()) == len(theirs.base_paths())
        assert ours.tags.list() == ours.branches.list() == {}
    again = other.dataset(shallow.uri).deep_clone(str(tmp_path / "again"), 6)
    assert content(maker.dataset(again.uri)) == [3, 4, 5, 6]
    assert maker.dataset(again.uri).base_paths() == {}


@both
def test_writers_of_both_libraries_meet_on_a_branch(uri: str, maker: Any, other: Any) -> None:
    maker.dataset(uri).create_branch("b")
    early = maker.dataset(uri).checkout_version(("b", None))
    late = other.dataset(uri).checkout_version(("b", None))
    write(maker, rows(5), early, mode="append")
    write(other, rows(6), late, mode="append")
    early.delete("x = 1")
    late = other.dataset(f"{uri}/tree/b")
    maker.dataset(f"{uri}/tree/b").delete("x = 4")
    late.delete("x = 2")
    for library in (maker, other):
        branch = library.dataset(f"{uri}/tree/b")
        assert sorted(content(branch)) == [3, 5, 6]
        branch.validate()


def test_indices_come_along(uri: str, tmp_path: Path) -> None:
    pylance.dataset(uri).create_scalar_index("x", "BTREE")
    ours = lance_core.dataset(uri)
    places = [
        ours.create_branch("b").uri,
        ours.shallow_clone(tmp_path / "shallow", None).uri,
        ours.deep_clone(tmp_path / "deep", None).uri,
    ]
    for place in places:
        theirs = pylance.dataset(place)
        (index,) = theirs.describe_indices()
        assert index.num_rows_indexed == 4
        assert theirs.to_table(filter="x = 3").num_rows == 1
        assert "ScalarIndexQuery" in theirs.scanner(filter="x = 3").explain_plan()


def test_files_that_pylance_puts_elsewhere_are_read_and_continued(tmp_path: Path) -> None:
    place, elsewhere = str(tmp_path / "table"), str(tmp_path / "elsewhere")
    bases = [pylance.DatasetBasePath(elsewhere, name="there", id=7)]
    write(pylance, rows(1, 2), place, initial_bases=bases, target_bases=["there"])
    with pytest.raises(lance_core.errors.BasePathRefusedError):
        lance_core.dataset(place).to_table()
    ours = lance_core.dataset(place, allow_base_paths=elsewhere)
    (base,) = ours.base_paths().values()
    assert (base.id, base.name, base.path, base.is_dataset_root) == (7, "there", elsewhere, False)
    ours = write(lance_core, rows(3), ours, mode="append")
    ours.delete("x = 1")
    assert content(ours) == content(pylance.dataset(place)) == [2, 3]
    deep = ours.deep_clone(tmp_path / "deep", None)
    assert content(deep) == content(pylance.dataset(deep.uri)) == [2, 3]
    assert deep.base_paths() == {}


ERRORS: list[tuple[str, tuple[Any, ...]]] = [
    ("tags.create", ("t", 1)),
    ("tags.create", ("u", 99)),
    ("tags.create", ("u", "nobody")),
    ("tags.create", ("a b", 1)),
    ("tags.create", ("", 1)),
    ("tags.create", ("a/b", 1)),
    ("tags.update", ("nobody", 1)),
    ("tags.update", ("t", 99)),
    ("tags.delete", ("nobody",)),
    ("tags.get_version", ("nobody",)),
    ("tags.replace_metadata", ("nobody", {})),
    ("tags.list_ordered", ("up",)),
    ("branches.delete", ("nobody",)),
    ("branches.delete", ("main",)),
    ("branches.replace_metadata", ("nobody", {})),
    ("create_branch", ("main",)),
    ("create_branch", ("a..b",)),
    ("create_branch", ("b",)),
    ("create_branch", ("c", 99)),
    ("create_branch", ("c", "nobody")),
    ("create_branch", ("c", ("nobody", None))),
    ("checkout_version", ("nobody",)),
    ("checkout_version", (99,)),
    ("checkout_version", (("nobody", 1),)),
    ("checkout_version", ((None, 1, 2),)),
    ("checkout_version", (1.5,)),
    ("shallow_clone", ("table", 1)),
    ("shallow_clone", ("elsewhere", 99)),
    ("deep_clone", ("table", 1)),
    ("deep_clone", ("elsewhere", "nobody")),
]


@pytest.mark.parametrize(("method", "arguments"), ERRORS, ids=str)
def test_what_pylance_refuses_is_refused_as_an_error_of_its_kind(
    uri: str, tmp_path: Path, method: str, arguments: tuple[Any, ...]
) -> None:
    pylance.dataset(uri).tags.create("t", 1)
    pylance.dataset(uri).create_branch("b")
    if method.endswith("_clone"):
        arguments = (str(tmp_path / arguments[0]), *arguments[1:])

    def call(library: Any) -> None:
        target = library.dataset(uri)
        *owners, name = method.split(".")
        for owner in owners:
            target = getattr(target, owner)
        getattr(target, name)(*arguments)

    with pytest.raises((ValueError, OSError)) as theirs:
        call(pylance)
    with pytest.raises(type(theirs.value)):
        call(lance_core)
