"""Write a manifest while other writers are excluded: check that it is absent, write, verify.

Handlers whose exclusion mechanism is outside the store use this. If the store guarantees
put-if-absent, the write is conditional as well, and safety does not depend on the exclusion.
Otherwise a write replaces an existing object, and a write without a response may take effect after
the exclusion has ended, on top of the next writer's manifest. So the exclusion is held until the
outcome is known, or until ``request_lifetime`` seconds after the last write. The one assumption is
that a store never applies a write later than this.

Sending the same manifest again in the meantime is harmless: every request writes the same bytes.
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
"""Default seconds after which a store does not apply a sent write any more."""

SENDINGS = 3
"""Maximum number of times a manifest is sent within one exclusion."""

_PAUSES = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 33 / 64)
"""Pauses between checks of a write's outcome, in request lifetimes; their sum is one lifetime."""


@dataclass(frozen=True, slots=True, eq=False)
class ExclusiveWriter:
    """Writes manifests to ``store`` while the caller excludes other writers."""

    store: ObjectStore
    environment: Environment
    request_lifetime: float = REQUEST_LIFETIME

    @property
    def is_conditional(self) -> bool:
        """True if the store itself never replaces an existing manifest."""
        return self.store.capabilities.put_if_absent is Guarantee.YES

    def write(self, candidate: Candidate, permit: Callable[[], None]) -> ManifestLocation:
        """Publish ``candidate``; ends like `CommitHandler.commit`.

        ``permit`` is called right before each write. It raises `StoreError` if the exclusion may
        end before the write's request lifetime does. If the outcome remains unknown, this raises
        only when no sent write can take effect any more.
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
        """Send the manifest; no part of this call takes effect after ``request_lifetime``."""
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
        """Determine the outcome of a write that got no response."""
        for sending in range(SENDINGS):
            if sending and self._sent_again(candidate, permit):
                return candidate.location
            for pause in _PAUSES:
                self.environment.sleep(self.request_lifetime * pause)
                is_there = self._is_there(candidate)
                if is_there:
                    return candidate.location
                if is_there is False and sending < SENDINGS - 1:
                    break  # the request may have been lost: send it again
        raise OutcomeUnknownError(
            f"{candidate.path!r} was sent {SENDINGS} times without an answer: {cause}"
        ) from cause

    def _sent_again(self, candidate: Candidate, permit: Callable[[], None]) -> bool:
        """Send the manifest again; True if this succeeded: then it is in place and stays there."""
        try:
            permit()
            self._put(candidate)
        except Exception:
            return False
        return True

    def _is_there(self, candidate: Candidate) -> bool | None:
        """True if this manifest is in place; None if that cannot be read.

        Raises `ObjectExistsError` for another manifest, whose writer was not excluded.
        """
        try:
            stored = self.store.get(candidate.path)
        except ObjectNotFoundError:
            return False
        except Exception:
            return None
        if not stored.equals(pa.py_buffer(candidate.data)):
            raise ObjectExistsError(candidate.path)
        return True
