"""Expand FSST codes of several pages, each of which has its own symbols."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.encodings.v2_1.codecs.fsst import packed_symbols
from lance_core.encodings.v2_1.codecs.values import VariableWidth
from lance_core.encodings.v2_1.codecs.values_take import downcast_offsets

if TYPE_CHECKING:
    from lance_core._pb.encodings_v2_1_pb2 import MiniBlockLayout
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.kernels import Kernels


class PageSymbols(NamedTuple):
    """The symbols and lengths of each page, None for a page without codes.

    ``chunks`` has the first chunk of each page, then the number of chunks.
    """

    tables: Sequence[tuple[bytes, bytes] | None]
    chunks: Int64Array

    @classmethod
    def of(
        cls, messages: Sequence[MiniBlockLayout], num_chunks: Sequence[int]
    ) -> PageSymbols | None:
        """The symbols of pages with the same encodings; None if they do not use FSST."""
        if messages[0].value_compression.WhichOneof("compression") != "fsst":
            return None
        tables = [packed_symbols(one.value_compression.fsst.symbol_table) for one in messages]
        return cls(tables, np.cumsum([0, *num_chunks]))

    def expand(self, codes: VariableWidth, edges: Int64Array, kernels: Kernels) -> VariableWidth:
        """The strings of ``codes``; page p has the values ``edges[p]`` to ``edges[p + 1]``."""
        octets, starts = codes.octets(), codes.offsets.astype(np.int64)
        texts: list[np.ndarray[tuple[int], np.dtype[np.uint8]]] = [np.empty(0, np.uint8)]
        ends = np.zeros(len(starts), np.int64)
        size = 0
        for table, (first, stop) in zip(self.tables, pairwise(edges.tolist()), strict=True):
            if first == stop:
                continue
            begin, end = int(starts[first]), int(starts[stop])
            text, inner = octets[begin:end], starts[first : stop + 1] - begin
            if table is not None:
                data, inner = kernels.fsst_decode(text, inner, *table)
                text = np.frombuffer(data, np.uint8)[: int(inner[-1])]
            np.add(inner[1:], size, out=ends[first + 1 : stop + 1])
            texts.append(text)
            size += len(text)
        data = pa.py_buffer(np.concatenate(texts))
        return VariableWidth(downcast_offsets(ends, codes.offset_bits), data)
