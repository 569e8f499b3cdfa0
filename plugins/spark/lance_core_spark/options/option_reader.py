"""Reader of Spark's options, whose names are case-insensitive and whose values are text.

Names may be written without underscores, so that ``mergeSchema`` of Delta means ``merge_schema``.
Each option is read once. Options with the prefix ``storage.`` go to the store, as do options that
the store, a commit handler or the choice of a handler declares. Any other option that is not read
is an error, so that a misspelt option is not ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.options import Secret, did_you_mean, plain
from lance_core.hookspecs.stores import parse_uri
from lance_core.plugins import (
    ALLOW_OPTION,
    CAPABILITY_OPTIONS,
    HANDLER_OPTION,
    get_manager,
    plain_name,
)
from lance_core_spark.options.column_options import ColumnOptions, parse_name

STORAGE_PREFIX = "storage."

_CLOUD_OPTION = re.compile(r"(?:aws|azure|gcs|google|s3)_")
_IGNORED = frozenset(
    {
        "block_size",
        "index_cache_size",
        "metadata_cache_size",
        "queue_depth",
        "topn_push_down",
        "use_queued_write_buffer",
    }
)
"""Options of the JVM connector that are ignored, because they tune components of that connector."""

_OTHER_NAMES = {
    "version": ("versionasof",),
    "timestamp": ("timestampasof",),
    "read_change_feed": ("readchangedata",),
    "max_rows_per_file": ("max_row_per_file", "maxrecordsperfile"),
    "data_storage_version": ("file_format_version",),
    "commit_message": ("usermetadata",),
}
"""What Delta, Spark's own sources and the JVM connector call an option, in lower case."""

_OF_SPARK = frozenset({"checkpointlocation", "queryname"})
"""Options of streaming queries that Spark passes on to the data source."""

_OF_CATALOG = frozenset({"location", "provider", "owner", "comment", "is_managed_location"})
"""Properties of tables of Spark's catalog, which Spark passes to the data source as options."""

_NO_CATALOG = (
    "Spark's catalog hands no path to Python data sources: use lance_core_spark.register_table, "
    "spark.read.format('lance').load(path), df.write.format('lance').save(path), or CREATE "
    "TEMPORARY VIEW name USING lance OPTIONS (path '...')"
)

_UNSUPPORTED = {"tag", "branch", "table_id", "namespace_impl"}


class OptionReader:
    """The options that nothing has read yet, by their names in lower case."""

    def __init__(self, options: Mapping[str, str | Secret]) -> None:
        self._unread = {name.lower(): value for name, value in options.items()}
        self._known: set[str] = set()

    def text(self, name: str) -> str | None:
        """Read an option; an option without a value is None, like one that is not given."""
        self._known.add(name)
        spellings = [name, name.replace("_", ""), *_OTHER_NAMES.get(name, ())]
        stated = [spelling for spelling in dict.fromkeys(spellings) if spelling in self._unread]
        if len(stated) > 1:
            raise InvalidInputError(f"give one of the options {stated}, which mean the same")
        return plain(self._unread.pop(stated[0])).strip() or None if stated else None

    def is_given(self, name: str) -> bool:
        """True if the option is given and not read yet, also if it is empty."""
        return name in self._unread

    def number(self, name: str, minimum: int) -> int | None:
        """Read an option that is a whole number of at least ``minimum``."""
        text = self.text(name)
        if text is None:
            return None
        if not re.fullmatch(r"[0-9]+", text) or int(text) < minimum:
            raise InvalidInputError(
                f"option {name!r} must be a whole number of at least {minimum}, not {text!r}"
            )
        return int(text)

    def flag(self, name: str, default: bool = False) -> bool:
        """Read an option that is true or false."""
        text = (self.text(name) or str(default)).lower()
        if text not in ("true", "false"):
            raise InvalidInputError(f"option {name!r} must be 'true' or 'false', not {text!r}")
        return text == "true"

    def columns(self) -> ColumnOptions:
        """Read the options of single columns."""
        columns: dict[str, dict[str, str]] = {}
        for name in list(self._unread):
            column = parse_name(name)
            text = None if column is None else self.text(name)
            if column is not None and text is not None:
                columns.setdefault(column[0], {})[column[1]] = text
        return columns

    def uri(self) -> str:
        """Read the path that the user passed to ``load`` or ``save``."""
        path, paths = self.text("path"), self.text("paths")
        if path is None and paths is not None:
            listed = json.loads(paths)
            if len(listed) != 1:
                raise UnsupportedFeatureError("one table at a time: load() takes one path")
            path = listed[0]
        if path is None:
            raise InvalidInputError(f"no path was given. {_NO_CATALOG}")
        return str(path)

    def storage(self, uri: str) -> dict[str, str | Secret]:
        """Read the options of the store of ``uri``."""
        storage: dict[str, str | Secret] = {}
        declared = _declared_options(parse_uri(uri).scheme)
        of_handlers = get_manager().handler_options
        for name in list(self._unread):
            if name.startswith(STORAGE_PREFIX):
                storage[name.removeprefix(STORAGE_PREFIX)] = self._unread.pop(name)
            elif name in declared or plain_name(name) in of_handlers or _CLOUD_OPTION.match(name):
                storage.setdefault(name, self._unread.pop(name))
        return storage

    def finish(self) -> None:
        """Raise `InvalidInputError` or `UnsupportedFeatureError` for an option that is not read."""
        for name in sorted(self._unread.keys() - _IGNORED - _OF_SPARK):
            if name in _OF_CATALOG:
                raise UnsupportedFeatureError(
                    f"{name!r} is a property of a table in the catalog. {_NO_CATALOG}"
                )
            if name in _UNSUPPORTED:
                raise UnsupportedFeatureError(f"the option {name!r} is not supported yet")
            near = did_you_mean(name, self._known)
            names = "" if near else f" Options are {', '.join(sorted(self._known))}."
            raise InvalidInputError(
                f"unknown option {name!r}{near or '.'}{names} An option of the store is given as "
                f"'{STORAGE_PREFIX}{name}'"
            )


def _declared_options(scheme: str) -> set[str]:
    """The options that tables in the scheme's store accept without prefix, in lower case."""
    store = get_manager().object_store(scheme)
    names = {name for pair in store.option_aliases.items() for name in pair}
    names |= store.secret_options | (store.options or frozenset())
    names |= {"durability", HANDLER_OPTION, ALLOW_OPTION} | CAPABILITY_OPTIONS
    return {name.lower() for name in names}
