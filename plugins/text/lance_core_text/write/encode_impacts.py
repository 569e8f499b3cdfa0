"""Impacts: the pairs of frequency and length of a block that may have its best score.

A pair counts unless another one has a higher or equal frequency and a shorter document. Lengths are
rounded down to four bits. There is an entry for each block of a list, then one for each
`GROUP_BLOCKS` blocks: its last document and the number of pairs as varints; for each pair by
ascending frequency the difference of frequencies, less one, twice, plus one if the difference of
lengths is not one and follows as a byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.loops.encoding import BlockEncoder, Numbers
from lance_core_text.loops.library import is_compiled
from lance_core_text.postings.numbered_runs import numbered_runs
from lance_core_text.postings.varints import encode_varints
from lance_core_text.write.byte_pieces import Bytes, place_bytes
from lance_core_text.write.encode_blocks import BlockBounds

GROUP_BLOCKS = 32
"""Blocks that have an entry together."""

_LENGTH_BITS = 8
_FREQUENCY_BITS = 31


def rounded_lengths(lengths: Integers) -> Integers:
    """The number of each length: itself below 8, else its exponent and the three bits after it."""
    shifts = np.maximum(np.frexp(lengths)[1].astype(np.int64) - 4, 0)
    return np.where(lengths < 8, lengths, ((lengths >> shifts) & 7) | ((shifts + 1) << 3))


def encode_impacts(
    bounds: BlockBounds, documents: Numbers, frequencies: Numbers, rounded: npt.NDArray[Any]
) -> tuple[Bytes, Integers, Integers]:
    """The bytes of all entries, the offset of each and of the end, and the entries of each list.

    ``rounded``: the `rounded_lengths` of the document of each posting.
    """
    if is_compiled():
        encoder = BlockEncoder(documents, frequencies, bounds.counts, bounds.of_lists)
        return encoder.impacts(rounded)
    starts, counts, of_lists = bounds
    rounded = rounded.astype(np.int64)
    blocks = np.repeat(np.arange(len(starts)), counts)
    pairs = _best_pairs(blocks, frequencies, rounded)
    of_groups = -(-of_lists // GROUP_BLOCKS)
    first_groups = np.cumsum(of_groups) - of_groups
    lists, number = numbered_runs(of_lists)
    group_of_block = first_groups[lists] + number // GROUP_BLOCKS
    group_pairs = _best_pairs(group_of_block[pairs[0]], *pairs[1:])
    lasts = documents[starts + counts - 1]
    is_last = np.append(group_of_block[1:] != group_of_block[:-1], True)[: len(starts)]
    # The entries of a list: its blocks, then its groups.
    of_entries = of_lists + of_groups
    first_entries = np.cumsum(of_entries) - of_entries
    entry_of_block = first_entries[lists] + number
    group_lists = np.repeat(np.arange(len(of_lists)), of_groups)
    group_number = np.arange(len(group_lists)) - first_groups[group_lists]
    entry_of_group = first_entries[group_lists] + of_lists[group_lists] + group_number
    entries = np.concatenate([entry_of_block, entry_of_group])
    all_lasts = np.empty(len(entries), np.int64)
    all_lasts[entries] = np.concatenate([lasts, lasts[is_last]])
    owners = np.concatenate([entry_of_block[pairs[0]], entry_of_group[group_pairs[0]]])
    order = np.argsort(owners, kind="stable")
    times, sizes = (np.concatenate([pairs[at], group_pairs[at]])[order] for at in (1, 2))
    data, offsets = _encoded(all_lasts, owners[order], times, sizes)
    return data, offsets, of_entries


def _best_pairs(
    owners: Integers, frequencies: Integers, rounded: Integers
) -> tuple[Integers, Integers, Integers]:
    """The pairs of each owner that count, by owner and frequency: owners, frequencies, lengths.

    Owners ascend, and are fewer than 2 ** 24.
    """
    top = (1 << _FREQUENCY_BITS) - 1
    keys = (owners << (_FREQUENCY_BITS + _LENGTH_BITS)) | rounded
    keys |= (top - frequencies.astype(np.int64)) << _LENGTH_BITS  # the highest one first
    keys.sort()
    lengths = keys & ((1 << _LENGTH_BITS) - 1)
    owners = keys >> (_FREQUENCY_BITS + _LENGTH_BITS)
    # Lengths of an owner are below those of the one before, so that each begins anew.
    falling = lengths - (owners << _LENGTH_BITS)
    counts = np.ones(len(keys), np.bool_)
    counts[1:] = falling[1:] < np.minimum.accumulate(falling)[:-1]
    keys, owners, lengths = keys[counts], owners[counts], lengths[counts]
    sizes = np.bincount(owners) if len(owners) else owners
    ends = np.cumsum(sizes)
    order = (2 * ends - sizes)[owners] - 1 - np.arange(len(owners))  # back to front for each owner
    frequencies = top - ((keys >> _LENGTH_BITS) & top)
    return owners, frequencies[order], lengths[order]


def _encoded(
    lasts: Integers, owners: Integers, frequencies: Integers, lengths: Integers
) -> tuple[Bytes, Integers]:
    """The bytes of entries with these last documents, and the offset of each and of the end."""
    is_first = np.append(True, owners[1:] != owners[:-1])[: len(owners)]
    steps = np.diff(frequencies, prepend=0)
    longer = np.diff(lengths, prepend=0)
    steps[is_first], longer[is_first] = frequencies[is_first], lengths[is_first]
    has_byte = longer != 1
    # An entry is a row of numbers, some of which are bytes and all others varints.
    sizes = 1 + has_byte
    before = np.cumsum(sizes) - sizes
    counts = np.bincount(owners, minlength=len(lasts))
    of_entries = np.bincount(owners, weights=sizes, minlength=len(lasts)).astype(np.int64)
    headers = 2 * np.arange(len(lasts)) + np.cumsum(of_entries) - of_entries
    firsts = 2 * (owners + 1) + before
    numbers = np.empty(2 * len(lasts) + int(sizes.sum()), np.int64)
    is_byte = np.zeros(len(numbers), np.bool_)
    numbers[headers], numbers[headers + 1] = lasts, counts
    numbers[firsts] = ((steps - 1) << 1) | has_byte
    numbers[firsts[has_byte] + 1] = longer[has_byte]
    is_byte[firsts[has_byte] + 1] = True
    data, varint_sizes = encode_varints(numbers[~is_byte])
    widths = np.ones(len(numbers), np.int64)
    widths[~is_byte] = varint_sizes
    ends = np.cumsum(widths)
    out = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    starts = ends - widths
    place_bytes(out, starts[~is_byte], varint_sizes, data)
    out[starts[is_byte]] = numbers[is_byte]
    return out, np.append(starts[headers], len(out))
