"""Dictionary encoding (message ``Dictionary``), in two variants that only the column type tells.

A column of Arrow dictionary type stores its keys; a null key points to a null item. A string column
with few distinct values stores 1-based indices, and index 0 is null.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Dictionary
from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET
from lance_core.encodings.arrow.decode_budget import spend_at_most
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.encodings.arrow.numpy_values import to_scalar
from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.decoding import RowRange, run_interleaved
from lance_core.encodings.v2_0.base import ArrayPlan, EncodeScope, PlanScope, plan_array
from lance_core.encodings.v2_0.nullable import AllNullPlan
from lance_core.errors import CorruptFileError, ResultTooLargeError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.empty_arrays import empty_array

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows

Items = TypeVar("Items")
Indices = npt.NDArray[np.integer[Any]]

_KEPT_BYTES = 64 << 10
_INDEX_TYPES = {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}


@dataclass(frozen=True, slots=True)
class _DictionaryPlan(ArrayPlan, Generic[Items]):
    """Decodes indices into ``num_items`` items; caches small items in ``_kept`` after first use."""

    type: pa.DataType
    indices: ArrayPlan
    items: ArrayPlan
    num_items: int
    _kept: list[Items] = field(default_factory=list, compare=False, repr=False)

    def _read(self, rows: Rows, context: DecodeContext) -> Decoding[tuple[Indices, Items]]:
        """The indices of ``rows``, all checked to be in range, and the prepared items."""
        if self._kept:
            arrays = yield from self.indices.decode(rows, context)
            items = self._kept[0]
        elif not self.num_items:
            arrays = yield from self.indices.decode(rows, context)
            items = self._prepare([])
        else:
            everything = RowRange(0, self.num_items)
            arrays, stored = yield from run_interleaved(
                [self.indices.decode(rows, context), self.items.decode(everything, context)]
            )
            items = self._prepare(stored)
            if sum(part.nbytes for part in stored) <= _KEPT_BYTES:
                self._kept.append(items)
        array = concat_arrays(arrays)
        if array.null_count:
            raise CorruptFileError("the index of an item is null", field="Dictionary.indices")
        return array.to_numpy(), items

    def _prepare(self, stored: list[pa.Array]) -> Items:
        """Convert the stored items into the form that `decode` uses."""
        raise NotImplementedError


class ArrowDictionaryPlan(_DictionaryPlan[pa.Array]):
    """Decodes arrays of Arrow dictionary type. Drops null items; their indices become null."""

    __slots__ = ()

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `ArrayPlan`."""
        values, items = yield from self._read(rows, context)
        _check_range(values, len(items))
        indices = pa.array(values, self.type.index_type)
        if items.null_count:
            is_null = np.asarray(items.is_null())
            missing = is_null[values]
            before = np.cumsum(is_null).astype(values.dtype)
            moved = np.where(missing, 0, values - before[values])
            indices = pa.array(moved, self.type.index_type, mask=missing)
            items = items.drop_null()  # Arrow cannot unify dictionaries that contain nulls
        ordered = self.type.ordered
        return [pa.DictionaryArray.from_arrays(indices, items, ordered=ordered, safe=False)]

    def _prepare(self, stored: list[pa.Array]) -> pa.Array:
        return concat_arrays(stored) if stored else empty_array(self.type.value_type)


class _Strings(NamedTuple):
    """Items of a dictionary by index; index 0 is null. ``longest``: bytes of the longest item."""

    items: pa.Array
    longest: int

    def check(self, indices: Indices) -> None:
        """Raise `ResultTooLargeError` if the items at ``indices`` take 2 GiB or more.

        Also spends their bytes.
        """

        def size() -> int:
            lengths = pc.fill_null(pc.binary_length(self.items), 0).to_numpy()
            return int(lengths.take(indices).sum(dtype=np.int64))

        if spend_at_most(self.longest * len(indices), size, MAX_OFFSET):
            raise ResultTooLargeError(
                f"{len(indices)} strings of a dictionary take {size()} bytes; one array holds "
                f"{MAX_OFFSET}"
            )


class StringDictionaryPlan(_DictionaryPlan[_Strings]):
    """Decodes arrays of plain strings; index 0 is null."""

    __slots__ = ()

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `ArrayPlan`."""
        indices, strings = yield from self._read(rows, context)
        _check_range(indices, len(strings.items))
        if len(indices) == 1:
            return [strings.items.slice(int(indices[0]), 1)]
        strings.check(indices)
        return [strings.items.take(pa.array(indices))]

    def _prepare(self, stored: list[pa.Array]) -> _Strings:
        items = concat_arrays([pa.nulls(1, self.type), *stored])
        return _Strings(items, pc.max(pc.binary_length(items)).as_py() or 0)


def _check_range(indices: Indices, limit: int) -> None:
    largest = int(indices.max())
    smallest = int(indices.min()) if indices.dtype.kind == "i" else 0
    if largest >= limit or smallest < 0:
        wrong = largest if largest >= limit else smallest
        raise CorruptFileError(
            f"index {wrong} is outside of the dictionary of {limit} entries",
            field="Dictionary.indices",
        )


def decode_dictionary(encoding: Dictionary, scope: PlanScope) -> ArrayPlan:
    """`ArrayDecoder` of ``dictionary``."""
    count = encoding.num_dictionary_items
    if pa.types.is_dictionary(scope.type):
        indices = plan_array(encoding.indices, scope.inner(scope.type.index_type))
        items = plan_array(encoding.items, scope.inner(scope.type.value_type, count))
        if isinstance(items, AllNullPlan):
            return AllNullPlan(scope.type)
        return ArrowDictionaryPlan(scope.type, indices, items, count)
    if not is_variable(scope.type):
        raise UnsupportedFeatureError(
            f"a column of type {scope.type} has dictionary-encoded values"
        )
    indices = plan_array(encoding.indices, scope.inner(_index_type(encoding.indices)))
    items = plan_array(encoding.items, scope.inner(scope.type, count))
    if isinstance(items, AllNullPlan):
        return items
    return StringDictionaryPlan(scope.type, indices, items, count)


def _index_type(encoding: ArrayEncoding) -> pa.DataType:
    if encoding.WhichOneof("array_encoding") == "nullable":
        encoding = encoding.nullable.no_nulls.values
    bits = encoding.flat.bits_per_value
    if bits not in _INDEX_TYPES:
        raise CorruptFileError(
            f"dictionary indices have an invalid width of {bits} bits", field="Dictionary.indices"
        )
    return _INDEX_TYPES[bits]


def encode_dictionary(array: pa.Array, scope: EncodeScope) -> ArrayEncoding:
    """`ArrayEncoder` of ``dictionary``, for arrays of dictionary type and for strings.

    Strings must have at most 255 distinct values.
    """
    if not pa.types.is_dictionary(array.type):
        return encode_strings(array.dictionary_encode(), scope)
    keys, items = array.indices, array.dictionary
    if keys.null_count == len(keys):
        keys, items = pa.array(np.zeros(len(keys)), keys.type), pa.nulls(1, items.type)
    elif keys.null_count:
        if not items.null_count:
            items = concat_arrays([items, pa.nulls(1, items.type)])
        null_item = pc.index(items.is_null(), True).as_py()
        if null_item >= 1 << (keys.type.bit_width - pa.types.is_signed_integer(keys.type)):
            raise UnsupportedFeatureError(
                f"{len(items) - 1} items and null cannot be told apart by keys of {keys.type}"
            )
        keys = keys.fill_null(to_scalar(null_item, keys.type))
    return _encode(keys, items, scope)


def encode_strings(encoded: pa.DictionaryArray, scope: EncodeScope) -> ArrayEncoding:
    """Encode dictionary-encoded strings as 1-based indices of 8 bits."""
    items = encoded.dictionary
    if len(items) > 255:
        raise UnsupportedFeatureError(f"{len(items)} distinct strings need more than 8 bits")
    keys = encoded.indices.fill_null(-1).to_numpy()
    if len(items) == 0:  # some readers cannot decode an empty dictionary
        items = pa.nulls(1, items.type)
    return _encode(pa.array((keys + 1).astype(np.uint8)), items, scope)


def _encode(indices: pa.Array, items: pa.Array, scope: EncodeScope) -> ArrayEncoding:
    plain = EncodeScope(scope.registry, scope.buffers)
    return ArrayEncoding(
        dictionary=Dictionary(
            indices=plain.encode("nullable", indices),
            items=plain.encode("binary" if is_variable(items.type) else "nullable", items),
            num_dictionary_items=len(items),
        )
    )
