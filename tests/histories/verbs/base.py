"""A step of a history: what it does to a table, and to what is known of it."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, Self

from tests.histories.history import Copy, History
from tests.histories.model import State
from tests.histories.values import Draw


@dataclass(frozen=True)
class Table:
    """A table as one library sees it."""

    library: Any
    uri: str
    branch: str | None = None

    def open(self, version: int | None = None) -> Any:
        """The newest version of the branch, or another one of it."""
        if self.branch is None:
            return self.library.dataset(self.uri, version=version)
        return self.library.dataset(self.uri).checkout_version((self.branch, version))


class Verb(abc.ABC):
    """What a user calls, with its arguments: those are the fields."""

    @classmethod
    @abc.abstractmethod
    def draw(cls, draw: Draw, history: History) -> Self | None:
        """Arguments that fit; None where there are none."""

    @abc.abstractmethod
    def apply(self, table: Table) -> Any:
        """Calls the library. The result must be the same for both."""


class Change(Verb):
    """Makes the next version."""

    @abc.abstractmethod
    def change(self, state: State) -> None:
        """Makes the same of the model."""


class Reference(Verb):
    """Changes tags or branches, or what the next steps go on with."""

    @abc.abstractmethod
    def refer(self, history: History, result: Any) -> None:
        """Does the same to the model. ``result`` is what ``apply`` gave."""


class Read(Verb):
    """Reads the newest version, or another one."""

    @abc.abstractmethod
    def expected(self, copy: Copy, state: State) -> Any:
        """What ``apply`` must give."""
