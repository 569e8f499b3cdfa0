"""The options of a read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lance_core.errors import InvalidInputError
from lance_core.schema import parse_path
from lance_core_spark.options.option_reader import OptionReader

META_COLUMNS = {
    "with_row_id": "_rowid",
    "with_row_address": "_rowaddr",
    "with_fragment_id": "_fragid",
}
"""Meta columns, by the option that adds them."""

_COLUMN = re.compile(r"(?:[^,`]|`(?:[^`]|``)*`)+")


@dataclass(frozen=True, slots=True)
class LanceReadOptions:
    """The options of a read. None or empty: not given.

    ``meta_columns``: names of meta columns to add. ``batch_size``: maximum rows of a batch.
    ``push_filters``: apply Spark's filters in the scan, see `lance_core_spark.read.reader`.
    """

    version: int | None = None
    asof: str | None = None
    columns: tuple[str, ...] | None = None
    filter: str | None = None
    limit: int | None = None
    batch_size: int | None = None
    rows_per_partition: int | None = None
    min_partitions: int | None = None
    blob_handling: str | None = None
    meta_columns: tuple[str, ...] = ()
    push_filters: bool = False

    @classmethod
    def parse(cls, options: OptionReader) -> LanceReadOptions:
        """Parse the options of a read; raises `InvalidInputError` for a malformed option."""
        version = options.number("version", 1)
        times = [time for time in (options.text("timestamp"), options.text("asof")) if time]
        if len(times) + (version is not None) > 1:
            raise InvalidInputError("give one of the options 'version', 'timestamp' and 'asof'")
        columns = options.text("columns")
        return cls(
            version=version,
            asof=times[0] if times else None,
            columns=None if columns is None else _split_columns(columns),
            filter=options.text("filter"),
            limit=options.number("limit", 0),
            batch_size=options.number("batch_size", 1),
            rows_per_partition=options.number("rows_per_partition", 1),
            min_partitions=options.number("min_partitions", 1),
            blob_handling=options.text("blob_handling"),
            meta_columns=tuple(
                column for name, column in META_COLUMNS.items() if options.flag(name)
            ),
            push_filters=options.flag("pushdownfilters"),
        )


def _split_columns(text: str) -> tuple[str, ...]:
    """The names in a comma-separated list; backticks quote commas and dots in a name."""
    names = [name for match in _COLUMN.findall(text) if (name := match.strip())]
    paths = [parse_path(name) for name in names]
    return tuple(
        path[0] if len(path) == 1 else name for name, path in zip(names, paths, strict=True)
    )
