"""Strings compressed with FSST (message ``Fsst``); the codes are stored as binary values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Fsst
from lance_core.encodings.arrow.decode_budget import spend
from lance_core.encodings.arrow.strings import Spans, is_variable, offset_dtype, variable_arrays
from lance_core.encodings.compression import fsst
from lance_core.encodings.kernels.numpy.fsst_train import fsst_sample
from lance_core.encodings.v2_0.base import ArrayPlan, EncodeScope, PlanScope, plan_array
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows

_MIN_BYTES = 32 << 10
"""Minimum bytes to compress. Smaller data is stored unchanged, with an inactive symbol table."""

_EXPANSION = 2
"""Bytes that a code counts beside itself in a budget: text has about three times its codes."""


@dataclass(frozen=True, slots=True)
class FsstPlan(ArrayPlan):
    """Decodes strings: ``codes`` decodes their codes as large_binary.

    ``symbols``: see `SymbolTable.packed`.
    """

    type: pa.DataType
    codes: ArrayPlan
    symbols: tuple[bytes, bytes]

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `ArrayPlan`."""
        arrays = yield from self.codes.decode(rows, context)
        return [plain for array in arrays for plain in self._plain(array, context)]

    def _plain(self, array: pa.Array, context: DecodeContext) -> list[pa.Array]:
        _, offsets, data = array.buffers()
        edges = np.frombuffer(offsets, np.int64, len(array) + 1, array.offset * 8)
        codes = np.frombuffer(data, np.uint8)
        spend(_EXPANSION * int(edges[-1] - edges[0]))
        text, offsets = context.kernels.fsst_decode(codes, edges, *self.symbols)
        valid = np.asarray(array.is_valid()) if array.null_count else None
        return variable_arrays(self.type, Spans(0, offsets[1:], valid), text, context.validate_utf8)


def decode_fsst(encoding: Fsst, scope: PlanScope) -> ArrayPlan:
    """`ArrayDecoder` of ``fsst``."""
    if not is_variable(scope.type):
        raise CorruptFileError(f"a column of type {scope.type} has FSST strings")
    symbols = fsst.packed_symbols(encoding.symbol_table)
    if symbols is None:
        return plan_array(encoding.binary, scope)
    # Codes are no UTF-8, and their offsets may need 64 bits.
    codes = plan_array(encoding.binary, scope.inner(pa.large_binary()))
    return FsstPlan(scope.type, codes, symbols)


def encode_fsst(array: pa.Array, scope: EncodeScope) -> ArrayEncoding:
    """`ArrayEncoder` of ``fsst`` for strings and binary values; trains symbols on a sample."""
    if not is_variable(array.type):
        raise UnsupportedFeatureError(f"{array.type} cannot be compressed with FSST")
    kernels = scope.registry.kernels
    inner = EncodeScope(scope.registry, scope.buffers)
    _, offset_buffer, data = array.buffers()
    dtype = np.dtype(offset_dtype(array.type))
    table = fsst.SymbolTable((), active=False)
    if len(array) and offset_buffer is not None and data is not None:
        offset = array.offset * dtype.itemsize
        edges = np.frombuffer(offset_buffer, dtype, len(array) + 1, offset).astype(np.int64)
        if edges[-1] - edges[0] >= _MIN_BYTES:
            sample = fsst_sample(data, edges[:-1], edges[1:])
            trained = fsst.SymbolTable(kernels.fsst_train(sample))
            texts = np.frombuffer(data, np.uint8)
            codes, ends = kernels.fsst_encode(texts, edges[:-1], edges[1:], *trained.packed)
            if codes.size < edges[-1] - edges[0]:
                table = trained
                valid = np.asarray(array.is_valid()) if array.null_count else None
                (array,) = variable_arrays(
                    pa.large_binary(), Spans(0, ends[1:], valid), codes, False
                )
    binary = inner.encode("binary", array)
    return ArrayEncoding(fsst=Fsst(binary=binary, symbol_table=table.to_bytes()))
