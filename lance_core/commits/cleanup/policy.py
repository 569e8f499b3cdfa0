"""The caller's choice of what a cleanup may remove."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass

DEFAULT_AGE = timedelta(days=14)
"""Minimum age of removed versions if the caller gives no criterion."""

UNVERIFIED_AGE = timedelta(days=7)
"""Minimum age of a removed file that no known version ever named: a younger one may belong to a
commit in progress."""

_NO_TIME = timedelta(0)


@dataclass(frozen=True, slots=True)
class CleanupPolicy:
    """Which versions and files to remove.

    A version is removed if it meets all criteria that are not None:

    * it is older than ``older_than``;
    * it is not among the newest ``retain_versions``;
    * it is one of ``versions``;
    * its number is less than ``before``.

    If the first three are None, ``older_than`` is `DEFAULT_AGE`. The newest version is never
    removed.

    ``delete_unverified``: the caller guarantees that no other process writes to the table. Then
    files that no version names are removed at any age, and versions regardless of when they were
    superseded.
    ``error_if_tagged``: fail, before anything is removed, if a version to remove has a tag; if
    False, tagged versions are kept. ``delete_rate_limit``: maximum removals per second.

    Raises `InvalidInputError` for empty ``versions`` and for numbers below 1.
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
        """The effective ``older_than``, with the default applied; None if age is no criterion."""
        if (self.older_than, self.retain_versions, self.versions) == (None, None, None):
            return DEFAULT_AGE
        return self.older_than

    def numbers(self, versions: Sequence[int]) -> frozenset[int]:
        """Those of the ascending ``versions`` whose number allows their removal."""
        if self.retain_versions is not None:
            numbers = frozenset(versions[: -self.retain_versions])
        else:
            numbers = frozenset(versions[:-1])
        numbers -= frozenset(versions[-1:])
        if self.versions is not None:
            numbers &= self.versions
        if self.before is not None:
            numbers = frozenset(number for number in numbers if number < self.before)
        return numbers

    def is_old(self, made: datetime | None, now: datetime) -> bool:
        """True if a version may be removed by its date; undated versions are the oldest.

        An age of 0 selects every version: writers set the date, and their clocks may be ahead.
        """
        return not self.age or self.age < _NO_TIME or made is None or now - made > self.age
