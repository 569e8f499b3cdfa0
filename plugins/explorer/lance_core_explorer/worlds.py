"""All reached states of the world, and the steps between them, each computed once.

Worlds, calls and answers are numbered, and steps are looked up by these numbers. This makes
exploring a state cheap: the code under exploration runs only when an actor gets a new answer.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from lance_core.commits.history import Version
from lance_core.errors import StoreError
from lance_core_explorer.calls import Call, Raised, unknown
from lance_core_explorer.spaces import Items, Space

State: TypeAlias = Mapping[str, Items]
"""The state of each space, by its name."""


class Fate(enum.Enum):
    """The outcome of a call. The value is its text in a schedule, after ``->``."""

    ANSWERED = "ok"
    REQUEST_LOST = "lost before it was applied"
    RESPONSE_LOST = "lost after it was applied"
    SENT_TWICE = "applied, and sent again by the client"
    LATE = "no answer, may land later"
    REFUSED = "refused (503, 409)"
    STALE = "stale"
    CRASH = "crash"

    __hash__ = object.__hash__  # members are singletons; hashing names is slow


class Effect(NamedTuple):
    """The outcome of a call: the world after it, and the number of its answer."""

    world: int
    answer: int


class Worlds:
    """The states of some spaces."""

    def __init__(self, spaces: Iterable[Space]) -> None:
        self.spaces = {space.name: space for space in spaces}
        self.states: list[dict[str, dict[str, Hashable]]] = []
        self.answers: list[Hashable] = []
        self.calls: list[Call] = []
        self._world_numbers: dict[Hashable, int] = {}
        self._answer_numbers: dict[Hashable, int] = {}
        self._call_numbers: dict[Call, int] = {}
        self._effects: dict[tuple[int, int, Fate, float], Effect | None] = {}
        self._contents: dict[bytes, bytes] = {}
        self.empty = self.world({name: {} for name in self.spaces})
        self.start = self.empty
        """The world at the start of a schedule, which stale reads may return."""
        self.opened: Version | None = None
        """The newest version of the initial world."""

    def call(self, call: Call) -> int:
        """The number of ``call``."""
        number = self._call_numbers.setdefault(call, len(self.calls))
        if number == len(self.calls):
            self.calls.append(call)
        return number

    def answer(self, value: Hashable) -> int:
        """The number of an answer."""
        number = self._answer_numbers.setdefault(value, len(self.answers))
        if number == len(self.answers):
            self.answers.append(value)
        return number

    def content(self, data: bytes) -> bytes:
        """``data``, or the equal bytes object seen before: equal contents are one object."""
        return self._contents.setdefault(data, data)

    def world(self, state: dict[str, dict[str, Hashable]]) -> int:
        """The number of ``state``."""
        key = frozenset((space, frozenset(items.items())) for space, items in state.items())
        number = self._world_numbers.setdefault(key, len(self.states))
        if number == len(self.states):
            self.states.append(state)
        return number

    def is_write(self, call: int) -> bool:
        """True if a call may change the world."""
        request = self.calls[call]
        return request.method in self.spaces[request.space].writes

    def effect(self, world: int, call: int, fate: Fate, now: float) -> Effect | None:
        """The effect of ``call`` in ``world``; None if ``fate`` makes no difference."""
        key = (world, call, fate, now)
        try:
            return self._effects[key]
        except KeyError:
            effect = self._effects[key] = self._compute(*key)
            return effect

    def _compute(self, world: int, call: int, fate: Fate, now: float) -> Effect | None:
        request = self.calls[call]
        is_write = self.is_write(call)
        match fate:
            case Fate.ANSWERED:
                return self._applied(world, call, now)
            case Fate.REFUSED if request.space not in {"time", "rest"}:
                text = f"{request.method} of {request.key!r} was refused"
                return Effect(world, self.answer(Raised(StoreError, (text,))))
            case Fate.REQUEST_LOST | Fate.LATE if is_write:
                return Effect(world, self.answer(unknown(request)))
            case Fate.RESPONSE_LOST if is_write:
                after = self._applied(world, call, now)
                return Effect(after.world, self.answer(unknown(request)))
            case Fate.SENT_TWICE if is_write:
                once = self._applied(world, call, now)
                twice = self._applied(once.world, call, now)
                return None if once == twice else twice
            case Fate.STALE if not is_write:
                return self._stale(world, request)
        return None

    def _applied(self, world: int, call: int, now: float) -> Effect:
        request = self.calls[call]
        state = self.states[world]
        changes, answer = self.spaces[request.space].answer(state[request.space], request, now)
        if not changes:
            return Effect(world, self.answer(answer))
        items = dict(state[request.space])
        for key, value in changes.items():
            if value is None:
                items.pop(key, None)
            else:
                items[key] = value
        return Effect(self.world({**state, request.space: items}), self.answer(answer))

    def _stale(self, world: int, call: Call) -> Effect | None:
        before, items = self.states[self.start][call.space], self.states[world][call.space]
        fresh = self.spaces[call.space].answer(items, call, 0.0)[1]
        for answer in self.spaces[call.space].stale_answers(before, items, call):
            if answer != fresh:
                return Effect(world, self.answer(answer))
        return None
