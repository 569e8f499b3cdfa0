"""Changes that either library commits, and what each makes of the rows and settings of a table.

The table has rows 0 to 19 in fragments of five; version 2 appended the last of them.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import lance.file
import pyarrow as pa
from lance.fragment import DataFile

import lance_core
from lance_core.table.transactions.operations import ReserveFragments

Row = dict[str, Any]


@dataclass(frozen=True)
class State:
    """Rows by their ``i``, and the settings that changes set."""

    rows: dict[int, Row]
    columns: tuple[str, ...] = ("i", "a", "s")
    config: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    schema_metadata: dict[str, str] = field(default_factory=dict)
    field_metadata: dict[str, str] = field(default_factory=dict)

    def shown(self) -> list[Row]:
        """The rows in the order of ``i``, a column that a row was written without as null."""
        return [{name: self.rows[i].get(name) for name in self.columns} for i in sorted(self.rows)]

    def changed(self, rows: dict[int, Row]) -> State:
        return replace(self, rows={**self.rows, **rows})

    def without(self, keep: Callable[[int, Row], bool]) -> State:
        return replace(self, rows={i: row for i, row in self.rows.items() if keep(i, row)})

    def giving(self, name: str, value: Callable[[int, Row], Any], *only: int) -> State:
        chosen = {i: row for i, row in self.rows.items() if not only or i in only}
        return self.changed({i: {**row, name: value(i, row)} for i, row in chosen.items()})


Call = Callable[[Any, int], Any]
Model = Callable[[State, int], State]


@dataclass(frozen=True)
class Change:
    """A change in two variants (0, 1); ``model``: what it makes of a table.

    ``call``: how a dataset is asked for it. Where only pylance can be asked, ``by_both`` is False,
    and we commit the transaction that pylance made of it in a copy of the table.
    """

    call: Call
    model: Model
    by_both: bool = True


def numbered(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {
            "i": pa.array(numbers, pa.int64()),
            "a": pa.array([10 * i for i in numbers], pa.int64()),
            "s": [f"text {i}" for i in numbers],
        }
    )


def as_rows(table: pa.Table) -> dict[int, Row]:
    return {row["i"]: row for row in table.to_pylist()}


BEFORE = State(as_rows(numbered(0, 15)))
START = State(as_rows(numbered(0, 20)))


def create(root: Path, stable_row_ids: bool) -> None:
    """Versions 1 and 2, a tag for the latter."""
    lance.write_dataset(
        numbered(0, 15),
        root,
        max_rows_per_file=5,
        data_storage_version="2.0",
        enable_stable_row_ids=stable_row_ids,
    )
    lance.write_dataset(numbered(15, 5), root, mode="append").tags.create("start", 2)


def copy(source: Path, target: Path) -> None:
    """The same files under another root; neither library ever changes one in place."""
    shutil.copytree(source, target, copy_function=os.link)


def _delete(predicate: str, keep: Callable[[int, Row], bool]) -> Change:
    return Change(lambda d, n: d.delete(predicate), lambda s, n: s.without(keep))


def _restore(dataset: Any, n: int) -> None:
    dataset.checkout_version(1).restore()


def _merge_insert(dataset: Any, n: int) -> None:
    merge = dataset.merge_insert("i").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(_merged(n))


def _merged(n: int) -> pa.Table:
    new = numbered(18 - 10 * n, 1), numbered(700 + 100 * n, 2)
    return pa.concat_tables(new).set_column(1, "a", pa.array([n, n, n], pa.int64()))


def _replace_data(dataset: Any, n: int) -> None:
    """New values of ``a`` in the second fragment."""
    name = f"{uuid.uuid4()}.lance"
    path = Path(dataset.uri) / "data" / name
    values = pa.table({"a": pa.array([900 + n] * 5, pa.int64())})
    with lance.file.LanceFileWriter(str(path), values.schema, version="2.0") as writer:
        writer.write_batch(values)
    file = DataFile(name, [1], [0], 2, 0, path.stat().st_size)
    group = lance.LanceOperation.DataReplacementGroup(1, file)
    _commit_at(dataset, lance.LanceOperation.DataReplacement([group]))


def _update_in_place(dataset: Any, n: int) -> None:
    """A new value of ``a`` in row 7 or 8, in a further file of the second fragment."""
    second = dataset.get_fragment(1)
    row = second.to_table(columns=[], with_row_id=True).slice(2 + n, 1)
    values = row.append_column("a", pa.array([800 + n], pa.int64()))
    fragment, fields = second.update_columns(values)
    change = lance.LanceOperation.Update(
        updated_fragments=[fragment], fields_modified=fields, update_mode="rewrite_columns"
    )
    _commit_at(dataset, change)


def _commit_at(dataset: Any, operation: Any) -> None:
    lance.LanceDataset.commit(dataset.uri, operation, read_version=dataset.version)


def _index(dataset: Any, n: int) -> None:
    dataset.create_scalar_index("a", "BTREE", name=f"index {n}")


def _add_column(dataset: Any, n: int) -> None:
    dataset.add_columns({f"n{n}": "a + 1"})


def _added_column(state: State, n: int) -> State:
    wider = replace(state, columns=(*state.columns, f"n{n}"))
    return wider.giving(f"n{n}", lambda i, row: row["a"] + 1)


CHANGES: dict[str, Change] = {
    "append": Change(
        lambda d, n: d.insert(numbered(100 + 100 * n, 3)),
        lambda s, n: s.changed(as_rows(numbered(100 + 100 * n, 3))),
    ),
    "delete rows": Change(
        lambda d, n: d.delete(f"i IN ({1 + n}, {6 + n})"),
        lambda s, n: s.without(lambda i, row: i not in (1 + n, 6 + n)),
    ),
    "delete the same rows": _delete("i IN (0, 6)", lambda i, row: i not in (0, 6)),
    "delete by value": _delete("a >= 150", lambda i, row: row["a"] < 150),
    "overwrite": Change(
        lambda d, n: d.insert(numbered(300 + 100 * n, 4), mode="overwrite"),
        lambda s, n: replace(
            s,
            rows=as_rows(numbered(300 + 100 * n, 4)),
            columns=START.columns,
            schema_metadata={},
            field_metadata={},
        ),
    ),
    "config": Change(
        lambda d, n: d.update_config({"key": f"{n}"}),
        lambda s, n: replace(s, config={**s.config, "key": f"{n}"}),
    ),
    "schema metadata": Change(
        lambda d, n: d.update_schema_metadata({f"key {n}": "x"}),
        lambda s, n: replace(s, schema_metadata={**s.schema_metadata, f"key {n}": "x"}),
    ),
    "field metadata": Change(
        lambda d, n: d.update_field_metadata({"a": {f"key {n}": "x"}}),
        lambda s, n: replace(s, field_metadata={**s.field_metadata, f"key {n}": "x"}),
    ),
    "restore": Change(_restore, lambda s, n: BEFORE),
    "tag": Change(lambda d, n: d.tags.create(f"tag-{n}", 2), lambda s, n: s),
    "update": Change(
        lambda d, n: d.update({"a": "a + 1000"}, where=f"i IN ({1 + n}, 12)"),
        lambda s, n: s.giving("a", lambda i, row: row["a"] + 1000, 1 + n, 12),
        by_both=False,
    ),
    "update of other rows": Change(
        lambda d, n: d.update({"a": "a + 1000"}, where=f"i = {3 + n}"),
        lambda s, n: s.giving("a", lambda i, row: row["a"] + 1000, 3 + n),
        by_both=False,
    ),
    "merge insert": Change(
        _merge_insert,
        lambda s, n: s.changed(
            {i: {**s.rows.get(i, {}), **row} for i, row in as_rows(_merged(n)).items()}
        ),
        by_both=False,
    ),
    "add column": Change(_add_column, _added_column, by_both=False),
    "drop column": Change(
        lambda d, n: d.drop_columns(["s"]),
        lambda s, n: replace(s, columns=tuple(name for name in s.columns if name != "s")),
        by_both=False,
    ),
    "compact": Change(
        lambda d, n: d.optimize.compact_files(target_rows_per_fragment=10),
        lambda s, n: s,
        by_both=False,
    ),
    "index": Change(_index, lambda s, n: s, by_both=False),
    "replace data": Change(
        _replace_data,
        lambda s, n: s.giving("a", lambda i, row: 900 + n, 5, 6, 7, 8, 9),
        by_both=False,
    ),
    "update in place": Change(
        _update_in_place, lambda s, n: s.giving("a", lambda i, row: 800 + n, 7 + n), by_both=False
    ),
}


@dataclass(frozen=True)
class Prepared:
    """A change that pylance made of version 2 in a copy of the table: files, and what it did."""

    copy: Path
    operations: dict[ModuleType, Any]
    """As each library reads it."""

    def commit(self, library: ModuleType, root: Path) -> None:
        """Bring the files along and commit the transaction, as computed from version 2."""
        for folder in ("data", "_deletions", "_indices"):
            for path in (self.copy / folder).rglob("*"):
                target = root / folder / path.relative_to(self.copy / folder)
                if path.is_file() and not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    os.link(path, target)
        operation = self.operations[library]
        if isinstance(operation, library.LanceOperation.Rewrite):
            _take_ids(library, root, operation)
        library.LanceDataset.commit(str(root), operation, read_version=2)


def _take_ids(library: ModuleType, root: Path, rewrite: Any) -> None:
    """Reserve the ids of the new fragments, as a compaction does."""
    new = [fragment for group in rewrite.groups for fragment in group.new_fragments]
    if library is lance:
        for fragment in new:
            fragment.id = 0  # reserved by the commit itself
        return
    reserve = lance_core.LanceOperation.Stored(ReserveFragments(len(new)))
    made = lance_core.LanceDataset.commit(str(root), reserve, read_version=2)
    last = made.snapshot.manifest.max_fragment_id
    assert last is not None
    for number, fragment in enumerate(new):
        fragment.id = last - len(new) + 1 + number


def prepare(base: Path, folder: Path) -> dict[tuple[str, int], Prepared]:
    """Every change that we cannot be asked for, in both variants."""
    made = {}
    for name, change in CHANGES.items():
        for n in (0, 1):
            if not change.by_both:
                root = folder / f"{name} {n}"
                copy(base, root)
                change.call(lance.dataset(root), n)
                made[name, n] = _read_back(root)
    return made


def _read_back(root: Path) -> Prepared:
    version = lance.dataset(root).version
    libraries: tuple[Any, ...] = (lance, lance_core)
    operations = {
        library: library.dataset(str(root)).read_transaction(version).operation
        for library in libraries
    }
    return Prepared(root, operations)
