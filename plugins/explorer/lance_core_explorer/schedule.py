"""Schedules as text: write, read, replay and shorten them.

::

    configuration put-if-absent/2w
    w1 store.put _transactions/1-….txn -> ok
    w1 store.create _versions/18446744073709551613.manifest -> no answer, may land later
    w2 store.create _versions/18446744073709551613.manifest -> ok
    lands store.create _versions/18446744073709551613.manifest
    passes 601.0 s
    violates I1: …

Each line is one decision. After the last line, the actors that can continue do so, one by one.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lance_core.errors import InvalidInputError
from lance_core_explorer.configuration import Configuration
from lance_core_explorer.judge import Judge, Verdict
from lance_core_explorer.machine import (
    Decision,
    Land,
    Machine,
    Pass,
    Start,
    State,
    Step,
)
from lance_core_explorer.worlds import Fate

_STEP = re.compile(r"(?P<actor>\S+) (?P<call>\S+ \S+(?: \S+)?) -> (?P<fate>.+)")
_PASSES = re.compile(r"passes (?P<seconds>[0-9.]+) s")
MAX_TRIES = 3000
"""Maximum number of schedules tried to find a shorter one."""

_FATES = {fate.value: fate for fate in Fate}


@dataclass(frozen=True, slots=True)
class Schedule:
    """Decisions, one line each, and the result. ``verdict`` is None without a violation."""

    configuration: str
    lines: tuple[str, ...]
    verdict: Verdict | None

    def __str__(self) -> str:
        end = (
            []
            if self.verdict is None
            else [f"violates {self.verdict.invariant}: {self.verdict.text}"]
        )
        return "\n".join((f"configuration {self.configuration}", *self.lines, *end))


def replay(text: str, configurations: Iterable[Configuration]) -> Schedule:
    """Run the schedule in ``text``, and judge every state on the way.

    Raises `InvalidInputError` if an actor does not make the call that the text names.
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if not lines or not lines[0].startswith("configuration "):
        raise InvalidInputError("a schedule begins with the line 'configuration NAME'")
    name = lines[0].removeprefix("configuration ")
    configuration = next((each for each in configurations if each.name == name), None)
    if configuration is None:
        raise InvalidInputError(f"configuration {name!r} does not exist")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _replayed(Machine(configuration), lines[1:])


def _replayed(machine: Machine, lines: Sequence[str]) -> Schedule:
    name = machine.configuration.name
    judge = Judge(machine)
    state = machine.initial
    said: list[str] = []
    for line in lines:
        if line.startswith("violates "):
            break
        choices = {
            text_of(machine, state, decision): (decision, after)
            for decision, after in machine.successors(state)
        }
        if line not in choices:
            options = "\n  ".join(choices)
            raise InvalidInputError(f"line {line!r} is not possible here; possible:\n  {options}")
        state = choices[line][1]
        said.append(line)
        verdict = judge.state(state)
        if verdict is not None:
            return Schedule(name, tuple(said), verdict)
    return Schedule(name, tuple(said), None)


def text_of(machine: Machine, state: State, decision: Decision) -> str:
    """The line for a decision in ``state``."""
    match decision:
        case Step(actor, fate):
            call = machine.nodes[state.actors[actor]].call
            name = machine.players[actor].actor.name
            return f"{name} {_call(machine, call)} -> {fate.value}"
        case Start(actor):
            return f"{machine.players[actor].actor.name} starts"
        case Land(number):
            return f"lands {_call(machine, state.late[number].call)}"
        case Pass(seconds):
            return f"passes {seconds} s"


def _call(machine: Machine, number: int) -> str:
    call = machine.worlds.calls[number]
    target = f" {call.arguments[1]}" if call.method in {"rename", "copy", "copy_create"} else ""
    return f"{call.space}.{call.method} {call.key or '.'}{target}"


def shrunk(
    machine: Machine, judge: Judge, decisions: Sequence[Decision], invariant: str
) -> Schedule:
    """The shortest schedule with the same violation that leaving out decisions gives."""
    runs = _Runs(machine, judge)
    taken, verdict = runs.run(tuple(decisions))
    tried = set[tuple[Decision, ...]]()
    improved = True
    while improved:
        improved = False
        for shorter in _shorter(taken):
            if shorter in tried or len(tried) >= MAX_TRIES:
                continue
            tried.add(shorter)
            effective, other = runs.run(shorter)
            is_same = other is not None and other.invariant == invariant
            if is_same and _cost(effective) < _cost(taken):
                taken, verdict, improved = effective, other, True
                break
    return Schedule(machine.configuration.name, runs.lines(taken), verdict)


def _shorter(taken: tuple[Decision, ...]) -> Iterator[tuple[Decision, ...]]:
    """``taken`` without a subsequence: long subsequences first, the latest first."""
    for size in (8, 4, 2, 1):
        for start in range(len(taken) - size, -1, -1):
            yield taken[:start] + taken[start + size :]


def _cost(decisions: Sequence[Decision]) -> tuple[int, int, int]:
    faults = sum(not (isinstance(d, Step) and d.fate is Fate.ANSWERED) for d in decisions)
    switches = sum(
        isinstance(a, Step) and isinstance(b, Step) and a.actor != b.actor
        for a, b in itertools.pairwise(decisions)
    )
    return len(decisions), faults, switches


class _Runs:
    """Runs with given decisions. The possible decisions of a state are computed once."""

    def __init__(self, machine: Machine, judge: Judge) -> None:
        self._machine = machine
        self._judge = judge
        self._known: dict[State, dict[Decision, State]] = {}

    def _choices(self, state: State) -> dict[Decision, State]:
        successors = self._known.get(state)
        if successors is None:
            successors = self._known[state] = dict(self._machine.successors(state))
        return successors

    def run(self, decisions: Sequence[Decision]) -> tuple[tuple[Decision, ...], Verdict | None]:
        """Take the given decisions that are possible, then continue without faults.

        Stops at a violation. Returns the decisions taken, and the verdict.
        """
        state = self._machine.initial
        taken: list[Decision] = []
        verdict = self._judge.state(state)
        waiting = iter(decisions)
        while verdict is None:
            choices = self._choices(state)
            chosen = next((move for move in waiting if move in choices), None)
            if chosen is None:
                chosen = next((c for c in choices if _is_plain(c)), None)
            if chosen is None:
                break
            taken.append(chosen)
            state = choices[chosen]
            verdict = self._judge.state(state)
        return tuple(taken), verdict

    def lines(self, taken: Sequence[Decision]) -> tuple[str, ...]:
        """The text of decisions, all of which are possible."""
        state, lines = self._machine.initial, []
        for decision in taken:
            lines.append(text_of(self._machine, state, decision))
            state = self._choices(state)[decision]
        return tuple(lines)


def _is_plain(decision: Decision) -> bool:
    return isinstance(decision, Step) and decision.fate is Fate.ANSWERED
