"""Check what the commit handler of a plugin returns, so that its defects cannot cost a commit.

A method that returns anything but what the contract says, or that raises an error of Python such as
`TypeError`, ends in a `StoreError` that names the plugin, the method and the type. For
`CommitHandler.commit` it is an `OutcomeUnknownError`, because the manifest may be in place; the
commit then looks at the table itself.

The size of a published manifest is read back: a handler that returns before it has written would
otherwise acknowledge a version that does not exist. This costs one request for each commit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lance_core.commits.base import Candidate, CommitHandler, ManifestLocation
from lance_core.error_texts.plugin_calls import class_of, failed_call, type_of, wrong_field
from lance_core.errors import (
    LanceError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.store.base import ObjectStore
from lance_core.table.paths import DETACHED, NamingScheme, manifest_path

_LOG = logging.getLogger("lance_core")


def checked(handler: CommitHandler, store: ObjectStore, plugin: str | None = None) -> CommitHandler:
    """``handler`` with checked results; handlers of this package are returned as they are.

    ``store`` is rooted at the table. ``plugin`` names the handler and its plugin in errors; None:
    the name of its class.
    """
    if vars(type(handler)).get("keeps_contract") is True:
        return handler
    return CheckedCommitHandler(handler, store, plugin or f"commit handler {class_of(handler)}")


def unchecked(handler: CommitHandler) -> CommitHandler:
    """The handler itself, without the checks of its results."""
    return handler.inner if isinstance(handler, CheckedCommitHandler) else handler


def name_of(handler: CommitHandler) -> str:
    """A handler for messages: its name and its plugin, or its class."""
    if isinstance(handler, CheckedCommitHandler):
        return handler.name
    return f"commit handler {class_of(handler)}"


class CheckedCommitHandler(CommitHandler):
    """Forwards to ``inner``, the handler of a plugin, and checks how each call ends."""

    keeps_contract = True

    def __init__(self, inner: CommitHandler, store: ObjectStore, plugin: str) -> None:
        self.inner = inner
        self._store = store
        self.name = plugin

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"

    def latest(self) -> ManifestLocation | None:
        with self._named("latest"):
            newest: object = self.inner.latest()
        if newest is None:
            return None
        location = self._location(newest, "latest")
        if location.version & DETACHED:
            raise self._wrong("latest", f"the detached version {location.version}")
        return location

    def locate(self, version: int) -> ManifestLocation:
        with self._named("locate"):
            answer: object = self.inner.locate(version)
        location = self._location(answer, "locate")
        if location.version != version:
            raise self._wrong("locate", f"version {location.version} instead of {version}")
        return location

    def list_versions(self) -> Sequence[ManifestLocation]:
        with self._named("list_versions"):
            answer: object = self.inner.list_versions()
            if not isinstance(answer, Sequence) or isinstance(answer, str | bytes):
                raise self._wrong("list_versions", type_of(answer))
            every = list(answer)
        last = 0
        for member in every:
            location = self._location(member, "list_versions")
            if location.version <= last:
                raise self._wrong("list_versions", f"version {location.version} after {last}")
            last = location.version
        if last & DETACHED:
            raise self._wrong("list_versions", f"the detached version {last}")
        return every

    def commit(self, candidate: Candidate) -> ManifestLocation:
        try:
            answer: object = self.inner.commit(candidate)
        except (LanceError, MemoryError):
            raise
        except Exception as error:
            _LOG.warning("%s", text := failed_call(self.name, "commit", error))
            raise OutcomeUnknownError(text) from error
        problem = _problem(answer) or _difference(answer, candidate) or self._absence(candidate)
        if problem is None:
            assert isinstance(answer, ManifestLocation)  # `_problem` checks it
            return answer
        text = (
            f"{self.name}: commit returned {problem}; it must return the ManifestLocation of "
            f"version {candidate.version} after the manifest is in place"
        )
        _LOG.warning("%s", text)  # the commit may succeed, so its author may see nothing else
        raise OutcomeUnknownError(text)

    def check_can_commit(self) -> None:
        with self._named("check_can_commit"):
            self.inner.check_can_commit()

    def discard(self, candidate: Candidate) -> None:
        self.inner.discard(candidate)

    def forget(self, folder: str = "") -> None:
        with self._named("forget"):
            self.inner.forget(folder)

    def _absence(self, candidate: Candidate) -> str | None:
        """The reason why the manifest is not in place, None if it is."""
        try:
            size = self._store.head(candidate.path).size
        except ObjectNotFoundError:
            return f"its location, but there is no object at {candidate.path!r}"
        except Exception as error:
            return f"its location, which cannot be read: {error}"
        if size == len(candidate.data):
            return None
        return f"its location, but {candidate.path!r} has {size} bytes, not {len(candidate.data)}"

    def _location(self, answer: object, method: str) -> ManifestLocation:
        problem = _problem(answer)
        if problem is not None:
            raise self._wrong(method, problem)
        assert isinstance(answer, ManifestLocation)  # `_problem` checks it
        return answer

    @contextmanager
    def _named(self, method: str) -> Iterator[None]:
        try:
            yield
        except (LanceError, MemoryError):
            raise
        except Exception as error:
            raise StoreError(failed_call(self.name, method, error)) from error

    def _wrong(self, method: str, problem: str) -> StoreError:
        return StoreError(f"{self.name}: {method} returned {problem}")


def _problem(answer: object) -> str | None:
    """The reason why ``answer`` is not the location of a manifest of its version, None if it is."""
    if not isinstance(answer, ManifestLocation):
        return type_of(answer)
    wrong = wrong_field(
        ("version", answer.version, int),
        ("path", answer.path, str),
        ("naming", answer.naming, NamingScheme),
        ("size", 0 if answer.size is None else answer.size, int),
        ("etag", "" if answer.etag is None else answer.etag, str),
    )
    if wrong is not None:
        return f"a ManifestLocation whose {wrong}"
    if not 0 < answer.version < 1 << 64 or (answer.size or 0) < 0:
        return f"a ManifestLocation of version {answer.version} and size {answer.size}"
    if answer.path != manifest_path(answer.version, answer.naming):
        return f"the path {answer.path[:200]!r} for version {answer.version}"
    return None


def _difference(answer: object, candidate: Candidate) -> str | None:
    """What ``answer`` says otherwise than the location of ``candidate``, None if nothing."""
    assert isinstance(answer, ManifestLocation)  # `_problem` checks it
    if answer.version != candidate.version:
        return f"the location of version {answer.version}"
    if answer.path != candidate.path:
        return f"the path {answer.path!r} instead of {candidate.path!r}"
    if answer.size not in (None, len(candidate.data)):
        return f"a size of {answer.size} bytes for a manifest of {len(candidate.data)}"
    return None
