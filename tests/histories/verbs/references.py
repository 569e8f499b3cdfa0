"""Verbs of tags and branches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from hypothesis import strategies as st

from tests.histories.history import History
from tests.histories.model import Place
from tests.histories.values import Draw
from tests.histories.verbs.base import Reference, Table


def draw_version(draw: Draw, history: History) -> int:
    """A version of the branch that is being changed."""
    branch = history.state.branch
    return draw(st.sampled_from([version for name, version in history.states if name == branch]))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Branch(Reference):
    """A new branch, with which the next steps go on."""

    name: str
    origin: Place

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        name = f"b{next(history.counter)}"
        return cls(name, (history.state.branch, draw_version(draw, history)))

    def apply(self, table: Table) -> Any:
        return table.open().create_branch(self.name, self.origin).version

    def refer(self, history: History, result: Any) -> None:
        old = history.states[self.origin]
        history.state = replace(
            old.successor(), version=old.version, branch=self.name, origin=self.origin
        )


@dataclass(frozen=True)
class Switch(Reference):
    """The next steps go on with another branch."""

    branch: str | None

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self | None:
        others = {name for name, _ in history.states} - {history.state.branch}
        return cls(draw(st.sampled_from(sorted(others, key=str)))) if others else None

    def apply(self, table: Table) -> Any:
        return Table(table.library, table.uri, self.branch).open().version

    def refer(self, history: History, result: Any) -> None:
        history.state = history.newest(self.branch)


@dataclass(frozen=True)
class Tag(Reference):
    """A tag is made, or names another version."""

    name: str
    target: Place
    is_new: bool

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self:
        name = draw(st.sampled_from(["first", "second"]))
        target = history.state.branch, draw_version(draw, history)
        return cls(name, target, name not in history.tags)

    def apply(self, table: Table) -> Any:
        tags = table.open().tags
        (tags.create if self.is_new else tags.update)(self.name, self.target)

    def refer(self, history: History, result: Any) -> None:
        history.tags[self.name] = self.target


@dataclass(frozen=True)
class Untag(Reference):
    """A tag goes."""

    name: str

    @classmethod
    def draw(cls, draw: Draw, history: History) -> Self | None:
        return cls(draw(st.sampled_from(sorted(history.tags)))) if history.tags else None

    def apply(self, table: Table) -> Any:
        table.open().tags.delete(self.name)

    def refer(self, history: History, result: Any) -> None:
        del history.tags[self.name]


VERBS = (Branch, Switch, Tag, Untag)
