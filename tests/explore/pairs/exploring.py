"""Pairs under every interleaving: both transactions are ready, and every call of theirs may wait.

The store is the explorer's, the commits are the shipped code, and what is judged is what
`lance_core_explorer` judges, and the meaning of the operations besides.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lance_core_explorer import (
    ALL,
    PUT_IF_ABSENT,
    Actor,
    Configuration,
    Effects,
    Facts,
    Invariant,
    Scope,
    explore,
)
from lance_core_explorer.actors.writers import send
from lance_core_explorer.configuration import Body
from lance_core_explorer.notes import Committed, NotCommitted
from tests.explore.pairs.base import base_of
from tests.explore.pairs.cases import Case, Judge, prepare
from tests.explore.pairs.catalogue import BY_NAME, KINDS, Place
from tests.explore.pairs.checking import Prepared, expected
from tests.explore.pairs.kinds import Kind

MOST_CONTESTED = tuple(
    BY_NAME[name]
    for name in ("append", "delete", "upsert", "update columns", "rewrite", "create index")
)
"""Kinds whose pairs are explored with a fault, too."""

_CONFLICTS = {
    "RetryableCommitConflictError": "R",
    "CommitConflictError": "X",
}


@dataclass(frozen=True, slots=True)
class Explored:
    """What exploring pairs came to; ``violations`` name the pair and hold a schedule."""

    pairs: int
    states: int
    ends: int
    violations: tuple[str, ...]


def configuration(case: Case, max_faults: int = 0) -> Configuration:
    """All schedules of the commits of a case."""
    base = base_of(case.stable)
    shelf = base.shelf.copy()
    prepared = prepare(case, base, shelf)
    judge = Judge(base, shelf, prepared)

    def setup(effects: Effects) -> None:
        for path, data in base.objects.items():
            effects.store.put(path, data)
        for change in prepared:
            for path, data in change.written.items():
                effects.store.put(path, data)

    def meaning(facts: Facts) -> str:
        """I8: every version is its predecessor, changed by what its transaction means."""
        paths = [seen.location.path for seen in facts.view.versions]
        return judge.wrong(facts.view.objects, paths)

    def verdicts(facts: Facts) -> str:
        """I8: what is refused is what the conflict table refuses."""
        return _wrong_end(case, prepared, facts)

    kept = tuple(one for one in ALL if one.name != "I6")  # data files exist by name only
    own = (Invariant("I8", Scope.WORLD, meaning), Invariant("I8", Scope.END, verdicts))
    return Configuration(
        f"{case.name}, {max_faults} faults",
        tuple(Actor(f"w{i + 1}", _sending(change)) for i, change in enumerate(prepared)),
        PUT_IF_ABSENT.handler,
        setup,
        max_faults=max_faults,
        capabilities=PUT_IF_ABSENT.capabilities,
        eager=PUT_IF_ABSENT.eager,
        invariants=(*own, *kept),
        only_adds=False,
    )


def _sending(change: Prepared) -> Body:
    def body(effects: Effects) -> None:
        send(effects, change.transaction, effects.opened)

    return body


def _wrong_end(case: Case, prepared: Sequence[Prepared], facts: Facts) -> str:
    """A commit that ended otherwise than it should after the other one."""
    by_uuid = {change.transaction.uuid: change for change in prepared}
    committed = [by_uuid[n.transaction] for n in facts.committed]
    for note in facts.each(NotCommitted):
        assert isinstance(note, NotCommitted)
        end = _CONFLICTS.get(note.kind)
        ours = by_uuid[note.transaction]
        if end is None or not committed:
            continue
        wanted = expected(ours, committed, base_of(case.stable))
        if end != wanted:
            return f"{ours.kind.name} ends in {end}, not in {wanted}"
    notes = [note for note in facts.each(Committed) if isinstance(note, Committed)]
    if len(notes) == 2:
        early, late = (by_uuid[n.transaction] for n in sorted(notes, key=lambda n: n.version))
        wanted = expected(late, [early], base_of(case.stable))
        if wanted != ".":
            return f"{late.kind.name} is committed after {early.kind.name}, not {wanted}"
    return ""


def unordered(kinds: Sequence[Kind] = KINDS) -> Iterator[Case]:
    """All pairs of kinds at all places; the schedule decides who is first."""
    found = itertools.combinations_with_replacement(kinds, 2)
    for number, (pair, place) in enumerate(itertools.product(found, Place)):
        yield Case(pair, place, place is Place.SAME_ROWS, stable=bool(number // 3 % 2))


def explore_pairs(configurations: Sequence[Configuration]) -> Explored:
    """Explore each configuration to its end."""
    states = ends = 0
    violations = []
    for one in configurations:
        report = explore(one)
        states += report.states
        ends += report.ends
        violations += [f"{one.name}: {v.text}\n{v.schedule}" for v in report.violations]
        if not report.exhausted and not report.violations:
            violations.append(f"{one.name}: not explored to the end")
    return Explored(len(configurations), states, ends, tuple(violations))
