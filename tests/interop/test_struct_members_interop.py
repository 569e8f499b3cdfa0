"""Members of null structs in 2.1 and 2.2 files: read alone, filtered by and computed with.

pylance takes from the leaf's own layer whether a member is null. What it makes of our files must be
what it makes of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
from tests.examples import share
from tests.interop.columns import FIXED, VALUES, items, plain, same, vectors
from tests.interop.stored_pages import pages_of

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

VERSIONS = ("2.1", "2.2")
LIBRARIES = (lance, lance_core)
TYPES = [
    *("bool", "int8", "int32", "int64", "uint16", "halffloat", "float", "double", "date32[day]"),
    *("timestamp[us, tz=UTC]", "decimal128(20, 3)", "decimal256(60, 2)", "binary of 16"),
    *("string", "large_string", "binary", "large_binary", "dictionary int8", "null"),
]


class Member(NamedTuple):
    """Values of a member of structs, some of which are null; ``keys``: how they are encoded."""

    values: pa.Array
    keys: Mapping[str, str] = {}
    nullable: bool = True


def of_each_type(rows: int) -> dict[str, Member]:
    """Each type without nulls, with nulls of its own, and null only where its struct is, too."""
    found = {}
    hidden = pa.array(np.arange(rows) % 3 == 1)
    for name in TYPES:
        values = VALUES[name]
        present = items(values, "no nulls")(rows)
        found[name] = Member(present)
        found[f"{name} with nulls"] = Member(items(values, "some nulls")(rows))
        order = np.arange(rows) % 5
        found[f"{name}, hidden nulls"] = Member(
            values.take(pa.array(order, mask=hidden.to_numpy(False)))
        )
        if not pa.types.is_null(values.type):
            found[f"{name} NOT NULL"] = Member(present, nullable=False)
    for name, values in ((name, FIXED[name]) for name in TYPES if name in FIXED):
        found[f"vector of {name}"] = Member(vectors(items(values, "no nulls"), rows, "no nulls"))
        found[f"vector, {name} null"] = Member(
            vectors(items(values, "some nulls"), rows, "no nulls")
        )
    return found


def of_each_layout(rows: int, version: str) -> dict[str, Member]:
    """Values that the pages of 2.1 and 2.2 have an encoding of their own for."""
    counted = np.arange(rows)
    texts = pa.array([f"word {number}" for number in counted.tolist()])
    numbers = pa.array(counted)
    packed = pa.StructArray.from_arrays([numbers, pa.array(counted / 2)], ["a", "b"])
    zipped = {"structural-encoding": "fullzip"}
    found = {
        "constant": Member(pa.array([7] * rows)),
        "constant NOT NULL": Member(pa.array([7] * rows), nullable=False),
        "constant text": Member(pa.array(["abc"] * rows)),
        "constant bool": Member(pa.array([True] * rows)),
        "large constant": Member(pa.array([b"x" * 40] * rows, pa.binary(40))),
        "constant where it is seen": Member(pa.array(np.where(counted % 3 == 1, counted, 5))),
        "null where it is seen": Member(pa.array(counted, mask=counted % 3 != 1)),
        "zipped numbers": Member(numbers, zipped),
        "zipped texts": Member(texts, zipped, nullable=False),
        "long texts": Member(pa.array([text * 60 for text in texts.to_pylist()])),
        "embeddings": Member(
            pa.FixedSizeListArray.from_arrays(pa.array(np.arange(96.0 * rows, dtype="f4")), 96)
        ),
        "packed": Member(packed, {"packed": "true"}),
        "runs": Member(pa.array(counted // 50), {"rle-threshold": "1.0"}),
        "bit-packed": Member(pa.array(counted % 60)),
        "split": Member(pa.array(counted / 7), {"bss": "on", "compression": "lz4"}),
        "few texts": Member(texts.take(pa.array(counted % 7))),
    }
    if version == "2.2":
        members = [numbers, texts]
        both = pa.StructArray.from_arrays(members, ["a", "b"])
        found["packed with texts"] = Member(both, {"packed": "true"})
    return found


def structs(member: Member, nulls: np.ndarray | None) -> pa.StructArray:
    keys = {f"lance-encoding:{key}": value for key, value in member.keys.items()}
    field = pa.field("x", member.values.type, member.nullable, keys or None)
    mask = None if nulls is None else pa.array(nulls)
    return pa.StructArray.from_arrays([member.values], fields=[field], mask=mask)


def nested(members: dict[str, Member], rows: int) -> tuple[pa.Table, dict[str, pa.Array]]:
    """Structs, and structs of structs, of each member; and what each of these paths is."""
    counted = np.arange(rows)
    columns: dict[str, pa.Array] = {}
    paths: dict[str, pa.Array] = {}
    for number, (name, member) in enumerate(members.items()):
        one = structs(member, counted % 3 == 1)
        # Structs that hide members are null by themselves, or only because of those around them.
        inner = structs(member, counted % 3 == 1 if number % 2 else None)
        mask = pa.array(counted % 4 == 3)
        two = pa.StructArray.from_arrays([inner], ["s"], mask=mask)
        columns |= {f"one {name}".replace(".", ""): one, f"two {name}".replace(".", ""): two}
        paths[f"`one {name.replace('.', '')}`.x"] = one.flatten()[0]
        paths[f"`two {name.replace('.', '')}`.s.x"] = two.flatten()[0].flatten()[0]
    return pa.table({"key": pa.array(counted), **columns}), paths


def filler(kind: pa.DataType) -> str | None:
    """The literal that a slot without a value is filled with, for types that SQL compares."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "0"
    if pa.types.is_string(kind):
        return "''"
    return "false" if pa.types.is_boolean(kind) else None


def expressions(paths: Mapping[str, pa.Array]) -> dict[str, str]:
    """Every member alone, whether it is null, compared with a filler and computed with."""
    found = {}
    for number, (path, array) in enumerate(paths.items()):
        found[f"alone {number}"] = path
        found[f"null {number}"] = f"{path} IS NULL"
        text = filler(array.type)
        if text is not None:
            found[f"equal {number}"] = f"{path} = {text}"
            found[f"either {number}"] = f"coalesce({path}, {text})"
        if array.type in (pa.int64(), pa.float64()):
            found[f"third {number}"] = f"{path} / 3"
    return found


def written(data: pa.Table, folder: Path, version: str) -> list[str]:
    """The table as pylance writes it, and as we do."""
    for library in LIBRARIES:
        library.write_dataset(data, str(folder / library.__name__), data_storage_version=version)
    return [str(folder / library.__name__) for library in LIBRARIES]


def check(found: pa.Table, expected: pa.Table) -> None:
    same(found, expected)
    for name in expected.column_names:
        assert found[name].null_count == expected[name].null_count, name


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("which", ["types", "layouts"])
def test_members_of_null_structs_are_null(which: str, version: str, tmp_path: Path) -> None:
    rows = 37 if which == "types" else 2600
    members = of_each_type(rows) if which == "types" else of_each_layout(rows, version)
    members = dict(share([*members.items()], 2, turn=VERSIONS.index(version)))
    data, paths = nested(members, rows)
    asked = expressions(paths)
    theirs, ours = written(data, tmp_path, version)
    expected = lance.dataset(theirs).to_table(columns=asked)
    for number, array in enumerate(paths.values()):
        assert plain(expected[f"alone {number}"].chunks) == array.to_pylist()
        assert expected[f"null {number}"].to_pylist() == array.is_null().to_pylist()
    check(lance.dataset(ours).to_table(columns=asked), expected)
    for uri in (theirs, ours):
        mine = lance_core.dataset(uri).to_table(columns=asked)
        for name in expected.column_names:
            assert plain(mine[name].chunks) == plain(expected[name].chunks), name


@pytest.mark.parametrize("version", VERSIONS)
def test_filters_on_members_of_null_structs_find_the_same_rows(
    version: str, tmp_path: Path
) -> None:
    rows = 400
    data, paths = nested(of_each_layout(rows, version), rows)
    uris = written(data, tmp_path, version)
    datasets: list[Any] = [library.dataset(uri) for uri in uris for library in LIBRARIES]
    for path, array in paths.items():
        text = filler(array.type)
        for wanted in (f"{path} IS NULL", f"{path} IS NOT NULL", text and f"{path} = {text}"):
            if wanted is None:
                continue
            found = [
                dataset.to_table(columns=["key"], filter=wanted)["key"].to_pylist()
                for dataset in datasets
            ]
            assert found == [found[0]] * 4, wanted


@pytest.mark.parametrize("version", VERSIONS)
def test_layers_below_null_structs_are_of_the_kinds_that_pylance_writes(
    version: str, tmp_path: Path
) -> None:
    rows = 60
    member = Member(pa.array(np.arange(rows)))
    nulls = np.arange(rows) % 3 == 1
    offsets = pa.array(np.arange(0, rows + 1, 3), pa.int32())
    inner = structs(member, None)
    lists = pa.ListArray.from_arrays(offsets, structs(member, nulls))
    columns = {
        "struct": structs(member, nulls),
        "NOT NULL": structs(member._replace(nullable=False), nulls),
        "struct of structs": pa.StructArray.from_arrays([inner], ["s"], mask=pa.array(nulls)),
        "list of structs": lists,
        "struct of lists": pa.StructArray.from_arrays([lists], ["l"], mask=pa.array(nulls[:20])),
        "struct of nulls": structs(Member(pa.nulls(rows, pa.int64())), nulls),
        "only nulls": structs(member, np.ones(rows, bool)),
        "constant": structs(Member(pa.array([5] * rows)), nulls),
        "no nulls": structs(member, None),
    }
    for name, array in columns.items():
        theirs, ours = (
            list(pages_of(Path(uri), version)[0].layout.layers)
            for uri in written(pa.table({"c": array}), tmp_path / name, version)
        )
        assert ours == theirs, name


@pytest.mark.parametrize("library", LIBRARIES)
def test_members_of_structs_in_vectors_are_read(library: Any, tmp_path: Path) -> None:
    nulls = np.arange(60) % 3 == 1
    inner = structs(Member(pa.array(np.arange(60))), nulls)
    data = pa.table({"v": pa.FixedSizeListArray.from_arrays(inner, 2, mask=pa.array(nulls[:30]))})
    for uri in written(data, tmp_path, "2.2"):
        same(library.dataset(uri).to_table(), data)
        same(library.dataset(uri).take([1, 7, 29]), data.take([1, 7, 29]))
