"""Structs: a header column without data (message ``SimpleStruct``), and one field per member.

2.0 files do not store which structs are null.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.encodings.decoding import RowRange, together
from lance_core.encodings.v2_0.column import FieldPlan
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.decoding import DecodeContext, Decoding, Rows
    from lance_core.encodings.page import Column


class StructPlan(FieldPlan):
    """A struct field, perhaps with only some of its members."""

    __slots__ = ("header", "members", "path", "type")

    def __init__(
        self, header: Column, type_: pa.StructType, members: list[FieldPlan], path: str
    ) -> None:
        self.header = header
        self.type = type_
        self.members = members
        self.path = path

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `FieldPlan`."""
        last = rows.stop if isinstance(rows, RowRange) else int(rows.values[-1]) + 1
        if last > self.header.num_rows:
            raise CorruptFileError(
                f"row {last - 1} of a column that has {self.header.num_rows} rows", field=self.path
            )
        if not self.members:
            return [pa.Array.from_buffers(self.type, len(rows), [None], 0)]
        columns = yield from together([member.decode(rows, context) for member in self.members])
        return [
            pa.Array.from_buffers(self.type, len(arrays[0]), [None], 0, 0, arrays)
            for arrays in zip(*_aligned(columns), strict=True)
        ]


def _aligned(columns: list[list[pa.Array]]) -> list[list[pa.Array]]:
    """The columns cut so that the arrays of all have the same lengths."""
    edges = [list(accumulate((len(a) for a in arrays), initial=0)) for arrays in columns]
    if all(one == edges[0] for one in edges):
        return columns
    common = sorted(set().union(*edges))
    return [_cut(arrays, own, common) for arrays, own in zip(columns, edges, strict=True)]


def _cut(arrays: list[pa.Array], own: list[int], common: list[int]) -> list[pa.Array]:
    """``arrays``, whose edges are ``own``, cut at the edges ``common``, which include these."""
    pieces, number = [], 0
    for start, stop in pairwise(common):
        if start == own[number + 1]:
            number += 1
        pieces.append(arrays[number].slice(start - own[number], stop - start))
    return pieces
