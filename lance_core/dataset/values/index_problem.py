"""`IndexProblem`: what a verification of an index has found."""

from __future__ import annotations

from lance_core.lazy_dataclass import dataclass


@dataclass(frozen=True)
class IndexProblem:
    """What is wrong with what a segment of an index has of a row.

    ``fragment_id`` and ``offset``: where the row is now; None for a row that does not exist.
    """

    segment: str
    fragment_id: int | None
    offset: int | None
    text: str

    def __str__(self) -> str:
        return (
            f"segment {self.segment}: row {self.offset} of fragment {self.fragment_id} {self.text}"
        )
