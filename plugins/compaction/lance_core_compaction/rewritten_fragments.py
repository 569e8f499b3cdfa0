"""The result of writing fragments anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_core.maintenance import Fragment
    from lance_core.optimize import CompactionMetrics


@dataclass(frozen=True, slots=True)
class RewrittenFragments:
    """New fragments with id 0, and what a copy has done to write them.

    ``counts``: pages copied and encoded again, and bytes of copied pages; all zero for rows that
    were all encoded again.
    """

    fragments: tuple[Fragment, ...]
    counts: CompactionMetrics
