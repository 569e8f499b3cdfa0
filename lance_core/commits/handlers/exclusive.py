"""Writing a manifest while other writers are excluded: check that it is absent, write, verify.

This is what the handlers do that keep other writers away by something outside the store. Where the
store guarantees put-if-absent, the write is conditional all the same, and nothing rests on the
exclusion. Elsewhere a write replaces what it meets, and one that was not answered may still land
after the exclusion has ended, on top of what the next writer has put there. So the exclusion is
kept until the outcome is seen, or until every write that was sent has had ``request_lifetime``
seconds to land: what a store has not applied by then, it never applies. That is the one assumption.

Sending the same manifest again in the meantime does no harm: whichever sending lands last, the
bytes are the same.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.environment import Environment
from lance_core.commits.outcome import is_definitely_not_applied
from lance_core.errors import (
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import Guarantee, ObjectStore, PutMode
from lance_core.store.functions import exists

REQUEST_LIFETIME = 60.0
"""Seconds after which a write that was sent is not applied any more, if nothing else is said."""

SENDINGS = 3
"""How often a manifest is sent within one exclusion."""

_PAUSES = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 33 / 64)
"""When to look what became of a write: pauses in request lifetimes, one lifetime in all."""


@dataclass(frozen=True, slots=True, eq=False)
class ExclusiveWriter:
    """Writes manifests into ``store``; the caller excludes other writers meanwhile."""

    store: ObjectStore
    environment: Environment
    request_lifetime: float = REQUEST_LIFETIME

    @property
    def is_conditional(self) -> bool:
        """Whether the store itself makes sure that nothing is replaced."""
        return self.store.capabilities.put_if_absent is Guarantee.YES

    def write(self, candidate: Candidate, permit: Callable[[], None]) -> ManifestLocation:
        """Make ``candidate`` its version; ends as `CommitHandler.commit` does.

        ``permit`` is called right before each sending and raises `StoreError` if the exclusion may
        not last until the write has had its time. If the outcome is unknown in the end, nothing
        that was sent is under way any more when this raises.
        """
        self._look(candidate)
        permit()
        if self.is_conditional:
            self.store.put(candidate.path, candidate.data, PutMode.create)
            return candidate.location
        try:
            self._put(candidate)
        except Exception as error:
            if is_definitely_not_applied(error):
                raise
            return self._settle(candidate, permit, error)
        return candidate.location

    def _put(self, candidate: Candidate) -> None:
        """Send the manifest; nothing of this call lands after ``request_lifetime``."""
        self.store.within(self.request_lifetime).put(candidate.path, candidate.data)

    def _look(self, candidate: Candidate) -> None:
        try:
            is_there = exists(self.store, candidate.path)
        except Exception as error:
            raise StoreError(f"nothing was sent: {error}") from error
        if is_there:
            raise ObjectExistsError(candidate.path)

    def _settle(
        self, candidate: Candidate, permit: Callable[[], None], cause: Exception
    ) -> ManifestLocation:
        """What became of a write that was not answered."""
        for sending in range(SENDINGS):
            if sending and self._sent_again(candidate, permit):
                return candidate.location
            for pause in _PAUSES:
                self.environment.sleep(self.request_lifetime * pause)
                is_there = self._is_there(candidate)
                if is_there:
                    return candidate.location
                if is_there is False and sending < SENDINGS - 1:
                    break  # it may have been lost on the way: send it again
        raise OutcomeUnknownError(
            f"{candidate.path!r} was sent {SENDINGS} times without an answer: {cause}"
        ) from cause

    def _sent_again(self, candidate: Candidate, permit: Callable[[], None]) -> bool:
        """Whether sending it once more was answered: then it is there, whatever else lands."""
        try:
            permit()
            self._put(candidate)
        except Exception:
            return False
        return True

    def _is_there(self, candidate: Candidate) -> bool | None:
        """Whether the manifest is this one; None if that cannot be seen.

        Raises `ObjectExistsError` for another one: a writer that is not excluded.
        """
        try:
            found = self.store.get(candidate.path)
        except ObjectNotFoundError:
            return False
        except Exception:
            return None
        if not found.equals(pa.py_buffer(candidate.data)):
            raise ObjectExistsError(candidate.path)
        return True
