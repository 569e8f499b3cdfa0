"""What an operation touches, and what the conflict table should therefore say about two of them.

The conditions of the table's letters, a second time: on what a test knows about its operations
rather than on their messages.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias

Strings: TypeAlias = frozenset[str]
Numbers: TypeAlias = frozenset[int]


@dataclass(frozen=True, slots=True)
class Footprint:
    """What an operation, computed from a version, changes of it.

    ``fragments``: existing ones that it changes. ``dropped``: those that a delete removes.
    ``moved``: those whose rows a rewrite stores elsewhere. ``rows``: those that it deletes or
    moves; ``knows_rows``: whether the committer is told. ``replaced`` are fields whose values it
    gives anew in their place, ``cells`` the same with the fragment, of a replacement.
    ``covered`` and ``indexed``: fragments and fields of new indices. ``keys``: identities of rows
    it inserts if they are not there. ``described``: fields that it stores with their metadata.
    ``removed`` and ``rewritten``: indices that it takes away, or exchanges. ``writes``: values and
    settings that it changes, having seen the old ones; of rows these are pairs of identity and
    column. ``deletes``: rows that go. ``stored``: fields of rows
    that it appends. ``schema``: all fields that a merge leaves.
    """

    fragments: Numbers = frozenset()
    dropped: Numbers = frozenset()
    moved: Numbers = frozenset()
    rows: Strings = frozenset()
    knows_rows: bool = False
    replaced: Numbers = frozenset()
    cells: frozenset[tuple[int, int]] = frozenset()
    covered: Numbers = frozenset()
    indexed: Numbers = frozenset()
    index_names: Strings = frozenset()
    keys: Strings = frozenset()
    settings: Strings = frozenset()
    metadata: frozenset[Hashable] = frozenset()
    described: Numbers = frozenset()
    removed: Strings = frozenset()
    rewritten: Strings = frozenset()
    bases: Strings = frozenset()
    writes: frozenset[Hashable] = frozenset()
    deletes: Strings = frozenset()
    stored: Numbers = frozenset()
    schema: Numbers = frozenset()

    def loses(self, committed: Footprint) -> frozenset[Hashable]:
        """What ``committed`` wrote and this, computed from before that, would overwrite."""
        deleted = {
            cell for cell in committed.writes if isinstance(cell, tuple) and cell[0] in self.deletes
        }
        return (self.writes & committed.writes) | deleted


def conclusion(letter: str, ours: Footprint, theirs: Footprint) -> str:
    """What a letter of the table comes to: ``.``, ``R`` or ``X``."""
    if letter in {".", "R", "X"}:
        return letter
    holds = {
        "r": _rows_meet(ours, theirs),
        "s": bool(ours.fragments & theirs.fragments),
        "u": _rows_meet(ours, theirs) or bool(ours.keys & theirs.keys),
        "v": bool(ours.fragments & theirs.fragments or ours.keys & theirs.keys),
        "n": bool(ours.index_names & theirs.index_names),
        "c": _indices_meet(ours, theirs) or _indices_meet(theirs, ours),
        "i": bool(ours.indexed & theirs.replaced or theirs.indexed & ours.replaced),
        "f": bool(ours.replaced & theirs.replaced),
        "g": bool(ours.cells & theirs.cells),
        "a": bool(theirs.schema and ours.stored - theirs.schema),
        "e": bool(ours.described & theirs.metadata),
        "d": bool(ours.fragments & theirs.dropped),
        "k": bool(ours.settings & theirs.settings),
        "m": bool(ours.metadata & theirs.metadata),
        "b": bool(ours.bases & theirs.bases),
    }[letter]
    if not holds:
        return "."
    return "X" if letter in "dkmb" else "R"


def _rows_meet(ours: Footprint, theirs: Footprint) -> bool:
    if not ours.fragments & theirs.fragments:
        return False
    return not ours.knows_rows or bool(ours.rows & theirs.rows)


def _indices_meet(indexing: Footprint, rewriting: Footprint) -> bool:
    return bool(indexing.covered & rewriting.moved or indexing.removed & rewriting.rewritten)
