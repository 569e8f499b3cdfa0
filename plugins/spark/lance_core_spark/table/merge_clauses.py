"""The clauses of a merge: which rows they are for, on what condition, and what they do."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import Column

from lance_core.errors import InvalidInputError
from lance_core_spark.table.expressions import Expression, as_column, checked_assignments


class Rows(enum.Enum):
    """The rows that a clause is for; the value is the name of its methods."""

    MATCHED = "whenMatched"
    NOT_MATCHED = "whenNotMatched"
    NOT_MATCHED_BY_SOURCE = "whenNotMatchedBySource"


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause. ``values``: new values by column, None for those of the source row.

    ``deletes``: the clause deletes the row and has no values. ``verb`` is part of its name.
    """

    rows: Rows
    verb: str
    condition: Expression | None
    values: Mapping[str, Expression] | None = None
    deletes: bool = False

    @property
    def name(self) -> str:
        """The name of the method that added the clause."""
        return f"{self.rows.value}{self.verb}"

    def expressions(self) -> Iterator[Expression]:
        """The condition and the new values that the user wrote."""
        if self.condition is not None:
            yield self.condition
        yield from (self.values or {}).values()

    def condition_column(self) -> Column | None:
        """The condition, None if there is none."""
        if self.condition is None:
            return None
        return as_column(self.condition, f"the condition of {self.name}")


def clause(
    rows: Rows,
    verb: str,
    condition: Expression | None,
    values: object = None,
    *,
    deletes: bool = False,
) -> Clause:
    """A clause with checked arguments.

    Raises `InvalidTypeError` for other types, `InvalidInputError` if values or SQL are empty.
    """
    name = f"{rows.value}{verb}"
    if condition is not None:
        as_column(condition, f"the condition of {name}")
    assignments = None if values is None else checked_assignments(values, name)
    return Clause(rows, verb, condition, assignments, deletes)


def with_clause(clauses: tuple[Clause, ...], new: Clause) -> tuple[Clause, ...]:
    """``clauses`` and ``new``; raises `InvalidInputError` if ``new`` can never apply."""
    for before in clauses:
        if before.rows is new.rows and before.condition is None:
            raise InvalidInputError(
                f"{new.name} after {before.name} without a condition never applies: only the last "
                f"clause for {new.rows.value} may have no condition"
            )
    return (*clauses, new)
