"""Whether both libraries rank rows by their codes alike."""

from __future__ import annotations

from collections import Counter
from typing import Any

import lance
import pyarrow as pa

import lance_core
from tests.interop.vector_sequences.answers import TOLERANCE, alike, answer, finite, text
from tests.interop.vector_sequences.changes import Change

COMPARED_BY_CODES = ("IVF_FLAT", "IVF_PQ", "IVF_SQ")
"""Kinds whose codes both libraries compare by the same rule."""

ALL = 100_000
"""More rows than a table has."""


def check_codes(change: Change, nearest: dict[str, Any], counts: Counter[str]) -> None:
    """Compare the rows of the index alone, and those with rows that it does not cover."""
    for keys in ({"nprobes": 1_000}, {"nprobes": 1}):
        _check(change, nearest | keys, f"{keys}", counts)


def _check(change: Change, nearest: dict[str, Any], keys: str, counts: Counter[str]) -> None:
    by, tolerance = "+".join(sorted(change.indexed_by)), 10 * TOLERANCE[change.setting.number]
    k, indexed = nearest["k"], {"fast_search": True}
    ours = answer(lance_core, change.uri, nearest, indexed)
    theirs = answer(lance, change.uri, nearest, indexed)
    all_ours = finite(answer(lance_core, change.uri, nearest | {"k": ALL}, indexed))
    if len(theirs) < len(ours) and change.setting.stable:
        # With stable row ids, pylance drops rows that a compaction has removed only after it has
        # chosen the k nearest ones, also from an index of its own.
        every = answer(lance, change.uri, nearest | {"k": ALL}, indexed).slice(0, k)
        assert alike(finite(ours), finite(every), tolerance), _message(keys, k, every, ours)
        counts[f"codes of {by}, {keys}: pylance finds too few"] += 1
        return
    assert alike(finite(ours), finite(theirs), tolerance), _message(keys, k, theirs, ours)
    ours = answer(lance_core, change.uri, nearest, {})
    theirs = answer(lance, change.uri, nearest, {})
    ties = _ties(all_ours, k, tolerance)
    own, other = ([row for row in finite(one) if row[0] not in ties] for one in (ours, theirs))
    shorter = min(len(own), len(other))
    same = len(ours) == len(theirs) and alike(own[:shorter], other[:shorter], tolerance)
    assert same, _message(keys, k, theirs, ours)
    counts[f"codes of {by}, {keys}: pylance agrees"] += 1


def _ties(rows: list[tuple[int, float]], k: int, tolerance: float) -> set[int]:
    """The rows that are as near by their codes as the last of the ``k`` nearest.

    Either library may compare any of them exactly with rows that the index does not cover.
    """
    if len(rows) <= k:
        return set()
    last = rows[k - 1][1]
    margin = 2 * tolerance * max(1.0, abs(last))
    return {id_ for id_, distance in rows if abs(distance - last) <= margin}


def _message(keys: str, k: int, theirs: pa.Table, ours: pa.Table) -> str:
    return f"codes {keys}, k={k}: {text(theirs)} by pylance, {text(ours)}"
