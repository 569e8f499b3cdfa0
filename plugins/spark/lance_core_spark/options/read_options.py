"""The options of a read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lance_core.errors import InvalidInputError
from lance_core.schema import parse_path
from lance_core_spark.options.option_reader import OptionReader

META_COLUMNS = {
    "with_row_id": "_rowid",
    "with_row_address": "_rowaddr",
    "with_fragment_id": "_fragid",
    "with_row_created_at_version": "_row_created_at_version",
    "with_row_last_updated_at_version": "_row_last_updated_at_version",
}
"""Meta columns, by the option that adds them."""

_COLUMN = re.compile(r"(?:[^,`]|`(?:[^`]|``)*`)+")


@dataclass(frozen=True, slots=True)
class LanceReadOptions:
    """The options of a read. None or empty: not given.

    At most one of ``version``, ``asof`` and ``tag`` is given. ``columns``: may have no names.
    ``meta_columns``: names of meta columns to add. ``batch_size``: maximum rows of a batch.
    ``count_only``: a row with the number of rows for each partition, instead of the rows.
    ``fragments``: the ids of the fragments to read.
    ``unscaled_decimals``: see `lance_core_spark.scan.unscaled_decimals`.
    ``push_filters``: apply Spark's filters in the scan, see `lance_core_spark.scan.reader`.
    """

    version: int | None = None
    asof: str | None = None
    tag: str | None = None
    branch: str | None = None
    columns: tuple[str, ...] | None = None
    filter: str | None = None
    limit: int | None = None
    batch_size: int | None = None
    rows_per_partition: int | None = None
    min_partitions: int | None = None
    blob_handling: str | None = None
    meta_columns: tuple[str, ...] = ()
    push_filters: bool = False
    count_only: bool = False
    fragments: tuple[int, ...] | None = None
    unscaled_decimals: bool = False

    @classmethod
    def parse(cls, options: OptionReader) -> LanceReadOptions:
        """Parse the options of a read; raises `InvalidInputError` for a malformed option."""
        has_columns = options.is_given("columns")
        columns = options.text("columns") or ""
        return cls(
            **_version(options),
            columns=_split_columns(columns) if has_columns else None,
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
            count_only=options.flag("count_only"),
            fragments=_fragments(options.text("fragments")),
            unscaled_decimals=options.flag("unscaled_decimals"),
        )


def _version(options: OptionReader) -> dict[str, Any]:
    """The fields that select a version."""
    names = ("version", "timestamp", "asof", "tag")
    version, *texts = options.number("version", 1), *map(options.text, names[1:])
    stated = [name for name, value in zip(names, (version, *texts), strict=True) if value]
    branch = options.text("branch")
    if len(stated) > 1:
        raise InvalidInputError(
            f"give one of the options 'version', 'timestamp', 'asof' and 'tag', not {stated}"
        )
    if branch is not None and stated and stated != ["version"]:
        raise InvalidInputError(f"give one of the options 'branch' and {stated[0]!r}")
    return {"version": version, "asof": texts[0] or texts[1], "tag": texts[2], "branch": branch}


def _fragments(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not all(name.isascii() and name.isdigit() for name in names):
        raise InvalidInputError(
            f"option 'fragments' has ids of fragments, separated by commas, not {text[:100]!r}"
        )
    return tuple(map(int, names))


def _split_columns(text: str) -> tuple[str, ...]:
    """The names in a comma-separated list; backticks quote commas and dots in a name."""
    names = [name for match in _COLUMN.findall(text) if (name := match.strip())]
    paths = [parse_path(name) for name in names]
    return tuple(
        path[0] if len(path) == 1 else name for name, path in zip(names, paths, strict=True)
    )
