"""Cases: who prepares what on the base, and what comes of committing it one after the other."""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.loop import commit_transaction
from lance_core.errors import (
    CommitConflictError,
    LanceError,
    RetryableCommitConflictError,
)
from lance_core.table.transactions.operations import ReserveFragments, Rewrite
from lance_core.table.transactions.transaction import Transaction
from tests.explore.pairs.base import (
    FRAGMENTS,
    RESERVED,
    Base,
    Desk,
    base_of,
    environment,
    objects_of,
    store_of,
)
from tests.explore.pairs.catalogue import KINDS, Place, first_target, second_target
from tests.explore.pairs.checking import (
    Prepared,
    expected,
    would_commute,
    wrong_step,
)
from tests.explore.pairs.decoding import Decoded, decode
from tests.explore.pairs.kinds import Kind, Site, Target
from tests.explore.pairs.shelf import Shelf


@dataclass(frozen=True, slots=True)
class Case:
    """Operations in the order of their commits, all computed from the same version."""

    kinds: tuple[Kind, ...]
    place: Place
    same_names: bool
    stable: bool

    @property
    def name(self) -> str:
        """The kinds, and how their targets lie."""
        names = "same names" if self.same_names else "other names"
        ids = "stable ids" if self.stable else "addresses"
        kinds = " | ".join(kind.name for kind in self.kinds)
        return f"{kinds} ({self.place.value}, {names}, {ids})"

    def targets(self) -> list[Target]:
        """The first writer's, the second one's; of three, two share nothing with each other."""
        last = second_target(self.place, self.same_names)
        if len(self.kinds) == 2:
            return [first_target(), last]
        return [first_target(), Target(2, 3, (3, 4), 2, "c", 3), last]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case: the ends of its commits (see `expected`), and what was wrong."""

    ends: tuple[str, ...]
    violation: str
    refused_although_commuting: bool = False


def prepare(case: Case, base: Base, shelf: Shelf) -> list[Prepared]:
    """The operations of a case, computed from the base."""
    made = []
    for number, (kind, target) in enumerate(zip(case.kinds, case.targets(), strict=True)):
        desk = Desk(f"w{number + 1}", shelf)
        parts = kind.prepare(Site(base, desk, target))
        assert parts.operation.kinds == (kind.kind,)
        transaction = Transaction(base.version, str(uuid.UUID(int=1 + number)), parts.operation)
        made.append(Prepared(desk.name, kind, transaction, parts, desk.written))
    return made


class Judge:
    """Decodes and judges what a case has left in a store. Versions of the base are known."""

    def __init__(self, base: Base, shelf: Shelf, prepared: Iterable[Prepared]) -> None:
        self._base = base
        self._shelf = shelf
        self._changes = {change.transaction.uuid: change for change in prepared}

    def wrong(self, objects: Mapping[str, bytes], versions: Iterable[str]) -> str:
        """What is wrong with versions, given by their paths in the order of their numbers."""
        history = dict(self._base.history)
        committed: list[Prepared] = []
        taken = set[int]()
        for path in versions:
            if path in self._base.objects:
                continue
            after = decode(objects[path], objects.__getitem__, self._shelf)
            change = self._changes[after.transaction]
            before = history[max(history)]
            found = wrong_step(before, after, change, history)
            found = found or _overwritten(change, committed) or _taken(before, after, change, taken)
            if found:
                return f"{change.kind.name}, as version {after.version}: {found}"
            history[after.version] = after
            committed.append(change)
        return ""


def _taken(before: Decoded, after: Decoded, change: Prepared, taken: set[int]) -> str:
    """Whether a fragment has an id that another one reserved: ``taken``, and those of the base."""
    new = after.identities.keys() - before.identities.keys()
    operation = change.transaction.operation
    if isinstance(operation, ReserveFragments):
        taken.update(range(before.max_fragment_id + 1, after.max_fragment_id + 1))
    of_base = () if isinstance(operation, Rewrite) else range(FRAGMENTS, FRAGMENTS + RESERVED)
    used = new & {*taken, *of_base}
    return f"fragment id {min(used)} was reserved" if used else ""


def _overwritten(change: Prepared, committed: Iterable[Prepared]) -> str:
    """What a change lost that was committed after it had looked."""
    for other in committed:
        lost = change.parts.footprint.loses(other.parts.footprint)
        if lost and not change.parts.is_blind:
            return f"it loses {min(map(str, lost))} of {other.kind.name}"
    return ""


def run(case: Case) -> Outcome:
    """Prepare everything on the base, commit one after the other, and judge what is there."""
    base = base_of(case.stable)
    shelf = base.shelf.copy()
    prepared = prepare(case, base, shelf)
    objects = dict(base.objects)
    for change in prepared:
        objects.update(change.written)
    store = store_of(objects)
    handler = PutIfAbsentCommitHandler(store)
    committed: list[Prepared] = []
    ends = []
    for number, change in enumerate(prepared):
        end = _end(
            lambda change=change, number=number: commit_transaction(  # type: ignore[misc]
                handler,
                store,
                change.transaction,
                base.newest,
                environment=environment(f"w{number + 1}"),
            )
        )
        wanted = expected(change, committed, base)
        ends.append(end)
        if end != wanted:
            return Outcome(tuple(ends), f"{change.kind.name} ends in {end!r}, not {wanted!r}")
        if end == ".":
            committed.append(change)
    versions = [location.path for location in handler.list_versions()]
    if len(versions) != base.version + len(committed):
        return Outcome(tuple(ends), f"there are {len(versions)} versions")
    wrong = Judge(base, shelf, prepared).wrong(objects_of(store), versions)
    careful = ends[-1] in {"R", "X"} and would_commute(prepared[-1], committed, base)
    return Outcome(tuple(ends), wrong, careful)


def _end(commit: Callable[[], object]) -> str:
    try:
        commit()
    except RetryableCommitConflictError:
        return "R"
    except CommitConflictError:
        return "X"
    except LanceError as error:
        return f"{type(error).__name__}: {error}"
    return "."


def pairs(kinds: Sequence[Kind] = KINDS) -> Iterator[Case]:
    """All ordered pairs of kinds, however their targets lie to each other."""
    for first, second in itertools.product(kinds, repeat=2):
        for place, same_names, stable in itertools.product(Place, (False, True), (False, True)):
            yield Case((first, second), place, same_names, stable)


def usual_pairs(kinds: Sequence[Kind] = KINDS) -> Iterator[Case]:
    """Each pair at each place, with and without stable row ids in turn.

    Writers of the same rows have the same names in view.
    """
    found = itertools.product(enumerate(kinds), enumerate(kinds), enumerate(Place))
    for (i, first), (j, second), (k, place) in found:
        stable = bool((i + j + k) % 2)
        yield Case((first, second), place, place is Place.SAME_ROWS, stable)


def triples(kinds: Sequence[Kind], last: Sequence[Kind] = KINDS) -> Iterator[Case]:
    """Two transactions of ``kinds``, in each order, before one of ``last``."""
    for first, second in itertools.product(kinds, repeat=2):
        for third, place in itertools.product(last, Place):
            yield Case((first, second, third), place, place is Place.SAME_ROWS, stable=True)


@dataclass(slots=True)
class Summary:
    """What came of many cases."""

    cases: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    careful: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def add(self, case: Case, outcome: Outcome) -> None:
        """Count a case."""
        self.cases += 1
        self.ends[outcome.ends[-1]] += 1
        if outcome.violation:
            self.violations.append(f"{case.name}: {outcome.violation}")
        elif outcome.refused_although_commuting:
            self.careful[" | ".join(kind.name for kind in case.kinds)] += 1


def joined(summaries: Iterable[Summary]) -> Summary:
    """One summary of several."""
    whole = Summary()
    for part in summaries:
        whole.cases += part.cases
        whole.ends += part.ends
        whole.careful += part.careful
        whole.violations += part.violations
    return whole


def run_all(cases: Iterable[Case]) -> Summary:
    """Run cases and count what came of them."""
    summary = Summary()
    for case in cases:
        summary.add(case, run(case))
    return summary
