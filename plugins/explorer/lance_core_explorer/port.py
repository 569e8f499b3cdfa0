"""Ports: every call of an actor to what it shares goes through one.

A `ReplayPort` answers from a record and stops the actor at the first call that has no answer. A
`LivePort` applies every call at once: for setting up a table, and for looking at one.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any

from lance_core.commits.environment import Environment
from lance_core.table.paths import VERSIONS
from lance_core_explorer.calls import Call, Raised
from lance_core_explorer.worlds import Fate, Worlds

EPOCH_NS = 1_700_000_000_000_000_000
"""The clock's reading, in nanoseconds since 1970, at virtual time 0."""


ALARM = "time"
"""The space of sleep; see `Alarm`."""

REST = "rest"
"""The space of pauses; see `Rest`."""

_DECIDING = frozenset({"create", "rename", "put_if_absent"})
"""Methods that make a version."""


@lru_cache(maxsize=1 << 12)
def _identity(actor: str, number: int) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{actor}/{number}")


class Pending(BaseException):
    """Unwinds an actor that waits for an answer. Not to be caught."""


class Port(ABC):
    """Calls of an actor, and its own time, chance and identities."""

    shortest_sleep = 0.0

    def __init__(self, worlds: Worlds, actor: str) -> None:
        self.worlds = worlds
        self.actor = actor
        self.notes: list[Hashable] = []
        """The notes of the actor, which invariants judge."""
        self.read_time = False
        self.is_alone = False
        """True while no other actor may go on; see `Rest`."""
        self.decisions = 0
        """How often a call was made that decides about a version."""
        self._identities = 0

    @abstractmethod
    def send(self, call: Call) -> Hashable:
        """The answer to ``call``."""

    @property
    @abstractmethod
    def now(self) -> float:
        """Virtual seconds."""

    def ask(self, space: str, method: str, *arguments: Hashable) -> Any:
        """The answer to a call; raises what it raises."""
        answer = self.send(Call(space, method, arguments))
        if space == REST:
            self.is_alone = method == "alone"
        if method in _DECIDING and (space != "store" or str(arguments[-2]).startswith(VERSIONS)):
            self.decisions += 1
        if isinstance(answer, Raised):
            raise answer.error()
        return answer

    def note(self, value: Hashable) -> None:
        """Add a note of the actor; see `lance_core_explorer.notes`."""
        self.notes.append(value)

    def new_uuid(self) -> uuid.UUID:
        """The next identity of this actor: the same one whenever it is run again."""
        self._identities += 1
        return _identity(self.actor, self._identities)

    def environment(self) -> Environment:
        """An environment whose time the schedule moves, and without chance."""
        return Environment(
            clock=lambda: EPOCH_NS + int(self._time() * 1e9),
            monotonic=self._time,
            sleep=self._sleep,
            random=lambda: 0.5,
            new_uuid=self.new_uuid,
        )

    def _sleep(self, seconds: float) -> None:
        if self.shortest_sleep:
            until = self._time() + max(seconds, self.shortest_sleep)
            self.ask(ALARM, "sleep", f"{until:.6f}")

    def _time(self) -> float:
        self.read_time = True
        return self.now


class ReplayPort(Port):
    """Answers from ``answers``, each of which came at the time beside it.

    Calls beyond them are answered by ``go_on``; None stops the actor.
    """

    def __init__(
        self,
        worlds: Worlds,
        actor: str,
        answers: Sequence[tuple[int, float]],
        start: float,
        go_on: Callable[[int], tuple[int, float] | None],
    ) -> None:
        super().__init__(worlds, actor)
        self._answers = list(answers)
        self._go_on = go_on
        self._position = 0
        self._start = start
        self.pending: int | None = None
        """The call that is not answered."""

    @property
    def now(self) -> float:
        return self._answers[self._position - 1][1] if self._position else self._start

    def send(self, call: Call) -> Hashable:
        if self.pending is not None:
            raise Pending  # calls of an actor that is being unwound (leaving a `with`) are not made
        if self._position == len(self._answers):
            number = self.worlds.call(call)
            answer = self._go_on(number)
            if answer is None:
                self.pending = number
                raise Pending
            self._answers.append(answer)
        number, _ = self._answers[self._position]
        self._position += 1
        self.read_time = False
        return self.worlds.answers[number]


class LivePort(Port):
    """Applies calls to ``world``, which moves on."""

    def __init__(self, worlds: Worlds, actor: str, world: int, now: float = 0.0) -> None:
        super().__init__(worlds, actor)
        self.world = world
        self._now = now
        self.calls: list[Call] = []

    @property
    def now(self) -> float:
        return self._now

    def send(self, call: Call) -> Hashable:
        self.calls.append(call)
        if call.space == ALARM:
            self._now = max(self._now, float(call.key))
        effect = self.worlds.effect(self.world, self.worlds.call(call), Fate.ANSWERED, self._now)
        assert effect is not None
        self.world = effect.world
        return self.worlds.answers[effect.answer]
