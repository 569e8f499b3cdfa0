"""What a verification says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lance_core.commands import one_line

DELETION_FILE = "deletion file"
"""What is damaged where the deleted rows of a fragment are not known."""


@dataclass(frozen=True)
class Problem:
    """Something of a table that is damaged or missing.

    ``what``: ``"version"``, ``"fragment"``, ``"column"``, `DELETION_FILE`, ``"row ids"``,
    ``"index"`` or ``"tag"``. ``name``: the version, the id of the fragment, or the name of the
    index or tag; of a column, the fragment and the column. ``text``: the error, which names file,
    offset or field.
    """

    what: str
    name: str
    text: str
    fragment_id: int | None = None
    column: str | None = None

    def in_words(self) -> str:
        """One line for a terminal."""
        return f"damaged: {self.what} {one_line(self.name)}: {one_line(self.text)}"

    def asdict(self) -> dict[str, Any]:
        """The attributes that are not None."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass
class VerifyReport:
    """What was checked of one version of a table, and all problems.

    ``level``: see `verify`. ``fragments``, ``rows`` and ``indices`` are numbers of what was
    checked; ``summed``: the bytes whose checksums are right; ``bytes``: those of the decoded
    columns. ``unchecked``: indices that were not compared
    with rows, and why.
    """

    uri: str
    version: int
    level: str
    versions: int = 0
    fragments: int = 0
    rows: int = 0
    summed: int = 0
    bytes: int = 0
    indices: int = 0
    problems: list[Problem] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """True if nothing is damaged or missing."""
        return not self.problems

    def asdict(self) -> dict[str, Any]:
        """The attributes, for JSON."""
        return {**vars(self), "problems": [problem.asdict() for problem in self.problems]}
