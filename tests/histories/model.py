"""What a table must hold: rows as plain values by their keys, and the schema as Arrow has it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

Row = dict[str, Any]
Place = tuple[str | None, int]
"""A branch, None for the main one, and a version."""

KEY = "k"
"""Every row has a key of its own here."""


class RefusedError(Exception):
    """Both libraries refuse the step, and the table stays as it is."""


@dataclass
class State:
    """One version of a table.

    ``rows``, ``created`` and ``updated`` (versions of rows) are by key. ``indexed`` is the only
    column with an index. The rest is about the step
    that makes the version: ``made_by`` is its verb, ``origin`` is where its rows come from,
    ``moved`` and ``added`` rows are now last, in any order if ``unordered``; if ``readdressed``,
    rows have other addresses, and if ``reordered``, they are in any order.
    """

    schema: pa.Schema
    version: int = 0
    branch: str | None = None
    rows: dict[int, Row] = field(default_factory=dict)
    created: dict[int, int] = field(default_factory=dict)
    updated: dict[int, int] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)
    indexed: str | None = None
    made_by: type | None = None
    origin: Place | None = None
    moved: set[int] = field(default_factory=set)
    added: list[int] = field(default_factory=list)
    unordered: bool = False
    readdressed: bool = False
    reordered: bool = False

    @property
    def place(self) -> Place:
        return self.branch, self.version

    def successor(self) -> State:
        """A copy for the next version, which a step changes."""
        made = copy.copy(self)
        made.rows = {key: dict(row) for key, row in self.rows.items()}
        made.created, made.updated = dict(self.created), dict(self.updated)
        made.config = dict(self.config)
        made.origin, made.version = self.place, self.version + 1
        made.moved, made.added = set(), []
        made.unordered = made.readdressed = made.reordered = False
        return made

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    @property
    def values(self) -> list[str]:
        """All columns but the key."""
        return [name for name in self.names if name != KEY]

    def has_nulls(self, name: str) -> bool:
        return any(row[name] is None for row in self.rows.values())

    def where(self, passes: Callable[[Row], bool | None]) -> list[int]:
        """The keys of rows that pass."""
        return [key for key, row in self.rows.items() if passes(row)]

    def add(self, rows: Iterable[Row]) -> None:
        """Rows of a new fragment; columns that they lack are null."""
        blank = dict.fromkeys(self.names)
        for row in rows:
            key = row[KEY]
            if any(row.get(each.name) is None for each in self.schema if not each.nullable):
                raise RefusedError("null in a column without nulls")
            self.rows[key] = {**blank, **row}
            self.created[key] = self.updated[key] = self.version
            self.added.append(key)

    def remove(self, keys: Iterable[int]) -> None:
        for key in keys:
            del self.rows[key], self.created[key], self.updated[key]

    def clear(self) -> None:
        """A table with other rows."""
        self.rows, self.created, self.updated = {}, {}, {}
        self.indexed = None

    def move(self, changed: dict[int, Row]) -> None:
        """Gives rows other values."""
        for key, row in changed.items():
            if any(row.get(name, "") is None for name in self.non_null):
                raise RefusedError("null in a column without nulls")
            self.rows[key] |= row
            self.updated[key] = self.version
        self.moved |= changed.keys()

    @property
    def non_null(self) -> list[str]:
        return [each.name for each in self.schema if not each.nullable]

    def touch(self) -> None:
        """All rows count as updated."""
        self.updated = dict.fromkeys(self.updated, self.version)

    def add_field(self, new: pa.Field, value: Callable[[Row], Any]) -> None:
        """A column at the end."""
        self.schema = self.schema.append(new)
        for row in self.rows.values():
            row[new.name] = value(row)

    def replace_field(self, name: str, new: pa.Field, value: Callable[[Any], Any]) -> None:
        """Another name or type for a column."""
        self.schema = self.schema.set(self.schema.get_field_index(name), new)
        if name == self.indexed:
            self.indexed = new.name
        for row in self.rows.values():
            row[new.name] = value(row.pop(name))

    def drop_fields(self, names: Iterable[str]) -> None:
        gone = set(names)
        self.indexed = None if self.indexed in gone else self.indexed
        kept = [each for each in self.schema if each.name not in gone]
        self.schema = pa.schema(kept, self.schema.metadata)
        for row in self.rows.values():
            for name in gone:
                del row[name]

    def table(self, rows: Iterable[Row], names: Iterable[str] | None = None) -> pa.Table:
        """Rows as data of the table, or some of its columns."""
        schema = self.schema
        if names is not None:
            schema = pa.schema([schema.field(name) for name in names])
        return pa.Table.from_pylist(list(rows), schema)
