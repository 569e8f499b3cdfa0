"""Run by an old release of pylance: ``write FOLDER`` writes every case, ``read FOLDER`` reads.

Beside each table ``NAME.lance`` comes ``NAME.arrow``, what this release says is in it, or
``NAME.error``, why it cannot tell.
"""

from __future__ import annotations

import sys
from pathlib import Path

import lance
import pyarrow as pa
from cases import tables


def dump(uri: str, stem: Path) -> None:
    try:
        table = lance.dataset(uri).to_table()
    except BaseException as error:  # a panic is no Exception
        stem.with_suffix(".error").write_text(str(error), "utf-8")
        return
    with (
        pa.OSFile(str(stem.with_suffix(".arrow")), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)


def main(what: str, folder: Path) -> None:
    for name, table in tables().items():
        uri = str(folder / f"{name}.lance")
        if what == "write":
            lance.write_dataset(table, uri, data_storage_version="2.0", max_rows_per_file=600)
            lance.write_dataset(table, uri, mode="append")
        dump(uri, folder / name)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
