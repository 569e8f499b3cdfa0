"""Calls that both libraries refuse, with errors of the same class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa
from hypothesis import strategies as st

from tests.histories.history import History
from tests.histories.model import KEY, RefusedError, State
from tests.histories.values import Draw
from tests.histories.verbs.base import Change, Table

TWICE = pa.table({KEY: [0, 0], "twice": [1, 2]})

CALLS: dict[str, Callable[[Any], object]] = {
    "add a column that is there": lambda d: d.add_columns({KEY: "1"}),
    "drop an unknown column": lambda d: d.drop_columns(["unknown"]),
    "drop all columns": lambda d: d.drop_columns(d.schema.names),
    "alter an unknown column": lambda d: d.alter_columns({"path": "unknown", "name": "new"}),
    "cast to a type that is none": lambda d: d.alter_columns(
        {"path": KEY, "data_type": pa.list_(pa.int8())}
    ),
    "update an unknown column": lambda d: d.update({"unknown": "1"}),
    "update by an unknown column": lambda d: d.update({KEY: "unknown"}),
    "merge by an unknown column": lambda d: d.merge_insert("unknown"),
    "merge without any effect": lambda d: d.merge_insert(KEY).execute(TWICE.select([KEY])),
    "join by an unknown column": lambda d: d.merge(TWICE, "unknown"),
    "an unknown version": lambda d: d.checkout_version(1 << 20),
    "an unknown tag": lambda d: d.tags.delete("unknown"),
    "read an unknown column": lambda d: d.to_table(["unknown"]),
    "sort by an unknown column": lambda d: d.scanner(order_by=["unknown"]).to_table(),
}


@dataclass(frozen=True)
class Misuse(Change):
    """One of `CALLS`."""

    what: str

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        return cls(draw(st.sampled_from(sorted(CALLS))))

    def apply(self, table: Table) -> Any:
        CALLS[self.what](table.open())

    def change(self, state: State) -> None:
        raise RefusedError(self.what)


VERBS = (Misuse,)
