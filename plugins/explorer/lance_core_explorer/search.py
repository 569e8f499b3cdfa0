"""Try every schedule of a configuration.

The search is depth-first and visits each state once: two schedules that lead to the same state have
the same continuations. This makes millions of schedules affordable.
"""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass

from lance_core.imports.on_demand import without_collections
from lance_core_explorer.configuration import Configuration
from lance_core_explorer.judge import Judge, Verdict
from lance_core_explorer.machine import Decision, Machine, State
from lance_core_explorer.memoization import remembering
from lance_core_explorer.schedule import Schedule, shrunk

Patch = Callable[[], AbstractContextManager[object]]
"""Patches the code under exploration while the context is active, to show that a defect is found:
``lambda: unittest.mock.patch.object(module, "function", other)``."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A violated invariant, and the shortest schedule found that violates it."""

    invariant: str
    text: str
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an exploration.

    ``states`` and ``ends``: numbers of distinct states and ends; an end is a state in which all
    actors have finished. ``runs``: number of runs of actors' code. ``exhausted``: every schedule
    within the bounds of the configuration was tried.
    """

    configuration: str
    states: int
    ends: int
    runs: int
    violations: tuple[Violation, ...]
    exhausted: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a search.

    Stop after this many ``states`` or ``seconds`` (None: no limit), or after violations of this
    many different invariants.
    """

    states: int | None = None
    seconds: float | None = None
    violations: int = 1


UNLIMITED = Limits()


def explore(
    configuration: Configuration, patches: Iterable[Patch] = (), limits: Limits = UNLIMITED
) -> Report:
    """Try every schedule of ``configuration`` with ``patches`` applied; judge every state."""
    with ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch())
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(remembering())
        # Millions of small values stay alive until the end.
        stack.enter_context(without_collections())
        return _Search(configuration, limits).run()


class _Search:
    def __init__(self, configuration: Configuration, limits: Limits) -> None:
        self._configuration = configuration
        self._limits = limits
        self._machine = Machine(configuration)
        self._judge = Judge(self._machine)
        self._violations: dict[str, Violation] = {}
        self._states = 0
        self._ends = 0

    def run(self) -> Report:
        started = time.perf_counter()
        exhausted = self._visit_all(started)
        return Report(
            self._configuration.name,
            self._states,
            self._ends,
            sum(player.runs for player in self._machine.players),
            tuple(self._violations.values()),
            exhausted,
            time.perf_counter() - started,
        )

    def _visit_all(self, started: float) -> bool:
        """Search depth-first, so that the path to the current state is a prefix of ``path``."""
        first = self._machine.initial
        seen = {first}
        path: list[Decision | None] = []
        stack: list[tuple[int, Decision | None, State]] = [(0, None, first)]
        while stack:
            depth, decision, state = stack.pop()
            del path[depth:]
            path.append(decision)
            self._states += 1
            verdict = self._judge.state(state)
            if verdict is not None:
                self._report(verdict, path)
                if len(self._violations) >= self._limits.violations:
                    return False
                continue  # states after a violation prove nothing
            if self._states % 1024 == 0:
                gc.collect(1)
                if self._is_over(started):
                    return False
            if self._machine.is_end(state):
                self._ends += 1
            for step, after in self._machine.successors(state):
                if after not in seen:
                    seen.add(after)
                    stack.append((depth + 1, step, after))
        return True

    def _is_over(self, started: float) -> bool:
        limits = self._limits
        if limits.states is not None and self._states >= limits.states:
            return True
        return limits.seconds is not None and time.perf_counter() - started > limits.seconds

    def _report(self, verdict: Verdict, path: list[Decision | None]) -> None:
        if verdict.invariant in self._violations:
            return
        decisions = [decision for decision in path if decision is not None]
        schedule = shrunk(self._machine, self._judge, decisions, verdict.invariant)
        broken = schedule.verdict or verdict
        self._violations[verdict.invariant] = Violation(broken.invariant, broken.text, schedule)
