"""Ports, through which an actor makes every call to shared services.

A `ReplayPort` returns recorded answers and stops the actor at the first call without an answer. A
`LivePort` executes every call at once, to set up a table or to read one.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any

from lance_core.hookspecs.commits import Environment
from lance_core.table.paths import VERSIONS
from lance_core_explorer.calls import Call, Raised
from lance_core_explorer.worlds import Fate, Worlds

EPOCH_NS = 1_700_000_000_000_000_000
"""The clock's value, in nanoseconds since 1970, at virtual time 0."""


ALARM = "time"
"""The space of sleep; see `Alarm`."""

REST = "rest"
"""The space of pauses; see `Rest`."""

_DECIDING = frozenset({"create", "rename", "put_if_absent"})
"""Methods that publish a version."""


@lru_cache(maxsize=1 << 12)
def _identity(actor: str, number: int) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{actor}/{number}")


class Pending(BaseException):
    """Unwinds an actor that waits for an answer. Do not catch it."""


class Port(ABC):
    """Calls of an actor, and its own clock, randomness and ids."""

    shortest_sleep = 0.0

    def __init__(self, worlds: Worlds, actor: str) -> None:
        self.worlds = worlds
        self.actor = actor
        self.notes: list[Hashable] = []
        """The notes of the actor, which invariants judge."""
        self.read_time = False
        self.is_alone = False
        """True while no other actor may run; see `Rest`."""
        self.decisions = 0
        """Number of calls that try to publish a version."""
        self._identities = 0

    @abstractmethod
    def send(self, call: Call) -> Hashable:
        """The answer to ``call``."""

    @property
    @abstractmethod
    def now(self) -> float:
        """Virtual seconds."""

    def ask(self, space: str, method: str, *arguments: Hashable) -> Any:
        """The answer to a call; raises it if it is an exception."""
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
        """The next uuid of this actor: the same sequence in every run."""
        self._identities += 1
        return _identity(self.actor, self._identities)

    def environment(self) -> Environment:
        """An environment with the virtual time of the schedule and constant randomness."""
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
    """Returns the recorded ``answers``, pairs of an answer and its time.

    ``go_on`` answers further calls; its result None stops the actor.
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
        """The unanswered call."""

    @property
    def now(self) -> float:
        return self._answers[self._position - 1][1] if self._position else self._start

    def send(self, call: Call) -> Hashable:
        if self.pending is not None:
            raise Pending  # ignore calls made while unwinding the actor (on leaving a `with`)
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
    """Applies calls to ``world``, which it replaces by the result."""

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
