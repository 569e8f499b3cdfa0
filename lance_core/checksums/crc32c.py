"""CRC-32C (Castagnoli) by the fastest loop that is installed.

A loop is the kernel ``crc32c`` of a plugin or the library google-crc32c, else numpy, which takes
some fifty times as long. All give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from lance_core.byte_ranges import BytesLike

Crc32c: TypeAlias = Callable[[list[BytesLike]], list[int]]
"""The kernel `lance_core.encodings.kernels.Kernels.crc32c`."""

BLOCK_BYTES = 1 << 18
"""Bytes of a page's buffer that have a checksum; the last block of a buffer may be smaller. Blocks
fit into the cache of a processor, and reading a few rows of a large page checks few of them."""


def num_blocks(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The number of blocks of buffers of ``sizes`` bytes."""
    return -(-sizes // BLOCK_BYTES)


def block_sums(buffers: Sequence[BytesLike]) -> list[int]:
    """The CRC-32C of each block of ``buffers``, one after the other."""
    blocks: list[BytesLike] = []
    for data in buffers:
        size = memoryview(data).nbytes
        if size > BLOCK_BYTES:
            view = memoryview(data).cast("B")
            blocks += [view[at : at + BLOCK_BYTES] for at in range(0, size, BLOCK_BYTES)]
        elif size:
            blocks.append(data)
    return crc32c_loop()(blocks)


@cache
def crc32c_loop() -> Crc32c:
    """The loop of this process."""
    # Called here and not passed down: manifests are read where there are no kernels.
    kernels = import_module("lance_core.plugins.manager").get_manager().encodings.kernels
    if kernels.crc32c is not None:
        return cast("Crc32c", kernels.crc32c)
    try:
        import google_crc32c
    except ImportError:
        return _numpy()
    if google_crc32c.implementation != "c":
        return _numpy()
    value: Callable[[bytes], int] = google_crc32c.value
    return lambda buffers: list(map(value, map(bytes, buffers)))


def _numpy() -> Crc32c:
    return cast("Crc32c", import_module("lance_core.checksums.numpy_crc32c").numpy_crc32c)
