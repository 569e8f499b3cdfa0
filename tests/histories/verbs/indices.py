"""Verbs that create, drop and optimise indices: rows stay as they are, and filters find them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Self

import pyarrow as pa
from hypothesis import strategies as st

from lance_core_vector.plugin import KINDS as VECTOR_KINDS
from tests.histories.history import History
from tests.histories.values import FLOATS, INTS, JSON, LIST, TEXTS, VECTOR, Draw
from tests.histories.verbs.base import Reference, Table

ORDERED = ("BTREE", "BITMAP", "ZONEMAP", "BLOOMFILTER")
KINDS: dict[pa.DataType, tuple[str, ...]] = {
    **dict.fromkeys((*INTS, *FLOATS), ORDERED),
    **dict.fromkeys(TEXTS, (*ORDERED, "NGRAM", "INVERTED")),
    LIST: ("LABEL_LIST",),
    JSON: ("JSON",),
    # Those that train on few rows, and of which pylance finds rows beside nulls.
    VECTOR: tuple(kind for kind in VECTOR_KINDS if not kind.endswith("PQ") and "HNSW" not in kind),
}
NAME = "only_idx"
PLAIN = {"stem": False, "remove_stop_words": False, "lower_case": False, "ascii_folding": False}
"""Words of a text index match as they are written, as without one."""


def names(dataset: Any) -> set[str]:
    """The names of all indices of columns; pylance also describes the fragment-reuse index."""
    return {one.name for one in dataset.describe_indices() if one.name != "__lance_frag_reuse"}


@dataclass(frozen=True)
class CreateIndex(Reference):
    """An index of one column; a table has one at most, so that columns can be cast and dropped."""

    column: str
    kind: str

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self | None:
        state = history.state
        fields = [
            each
            for each in state.schema
            # pylance refuses a B-tree over fields of JSON documents beside stable row ids, and to
            # train without a vector what this library trains when there are some.
            if each.type in KINDS
            and not (each.type == JSON and history.stable)
            and not (
                each.type == VECTOR and all(row[each.name] is None for row in state.rows.values())
            )
        ]
        field = draw(st.sampled_from(fields))
        kinds = [
            kind
            for kind in KINDS[field.type]
            # With stable row ids, pylance finds rows by texts that they had before an update.
            if not (kind == "INVERTED" and history.stable)
        ]
        return cls(field.name, draw(st.sampled_from(kinds)))

    def apply(self, table: Table) -> Any:
        dataset = table.open()
        for name in names(dataset):
            dataset.drop_index(name)
        dataset = table.open()
        if self.kind in KINDS[VECTOR]:
            dataset.create_index(self.column, self.kind, name=NAME, num_partitions=1)
        else:
            kind = _over_field(table.library) if self.kind == "JSON" else self.kind
            parameters = PLAIN if kind == "INVERTED" else {}
            dataset.create_scalar_index(self.column, kind, name=NAME, **parameters)
        return table.open().version

    def refer(self, history: History, result: Any) -> None:
        _go_on(history, result, self.column)


def _over_field(library: Any) -> Any:
    """A B-tree over the field ``a`` of JSON documents."""
    module = import_module(f"{library.__name__}.indices")
    return module.IndexConfig("json", {"path": "a", "target_index_type": "btree"})


def _go_on(history: History, version: int, indexed: str | None) -> None:
    """The next step begins with ``version``, whose rows are those of the last one."""
    if version > history.state.version:
        history.state = replace(history.state.successor(), version=version, indexed=indexed)


@dataclass(frozen=True)
class DropIndex(Reference):
    """No index."""

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        return cls()

    def apply(self, table: Table) -> Any:
        dataset = table.open()
        for name in names(dataset):
            dataset.drop_index(name)
        return table.open().version

    def refer(self, history: History, result: Any) -> None:
        _go_on(history, result, None)


@dataclass(frozen=True)
class OptimizeIndices(Reference):
    """Indices cover all rows."""

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        return cls()

    def apply(self, table: Table) -> Any:
        version = table.open().version
        table.open().optimize.optimize_indices()
        dataset = table.open()
        if dataset.version == version:
            # Compactions of both libraries leave different coverage, so one may have nothing to do.
            dataset.update_config({"absent": None})
        return table.open().version

    def refer(self, history: History, result: Any) -> None:
        _go_on(history, result, history.state.indexed)


VERBS = (CreateIndex, DropIndex, OptimizeIndices)
