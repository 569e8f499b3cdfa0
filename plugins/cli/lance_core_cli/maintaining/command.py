"""The commands ``compact``, ``cleanup``, ``index`` and ``restore`` of ``lance-core``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from lance_core import LanceDataset
from lance_core.commands import one_line
from lance_core.errors import InvalidInputError
from lance_core_cli.inspecting.units import byte_text, counted
from lance_core_cli.records import Record, RecordCommand


class Compact(RecordCommand):
    """Merges small fragments, and leaves out deleted rows."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add ``--target-rows``."""
        super().configure(parser)
        parser.add_argument(
            "--target-rows", type=int, metavar="N", help="of a fragment; by default 1,048,576"
        )

    def records(self, table: LanceDataset, options: argparse.Namespace) -> Iterator[Record]:
        """One record. Raises as `DatasetOptimizer.compact_files`."""
        chosen: Any = {}
        if options.target_rows is not None:
            chosen["target_rows_per_fragment"] = options.target_rows
        metrics = table.optimize.compact_files(**chosen)
        yield {
            "version": table.version,
            "fragments_removed": metrics.fragments_removed,
            "fragments_added": metrics.fragments_added,
            "fragments_left": metrics.fragments_left,
        }

    def words(self, record: Record) -> Iterator[str]:
        """One line."""
        if not record["fragments_removed"]:
            yield "nothing to compact"
            return
        removed, added = record["fragments_removed"], record["fragments_added"]
        yield f"version {record['version']}: {counted(removed, 'fragment')} became {added}"
        if record["fragments_left"]:
            yield f"{record['fragments_left']} were changed by other writers: compact again later"


class Cleanup(RecordCommand):
    """Removes old versions, and the files that no other version needs."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add ``--older-than``, ``--keep`` and ``--dry-run``."""
        super().configure(parser)
        parser.add_argument(
            "--older-than", type=float, metavar="DAYS", help="by default 14, unless --keep is given"
        )
        parser.add_argument("--keep", type=int, metavar="N", help="keep the newest N versions")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")

    def records(self, table: LanceDataset, options: argparse.Namespace) -> Iterator[Record]:
        """One record. Raises as `LanceDataset.cleanup_old_versions`."""
        days = options.older_than
        if days is None and options.keep is None:
            days = 14
        chosen: Any = {
            "older_than": None if days is None else timedelta(days=days),
            "retain_versions": options.keep,
            "error_if_tagged_old_versions": False,
        }
        if options.dry_run:
            stats = table.explain_cleanup_old_versions(**chosen).stats
        else:
            stats = table.cleanup_old_versions(**chosen)
        yield {
            "versions_removed": stats.old_versions,
            "bytes_removed": stats.bytes_removed,
            "data_files_removed": stats.data_files_removed,
            "dry_run": options.dry_run,
        }

    def words(self, record: Record) -> Iterator[str]:
        """One line."""
        verb = "would remove" if record["dry_run"] else "removed"
        versions = counted(record["versions_removed"], "version")
        yield f"{verb} {versions}, {byte_text(record['bytes_removed'])} in all"


class CreateIndex(RecordCommand):
    """Creates an index of a column, or adds the rows that indices lack to them."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the column, ``--type``, ``--name``, ``--replace`` and ``--update``."""
        super().configure(parser)
        parser.add_argument("column", nargs="?", metavar="COLUMN", help="what to index")
        parser.add_argument(
            "--type", default="BTREE", help="such as BTREE (by default), BITMAP, FTS or IVF_PQ"
        )
        parser.add_argument("--name", help="of the index; by default COLUMN_idx")
        parser.add_argument("--replace", action="store_true", help="an index of this name")
        parser.add_argument(
            "--update",
            nargs="*",
            metavar="INDEX",
            help="add the rows that these indices lack; without names, all indices",
        )

    def records(self, table: LanceDataset, options: argparse.Namespace) -> Iterator[Record]:
        """One record for each index that has changed, or one without a name."""
        if (options.column is None) == (options.update is None):
            raise InvalidInputError("name either a COLUMN to index or --update")
        before = {segment["uuid"] for segment in table.list_indices()}
        if options.column is None:
            _update(table, options.update)
        else:
            _create(table, options)
        new = {s["name"] for s in table.list_indices() if s["uuid"] not in before}
        rows = table.count_rows()
        if not new:
            yield {"version": table.version, "name": None}
        for index in table.describe_indices():
            if index.name in new:
                yield {
                    "version": table.version,
                    "name": index.name,
                    "type": index.index_type,
                    "rows_indexed": index.num_rows_indexed,
                    "rows": rows,
                }

    def words(self, record: Record) -> Iterator[str]:
        """One line."""
        if record["name"] is None:
            yield "the indices lack no rows"
            return
        index = f"{record['type']} index {one_line(record['name'])}"
        covered = f"{record['rows_indexed']} of {record['rows']} rows"
        yield f"version {record['version']}: {index} covers {covered}"


def _update(table: LanceDataset, names: list[str]) -> None:
    known = {index.name for index in table.describe_indices()}
    missing = [name for name in names if name not in known]
    if missing:
        raise InvalidInputError(
            f"there is no index {missing[0]!r}; the table has {', '.join(sorted(known)) or 'none'}"
        )
    table.optimize.optimize_indices(index_names=names or None)


def _create(table: LanceDataset, options: argparse.Namespace) -> None:
    """Vectors have another method than all other indices, as in the library."""
    index_type = options.type.upper()
    if index_type.startswith("IVF"):
        table.create_index(options.column, index_type, options.name, replace=options.replace)
    else:
        table.create_scalar_index(options.column, index_type, options.name, replace=options.replace)


class Restore(RecordCommand):
    """Makes an older version the newest one; no version is removed."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the version."""
        super().configure(parser)
        parser.add_argument("old", type=int, metavar="OLD", help="the version to go back to")

    def records(self, table: LanceDataset, options: argparse.Namespace) -> Iterator[Record]:
        """One record. Raises `DatasetNotFoundError` for a version that does not exist."""
        older = table.checkout_version(options.old)
        older.restore()
        yield {"version": older.version, "restored": options.old, "rows": older.count_rows()}

    def words(self, record: Record) -> Iterator[str]:
        """One line."""
        rows = counted(record["rows"], "row")
        yield f"version {record['version']} is as version {record['restored']}: {rows}"
