"""Build Arrow struct arrays from the arrays of their members, which may be chunked differently."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pyarrow as pa


def struct_arrays(
    type_: pa.StructType, columns: list[list[pa.Array]], num_rows: int
) -> list[pa.Array]:
    """Structs of ``num_rows`` rows without nulls; ``columns`` has the arrays of each member."""
    if not columns:
        return [pa.Array.from_buffers(type_, num_rows, [None], 0)]
    return [
        pa.Array.from_buffers(type_, len(arrays[0]), [None], 0, 0, arrays)
        for arrays in zip(*_aligned(columns), strict=True)
    ]


def _aligned(columns: list[list[pa.Array]]) -> list[list[pa.Array]]:
    """The columns, rechunked so that the arrays of all columns have the same lengths."""
    edges = [list(accumulate((len(a) for a in arrays), initial=0)) for arrays in columns]
    if all(own == edges[0] for own in edges):
        return columns
    common = sorted(set().union(*edges))
    return [_cut(arrays, own, common) for arrays, own in zip(columns, edges, strict=True)]


def _cut(arrays: list[pa.Array], own: list[int], common: list[int]) -> list[pa.Array]:
    """``arrays`` with the edges ``own``, cut at the edges ``common``, a superset of ``own``."""
    pieces, number = [], 0
    for start, stop in pairwise(common):
        if start == own[number + 1]:
            number += 1
        pieces.append(arrays[number].slice(start - own[number], stop - start))
    return pieces
