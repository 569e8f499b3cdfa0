"""Run by an old release of pylance: ``write FOLDER`` writes every case, ``read FOLDER`` reads.

Beside each table ``NAME.lance`` comes ``NAME.arrow``, what this release says is in it, or
``NAME.error``, why it cannot tell. ``change FOLDER`` changes the table ``changed.lance``, and says
what is in each of its versions in ``changed-VERSION.arrow``. A third argument is the file version
to write, 2.0 if not given.
"""

from __future__ import annotations

import sys
from pathlib import Path

import lance
import pyarrow as pa
from cases import numbered, tables


def dump(uri: str, stem: Path, version: int | None = None) -> None:
    try:
        table = lance.dataset(uri, version=version).to_table()
    except BaseException as error:  # a panic is no Exception
        stem.with_suffix(".error").write_text(str(error), "utf-8")
        return
    with (
        pa.OSFile(str(stem.with_suffix(".arrow")), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)


def change(folder: Path) -> None:
    uri = str(folder / "changed.lance")
    lance.dataset(uri).delete("key % 7 = 3")
    lance.write_dataset(numbered(12_000, 12_500), uri, mode="append")
    lance.dataset(uri).delete("key < 5500 OR key = 12001")
    lance.dataset(uri).update({"text": "'changed'"}, where="key % 100 = 1")
    lance.dataset(uri).optimize.compact_files(target_rows_per_fragment=100_000)
    lance.dataset(uri).add_columns({"twice": "key * 2"})
    lance.dataset(uri).drop_columns(["items"])
    lance.dataset(uri).alter_columns({"path": "text", "name": "words"})
    lance.dataset(uri).delete("key = 6000")
    for version in lance.dataset(uri).versions():
        number = version["version"]
        dump(uri, folder / f"changed-{number}", number)


def main(what: str, folder: Path, version: str = "2.0") -> None:
    if what == "change":
        return change(folder)
    if what == "create":
        uri = str(folder / "changed.lance")
        table = numbered(0, 12_000)
        lance.write_dataset(table, uri, data_storage_version=version, max_rows_per_file=8000)
        return None
    for name, table in tables().items():
        uri = str(folder / f"{name}.lance")
        if what == "write":
            lance.write_dataset(table, uri, data_storage_version=version, max_rows_per_file=600)
            lance.write_dataset(table, uri, mode="append")
        dump(uri, folder / name)
    return None


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
