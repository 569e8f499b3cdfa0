"""A commit handler that returns anything, or raises anything, costs no row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.errors import (
    CommitConflictError,
    CommitError,
    CommitLockError,
    CommitUnknownError,
    CorruptFileError,
    DatasetExistsError,
    DatasetNotFoundError,
    InvalidInputError,
    LanceError,
    NoSafeCommitHandlerError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    PluginLoadError,
    RetryableCommitConflictError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.hookspecs import CommitHandlerSpec, hookimpl
from lance_core.store.base import ObjectStore
from lance_core.table.paths import NamingScheme, manifest_path
from tests.each_case import each_case
from tests.examples import share
from tests.liars.lies import ERRORS, INTERRUPTIONS, WRONG_VALUES, Lie, no_lie
from tests.liars.trial import VERBS, Trial

pytestmark = pytest.mark.usefixtures("without_pauses")

OURS: dict[str, Callable[[], LanceError]] = {
    "StoreError": lambda: StoreError("refused"),
    "OutcomeUnknownError": lambda: OutcomeUnknownError("lost"),
    "ObjectExistsError": lambda: ObjectExistsError("there"),
    "ObjectNotFoundError": lambda: ObjectNotFoundError("gone"),
    "DatasetNotFoundError": lambda: DatasetNotFoundError("gone"),
    "DatasetExistsError": lambda: DatasetExistsError("there"),
    "CommitConflictError": lambda: CommitConflictError("held"),
    "RetryableCommitConflictError": lambda: RetryableCommitConflictError("held"),
    "CommitLockError": lambda: CommitLockError("no lock"),
    "CommitError": lambda: CommitError("failed"),
    "CommitUnknownError": lambda: CommitUnknownError("who knows"),
    "NoSafeCommitHandlerError": lambda: NoSafeCommitHandlerError("none"),
    "InvalidInputError": lambda: InvalidInputError("wrong"),
    "UnsupportedFeatureError": lambda: UnsupportedFeatureError("later"),
    "PluginLoadError": lambda: PluginLoadError("malformed"),
    "CorruptFileError": lambda: CorruptFileError("damaged"),
}
"""Errors of this project, some of which say that nothing was committed."""

PLACES: dict[str, Callable[[ManifestLocation], ManifestLocation]] = {
    "another version": lambda location: replace(location, version=location.version + 1),
    "the version before": lambda location: replace(location, version=location.version - 1),
    "version as text": lambda location: replace(location, version=str(location.version)),
    "a path outside": lambda location: replace(location, path="../" + location.path),
    "another path": lambda location: replace(location, path="_versions/x.manifest"),
    "no path": lambda location: replace(location, path=None),
    "no naming": lambda location: replace(location, naming=None),
    "the other naming": lambda location: replace(location, naming=NamingScheme.V1),
    "another size": lambda location: replace(location, size=1),
    "a negative size": lambda location: replace(location, size=-1),
    "size as text": lambda location: replace(location, size="7"),
    "etag as bytes": lambda location: replace(location, etag=b"x"),
}
"""Locations that are not those of the published manifest."""


class Liar(PutIfAbsentCommitHandler):
    """Does what its base does, but may end a call in another way."""

    def __init__(self, store: ObjectStore, lie: Lie) -> None:
        super().__init__(store)
        self.lie = lie

    def latest(self) -> ManifestLocation | None:
        return self.lie.end("latest", super().latest)  # type: ignore[no-any-return]

    def locate(self, version: int) -> ManifestLocation:
        return self.lie.end("locate", lambda: super(Liar, self).locate(version))  # type: ignore[no-any-return]

    def list_versions(self) -> Sequence[ManifestLocation]:
        return self.lie.end("list_versions", super().list_versions)  # type: ignore[no-any-return]

    def commit(self, candidate: Candidate) -> ManifestLocation:
        return self.lie.end("commit", lambda: super(Liar, self).commit(candidate))  # type: ignore[no-any-return]

    def discard(self, candidate: Candidate) -> None:
        return self.lie.end("discard", lambda: super(Liar, self).discard(candidate))  # type: ignore[no-any-return]


class Plugin:
    """Offers the liar; its handlers tell ``lie``."""

    def __init__(self) -> None:
        self.lie = no_lie()

    @hookimpl
    def lance_commit_handlers(self) -> list[CommitHandlerSpec]:
        return [
            CommitHandlerSpec(
                "liar",
                lambda store, url, options, environment: Liar(store, self.lie),
                frozenset({"put_if_absent"}),
                "liar",
            )
        ]


Case = tuple[str, str, Lie]
"""A verb, the name of an answer, and the lie."""

VERB_OF = {"locate": "check out and restore", "list_versions": "clean up"}
"""The verbs that call a method."""

LISTS: dict[str, Callable[[Any], Any]] = {
    "without the newest": lambda every: every[:-1],
    "only the oldest": lambda every: every[:1],
    "nothing": lambda every: [],
    "newest first": lambda every: every[::-1],
    "each twice": lambda every: [one for one in every for _ in range(2)],
}
"""Lists of locations that are not all versions, oldest first."""


def _answers(method: str) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    for name, make in WRONG_VALUES.items():
        yield name, lambda _, make=make: make()
    for name, raised in {**ERRORS, **OURS, **INTERRUPTIONS}.items():
        yield name, lambda _, raised=raised: raised()
    for name, change in PLACES.items() if method in ("commit", "locate", "latest") else ():
        yield name, lambda honest, change=change: honest and change(honest)


def _cases_of_commit() -> Iterator[Case]:
    for name, answer in _answers("commit"):
        yield "append", name, Lie("commit", answer)
        yield "append", name, Lie("commit", answer, always=True)
        if name not in PLACES:
            yield "append", name, Lie("commit", answer, applied=False, always=True)


def _cases_of_reads() -> Iterator[Case]:
    for method in ("latest", "locate", "list_versions", "discard"):
        for name, answer in _answers(method):
            verb = VERB_OF.get(method, "append")
            # A table that is never there is searched for as long as a commit may take.
            is_patient = (method, name) == ("latest", "None")
            yield verb, name, Lie(method, answer, always=not is_patient)
            if method == "latest":
                yield verb, name, Lie(method, answer, at=2, always=not is_patient)
    for name, change in LISTS.items():
        yield "clean up", name, Lie("list_versions", change, always=True)


def _cases_of_verbs() -> Iterator[Case]:
    for verb in sorted(VERBS.keys() - {"clean up", "read"}):
        for name in (
            ()
            if verb == "clean up"
            else ("None", "TypeError", "StoreError", "ObjectExistsError", "another version")
        ):
            yield verb, name, Lie("commit", dict(_answers("commit"))[name], always=True)


@each_case("verb, name, lie", lambda: share(list(_cases_of_commit()), 2, 0))
def test_no_end_of_a_commit_costs_a_row(
    plugin: Plugin, trial: Callable[[str], Trial], verb: str, name: str, lie: Lie
) -> None:
    ended = trial(verb).run(plugin, "file+liar", lie)
    assert lie.calls
    if lie.applied and name not in INTERRUPTIONS:
        assert ended is None  # the version on disk decides
    elif name in WRONG_VALUES:
        assert re.search(r"'liar' of plugin 'liars'.*commit returned", str(ended))
    elif name in ERRORS and name != "MemoryError":
        assert re.search(rf"'liar' of plugin 'liars'.*commit raised {name}", str(ended))


@each_case("verb, name, lie", lambda: share(list(_cases_of_reads()), 3, 0))
def test_no_answer_of_a_handler_about_versions_costs_a_row(
    plugin: Plugin, trial: Callable[[str], Trial], verb: str, name: str, lie: Lie
) -> None:
    ended = trial(verb).run(plugin, "file+liar", lie)
    means_nothing = (lie.method, name) in (("latest", "None"), ("list_versions", "empty list"))
    if ended is not None and name in WRONG_VALUES and not means_nothing:
        assert re.search(rf"'liar' of plugin 'liars'.*{lie.method} returned", str(ended))


@each_case("verb, name, lie", _cases_of_verbs)
def test_no_verb_loses_a_row_to_a_handler_that_errs(
    plugin: Plugin, trial: Callable[[str], Trial], verb: str, name: str, lie: Lie
) -> None:
    assert trial(verb).run(plugin, "file+liar", lie) is None
    assert lie.calls


def test_a_handler_that_returns_before_it_has_written_acknowledges_nothing(
    plugin: Plugin, trial: Callable[[str], Trial]
) -> None:
    def promise(_: Any) -> ManifestLocation:
        return ManifestLocation(3, manifest_path(3), NamingScheme.V2)

    lie = Lie("commit", promise, applied=False, always=True)
    ended = trial("append").run(plugin, "file+liar", lie)
    assert isinstance(ended, CommitUnknownError)
    assert "there is no object at '_versions/" in str(ended)
