"""The result of writing fragments anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_core.maintenance import Fragment


@dataclass(slots=True)
class RewriteCounts:
    """What was done to write files: pages copied and encoded again, bytes of copied pages."""

    pages_copied: int = 0
    pages_reencoded: int = 0
    bytes_copied: int = 0

    def add(self, more: RewriteCounts) -> None:
        """Add what was done to write another file."""
        self.pages_copied += more.pages_copied
        self.pages_reencoded += more.pages_reencoded
        self.bytes_copied += more.bytes_copied


@dataclass(frozen=True, slots=True)
class RewrittenFragments:
    """New fragments with id 0, and what a copy has done to write them.

    The counts are zero for rows that were all encoded again.
    """

    fragments: tuple[Fragment, ...]
    counts: RewriteCounts
