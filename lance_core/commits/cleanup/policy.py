"""What a cleanup may remove, as the caller asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass

DEFAULT_AGE = timedelta(days=14)
"""How old versions are that are removed if the caller says nothing."""

UNVERIFIED_AGE = timedelta(days=7)
"""How old a file must be that no version is known to have named: it may be part of a commit that
is still to come."""

_NO_TIME = timedelta(0)


@dataclass(frozen=True, slots=True)
class CleanupPolicy:
    """Which versions and files to remove.

    A version is removed if it is made longer than ``older_than`` ago, not among the newest
    ``retain_versions``, one of ``versions`` and less than ``before``; what is None does not count.
    If the first three are None, ``older_than`` is `DEFAULT_AGE`. The newest version always stays.

    ``delete_unverified``: the caller's word that nobody else is at work on the table. Files that no
    version names are removed however new they are, and versions however recently they were
    superseded.
    ``error_if_tagged``: fail, before anything is removed, if a version to remove has a tag;
    otherwise it stays. ``delete_rate_limit``: removals in a second, at most.

    Raises `InvalidInputError` for values that make no sense.
    """

    older_than: timedelta | None = None
    retain_versions: int | None = None
    versions: frozenset[int] | None = None
    before: int | None = None
    delete_unverified: bool = False
    error_if_tagged: bool = True
    delete_rate_limit: int | None = None

    def __post_init__(self) -> None:
        if self.retain_versions is not None and self.retain_versions < 1:
            raise InvalidInputError(
                f"retain_versions must be greater than 0, got {self.retain_versions}"
            )
        if self.versions is not None and not self.versions:
            raise InvalidInputError("versions must not be empty when specified")
        if self.delete_rate_limit is not None and self.delete_rate_limit < 1:
            raise InvalidInputError(
                f"delete_rate_limit must be greater than 0, got {self.delete_rate_limit}"
            )

    @property
    def age(self) -> timedelta | None:
        """``older_than`` as it applies."""
        if (self.older_than, self.retain_versions, self.versions) == (None, None, None):
            return DEFAULT_AGE
        return self.older_than

    def numbers(self, versions: Sequence[int]) -> frozenset[int]:
        """Those of all ``versions``, in ascending order, that may go by their number."""
        if self.retain_versions is not None:
            found = frozenset(versions[: -self.retain_versions])
        else:
            found = frozenset(versions[:-1])
        found -= frozenset(versions[-1:])
        if self.versions is not None:
            found &= self.versions
        if self.before is not None:
            found = frozenset(number for number in found if number < self.before)
        return found

    def is_old(self, made: datetime | None, now: datetime) -> bool:
        """Whether a version may go by its date; one without a date is of the oldest releases.

        An age of 0 is every age: writers date versions, and their clocks may be ahead.
        """
        return not self.age or self.age < _NO_TIME or made is None or now - made > self.age
