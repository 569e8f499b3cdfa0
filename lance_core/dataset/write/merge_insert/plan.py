"""`MergePlan`: what a merge does with matched, new and unmatched rows."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from lance_core.dataset.write.retry_on_conflict import (
    CONFLICT_RETRIES,
    RETRY_TIMEOUT,
    ConflictRetries,
)
from lance_core.dataset.write.target_bases import BaseChoice
from lance_core.encodings.version import FileVersion
from lance_core.error_texts.suggestions import hint
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import Field, Schema

SOURCE, TARGET = "source", "target"
"""The prefixes of columns in conditions."""


class Matched(enum.Enum):
    """The action on a target row with the key of a source row; the value is for plans."""

    DO_NOTHING = "DoNothing"
    UPDATE = "UpdateAll"
    UPDATE_IF = "UpdateIf"
    DELETE = "Delete"
    FAIL = "Fail"


class WriteMode(enum.Enum):
    """Where a merge writes new values of rows."""

    AUTO = "auto"
    """The library decides: `REWRITE_ROWS`."""
    REWRITE_ROWS = "rewrite_rows"
    """In new fragments."""
    REWRITE_COLUMNS = "rewrite_columns"
    """In new files of the same fragments, which contain only the source's columns."""


@dataclass(frozen=True, slots=True)
class MergePlan:
    """The configuration of a merge.

    ``on``: the key columns. ``condition``: SQL for `Matched.UPDATE_IF`. ``inserts``: whether new
    rows are inserted. ``deletes_unmatched``: whether target rows without a source row are deleted,
    those that satisfy the SQL expression ``unmatched_condition`` if there is one. ``version``: the
    version of new files, by default the table's. ``use_index``: whether indices find the rows of a
    source with few keys. ``bases``: where new fragments go. ``properties``: stored with the
    transaction. ``is_committed``: see `CommitOptions`.
    """

    on: tuple[str, ...]
    matched: Matched = Matched.DO_NOTHING
    condition: str | None = None
    inserts: bool = False
    deletes_unmatched: bool = False
    unmatched_condition: str | None = None
    write_mode: WriteMode = WriteMode.AUTO
    version: FileVersion | None = None
    use_index: bool = True
    bases: BaseChoice = field(default_factory=BaseChoice)
    retries: ConflictRetries = field(
        default_factory=lambda: ConflictRetries.of(CONFLICT_RETRIES, RETRY_TIMEOUT)
    )
    properties: Mapping[str, str] = field(default_factory=dict)
    is_committed: Callable[[Mapping[str, str]], bool] | None = None

    @property
    def updates(self) -> bool:
        """True if matched rows may be updated."""
        return self.matched in (Matched.UPDATE, Matched.UPDATE_IF)

    def check(self) -> None:
        """Raise `InvalidInputError` if the merge can change nothing."""
        if self.matched is Matched.DO_NOTHING and not (self.inserts or self.deletes_unmatched):
            raise InvalidInputError(
                "the merge insert is not configured to change the data in any way: call "
                "when_matched_update_all, when_not_matched_insert_all or another when_* method"
            )

    def describe(self) -> str:
        """One line for a plan."""
        unmatched = "Keep"
        if self.deletes_unmatched:
            unmatched = "Delete" if self.unmatched_condition is None else "DeleteIf"
        matched = self.matched.value
        if self.condition is not None:
            matched += f"({self.condition})"
        inserts = "InsertAll" if self.inserts else "DoNothing"
        return (
            f"on=[{', '.join(self.on)}], when_matched={matched}, when_not_matched={inserts}, "
            f"when_not_matched_by_source={unmatched}"
        )


def key_columns(schema: Schema, on: str | Iterable[str] | None) -> tuple[str, ...]:
    """The names of the key columns; None and no names mean the table's unenforced primary key.

    A name may differ from the column's in case. Raises ``TypeError`` for other values and
    `InvalidInputError` for unknown columns, and without any key.
    """
    names = _names(on)
    if not names:
        names = [field.name for field in primary_key(schema)]
    if not names:
        raise InvalidInputError(
            "a merge insert requires join keys: specify columns with `on`, or configure a primary "
            "key in the table's schema"
        )
    return tuple(dict.fromkeys(_column(schema, name).name for name in names))


def _names(on: str | Iterable[str] | None) -> list[str]:
    if on is None or isinstance(on, str):
        return [] if on is None else [on]
    names = list(on) if isinstance(on, Iterable) else [None]
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"the argument `on` of merge_insert must be str or an iterable: {on!r}")
    return [str(name) for name in names]


def _column(schema: Schema, name: str) -> Field:
    plain = name[1:-1].replace("``", "`") if name[:1] == name[-1:] == "`" else name
    for known in (name, plain):
        for candidate in schema.fields:
            if candidate.name == known:
                return candidate
    folded = [field for field in schema.fields if field.name.lower() == plain.lower()]
    if len(folded) != 1:
        raise InvalidInputError(
            f"merge insert key column {name!r} does not exist in the schema"
            f"{hint(name, schema.names)}"
        )
    return folded[0]


def primary_key(schema: Schema) -> list[Field]:
    """The top-level fields of the unenforced primary key, in the order of the key."""
    keys = [field for field in schema.fields if field.unenforced_primary_key]
    return sorted(keys, key=lambda field: field.unenforced_primary_key_position)
