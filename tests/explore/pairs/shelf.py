"""What the files hold that exist by name only: data files and indices."""

from __future__ import annotations

import uuid
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.explore.pairs.model import Cell

Address: TypeAlias = Hashable
"""How an index knows a row: by (fragment, offset), or by its stable id."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Contents: columns of data files by path, indexed values by the index's uuid and the row."""

    files: dict[str, Mapping[int, Sequence[Cell]]] = field(default_factory=dict)
    indices: dict[uuid.UUID, Mapping[Address, tuple[Cell, ...]]] = field(default_factory=dict)

    def copy(self) -> Shelf:
        """The same contents, to which more can be added."""
        return Shelf(dict(self.files), dict(self.indices))
