"""Judge states by the invariants, each distinct combination once."""

from __future__ import annotations

from dataclasses import dataclass

from lance_core_explorer.configuration import Scope
from lance_core_explorer.invariants import ALL, Facts
from lance_core_explorer.machine import Machine, State
from lance_core_explorer.view import View


@dataclass(frozen=True, slots=True)
class Verdict:
    """A violated invariant, and the reason."""

    invariant: str
    text: str


class Judge:
    """Applies the invariants of a configuration to states.

    Judges each world, each pair of a world and the actors' notes, and each end once.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        chosen = machine.configuration.invariants
        invariants = ALL if chosen is None else chosen
        self._by_scope = {
            scope: [invariant for invariant in invariants if invariant.scope is scope]
            for scope in Scope
        }
        self._views: dict[int, View] = {}
        self._worlds: dict[int, Verdict | None] = {}
        self._states: dict[tuple[object, ...], Verdict | None] = {}
        self._ends: dict[tuple[object, ...], Verdict | None] = {}

    def state(self, state: State) -> Verdict | None:
        """The first violated invariant in ``state``, or None."""
        world = state.world
        if self._machine.configuration.replaces and self._is_between(state):
            return None
        if world not in self._worlds:
            self._worlds[world] = self._apply(Scope.WORLD, state)
        verdict = self._worlds[world]
        if verdict is not None:
            return verdict
        nodes = self._machine.nodes
        noted = tuple([nodes[entry].notes if entry >= 0 else entry for entry in state.actors])
        key: tuple[object, ...] = (world, noted)
        if key not in self._states:
            self._states[key] = self._apply(Scope.STATE, state)
        verdict = self._states[key]
        if verdict is not None or not self._machine.is_end(state):
            return verdict
        key = (world, noted, state.now, state.faults, state.late)
        if key not in self._ends:
            self._ends[key] = self._apply(Scope.END, state)
        return self._ends[key]

    def _is_between(self, state: State) -> bool:
        """True while a table is partly dropped or created, which no invariant covers."""
        nodes = self._machine.nodes
        return any(nodes[entry].is_alone for entry in state.actors if entry >= 0)

    def _apply(self, scope: Scope, state: State) -> Verdict | None:
        facts = Facts(
            self._machine.configuration,
            self._view(state.world),
            tuple(self._machine.notes_of(entry) for entry in state.actors),
            state.now,
            any(entry >= 0 for entry in state.actors),
            not state.late,
        )
        for invariant in self._by_scope[scope]:
            text = invariant.check(facts)
            if text:
                return Verdict(invariant.name, text)
        return None

    def _view(self, world: int) -> View:
        view = self._views.get(world)
        if view is None:
            if len(self._views) > 10_000:
                self._views.clear()
            view = self._views[world] = View(
                self._machine.configuration, self._machine.worlds, world
            )
        return view
