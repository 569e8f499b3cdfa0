"""From the terms of texts to posting lists."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.loops.library import is_compiled, native

Numbers = npt.NDArray[np.int32]


class Inverted(NamedTuple):
    """Posting lists, one after the other: how many postings each has, and those of all lists.

    A posting is a document and its frequency; documents ascend. ``positions``: those of all
    postings, as many for each as its frequency.
    """

    counts: Integers
    documents: Numbers
    frequencies: Numbers
    positions: Numbers | None


def inverted(
    numbers: Numbers, documents: Numbers, positions: Numbers | None, ranks: Integers
) -> Inverted:
    """The posting lists of terms of texts, each with a number, its document and its position.

    Terms are in the order of their texts, and ``documents`` ascend. ``ranks``: the list of each
    number, a permutation.
    """
    if not is_compiled():
        return _by_numpy(numbers, documents, positions, ranks)
    counts = np.empty(len(ranks), np.int64)
    own, frequencies = np.empty(len(numbers), np.int32), np.empty(len(numbers), np.int32)
    of_lists = np.empty(0 if positions is None else len(numbers), np.int32)
    stored_positions = np.empty(0, np.int32) if positions is None else positions
    size = native.invert(
        numbers, documents, stored_positions, ranks, counts, own, frequencies, of_lists
    )
    all_positions = None if positions is None else of_lists
    return Inverted(counts, own[:size], frequencies[:size], all_positions)


def _by_numpy(
    numbers: Numbers, documents: Numbers, positions: Numbers | None, ranks: Integers
) -> Inverted:
    # The terms of the texts, by list; those of one list in the order of the texts.
    keys = (ranks[numbers] << 40) | np.arange(len(numbers))
    keys.sort()
    order = keys & ((1 << 40) - 1)
    own, owners = keys >> 40, documents[order]
    firsts = np.flatnonzero(_changes(own) | _changes(owners))
    return Inverted(
        np.bincount(own[firsts], minlength=len(ranks)),
        owners[firsts],
        np.diff(np.append(firsts, len(own))).astype(np.int32),
        None if positions is None else positions[order],
    )


def _changes(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """True for each value that differs from the one before it, and for the first."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]
