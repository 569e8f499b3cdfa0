"""bfloat16 in Arrow: the upper 16 bits of a float32, as the extension type ``lance.bfloat16``.

The storage type is ``fixed_size_binary(2)``, little endian. After this module is imported,
reads return the type.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.tools import register_extension_type

if TYPE_CHECKING:
    import numpy.typing as npt

BFLOAT16 = "lance.bfloat16"


@functools.total_ordering
class BFloat16:
    """A bfloat16 value, rounded to the nearest one (ties to even)."""

    __slots__ = ("_bits",)

    def __init__(self, value: float) -> None:
        self._bits = int(_rounded(np.array([value], np.float32))[0])

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The value stored as two little-endian bytes; raises ``ValueError`` for other lengths."""
        if len(data) != 2:
            raise ValueError(f"a bfloat16 has 2 bytes, got {len(data)}")
        value = cls(0.0)
        value._bits = int.from_bytes(data, "little")
        return value

    def as_float(self) -> float:
        """The value, exactly."""
        (value,) = struct.unpack("<f", struct.pack("<I", self._bits << 16))
        return float(value)

    def __float__(self) -> float:
        return self.as_float()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BFloat16):
            return NotImplemented
        return self.as_float() == other.as_float()

    def __lt__(self, other: BFloat16) -> bool:
        if not isinstance(other, BFloat16):
            return NotImplemented
        return self.as_float() < other.as_float()

    def __hash__(self) -> int:
        return hash(self.as_float())

    def __repr__(self) -> str:
        return repr(self.as_float())


class BFloat16Array(pa.ExtensionArray):  # type: ignore[misc]  # pyarrow has no types
    """An Arrow array of bfloat16 values."""

    @classmethod
    def from_numpy(cls, array: npt.NDArray[Any]) -> pa.Array:
        """The values of an array of the dtype ``bfloat16`` of ``ml_dtypes``, without a copy.

        Raises ``ValueError`` for other dtypes and more than one dimension.
        """
        if array.dtype.name != "bfloat16" or array.ndim != 1:
            raise ValueError(
                f"the array must have one dimension of bfloat16, got {array.ndim} of "
                f"{array.dtype.name}"
            )
        return _of_bits(np.ascontiguousarray(array).view(np.uint16), None)

    def to_numpy(self, zero_copy_only: bool = False) -> npt.NDArray[Any]:
        """The values as the dtype ``bfloat16`` of ``ml_dtypes``, without a copy.

        Raises ``ValueError`` if there are nulls, ``ModuleNotFoundError`` without ``ml_dtypes``.
        """
        if self.null_count:
            raise ValueError("nulls have no value in numpy")
        from ml_dtypes import bfloat16  # type: ignore[import-not-found]  # optional

        values = np.frombuffer(self.storage.buffers()[1], bfloat16)
        return values[self.offset : self.offset + len(self)]

    def __repr__(self) -> str:
        lines = "".join(f"  {value!r},\n" for value in self.to_pylist()).rstrip(",\n")
        return f"<lance.arrow.BFloat16Array object at 0x{id(self):x}>\n[\n{lines}\n]"

    __str__ = __repr__


class BFloat16Scalar(pa.ExtensionScalar):  # type: ignore[misc]
    """A value of a `BFloat16Array`."""

    def as_py(self, **_: Any) -> BFloat16 | None:
        """The value, None for null."""
        return None if self.value is None else BFloat16.from_bytes(self.value.as_py())


class BFloat16Type(pa.ExtensionType):  # type: ignore[misc]
    """The Arrow type of bfloat16 values."""

    def __init__(self) -> None:
        super().__init__(pa.binary(2), BFLOAT16)

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Self:
        return cls()

    def __arrow_ext_class__(self) -> type[pa.ExtensionArray]:
        return BFloat16Array

    def __arrow_ext_scalar_class__(self) -> type[pa.ExtensionScalar]:
        return BFloat16Scalar

    def to_pandas_dtype(self) -> Any:
        """The dtype of a column of a data frame; needs pandas."""
        from lance_core_arrays.pandas_bfloat16 import PandasBFloat16Type

        return PandasBFloat16Type()


def bfloat16_array(values: Iterable[float | None]) -> pa.Array:
    """An array of ``values``, each rounded to the nearest bfloat16; None is null."""
    floats = pa.array(values, pa.float32()) if not isinstance(values, pa.Array) else values
    floats = floats.cast(pa.float32(), safe=False)
    mask = None
    if floats.null_count:
        mask = floats.is_null().to_numpy(zero_copy_only=False)
        floats = floats.fill_null(0.0)
    return _of_bits(_rounded(floats.to_numpy()), mask)


def cast(arr: pa.Array, target_type: Any, *args: Any, **kwargs: Any) -> pa.Array:
    """`pyarrow.compute.cast`, also between floats and bfloat16, and between lists of them.

    ``target_type``: also ``"bfloat16"`` or ``"bf16"``. The lists have a fixed size, which stays.
    Raises ``ValueError`` for other types and sizes.
    """
    if isinstance(target_type, str):
        named = target_type in ("bfloat16", "bf16")
        target_type = BFloat16Type() if named else pa.type_for_alias(target_type)
    if arr.type == target_type:
        return arr
    if isinstance(arr.type, BFloat16Type) or isinstance(target_type, BFloat16Type):
        other = target_type if isinstance(arr.type, BFloat16Type) else arr.type
        if not pa.types.is_floating(other):
            raise ValueError(f"bfloat16 is cast to and from floats, not {other}")
        return _widened(arr).cast(other) if other is target_type else bfloat16_array(arr)
    if pa.types.is_fixed_size_list(arr.type) and pa.types.is_fixed_size_list(target_type):
        size = target_type.list_size
        if arr.type.list_size != size:
            raise ValueError(f"lists keep their size: cannot cast {arr.type} to {target_type}")
        values = cast(arr.values.slice(arr.offset * size, len(arr) * size), target_type.value_type)
        mask = arr.is_null() if arr.null_count else None
        return pa.FixedSizeListArray.from_arrays(values, type=target_type, mask=mask)
    return arr.cast(target_type, *args, **kwargs)


def _widened(array: BFloat16Array) -> pa.Array:
    """The values as float32, exactly."""
    data = array.storage.buffers()[1]
    bits = np.frombuffer(data, "<u2")[array.offset : array.offset + len(array)]
    mask = array.is_null().to_numpy(zero_copy_only=False)
    return pa.array((bits.astype(np.uint32) << 16).view(np.float32), mask=mask)


def _rounded(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """The bits of the nearest bfloat16 of each value; a NaN stays one."""
    bits = values.view(np.uint32)
    # Adding just less than half of the last place carries into it; ties need its lowest bit, too.
    nearest = (bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), (bits >> 16) | 0x40, nearest).astype(np.uint16)


def _of_bits(bits: npt.NDArray[np.uint16], mask: npt.NDArray[np.bool_] | None) -> pa.Array:
    valid = None if mask is None else pa.py_buffer(np.packbits(~mask, bitorder="little"))
    buffers = [valid, pa.py_buffer(bits.astype("<u2", copy=False))]
    storage = pa.Array.from_buffers(pa.binary(2), len(bits), buffers)
    return pa.ExtensionArray.from_storage(BFloat16Type(), storage)


register_extension_type(BFLOAT16, BFloat16Type)
