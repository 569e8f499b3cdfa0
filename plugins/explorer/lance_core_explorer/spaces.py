"""Services shared by actors, as pure functions from a state and a call to changes and an answer.

A `Space` holds hashable values by key. `Space.answer` takes the state and returns the changes;
states are immutable. To explore a protocol with another service, write a `Space` for the service
and a client that sends its calls through `Port.ask`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple, TypeAlias

from lance_core_explorer.calls import Call, exists, not_found

Items: TypeAlias = Mapping[str, Hashable]
"""The values of a space by key."""

Changes: TypeAlias = Mapping[str, Hashable | None]
"""New values by key; None removes a key."""

NOTHING: Changes = {}


class Space(ABC):
    """A service that actors share."""

    name: str
    """The value of `Call.space` for its calls."""
    writes: frozenset[str]
    """The methods that change values."""

    @abstractmethod
    def answer(self, items: Items, call: Call, now: float) -> tuple[Changes, Hashable]:
        """The changes by ``call`` at the time ``now`` (virtual seconds), and its answer.

        The answer is hashable; it is a `Raised` if the call raises.
        """

    def stale_answers(self, before: Items, items: Items, call: Call) -> tuple[Hashable, ...]:
        """Further possible answers of a store with weak reads; ``before`` is the initial state."""
        return ()


class Stored(NamedTuple):
    """An object of the simulated store: its bytes, and when they were written (virtual seconds)."""

    content: bytes
    written: float


class Listed(NamedTuple):
    """An entry of a listing."""

    path: str
    stored: Stored


class Objects(Space):
    """The objects of one store: all methods of `lance_core.store.base.ObjectStore`, atomic.

    ``page``: number of objects that one listing request returns, None for all. ``is_hidden``:
    selects paths that listings omit because every actor ignores them.
    """

    name = "store"
    writes = frozenset({"put", "create", "delete", "copy", "copy_create", "rename"})

    def __init__(
        self, page: int | None = None, is_hidden: Callable[[str], bool] = lambda path: False
    ) -> None:
        self.page = page
        self._is_hidden = is_hidden

    def answer(self, items: Items, call: Call, now: float) -> tuple[Changes, Hashable]:
        path = call.key
        match call.method:
            case "get":
                item = items.get(path)
                return NOTHING, item.content if isinstance(item, Stored) else not_found(path)
            case "head":
                return NOTHING, items[path] if path in items else not_found(path)
            case "list":
                return NOTHING, self._listing(items, call)
            case "put":
                return {path: _stored(call.arguments[1], now)}, None
            case "create":
                return self._created(items, path, _stored(call.arguments[1], now))
            case "delete":
                return ({path: None} if path in items else NOTHING), None
        source, target = path, str(call.arguments[1])
        item = items.get(source)
        if not isinstance(item, Stored):
            return NOTHING, not_found(source)
        match call.method:
            case "copy":
                return {target: Stored(item.content, now)}, None
            case "copy_create":
                return self._created(items, target, Stored(item.content, now))
            case "rename":
                if target in items:
                    return NOTHING, exists(target)
                return {source: None, target: item}, None
        raise AssertionError(call)

    def stale_answers(self, before: Items, items: Items, call: Call) -> tuple[Hashable, ...]:
        path = call.key
        if call.method in {"get", "head"}:
            missed = path in items and path not in before
            return (not_found(path),) if missed else ()
        if call.method != "list":
            return ()
        old = {path: items[path] for path in items if path in before}
        return (self._listing(old, call),)

    def _created(self, items: Items, path: str, stored: Stored) -> tuple[Changes, Hashable]:
        return (NOTHING, exists(path)) if path in items else ({path: stored}, None)

    def _listing(self, items: Items, call: Call) -> tuple[Listed, ...]:
        """The listing in ascending order, after ``start_after`` if that is given."""
        folder, start = call.key, call.arguments[1]
        prefix = f"{folder}/" if folder else ""
        paths = sorted(
            path
            for path in items
            if path.startswith(prefix)
            and (start is None or path > str(start))
            and not self._is_hidden(path)
        )
        listed = (Listed(path, _as_stored(items[path])) for path in paths[: self.page])
        return tuple(listed)


def _stored(content: object, now: float) -> Stored:
    assert isinstance(content, bytes)
    return Stored(content, now)


def _as_stored(value: Hashable) -> Stored:
    assert isinstance(value, Stored)
    return value


class Rest(Space):
    """Pauses of actors, and the right to run alone.

    ``pause`` ends like any call. ``alone`` ends when every other actor has finished or pauses; then
    no other actor continues until ``over``.
    """

    name = "rest"
    writes = frozenset()

    def answer(self, items: Items, call: Call, now: float) -> tuple[Changes, Hashable]:
        return NOTHING, None


class Alarm(Space):
    """Sleep that takes time: a call ends at the time in its argument."""

    name = "time"
    writes = frozenset()

    def answer(self, items: Items, call: Call, now: float) -> tuple[Changes, Hashable]:
        return NOTHING, None
