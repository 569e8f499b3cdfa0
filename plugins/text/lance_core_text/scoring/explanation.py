"""`Explanation`: how a score is computed, as a tree of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Explanation:
    """A number, what it is, and the numbers that it is computed from.

    ``str`` shows the tree with one number a line.
    """

    value: float
    description: str
    details: tuple[Explanation, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The tree as dictionaries and lists, for example for JSON."""
        details = [part.to_dict() for part in self.details]
        return {"value": self.value, "description": self.description, "details": details}

    def __str__(self) -> str:
        return "\n".join(_lines(self, 0))


def _lines(part: Explanation, depth: int) -> Iterator[str]:
    yield f"{'  ' * depth}{part.value:.9g} = {part.description}"
    for detail in part.details:
        yield from _lines(detail, depth + 1)
