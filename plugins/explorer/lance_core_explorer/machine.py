"""States of an exploration, and the decisions that lead from state to state.

A state consists of the world, the node of each actor, the number of faults left, the time, and the
unanswered writes that may still take effect. All of these are numbers or tuples of numbers.

An actor that ended or crashed is represented by its notes alone, as `-1 - notes`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, TypeAlias

from lance_core.commits.history import read_latest
from lance_core.hookspecs.concurrency import cached_property
from lance_core_explorer.configuration import Configuration, Eagerness, Effects
from lance_core_explorer.player import ENDED, Node, Player
from lance_core_explorer.port import ALARM, REST, LivePort
from lance_core_explorer.worlds import Fate, Worlds

WAITING = -(1 << 40)
"""Represents an actor that has not started."""


class Late(NamedTuple):
    """An unanswered write that may take effect until ``until`` (virtual seconds)."""

    call: int
    until: float


class State(NamedTuple):
    """A state of the exploration.

    ``last`` is the actor that made the latest call. ``preemptions``: number of further switches
    away from an actor that could continue. Both are 0 if pre-emptions are not limited.
    """

    world: int
    actors: tuple[int, ...]
    faults: int
    now: float
    passing: int
    late: tuple[Late, ...]
    last: int
    preemptions: int


class Step(NamedTuple):
    """The pending call of an actor is answered."""

    actor: int
    fate: Fate


class Start(NamedTuple):
    """An actor that has not started yet starts."""

    actor: int


class Land(NamedTuple):
    """A late write is applied."""

    late: int


class Pass(NamedTuple):
    """Time passes."""

    seconds: float


Decision: TypeAlias = Step | Start | Land | Pass


class Machine:
    """The transition system of a configuration."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.worlds = Worlds(configuration.all_spaces())
        self.nodes: list[Node] = []
        self.players = [
            Player(actor, configuration, self.worlds, self.nodes) for actor in configuration.actors
        ]
        self.notes: list[tuple[Hashable, ...]] = []
        self._note_numbers: dict[tuple[Hashable, ...], int] = {}
        self._eager: dict[int, Eagerness] = {}
        self._dues: dict[int, float] = {}
        self._fates = configuration.faults
        self._prompt_fates = (
            *(fate for fate in self._fates if fate is not Fate.LATE),
            Fate.REQUEST_LOST,
            Fate.RESPONSE_LOST,
        )
        self._bounded = configuration.preemptions is not None

    @cached_property
    def initial(self) -> State:
        """The state after setup; every actor that starts at once is before its first call."""
        port = LivePort(self.worlds, "setup", self.worlds.empty)
        self.configuration.setup(Effects(port, self.configuration))
        self.worlds.start = port.world
        effects = Effects(port, self.configuration)
        self.worlds.opened = read_latest(effects.handler, effects.store)
        begins = self.configuration.begins
        actors = tuple(
            WAITING if self._waits(player) else self._entry(player.start(begins, port.world))
            for player in self.players
        )
        return State(
            port.world,
            actors,
            self.configuration.max_faults,
            begins,
            self.configuration.max_passing,
            (),
            0,
            self.configuration.preemptions or 0,
        )

    def _waits(self, player: Player) -> bool:
        late = player.actor.starts_late and self.configuration.max_passing > 0
        return late or player.actor.follows is not None

    def _entry(self, node: Node) -> int:
        return node.number if node.call != ENDED else self._done(node)

    def _done(self, node: Node) -> int:
        number = self._note_numbers.setdefault(node.notes, len(self.notes))
        if number == len(self.notes):
            self.notes.append(node.notes)
        return -1 - number

    def notes_of(self, entry: int) -> tuple[Hashable, ...]:
        """The notes of an actor; ``entry`` is its number in `State.actors`."""
        if entry == WAITING:
            return ()
        return self.nodes[entry].notes if entry >= 0 else self.notes[-1 - entry]

    def is_end(self, state: State) -> bool:
        """True if every actor has finished (late writes may still take effect)."""
        for actor, entry in enumerate(state.actors):
            if entry >= 0 or self._may_start(state, actor):
                return False
        return True

    def _may_start(self, state: State, actor: int) -> bool:
        return state.actors[actor] == WAITING and self.players[actor].actor.follows is None

    def successors(self, state: State) -> list[tuple[Decision, State]]:
        """All possible decisions in ``state`` and the resulting states."""
        moves: list[tuple[Decision, State]] = []
        if self.configuration.replaces and self._only_one(state, moves):
            return moves
        if self._take_eager(state, moves):
            return moves
        wakes = self._take_steps(state, moves)
        moves += [(Land(late), self._landed(state, late)) for late in range(len(state.late))]
        if wakes and not any(isinstance(decision, Step) for decision, _ in moves):
            slept = state._replace(now=min(wakes))
            moves.append((Pass(round(slept.now - state.now, 6)), _without_lapsed(slept)))
        if state.passing and not self.is_end(state):
            passing = self.configuration.passing
            moves += [(Pass(seconds), self._passed(state, seconds)) for seconds in passing]
        return moves

    def _is_timeless(self, state: State) -> bool:
        """True if no more time can pass."""
        return not (state.passing and self.configuration.passing)

    def _take_eager(self, state: State, steps: list[tuple[Decision, State]]) -> bool:
        """Keep only the actor whose call commutes with all others, if there is one."""
        if not self._is_timeless(state):
            return False
        for actor, entry in enumerate(state.actors):
            if entry >= 0 and self._is_eager(self.nodes[entry].call, state.world):
                self._steps(state, actor, self.nodes[entry], steps)
                return True
        return False

    def _take_steps(self, state: State, steps: list[tuple[Decision, State]]) -> list[float]:
        """Add the next calls of all actors; returns the times at which sleeping actors wake up."""
        wakes: list[float] = []
        for actor, entry in enumerate(state.actors):
            if entry >= 0:
                call = self.nodes[entry].call
                due = self._due(call)
                if due > state.now:
                    wakes.append(due)
                elif not self._asks_to_be_alone(call):
                    self._steps(state, actor, self.nodes[entry], steps)
            elif self._may_start(state, actor):
                started = self._with(
                    state, actor, self.players[actor].start(state.now, state.world)
                )
                steps.append((Start(actor), started))
        return wakes

    def _only_one(self, state: State, steps: list[tuple[Decision, State]]) -> bool:
        """Keep only the actor that runs alone, if there is one."""
        running = [(i, self.nodes[entry]) for i, entry in _each(state) if entry >= 0]
        for actor, node in running:
            asks = self._asks_to_be_alone(node.call)
            others = [self.worlds.calls[other.call].space for i, other in running if i != actor]
            if node.is_alone or (asks and not state.late and set(others) <= {REST}):
                self._steps(state, actor, node, steps)
                if node.is_alone:
                    return True
        return False

    def _due(self, call: int) -> float:
        """The time at which a call can be answered; later than now only for sleep."""
        due = self._dues.get(call)
        if due is None:
            request = self.worlds.calls[call]
            due = float(request.key) if request.space == ALARM else 0.0
            self._dues[call] = due
        return due

    def _asks_to_be_alone(self, call: int) -> bool:
        request = self.worlds.calls[call]
        return request.space == REST and request.method == "alone"

    def _is_eager(self, call: int, world: int) -> bool:
        eager = self._eager.get(call)
        if eager is None:
            eager = self._eager[call] = self.configuration.eager(self.worlds.calls[call])
        if eager is Eagerness.ONCE_PRESENT:
            request = self.worlds.calls[call]
            return request.key in self.worlds.states[world][request.space]
        return eager is Eagerness.ALWAYS

    def _steps(
        self, state: State, actor: int, node: Node, steps: list[tuple[Decision, State]]
    ) -> None:
        """Add every outcome of the pending call of one actor."""
        if self._bounded:
            left = self._preempted(state, actor)
            if left < 0:
                return
            state = state._replace(last=actor, preemptions=left)
        self._fate(state, actor, node, Fate.ANSWERED, steps)
        if not state.faults or not self.players[actor].actor.may_fail:
            return
        state = state._replace(faults=state.faults - 1)
        for fate in self._fates_of(state, node.call):
            if fate is Fate.CRASH:
                if self.worlds.is_write(node.call):
                    steps.append((Step(actor, fate), self._crashed(state, actor)))
            else:
                self._fate(state, actor, node, fate, steps)

    def _preempted(self, state: State, actor: int) -> int:
        """Number of pre-emptions left if ``actor`` continues; negative if it must not continue."""
        last = state.actors[state.last]
        if state.last == actor or last < 0 or self._due(self.nodes[last].call) > state.now:
            return state.preemptions
        return state.preemptions - 1

    def _fates_of(self, state: State, call: int) -> tuple[Fate, ...]:
        """The possible faults of a call.

        If no other actor can see when a late write takes effect, it does so at once or never.
        """
        if Fate.LATE in self._fates and self._is_timeless(state):
            self._is_eager(call, state.world)
            if self._eager[call] is Eagerness.ALWAYS:
                return self._prompt_fates
        return self._fates

    def _fate(
        self,
        state: State,
        actor: int,
        node: Node,
        fate: Fate,
        steps: list[tuple[Decision, State]],
    ) -> None:
        """Add the answer to the pending call if ``fate`` changes it."""
        world, actors, faults, now, passing, late, last, left = state
        effect = self.worlds.effect(world, node.call, fate, now)
        if effect is None:
            return
        child = node.after(effect.answer, now, effect.world)
        entry = child.number if child.call >= 0 else self._done(child)
        entries = (*actors[:actor], entry, *actors[actor + 1 :])
        if fate is Fate.LATE:
            until = now + self.configuration.late_for
            late = tuple(sorted((*late, Late(node.call, until))))
        after = State(effect.world, entries, faults, now, passing, late, last, left)
        steps.append((Step(actor, fate), after))

    def _crashed(self, state: State, actor: int) -> State:
        entries = list(state.actors)
        entries[actor] = self._done(self.nodes[entries[actor]])
        name = self.players[actor].actor.name
        for number, player in enumerate(self.players):
            if player.actor.follows == name:
                entries[number] = self._entry(player.start(state.now, state.world))
        return state._replace(actors=tuple(entries))

    def _with(self, state: State, actor: int, node: Node) -> State:
        entries = (*state.actors[:actor], self._entry(node), *state.actors[actor + 1 :])
        return state._replace(actors=entries)

    def _landed(self, state: State, number: int) -> State:
        late = state.late[number]
        effect = self.worlds.effect(state.world, late.call, Fate.ANSWERED, state.now)
        assert effect is not None
        rest = state.late[:number] + state.late[number + 1 :]
        return state._replace(world=effect.world, late=rest)

    def _passed(self, state: State, seconds: float) -> State:
        now = round(state.now + seconds, 6)
        return _without_lapsed(state._replace(now=now, passing=state.passing - 1))


def _without_lapsed(state: State) -> State:
    """The state without late writes that can no longer take effect."""
    late = tuple(late for late in state.late if late.until >= state.now)
    return state._replace(late=late)


def _each(state: State) -> list[tuple[int, int]]:
    return list(enumerate(state.actors))
