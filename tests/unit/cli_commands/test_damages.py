"""Forty planted damages: each is found, and what was not damaged is there after the repair."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core_cli import plan_repair, verify
from tests.examples import share

ROWS, FRAGMENTS = 60, 3
LIVE = ROWS * FRAGMENTS - 1
"""Rows of the newest version, of which the last fragment has one that was updated."""

Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with an index, deletion files of two versions, a row that moved, and a tag."""
    path = tmp_path_factory.mktemp("whole") / "table"
    numbers = np.arange(ROWS * FRAGMENTS)
    rows = pa.table({"a": numbers, "t": [f"text {n}" for n in numbers]})
    options: dict[str, Any] = {"max_rows_per_file": ROWS, "enable_stable_row_ids": True}
    table = lance_core.write_dataset(rows, path, **options)
    table.create_scalar_index("a", "BTREE")
    table.delete(f"a = {ROWS + 1}")
    table.update({"t": "'new'"}, where="a = 5")
    table.tags.create("good", 3)
    return path


def data(path: Path, fragment: int = 0) -> Path:
    (file,) = lance_core.dataset(path).get_fragments()[fragment].metadata.files
    return path / "data" / file.path


def deletion(path: Path, fragment: int) -> Path:
    (file,) = (path / "_deletions").glob(f"{fragment}-*")
    return file


def manifest(path: Path, age: int = 0) -> Path:
    """Of the newest version, or of ``age`` versions before."""
    return sorted((path / "_versions").iterdir())[age]


def index(path: Path, name: str) -> Path:
    (file,) = (path / "_indices").glob(f"*/{name}.lance")
    return file


def overwrite(file: Path, at: int = 0, count: int = 64, value: int = 0xA5) -> None:
    content = bytearray(file.read_bytes())
    at %= len(content)
    content[at : at + count] = bytes([value]) * len(content[at : at + count])
    file.write_bytes(content)


def cut(file: Path, end: int) -> None:
    file.write_bytes(file.read_bytes()[:end])


def zeros(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def swap(one: Path, other: Path) -> None:
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def folder_instead(file: Path) -> None:
    file.unlink()
    file.mkdir()


def deleting(file: Path, *rows: int) -> None:
    """A deletion file with other rows."""
    with pa.ipc.open_file(file) as old:
        schema = old.read_all().schema
    with pa.ipc.new_file(file, schema) as writer:
        writer.write(pa.table([pa.array(rows, pa.uint32())], schema=schema))


def several(*damages: Damage) -> Damage:
    def all_of_them(path: Path) -> None:
        for damage in damages:
            damage(path)

    return all_of_them


LEFT_OUT = LIVE - (ROWS - 1)
"""Rows without those of one fragment, of which one was deleted."""

DAMAGES: dict[str, tuple[Damage, int, int]] = {
    # What is damaged, the rows after the repair, and how many of them have lost a value of `a`.
    "no data file": (lambda p: data(p).unlink(), LEFT_OUT, 0),
    "an empty data file": (lambda p: data(p).write_bytes(b""), LEFT_OUT, 0),
    "half of a data file": (lambda p: cut(data(p), 500), LEFT_OUT, 0),
    "a data file without its last byte": (lambda p: cut(data(p), -1), LEFT_OUT, 0),
    "a data file of zeros": (lambda p: zeros(data(p)), LEFT_OUT, 0),
    "no footer": (lambda p: overwrite(data(p), -40, 40), LEFT_OUT, 0),
    "no magic bytes": (lambda p: overwrite(data(p), -4, 4), LEFT_OUT, 0),
    "no offsets": (lambda p: overwrite(data(p), -104, 64), LEFT_OUT, 0),
    "a file of the manifest for data": (
        lambda p: data(p).write_bytes(manifest(p).read_bytes()),
        LEFT_OUT,
        0,
    ),
    "a folder for data": (lambda p: folder_instead(data(p)), LEFT_OUT, 0),
    "data files of each other": (
        lambda p: swap(data(p), data(p, 3)),
        LIVE - ROWS,
        0,
    ),
    "a page of the first fragment": (lambda p: overwrite(data(p)), LIVE, ROWS - 1),
    "a page of the last fragment": (lambda p: overwrite(data(p, 2)), LIVE, ROWS),
    "a page, and no file of another fragment": (
        several(lambda p: overwrite(data(p, 2)), lambda p: data(p).unlink()),
        LEFT_OUT,
        ROWS,
    ),
    "a page and a deletion file of other fragments": (
        several(lambda p: overwrite(data(p, 2)), lambda p: deletion(p, 1).unlink()),
        LIVE + 1,
        ROWS,
    ),
    "no data at all": (lambda p: shutil.rmtree(p / "data"), 0, 0),
    "no deletion file of a deleted row": (lambda p: deletion(p, 1).unlink(), LIVE + 1, 0),
    "no deletion file of an updated row": (lambda p: deletion(p, 0).unlink(), LIVE, 0),
    "no deletion files": (lambda p: shutil.rmtree(p / "_deletions"), LIVE + 1, 0),
    "an empty deletion file": (
        lambda p: deletion(p, 1).write_bytes(b""),
        LIVE + 1,
        0,
    ),
    "a deletion file of zeros": (lambda p: zeros(deletion(p, 0)), LIVE, 0),
    "a deletion file that is cut": (lambda p: cut(deletion(p, 1), -9), LIVE + 1, 0),
    "deleted rows beyond the file": (lambda p: deleting(deletion(p, 1), 9_999), LIVE + 1, 0),
    "too many deleted rows": (lambda p: deleting(deletion(p, 1), 1, 2, 3), LIVE + 1, 0),
    "deletion files of each other, of other rows": (
        several(lambda p: deleting(deletion(p, 0), 8, 9), lambda p: deleting(deletion(p, 1), 8, 9)),
        LIVE + 1,
        0,
    ),
    "the newest manifest of zeros": (lambda p: zeros(manifest(p)), LIVE, 0),
    "an empty newest manifest": (lambda p: manifest(p).write_bytes(b""), LIVE, 0),
    "half of the newest manifest": (lambda p: cut(manifest(p), 300), LIVE, 0),
    "no magic bytes of the newest manifest": (lambda p: overwrite(manifest(p), -4, 4), LIVE, 0),
    "the two newest manifests": (
        several(lambda p: zeros(manifest(p)), lambda p: zeros(manifest(p, 1))),
        LIVE + 1,
        0,
    ),
    "newest manifests of each other": (lambda p: swap(manifest(p), manifest(p, 1)), LIVE + 1, 0),
    "the indices of the newest manifest": (
        lambda p: overwrite(manifest(p), 20, 9, 0xFF),
        LIVE,
        0,
    ),
    "an older manifest": (lambda p: zeros(manifest(p, 2)), LIVE, 0),
    "two older manifests": (
        several(lambda p: zeros(manifest(p, 2)), lambda p: cut(manifest(p, 3), 9)),
        LIVE,
        0,
    ),
    "no files of an index": (lambda p: shutil.rmtree(p / "_indices"), LIVE, 0),
    "the pages of an index": (lambda p: overwrite(index(p, "page_data")), LIVE, 0),
    "the look-up of an index": (lambda p: overwrite(index(p, "page_lookup")), LIVE, 0),
    "files of an index for each other": (
        lambda p: swap(index(p, "page_data"), index(p, "page_lookup")),
        LIVE,
        0,
    ),
    "an index, and a page": (
        several(lambda p: zeros(index(p, "page_data")), lambda p: overwrite(data(p, 2))),
        LIVE,
        ROWS,
    ),
    "a tag": (lambda p: overwrite(p / "_refs" / "tags" / "good.json"), LIVE, 0),
    "the version of a tag": (lambda p: manifest(p, 1).unlink(), LIVE, 0),
}


def least(path: Path) -> Iterator[tuple[Any, str]]:
    """Of the steps that are offered, those that lose least."""
    steps = plan_repair(str(path)).steps
    fragments = {
        step.name.partition(":")[0] for step in steps if step.action in ("null-column", "undelete")
    }
    for step in steps:
        is_most = step.action == "restore" or (
            step.action == "drop-fragment" and step.name in fragments
        )
        if not step.is_chosen and not is_most:
            yield step.action, step.name


def problems(path: Path) -> list[str]:
    try:
        return [problem.text for problem in verify(lance_core.dataset(path), "full").problems]
    except lance_core.errors.CorruptFileError as error:
        return [str(error)]


@pytest.mark.parametrize("name", share(list(DAMAGES), 8, 1))
def test_a_damage_is_found_and_what_is_whole_is_kept(
    name: str, whole: Path, tmp_path: Path
) -> None:
    damage, rows, nulls = DAMAGES[name]
    path = tmp_path / "table"
    shutil.copytree(whole, path)
    before = lance_core.dataset(path).to_table()
    texts = dict(zip(before["a"].to_pylist(), before["t"].to_pylist(), strict=True))
    texts |= {ROWS + 1: f"text {ROWS + 1}"}  # it may come back
    damage(path)
    found = problems(path)
    assert found
    assert all(re.search(r"file '|no object at|no version", text) for text in found)
    plan = plan_repair(str(path), least(path))
    if not plan.chosen:
        (step,) = plan.steps
        assert step.option == "--restore"
        plan = plan_repair(str(path), restore=True)
    assert plan.left == []
    plan.apply()
    manifests = list(least(path))  # of damaged versions after the one that was restored
    if manifests:
        plan_repair(str(path), manifests).apply()
    assert problems(path) == []
    after = lance_core.dataset(path).to_table()
    assert after.num_rows == rows
    assert after["a"].null_count == nulls
    changed = {5: {"new", "text 5"}}
    for row in after.to_pylist():
        assert row["a"] is None or row["t"] in changed.get(row["a"], {texts[row["a"]]})
