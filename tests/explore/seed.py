"""What a seeded defect is, and what it means that one is caught."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from unittest import mock

from lance_core.commits import outcome
from lance_core.commits.base import Candidate, CommitHandler
from lance_core.commits.environment import Environment
from lance_core.store.base import ObjectStore
from lance_core_explorer import Configuration, Violation, explore

Patch = Callable[[], AbstractContextManager[object]]
"""Puts a defect into the shipped code for as long as the context lasts."""

Check = Callable[[], None]
"""Raises ``AssertionError`` if what it checks does not hold."""


class Failure(enum.Enum):
    """How the commits of table formats have failed in the field."""

    LOST_ANSWER = "the answer was lost"
    CREATE_ONLY = "create-only means different things"
    EXTERNAL_STORE = "an external store and the folder disagree"
    DURABILITY = "a name is published before what it stands for"
    CLEANUP = "cleanup removes what somebody needs"
    CONFLICT = "a conflict is let through"
    IDENTITY = "numbers are given out twice"
    REPETITION = "the same change is made twice"
    FINDING = "the newest version is looked for in the wrong place"
    LEASE = "a lock ends before the write"


@dataclass(frozen=True)
class Seed:
    """A defect of the shipped code.

    ``says``: what is wrong, and where the like has happened. ``where``: what it is caught by, a
    configuration or a check.
    """

    name: str
    failure: Failure
    says: str
    patch: Patch
    where: Configuration | Check


def put_in(target: object, name: str, new: object) -> Patch:
    """Replaces one thing."""
    return lambda: mock.patch.object(target, name, new)


def _publish_unless_refused(
    handler: CommitHandler, store: ObjectStore, candidate: Candidate, environment: Environment
) -> outcome.Publication | None:
    try:
        return outcome.Publication(handler.commit(candidate), is_certain=True)
    except outcome.REFUSED:
        raise
    except Exception:  # to send the same candidate again is harmless
        return _settled(handler, store, candidate, environment)


_settled = outcome._settled
REFUSALS_COUNT = put_in(outcome, "_settled", _publish_unless_refused)
"""A handler that says that it sent nothing is believed without a look at the table."""


def together(*patches: Patch) -> Patch:
    """Several patches, for a defect that a second rule would make harmless."""

    @contextmanager
    def patched() -> Iterator[None]:
        with ExitStack() as stack:
            for patch in patches:
                stack.enter_context(patch())
            yield

    return patched


def violation_of(seed: Seed) -> Violation | None:
    """What the explorer finds; None if it finds nothing."""
    assert isinstance(seed.where, Configuration)
    report = explore(seed.where, [seed.patch])
    return report.violations[0] if report.violations else None


def fails(check: Check) -> str:
    """What a check complains of, "" if nothing."""
    try:
        check()
    except AssertionError as error:
        return str(error) or "it fails"
    return ""


def caught_by(seed: Seed) -> str:
    """What catches a seed, "" if nothing does."""
    if isinstance(seed.where, Configuration):
        found = violation_of(seed)
        return f"{found.invariant} ({len(found.schedule.lines)} steps)" if found else ""
    with seed.patch():
        return "a check" if fails(seed.where) else ""


def caught(seeds: Iterable[Seed]) -> list[Seed]:
    """Those that are caught."""
    return [seed for seed in seeds if caught_by(seed)]
