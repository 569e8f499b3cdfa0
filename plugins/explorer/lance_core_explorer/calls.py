"""Calls of an actor to shared services, and their results.

Both are values: two actors that make the same call on the same world get the same answer. A call
names its *space* (the objects of the store, the rows of an external manifest store, leases), a
method of that space and its arguments, the first of which is the key or path.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import NamedTuple

from lance_core.errors import ObjectExistsError, ObjectNotFoundError, OutcomeUnknownError


@dataclass(frozen=True, slots=True)
class Call:
    """A call that changes or reads shared state."""

    space: str
    method: str
    arguments: tuple[Hashable, ...]

    @property
    def key(self) -> str:
        """The key or path of the call, for the text of a schedule."""
        return str(self.arguments[0])


class Raised(NamedTuple):
    """An answer that is an exception: its class and constructor arguments."""

    kind: Callable[..., Exception]
    arguments: tuple[str, ...]

    def error(self) -> Exception:
        """A new exception of this kind."""
        return self.kind(*self.arguments)


def unknown(call: Call) -> Raised:
    """The answer to a write that may or may not have been applied."""
    return Raised(OutcomeUnknownError, (f"{call.method} of {call.key!r} was not answered",))


def not_found(path: str) -> Raised:
    """The answer to a read of a missing object."""
    return Raised(ObjectNotFoundError, (path,))


def exists(path: str) -> Raised:
    """The answer to a conditional write whose object exists."""
    return Raised(ObjectExistsError, (path,))
