"""Schedules as text: written down, read again, replayed, and made shorter.

::

    configuration put-if-absent/2w
    w1 store.put _transactions/1-….txn -> ok
    w1 store.create _versions/18446744073709551613.manifest -> no answer, may land later
    w2 store.create _versions/18446744073709551613.manifest -> ok
    lands store.create _versions/18446744073709551613.manifest
    passes 601.0 s
    violates I1: …

One line for each decision. After the last one the actors that can go on do so, one after the other.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lance_core.errors import InvalidInputError
from lance_core.testing.explorer.configuration import Configuration
from lance_core.testing.explorer.judge import Judge, Verdict
from lance_core.testing.explorer.machine import (
    Decision,
    Land,
    Machine,
    Pass,
    Start,
    State,
    Step,
)
from lance_core.testing.explorer.worlds import Fate

_STEP = re.compile(r"(?P<actor>\S+) (?P<call>\S+ \S+(?: \S+)?) -> (?P<fate>.+)")
_PASSES = re.compile(r"passes (?P<seconds>[0-9.]+) s")
MOST_TRIES = 3000
"""How many schedules are tried to find a shorter one."""

_FATES = {fate.value: fate for fate in Fate}


@dataclass(frozen=True, slots=True)
class Schedule:
    """Decisions, one line each, and what they lead to. ``verdict`` is None if nothing breaks."""

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
    """Run the schedule that ``text`` writes down, and judge every state on the way.

    Raises `InvalidInputError` if it does not fit the code: if an actor does not make the call that
    the text says.
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if not lines or not lines[0].startswith("configuration "):
        raise InvalidInputError("a schedule begins with the line 'configuration NAME'")
    name = lines[0].removeprefix("configuration ")
    wanted = next((one for one in configurations if one.name == name), None)
    if wanted is None:
        raise InvalidInputError(f"there is no configuration {name!r}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _replayed(Machine(wanted), lines[1:])


def _replayed(machine: Machine, lines: Sequence[str]) -> Schedule:
    name = machine.configuration.name
    judge = Judge(machine)
    state = machine.initial()
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
            raise InvalidInputError(f"line {line!r} is not possible here; possible is\n  {options}")
        state = choices[line][1]
        said.append(line)
        verdict = judge.state(state)
        if verdict is not None:
            return Schedule(name, tuple(said), verdict)
    return Schedule(name, tuple(said), None)


def text_of(machine: Machine, state: State, decision: Decision) -> str:
    """The line of a decision that is taken in ``state``."""
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
    """The shortest schedule found, by leaving out decisions, that breaks the same invariant."""
    best = _run(machine, judge, decisions)
    improved = True
    tries = 0
    while improved and tries < MOST_TRIES:
        improved = False
        taken = best[1]
        for size in (8, 4, 2, 1):
            for start in range(len(taken) - size, -1, -1):
                shorter = [*taken[:start], *taken[start + size :]]
                found = _run(machine, judge, shorter)
                tries += 1
                verdict = found[0].verdict
                is_same = verdict is not None and verdict.invariant == invariant
                if is_same and _cost(found[1]) < _cost(best[1]):
                    best, improved = found, True
                    break
            if improved:
                break
    return best[0]


def _cost(decisions: Sequence[Decision]) -> tuple[int, int, int]:
    faults = sum(not (isinstance(d, Step) and d.fate is Fate.ANSWERED) for d in decisions)
    switches = sum(
        isinstance(a, Step) and isinstance(b, Step) and a.actor != b.actor
        for a, b in itertools.pairwise(decisions)
    )
    return len(decisions), faults, switches


def _run(
    machine: Machine, judge: Judge, decisions: Sequence[Decision]
) -> tuple[Schedule, list[Decision]]:
    """Take the decisions that are possible, then go on without any fault; stop at a violation."""
    state = machine.initial()
    name = machine.configuration.name
    lines: list[str] = []
    taken: list[Decision] = []
    verdict = judge.state(state)
    waiting = list(decisions)
    while verdict is None:
        choices = dict(machine.successors(state))
        chosen = None
        while waiting and chosen is None:
            wanted = waiting.pop(0)
            chosen = wanted if wanted in choices else None
        if chosen is None:
            chosen = next((c for c in choices if _is_plain(c)), None)
        if chosen is None:
            break
        lines.append(text_of(machine, state, chosen))
        taken.append(chosen)
        state = choices[chosen]
        verdict = judge.state(state)
    return Schedule(name, tuple(lines), verdict), taken


def _is_plain(decision: Decision) -> bool:
    return isinstance(decision, Step) and decision.fate is Fate.ANSWERED
