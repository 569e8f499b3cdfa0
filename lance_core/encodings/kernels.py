"""The inner loops of decoders and encoders, in one place so that they can be exchanged.

Those of numpy and Arrow are always there. A plugin that has faster ones calls `use`; they take the
same arguments and give the same results and errors, bit for bit. Arrays have one dimension and are
contiguous; integers are little-endian, as in files. Every function checks its arguments against
each other before it allocates; what comes from files and does not fit is a `CorruptFileError`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings import gather, levels
from lance_core.encodings.compression import bitpacking
from lance_core.encodings.compression import fsst_decode as decoding
from lance_core.encodings.compression import fsst_encode as encoding
from lance_core.encodings.compression import fsst_train as training
from lance_core.encodings.decoding import Int64Array

Bytes = npt.NDArray[np.uint8]
LevelArray = npt.NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class Kernels:
    """A complete set of inner loops; each is documented by the function of its name."""

    unpack_fastlanes: Callable[[Bytes, int, int, int], npt.NDArray[np.unsignedinteger]]
    pack_fastlanes: Callable[[npt.NDArray[np.unsignedinteger], int], Bytes]
    fsst_decode: Callable[[Bytes, Int64Array, bytes, bytes], tuple[pa.Buffer, Int64Array]]
    fsst_encode: Callable[
        [Bytes, Int64Array, Int64Array, bytes, bytes], tuple[pa.Buffer, Int64Array]
    ]
    fsst_train: Callable[[Sequence[bytes]], tuple[bytes, ...]]
    level_items: Callable[
        [LevelArray, LevelArray | None, Int64Array, int, int], tuple[Int64Array, Int64Array]
    ]
    gather_variable: Callable[[Bytes, Int64Array, Int64Array], tuple[pa.Buffer, Int64Array]]


NUMPY = Kernels(
    unpack_fastlanes=bitpacking.unpack_fastlanes,
    pack_fastlanes=bitpacking.pack_fastlanes,
    fsst_decode=decoding.fsst_decode,
    fsst_encode=encoding.fsst_encode,
    fsst_train=training.fsst_train,
    level_items=levels.level_items,
    gather_variable=gather.gather_variable,
)

_in_use = NUMPY


def use(offered: object | None) -> None:
    """Use the functions of ``offered``, a module or any object, in the whole process.

    Where it has none of a name, and everywhere if it is None, those of numpy are used.
    """
    global _in_use  # noqa: PLW0603  # one set for the process: which one makes no difference
    names = [field.name for field in fields(Kernels)]
    _in_use = Kernels(*(getattr(offered, name, getattr(NUMPY, name)) for name in names))


def in_use() -> Kernels:
    """The functions that this process uses."""
    return _in_use


def unpack_fastlanes(
    data: Bytes, width: int, bits: int, chunks: int
) -> npt.NDArray[np.unsignedinteger]:
    """The 1024 values of ``bits`` bits of each of ``chunks`` chunks, one after the other.

    ``bits`` is 8, 16, 32 or 64, and each value takes ``width`` bits, 0 to ``bits``. Raises
    `CorruptFileError` unless ``data`` holds just that.
    """
    return _in_use.unpack_fastlanes(data, width, bits, chunks)


def pack_fastlanes(values: npt.NDArray[np.unsignedinteger], width: int) -> Bytes:
    """Whole chunks of 1024 values below ``1 << width``, as `unpack_fastlanes` takes them.

    Raises `InvalidInputError` for other values.
    """
    return _in_use.pack_fastlanes(values, width)


def fsst_decode(
    codes: Bytes, offsets: Int64Array, symbols: bytes, lengths: bytes
) -> tuple[pa.Buffer, Int64Array]:
    """The bytes of the strings whose codes are between ``offsets``, and offsets of these.

    Offsets are one more than strings; those returned start at 0. ``symbols`` are padded to 8 bytes
    each, ``lengths`` take one. Raises `CorruptFileError` for a code without a symbol, a string cut
    in an escape, and offsets that descend or are not within the codes.
    """
    return _in_use.fsst_decode(codes, offsets, symbols, lengths)


def fsst_encode(
    data: Bytes, starts: Int64Array, stops: Int64Array, symbols: bytes, lengths: bytes
) -> tuple[pa.Buffer, Int64Array]:
    """Codes of the strings at ``starts[i]`` to ``stops[i]`` of ``data``, and offsets of these.

    At each place the longest symbol is taken; none crosses the end of a segment of 256 bytes. Of
    symbols of three bytes and more only the first of those whose first three bytes share a hash
    is found. Raises `InvalidInputError` for strings outside of ``data``.
    """
    return _in_use.fsst_encode(data, starts, stops, symbols, lengths)


def fsst_train(sample: Sequence[bytes]) -> tuple[bytes, ...]:
    """At most 255 symbols of 1 to 8 bytes that shorten the texts of ``sample``, the best first.

    No two symbols of three bytes or more begin with the same three bytes, so that an encoder needs
    to try only one of them at each place. The same texts always give the same symbols.
    """
    return _in_use.fsst_train(sample)


def level_items(
    repetition: LevelArray,
    definition: LevelArray | None,
    starts: Int64Array,
    depth: int,
    base: int,
) -> tuple[Int64Array, Int64Array]:
    """Which levels start an item of lists that start at the levels ``starts``; and their offsets.

    A level does if its repetition is at least ``depth`` and its definition at most ``base``.
    Offsets are one more than lists and count items. Raises `CorruptFileError` for levels of
    different numbers and for starts that do not ascend or are outside of the levels.
    """
    return _in_use.level_items(repetition, definition, starts, depth, base)


def gather_variable(
    data: Bytes, starts: Int64Array, stops: Int64Array
) -> tuple[pa.Buffer, Int64Array]:
    """The bytes ``starts[i]`` to ``stops[i]`` of ``data`` one after the other, and their offsets.

    The spans ascend and do not overlap; raises `CorruptFileError` if not, or if outside of
    ``data``.
    """
    return _in_use.gather_variable(data, starts, stops)
