"""The compiled CRC-32C gives what the one without compiled code gives, whatever the length."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_core.checksums.numpy_crc32c import numpy_crc32c
from lance_core_kernels import _native

SIZES = [*range(70), 767, 768, 769, 1023, 1024, 1279, 1280, 24_575, 24_576, 24_577, 100_003]


def test_all_lengths_and_alignments() -> None:
    data = np.random.default_rng(0).bytes(max(SIZES) + 9)
    buffers = [memoryview(data)[size % 9 : size % 9 + size] for size in SIZES]
    assert _native.crc32c(list(buffers)) == numpy_crc32c(list(buffers))
    assert _native.crc32c([pa.py_buffer(b"123456789"), bytearray(b"")]) == [0xE3069283, 0]


def test_other_arguments_are_errors() -> None:
    for wrong in ([3], None, ["text"]):
        with pytest.raises((TypeError, SystemError, BufferError)):
            _native.crc32c(wrong)  # type: ignore[arg-type]
