"""Verbs that restore versions and change settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import lance as pylance
from hypothesis import strategies as st

import lance_core
from tests.histories.history import History
from tests.histories.model import State
from tests.histories.values import Draw
from tests.histories.verbs.base import Change, Reference, Table


@dataclass(frozen=True)
class Restore(Change):
    """An earlier version is the newest again."""

    state: State

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        branch = history.state.branch
        return cls(draw(st.sampled_from([s for p, s in history.states.items() if p[0] == branch])))

    def apply(self, table: Table) -> Any:
        table.open(self.state.version).restore()

    def change(self, state: State) -> None:
        kept = self.state.successor()
        for name in ("schema", "rows", "created", "updated", "config", "indexed"):
            setattr(state, name, getattr(kept, name))
        state.origin = self.state.place


@dataclass(frozen=True)
class Configure(Change):
    """Settings of the table."""

    values: dict[str, str | None]

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        key = st.sampled_from(["a", "b.c"])
        value = st.none() | st.sampled_from(["", "1", "ä"])
        return cls(draw(st.dictionaries(key, value, min_size=1)))

    def apply(self, table: Table) -> Any:
        dataset = table.open()
        dataset.update_config(self.values)
        return dataset.config()

    def change(self, state: State) -> None:
        config = {**state.config, **self.values}
        state.config = {key: value for key, value in config.items() if value is not None}


@dataclass(frozen=True)
class Describe(Change):
    """Metadata of the schema or of a column."""

    column: str | None
    values: dict[str, str | None]

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        column = draw(st.none() | st.sampled_from(history.state.names))
        values = st.dictionaries(st.sampled_from("ab"), st.sampled_from(["", "1", "ä"]), min_size=1)
        return cls(column, draw(values))

    def apply(self, table: Table) -> Any:
        if self.column is None:
            table.open().update_schema_metadata(self.values)
        else:
            table.open().update_field_metadata({self.column: self.values})

    def change(self, state: State) -> None:
        schema = state.schema
        if self.column is None:
            state.schema = schema.with_metadata(_merged(schema.metadata, self.values))
            return
        field = schema.field(self.column)
        field = field.with_metadata(_merged(field.metadata, self.values))
        state.schema = schema.set(schema.get_field_index(self.column), field)


def _merged(
    old: dict[bytes, bytes] | None, new: dict[str, str | None]
) -> dict[bytes | str, bytes | str | None]:
    return {**(old or {}), **{key.encode(): (value or "").encode() for key, value in new.items()}}


@dataclass(frozen=True)
class Compact(Reference):
    """Small files become one; ``by`` is who does it in both copies, None for one library each.

    ``is_deferred``: indices keep the old addresses, which the fragment-reuse index translates.
    """

    mode: str
    by: str | None
    is_deferred: bool

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        mode = draw(st.sampled_from(["reencode", "try_binary_copy"]))
        by = draw(st.sampled_from([None, "lance_core", "lance"]))
        return cls(mode, by, is_deferred=not history.stable and draw(st.booleans()))

    def apply(self, table: Table) -> Any:
        library = {None: table.library, "lance_core": lance_core, "lance": pylance}[self.by]
        dataset = Table(library, table.uri, table.branch).open()
        options = {"defer_index_remap": True} if self.is_deferred else {}
        dataset.optimize.compact_files(compaction_mode=self.mode, **options)
        return dataset.version

    def refer(self, history: History, result: Any) -> None:
        state = history.state
        if result > state.version:
            # Fragments that the index covers are not merged with others.
            reordered = state.indexed is not None
            made = replace(state.successor(), version=result, readdressed=True, reordered=reordered)
            history.state = made


VERBS = (Restore, Configure, Describe, Compact)
