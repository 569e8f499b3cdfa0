"""Actors that remove objects: cleanups, and one that drops and recreates a table."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

from lance_core.commits.cleanup.execution import clean
from lance_core.commits.cleanup.policy import CleanupPolicy
from lance_core.errors import LanceError, ObjectNotFoundError
from lance_core.hookspecs.stores import ObjectStore
from lance_core.table.paths import VERSIONS, parse_manifest_name
from lance_core_explorer.actors.writers import creating
from lance_core_explorer.configuration import Body, Effects
from lance_core_explorer.notes import Ended

IMPATIENT = CleanupPolicy(older_than=timedelta(0), error_if_tagged=False)
"""A policy that selects every version except the newest. Only the rule about recently superseded
versions protects them."""


_SKIP = len(VERSIONS) + 1


def cleaner(policy: CleanupPolicy = IMPATIENT) -> Body:
    """Runs one cleanup of the table."""

    def body(effects: Effects) -> None:
        try:
            clean(effects.store, effects.handler, policy, effects.environment)
        except (LanceError, FileNotFoundError) as error:
            effects.note(Ended("clean", type(error).__name__))
        else:
            effects.note(Ended("clean"))

    return body


def foreign_cleaner(patience: float = 0.0) -> Body:
    """Removes every version superseded at least ``patience`` seconds ago, newest first.

    Unlike our cleanup, it does not protect writers: it ignores deadlines and pins.
    """

    def body(effects: Effects) -> None:
        listed = effects.store.list(VERSIONS)
        manifests = (meta for meta in listed if parse_manifest_name(meta.path[_SKIP:]) is not None)
        newest_first = sorted(manifests, key=lambda meta: meta.path)
        now = datetime.fromtimestamp(effects.environment.clock() / 1e9, UTC)
        # The names of later versions sort first.
        for newer, meta in itertools.pairwise(newest_first):
            if (now - newer.last_modified).total_seconds() >= patience:
                effects.store.delete(meta.path)
        effects.note(Ended("clean"))

    return body


def janitor(effects: Effects) -> None:
    """Runs a cleanup at a time when all files are old enough; for `Configuration.final_cleanup`."""
    clean(effects.store, effects.handler, IMPATIENT, effects.environment)


def recreator(effects: Effects) -> None:
    """Drops and recreates the table while no commit is in progress."""
    effects.port.ask("rest", "alone", "drop")
    drop(effects.store)
    effects.handler.forget()
    creating()(effects)
    effects.port.ask("rest", "over", "drop")
    effects.note(Ended("recreate"))


def drop(store: ObjectStore) -> None:
    """Remove every object of a table, the manifests last."""
    paths = sorted((meta.path for meta in store.list("")), key=lambda path: path[0] == "_")
    for path in paths:
        try:
            store.delete(path)
        except ObjectNotFoundError:
            continue
