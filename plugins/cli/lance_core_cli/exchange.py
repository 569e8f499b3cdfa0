"""The commands ``lance-core export`` and ``lance-core import``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

import lance_core
from lance_core.commands import (
    Command,
    add_storage_option,
    add_table,
    one_line,
    open_table,
    storage_options,
)
from lance_core.errors import InvalidInputError, ObjectNotFoundError
from lance_core_cli.records import points_to_verify

FORMATS = {".parquet": "parquet", ".csv": "csv", ".arrow": "feather", ".feather": "feather"}
"""Names of formats as `pyarrow.dataset` has them, by the end of a file's name."""


class Export(Command):
    """Writes rows of a table to a local file, batch by batch."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the table, the file, ``--columns`` and ``--filter``."""
        add_table(parser)
        parser.add_argument("file", type=Path, help=f"its name ends in {_ends()}")
        parser.add_argument("--columns", metavar="A,B", help="by default all")
        parser.add_argument("--filter", metavar="SQL", help="only these rows")
        parser.add_argument("--json", action="store_true", help="the result as JSON")

    def lines(self, options: argparse.Namespace) -> Iterator[str]:
        """How many rows were written. Raises `InvalidInputError` for another name."""
        with points_to_verify(options):
            yield from self._exported(options)

    def _exported(self, options: argparse.Namespace) -> Iterator[str]:
        form = _format(options.file)
        columns = options.columns.split(",") if options.columns else None
        scanner = open_table(options).scanner(columns=columns, filter=options.filter)
        batches, schema = scanner.to_batches(), scanner.projected_schema
        rows = 0
        with _writer(form, options.file, schema) as writer:
            for batch in batches:
                rows += batch.num_rows
                writer.write_batch(batch)
        if options.json:
            yield json.dumps({"rows": rows, "file": str(options.file)})
        else:
            yield f"{rows} rows in {one_line(str(options.file))}"


class Import(Command):
    """Writes the rows of a local file or folder to a table, batch by batch."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the file, the table and ``--mode``."""
        parser.add_argument("file", type=Path, help=f"a file or folder; names end in {_ends()}")
        parser.add_argument("table", metavar="TABLE", help="path or URL")
        modes = ("create", "append", "overwrite")
        parser.add_argument("--mode", choices=modes, default="create", help="by default create")
        parser.add_argument("--json", action="store_true", help="the result as JSON")
        add_storage_option(parser)

    def lines(self, options: argparse.Namespace) -> Iterator[str]:
        """How many rows the table has then. Raises as `lance_core.write_dataset`."""
        if not options.file.exists():
            raise ObjectNotFoundError(str(options.file))
        is_folder = options.file.is_dir()
        named = sorted(p for p in options.file.rglob("*") if p.suffix in FORMATS)
        files = named if is_folder else [options.file]
        if not files:
            raise InvalidInputError(f"no name in {options.file} ends in {_ends()}")
        source = pa.dataset.dataset([str(file) for file in files], format=_format(files[0]))
        reader = pa.RecordBatchReader.from_batches(source.schema, source.to_batches())
        table = lance_core.write_dataset(
            reader, options.table, mode=options.mode, storage_options=storage_options(options)
        )
        rows = table.count_rows()
        if options.json:
            yield json.dumps({"rows": rows, "version": table.version})
        else:
            yield f"{rows} rows in version {table.version}"


def _ends() -> str:
    return ", ".join(FORMATS)


def _format(file: Path) -> str:
    if file.suffix not in FORMATS:
        raise InvalidInputError(f"the name {file.name!r} ends in none of {_ends()}")
    return FORMATS[file.suffix]


def _writer(form: str, file: Path, schema: pa.Schema) -> pa.ipc.RecordBatchFileWriter:
    if form == "parquet":
        return pa.parquet.ParquetWriter(file, schema)
    if form == "csv":
        return pa.csv.CSVWriter(file, schema)
    return pa.ipc.new_file(str(file), schema)
