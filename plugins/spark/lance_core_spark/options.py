"""The options of ``spark.read`` and ``df.write``: names in any case, values as text.

Whatever begins with ``storage.`` goes to the store, and so do options that the store, a commit
handler or the choice of one is known to understand. Any other unknown name is an error: a misspelt
option must not pass for one that was honoured.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.plugins import get_manager
from lance_core.plugins.manager import plain_name
from lance_core.plugins.store_cache import (
    ALLOW_OPTION,
    CAPABILITY_OPTIONS,
    HANDLER_OPTION,
)
from lance_core.schema import parse_path
from lance_core.store.secret import Secret, hide_secrets, plain
from lance_core.store.uri import parse_uri
from lance_core_spark.address import TableAddress

STORAGE_PREFIX = "storage."
META_COLUMNS = {
    "with_row_id": "_rowid",
    "with_row_address": "_rowaddr",
    "with_fragment_id": "_fragid",
}
IF_EXISTS = ("append", "error", "ignore")

_COLUMN = re.compile(r"(?:[^,`]|`(?:[^`]|``)*`)+")
_CLOUD_OPTION = re.compile(r"(?:aws|azure|gcs|google|s3)_")
_HINTS = frozenset(
    {
        "block_size",
        "index_cache_size",
        "max_rows_per_group",
        "metadata_cache_size",
        "queue_depth",
        "topn_push_down",
        "use_queued_write_buffer",
    }
)
"""Options of the connector for the JVM that tune what does not exist here."""

_UNSUPPORTED = {"tag", "branch", "replace_where", "table_id", "namespace_impl"}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a read was asked for. None or empty: not asked for.

    ``meta``: names of meta columns to add. ``rows_per_partition`` in rows, ``batch_size`` the most
    rows of a batch. ``push_filters``: let Spark's filters narrow the scan, see
    `lance_core_spark.reader`.
    """

    version: int | None = None
    asof: str | None = None
    columns: tuple[str, ...] | None = None
    filter: str | None = None
    limit: int | None = None
    batch_size: int | None = None
    rows_per_partition: int | None = None
    blob_handling: str | None = None
    meta: tuple[str, ...] = ()
    push_filters: bool = False


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a write was asked for.

    ``files`` and ``commit`` are keyword arguments of `lance_core.write_dataset`, those of the
    second kind matter to the driver only.
    """

    if_exists: str = "append"
    files: Mapping[str, int | str] = field(default_factory=dict)
    commit: Mapping[str, bool] = field(default_factory=dict)
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """All options of a data source, sorted by whom they are for."""

    address: TableAddress
    read: ReadOptions
    write: WriteOptions

    @classmethod
    def parse(cls, options: Mapping[str, str | Secret]) -> Options:
        """Raises `InvalidInputError` naming the option that is unknown or malformed."""
        options = hide_secrets(options)
        given = _Given({name.lower(): value for name, value in options.items()})
        uri = given.uri()
        storage = given.storage(uri)
        read, write = given.read(), given.write()
        given.finish()
        return cls(TableAddress.of(uri, storage), read, write)


class _Given:
    """Options that were not looked at yet; names are in lower case."""

    def __init__(self, left: dict[str, str | Secret]) -> None:
        self._left = left
        self._known: set[str] = set()

    def text(self, name: str) -> str | None:
        """Take an option; without a value it counts as not given."""
        self._known.add(name)
        return plain(self._left.pop(name, "")).strip() or None

    def number(self, name: str, least: int) -> int | None:
        """Take an option that is a whole number, ``least`` or more."""
        text = self.text(name)
        if text is None:
            return None
        if not re.fullmatch(r"[0-9]+", text) or int(text) < least:
            raise InvalidInputError(f"option {name!r} is a number from {least} on, not {text!r}")
        return int(text)

    def flag(self, name: str, default: bool = False) -> bool:
        """Take an option that is true or false."""
        text = (self.text(name) or str(default)).lower()
        if text not in ("true", "false"):
            raise InvalidInputError(f"option {name!r} is 'true' or 'false', not {text!r}")
        return text == "true"

    def uri(self) -> str:
        path, paths = self.text("path"), self.text("paths")
        if path is None and paths is not None:
            several = json.loads(paths)
            if len(several) != 1:
                raise UnsupportedFeatureError("one table at a time: load() takes one path")
            path = several[0]
        if path is None:
            raise InvalidInputError(
                "no path was given. Tables of Spark's catalog are not supported (they do not hand "
                "their path on); use spark.read.format('lance').load(path), "
                "df.write.format('lance').save(path), or CREATE TEMPORARY VIEW name USING lance "
                "OPTIONS (path '...')"
            )
        return str(path)

    def storage(self, uri: str) -> dict[str, str | Secret]:
        """Take the options of the store."""
        found: dict[str, str | Secret] = {}
        declared = _declared(parse_uri(uri).scheme)
        of_handlers = get_manager().handler_options
        for name in list(self._left):
            if name.startswith(STORAGE_PREFIX):
                found[name.removeprefix(STORAGE_PREFIX)] = self._left.pop(name)
            elif name in declared or plain_name(name) in of_handlers or _CLOUD_OPTION.match(name):
                found.setdefault(name, self._left.pop(name))
        return found

    def read(self) -> ReadOptions:
        version = self.number("version", 1)
        moments = [m for m in (self.text("timestamp"), self.text("asof")) if m is not None]
        if len(moments) + (version is not None) > 1:
            raise InvalidInputError("give one of the options 'version', 'timestamp' and 'asof'")
        columns = self.text("columns")
        return ReadOptions(
            version=version,
            asof=moments[0] if moments else None,
            columns=None if columns is None else _names(columns),
            filter=self.text("filter"),
            limit=self.number("limit", 0),
            batch_size=self.number("batch_size", 1),
            rows_per_partition=self.number("rows_per_partition", 1),
            blob_handling=self.text("blob_handling"),
            meta=tuple(meta for name, meta in META_COLUMNS.items() if self.flag(name)),
            push_filters=self.flag("pushdownfilters"),
        )

    def write(self) -> WriteOptions:
        if_exists = self.text("if_exists") or IF_EXISTS[0]
        if if_exists not in IF_EXISTS:
            raise InvalidInputError(f"option 'if_exists' is one of {IF_EXISTS}, not {if_exists!r}")
        rows = self.number("max_rows_per_file", 1), self.number("max_row_per_file", 1)
        files = {
            "max_rows_per_file": rows[0] or rows[1],
            "max_bytes_per_file": self.number("max_bytes_per_file", 1),
            "data_storage_version": self.text("data_storage_version"),
        }
        commit = {
            "enable_v2_manifest_paths": self.flag("enable_v2_manifest_paths", default=True),
            "enable_stable_row_ids": self.flag("enable_stable_row_ids"),
        }
        return WriteOptions(
            if_exists,
            {name: value for name, value in files.items() if value is not None},
            commit,
            self.text("commit_message"),
        )

    def finish(self) -> None:
        """Raise for what nobody took."""
        for name in sorted(self._left.keys() - _HINTS):
            if name in _UNSUPPORTED:
                raise UnsupportedFeatureError(f"the option {name!r} is not supported yet")
            raise InvalidInputError(
                f"unknown option {name!r}. Options are {', '.join(sorted(self._known))}; an option "
                f"of the store is given as '{STORAGE_PREFIX}{name}'"
            )


def _declared(scheme: str) -> set[str]:
    """Options of tables in the scheme's store that need no prefix, in lower case."""
    store = get_manager().object_store(scheme)
    names = {name for pair in store.option_aliases.items() for name in pair}
    names |= store.secret_options | (store.options or frozenset())
    names |= {"durability", HANDLER_OPTION, ALLOW_OPTION} | CAPABILITY_OPTIONS
    return {name.lower() for name in names}


def _names(text: str) -> tuple[str, ...]:
    """Columns of a comma-separated list; commas and dots within backticks belong to a name."""
    found = [match.strip() for match in _COLUMN.findall(text)]
    paths = [parse_path(name) for name in found if name]
    return tuple(
        path[0] if len(path) == 1 else name
        for name, path in zip([name for name in found if name], paths, strict=True)
    )
