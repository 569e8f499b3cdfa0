"""Tables of several versions that pylance wrote; they are stored beside this module.

`unpacked` needs nothing but the archive; what writes it anew (`written`) needs pylance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from tests.golden.archive import PYLANCE_TABLES, all_stored_together

MERGED_FROM = 1190
"""The first id of the rows that are merged into the table of `_all_verbs`."""


def unpacked(name: str, folder: Path) -> Path:
    """The stored table of this ``name``, as a new folder in ``folder``."""
    root = folder / "table"
    members = {path: raw for path, raw in stored_tables().items() if path.startswith(f"{name}/")}
    assert members, name
    for path, raw in members.items():
        file = root / path.removeprefix(f"{name}/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(raw)
    return root


def stored_tables() -> dict[str, bytes]:
    """The files of all stored tables. The first part of a path is the name of the table."""
    return all_stored_together(PYLANCE_TABLES)


def written(name: str, folder: Path) -> Path:
    """The table of this ``name``, written by the pylance that is installed."""
    root = folder / "table"
    TABLES[name](root)
    return root


def ten_rows() -> pa.Table:
    return pa.table({"a": pa.array(range(10)), "s": [str(i) for i in range(10)]})


def _simple_verbs(stable_row_ids: bool) -> Callable[[Path], None]:
    """All operations that this library makes as pylance does, byte for byte."""

    def write_table(root: Path) -> None:
        import lance

        def write(mode: str) -> None:
            lance.write_dataset(
                ten_rows(),
                root,
                mode=mode,
                data_storage_version="2.0",
                enable_stable_row_ids=stable_row_ids,
            )

        write("create")
        write("append")
        lance.dataset(root).delete("a = 3")
        lance.dataset(root).update_config({"k": "v"})
        write("overwrite")
        lance.dataset(root).create_scalar_index("a", "BTREE")
        write("append")
        lance.dataset(root).delete("a < 100")
        write("append")

    return write_table


def _sample(start: int, rows: int) -> pa.Table:
    numbers = range(start, start + rows)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "name": pa.array([None if n % 5 == 0 else f"name {n % 7}" for n in numbers]),
            "flag": pa.array([n % 2 == 0 for n in numbers]),
            "items": pa.array([None if n % 3 == 0 else list(range(n % 4)) for n in numbers]),
            "pair": pa.array([{"a": n, "b": f"{n:0300}"} for n in numbers]),
            "vector": pa.array([[n, n, n] for n in numbers], pa.list_(pa.float32(), 3)),
            "nothing": pa.nulls(rows, pa.int32()),
            "same": pa.array([7] * rows, pa.int16()),
            "code": pa.array([f"k{n % 3}" for n in numbers]).dictionary_encode(),
            "raw": pa.array([bytes([n % 256]) * 9 for n in numbers], pa.large_binary()),
        }
    )


def _all_verbs(file_version: str) -> Callable[[Path], None]:
    """Columns of many types, and a version of each verb of pylance."""

    def write_table(root: Path) -> None:
        import lance

        lance.write_dataset(
            _sample(0, 900),
            root,
            data_storage_version=file_version,
            enable_stable_row_ids=True,
            max_rows_per_file=300,
        )
        table = lance.write_dataset(_sample(900, 300), root, mode="append")
        table.delete("id % 11 = 3")
        table.update({"flag": "true"}, where="id < 20")
        merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(_sample(MERGED_FROM, 20))
        table = lance.dataset(root)
        table.add_columns({"double": "id * 2"})
        table.drop_columns(["nothing"])
        table.create_scalar_index("id", "BTREE")
        table.optimize.compact_files()
        table.tags.create("kept", table.version)
        table.update_config({"owner": "tests"})
        table.restore()  # type: ignore[no-untyped-call]  # pylance leaves it untyped

    return write_table


def _changed_rows_and_columns(root: Path) -> None:
    """Updates, merges, compaction, and changes of the schema and its metadata."""
    import lance

    rows = pa.table({"a": range(10), "b": range(10)})
    dataset = lance.write_dataset(rows, root, max_rows_per_file=5, data_storage_version="2.0")
    dataset.update({"b": "7"}, where="a = 1")
    dataset.merge_insert("a").when_matched_update_all().execute(rows.slice(2, 1))
    dataset.add_columns({"c": "a + 1"})
    dataset.alter_columns({"path": "c", "name": "d"})
    dataset.drop_columns(["d"])
    dataset.optimize.compact_files()
    dataset.update_schema_metadata({"k": "v"})
    dataset.update_field_metadata({"a": {"k": "v"}})
    lance.dataset(root, version=2).restore()  # type: ignore[no-untyped-call]  # as above


TABLES: Mapping[str, Callable[[Path], None]] = {
    "addresses": _simple_verbs(stable_row_ids=False),
    "stable-row-ids": _simple_verbs(stable_row_ids=True),
    "all-verbs-2.0": _all_verbs("2.0"),
    "all-verbs-2.2": _all_verbs("2.2"),
    "changed-rows-and-columns": _changed_rows_and_columns,
}
"""What writes each table."""
