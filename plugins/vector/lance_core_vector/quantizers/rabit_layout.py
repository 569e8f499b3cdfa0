"""The layout of the codes of RaBitQ in files: sign bits, and the extra bits of codes.

Sign bits: the bytes of 32 vectors are stored together, byte i of all of them in 32 bytes, first
the lower halves of vectors 0 to 15 with those of 16 to 31 above them, then the upper halves. Extra
bits: 64 codes are a block; each width has an order of bits that suits vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

SIGNS, EXTRA = "_rabit_codes", "__blocked_ex_codes"
FACTORS = ("__add_factors", "__scale_factors", "__error_factors")
EXTRA_FACTORS = ("__add_factors_ex", "__scale_factors_ex")
"""The columns; those of extra bits exist for codes of more than one bit."""

Bytes = npt.NDArray[np.uint8]

GROUP = 32
"""Vectors whose sign bytes are stored together; those of the rest are stored byte by byte."""

BLOCK = 64
"""Numbers of a vector whose extra bits are stored together."""

_ORDER = np.array([0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15])
"""The vector of each of the 16 bytes of a group."""

_NUMBERS = np.arange(BLOCK)
_TOP_PLACES = 8 * (_NUMBERS % 8) + 2 * (_NUMBERS // 16) + _NUMBERS % 16 // 8
"""The place of the highest bit of each number of a block, where it is stored apart."""


def unpack_signs(stored: Bytes) -> Bytes:
    """The sign bytes of a partition, one vector a row."""
    count, width = stored.shape
    whole = count - count % GROUP
    signs = np.empty((count, width), np.uint8)
    flat = np.ascontiguousarray(stored).reshape(-1)
    halves = flat[: whole * width].reshape(-1, width, 2, 16)
    low, high = halves[:, :, 0].transpose(0, 2, 1), halves[:, :, 1].transpose(0, 2, 1)
    groups = signs[:whole].reshape(-1, GROUP, width)
    groups[:, _ORDER] = (low & 15) | (high << 4)
    groups[:, _ORDER + 16] = (low >> 4) | (high & 0xF0)
    signs[whole:] = flat[whole * width :].reshape(width, count - whole).T
    return signs


def pack_signs(rows: Bytes) -> Bytes:
    """The reverse of `unpack_signs`."""
    count, width = rows.shape
    whole = count - count % GROUP
    groups = rows[:whole].reshape(-1, GROUP, width)
    first, second = groups[:, _ORDER], groups[:, _ORDER + 16]
    low, high = (first & 15) | (second << 4), (first >> 4) | (second & 0xF0)
    stacked = np.stack([low.transpose(0, 2, 1), high.transpose(0, 2, 1)], axis=2)
    flat = np.concatenate([stacked.reshape(-1), rows[whole:].T.reshape(-1)])
    return flat.reshape(count, width)


def extra_width(width: int, bits: int) -> int:
    """The bytes of ``bits`` extra bits of each of ``width`` numbers."""
    return -(-width // BLOCK) * BLOCK * bits // 8


def record_type(width: int, bits: int) -> np.dtype[Any]:
    """A code of ``bits`` bits as a record: a field for each column, the sign bytes not packed."""
    fields: list[Any] = [(SIGNS, np.uint8, (width // 8,)), *((name, "<f4") for name in FACTORS)]
    if bits > 1:
        fields.append((EXTRA, np.uint8, (extra_width(width, bits - 1),)))
        fields += [(name, "<f4") for name in EXTRA_FACTORS]
    return np.dtype(fields)


def unpack_extra(stored: Bytes, bits: int, width: int) -> Bytes:
    """The extra bits of each number of vectors, one vector a row; ``bits`` are 1 to 8."""
    count = len(stored)
    blocks = stored.reshape(count, -1, BLOCK * bits // 8)
    extra = np.zeros((count, blocks.shape[1], BLOCK), np.uint8)
    quarters = extra.reshape(count, -1, 4, 16)  # quarter k has the numbers 16k to 16k + 15
    if bits == 8:
        extra[...] = blocks
    elif bits == 1:
        extra[...] = _bits(blocks)
    elif bits in (2, 3):
        for number in range(4):
            quarters[:, :, number] = (blocks[:, :, :16] >> (2 * number)) & 3
    elif bits == 4:
        eighths = extra.reshape(count, -1, 4, 2, 8)
        pairs = blocks.reshape(count, -1, 4, 8)
        eighths[:, :, :, 0], eighths[:, :, :, 1] = pairs & 15, pairs >> 4
    elif bits == 5:
        for number in range(2):
            pair = blocks[:, :, 16 * number : 16 * number + 16]
            quarters[:, :, 2 * number] = pair & 15
            quarters[:, :, 2 * number + 1] = pair >> 4
    else:
        for number in range(3):
            part = blocks[:, :, 16 * number : 16 * number + 16]
            quarters[:, :, number] = part & 63
            quarters[:, :, 3] |= (part >> 6) << (2 * number)
    if bits in (3, 5, 7):
        extra |= _top_bits(blocks[:, :, -8:]) << (bits - 1)
    return extra.reshape(count, -1)[:, :width]


def pack_extra(codes: Bytes, bits: int) -> Bytes:
    """The reverse of `unpack_extra`; numbers that fill up the last block are 0."""
    count, width = codes.shape
    padded = codes
    if width % BLOCK:
        padded = np.zeros((count, -(-width // BLOCK) * BLOCK), np.uint8)
        padded[:, :width] = codes
    blocks = padded.reshape(count, -1, BLOCK)
    quarters = padded.reshape(count, -1, 4, 16)
    if bits == 8:
        return padded
    if bits == 1:
        return np.packbits(padded, axis=1, bitorder="little")
    parts: list[npt.NDArray[Any]]
    first, second, third, fourth = (quarters[:, :, number] for number in range(4))
    if bits in (2, 3):
        parts = [first & 3 | (second & 3) << 2 | (third & 3) << 4 | (fourth & 3) << 6]
    elif bits == 4:
        eighths = padded.reshape(count, -1, 4, 2, 8)
        parts = [(eighths[:, :, :, 0] | eighths[:, :, :, 1] << 4).reshape(count, -1, 32)]
    elif bits == 5:
        parts = [first & 15 | (second & 15) << 4, third & 15 | (fourth & 15) << 4]
    else:
        parts = [
            part & 63 | ((fourth >> (2 * number)) & 3) << 6
            for number, part in enumerate((first, second, third))
        ]
    if bits in (3, 5, 7):
        top = np.zeros_like(blocks)
        top[:, :, _TOP_PLACES] = blocks >> (bits - 1) & 1
        parts.append(np.packbits(top, axis=2, bitorder="little"))
    return np.concatenate(parts, axis=2).reshape(count, -1)


def _bits(blocks: Bytes) -> Bytes:
    """The 64 bits of each 8 bytes, the lowest first."""
    return np.unpackbits(blocks, axis=2, bitorder="little")


def _top_bits(blocks: Bytes) -> Bytes:
    """The highest bit of each number: that of number 16k + b is bit 8(b % 8) + 2k + b // 8."""
    return _bits(blocks)[:, :, _TOP_PLACES]
