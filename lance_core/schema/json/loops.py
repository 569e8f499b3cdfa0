"""Convert many JSON documents by a compiled loop, and those that it leaves out one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.schema.json.members import Int64Array

BATCH_BYTES = 4 << 20
"""Bytes of documents to convert at once; a loop needs memory for several times as many."""

JsonLoop: TypeAlias = Callable[
    [npt.NDArray[np.uint8], Int64Array], tuple[pa.Buffer, Int64Array, Int64Array]
]
"""Converts the documents ``data[offsets[i]:offsets[i + 1]]``.

Returns the bytes of all results, their offsets, and the ascending positions of the documents that
it leaves out, whose results are empty. A document is left out, not refused, if it is none.
"""


class JsonLoops(Protocol):
    """The loops of `lance_core.encodings.kernels.Kernels` that convert documents."""

    @property
    def encode_json(self) -> JsonLoop | None:
        """From JSON text, in UTF-8, to binary JSON."""

    @property
    def decode_json(self) -> JsonLoop | None:
        """From binary JSON to JSON text."""


def convert(
    documents: pa.Array,
    type_: pa.DataType,
    loop: JsonLoop,
    convert_one: Callable[[int, Any], str | bytes],
) -> pa.Array:
    """The results of ``documents``, strings or binary values, as an array of a large ``type_``.

    ``convert_one`` gets the position and the value of a document that ``loop`` leaves out.
    """
    large = pa.large_string() if pa.types.is_large_binary(type_) else pa.large_binary()
    documents = documents.cast(large)
    parts = [_converted(documents, part, type_, loop, convert_one) for part in _batches(documents)]
    array = pa.concat_arrays(parts) if parts else pa.array([], type_)
    if not documents.null_count:
        return array
    import pyarrow.compute as pc

    return pc.if_else(documents.is_valid(), array, pa.scalar(None, type_))


def _offsets(documents: pa.Array) -> Int64Array:
    stored = documents.buffers()[1]
    if not len(documents) or stored is None:
        return np.zeros(1, np.int64)
    return np.frombuffer(stored, np.int64, len(documents) + 1, documents.offset * 8)


def _batches(documents: pa.Array) -> Iterator[slice]:
    offsets, start = _offsets(documents), 0
    while start < len(documents):
        stop = int(np.searchsorted(offsets, offsets[start] + BATCH_BYTES, side="right")) - 1
        stop = max(stop, start + 1)
        yield slice(start, stop)
        start = stop


def _converted(
    documents: pa.Array,
    part: slice,
    type_: pa.DataType,
    loop: JsonLoop,
    convert_one: Callable[[int, Any], str | bytes],
) -> pa.Array:
    """The results of a part; those of nulls are empty."""
    offsets = _offsets(documents)[part.start : part.stop + 1]
    body = documents.buffers()[2]
    data = np.frombuffer(b"" if body is None else body, np.uint8)
    made, edges, rest = loop(data[offsets[0] : offsets[-1]], offsets - offsets[0])
    buffers = [None, pa.py_buffer(edges), made]
    array = pa.Array.from_buffers(type_, part.stop - part.start, buffers)
    if documents.null_count:
        rest = rest[np.asarray(documents.is_valid())[rest + part.start]]
    if not len(rest):
        return array
    import pyarrow.compute as pc

    left = [convert_one(row, documents[row].as_py()) for row in (rest + part.start).tolist()]
    mask = np.zeros(len(array), np.bool_)
    mask[rest] = True
    return pc.replace_with_mask(array, pa.array(mask), pa.array(left, type_))
