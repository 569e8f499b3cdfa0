"""A table as its users see it: rows with values, by identity; nothing of files or fragments.

The value of column `ID` is a row's identity: it never changes, whatever moves the row. What an
operation means is a function from one `Model` to another, written without looking at how the
operation is applied to files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias

Cell: TypeAlias = str | None
Row: TypeAlias = Mapping[int, Cell]
"""Values by field id."""

ID, X, Y, Z, NEW = range(5)
"""Field ids: identity, two columns of one data file, one of another file, one that is added."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, whether it has a value in every row, and its metadata."""

    name: str
    required: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Model:
    """A version of the table. ``indices``: the indexed fields by index name."""

    columns: Mapping[int, Column]
    rows: Mapping[str, Row]
    config: Mapping[str, str] = field(default_factory=dict)
    table_metadata: Mapping[str, str] = field(default_factory=dict)
    schema_metadata: Mapping[str, str] = field(default_factory=dict)
    indices: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    bases: frozenset[tuple[str, str]] = frozenset()

    def with_rows(self, rows: Mapping[str, Row]) -> Model:
        """``rows`` come; columns that they know nothing of are null in them."""
        added = {
            identity: {number: row.get(number) for number in self.columns}
            for identity, row in rows.items()
        }
        return replace(self, rows={**self.rows, **added})

    def without_rows(self, identities: Iterable[str]) -> Model:
        """Rows go, if they are there."""
        gone = set(identities)
        return replace(self, rows={i: row for i, row in self.rows.items() if i not in gone})

    def with_values(self, column: int, values: Mapping[str, Cell]) -> Model:
        """Rows that are there get values of a column, if that is there."""
        if column not in self.columns:
            return self
        rows = {
            identity: {**row, column: values[identity]} if identity in values else row
            for identity, row in self.rows.items()
        }
        return replace(self, rows=rows)

    def with_column(self, number: int, column: Column, values: Mapping[str, Cell]) -> Model:
        """A column comes; rows without a value are null."""
        rows = {i: {**row, number: values.get(i)} for i, row in self.rows.items()}
        return replace(self, columns={**self.columns, number: column}, rows=rows)

    def without_column(self, number: int) -> Model:
        """A column goes, and the indices over it."""
        return replace(
            self,
            columns={n: column for n, column in self.columns.items() if n != number},
            rows={i: {n: c for n, c in r.items() if n != number} for i, r in self.rows.items()},
            indices={name: over for name, over in self.indices.items() if number not in over},
        )

    def with_column_as(self, number: int, change: Callable[[Column], Column]) -> Model:
        """A column changes its name, whether it may be null, or its metadata."""
        if number not in self.columns:
            return self
        return replace(self, columns={**self.columns, number: change(self.columns[number])})

    def problem(self) -> str:
        """What makes this no table, "" if nothing does."""
        for number, column in self.columns.items():
            if column.required:
                empty = [i for i, row in self.rows.items() if row[number] is None]
                if empty:
                    return f"column {column.name} is required and null in {empty[0]}"
        return ""


Effect: TypeAlias = Callable[[Model], Model]


def difference(expected: Model, found: Model) -> str:
    """Where ``found`` differs, "" if it does not."""
    lost, extra = expected.rows.keys() - found.rows.keys(), found.rows.keys() - expected.rows.keys()
    if lost or extra:
        return f"rows {sorted(lost)} are lost, rows {sorted(extra)} should not be there"
    for identity, row in expected.rows.items():
        if dict(row) != dict(found.rows[identity]):
            return f"row {identity} should be {dict(row)}, it is {dict(found.rows[identity])}"
    for name in (item.name for item in fields(Model) if item.name != "rows"):
        if getattr(expected, name) != getattr(found, name):
            return f"{name} should be {getattr(expected, name)}, is {getattr(found, name)}"
    return ""
