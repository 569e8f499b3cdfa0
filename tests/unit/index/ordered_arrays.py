"""Values of every type that has an order, in this order."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.numpy_values import numpy_dtype

_NAN_PAYLOAD = {
    pa.float16(): (0x7E00, 0x7E01, 0xFE00),
    pa.float32(): (0x7FC00000, 0x7FC00001, 0xFFC00000),
    pa.float64(): (0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000000),
}


def _floats(kind: pa.DataType) -> pa.Array:
    dtype = numpy_dtype(kind)
    nan, payload, negative = np.array(_NAN_PAYLOAD[kind], f"u{dtype.itemsize}").view(dtype)
    low = np.array([-np.inf, -2.5, -1.0, -0.0, 0.0, 1.0, 2.5, np.inf], dtype)
    return pa.array(np.concatenate([[negative], low, [nan, payload]]).astype(dtype))


def ordered_arrays() -> list[pa.Array]:
    """Arrays of all types, each strictly ascending and without nulls."""
    numbers = [-5, -1, 0, 1, 7]
    texts = ["", "\0", "A", "a", "a\0", "ab", "b", "é", "\U0001f600"]
    binary = [text.encode() for text in texts] + [b"\xff"]
    decimals = [Decimal(v) for v in ("-300.25", "-1.00", "-0.25", "0.00", "0.25", "300.25")]
    signed = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.date32(), pa.duration("ms")]
    instants = [pa.timestamp(unit, zone) for unit, zone in (("s", None), ("ns", "UTC"))]
    times = [pa.time32("ms"), pa.time64("ns"), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    return [
        *(pa.array(numbers, kind) for kind in signed + instants),
        *(pa.array([0, 1, 100, 200], kind) for kind in times),
        pa.array([0, 2**63 - 1, 2**63, 2**64 - 1], pa.uint64()),
        pa.array([-86_400_000, 0, 86_400_000], pa.int64()).view(pa.date64()),
        pa.array([False, True]),
        *map(_floats, _NAN_PAYLOAD),
        *(pa.array(texts, kind) for kind in (pa.string(), pa.large_string())),
        *(pa.array(binary, kind) for kind in (pa.binary(), pa.large_binary())),
        pa.array([b"\0\0", b"\0a", b"a\0", b"ab", b"\xff\0"], pa.binary(2)),
        *(pa.array(decimals, kind) for kind in (pa.decimal128(8, 2), pa.decimal256(60, 2))),
        pa.array(["a", "b", "c"]).dictionary_encode(),
    ]
