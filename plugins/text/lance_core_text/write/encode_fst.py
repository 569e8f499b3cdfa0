"""The bytes of a transducer, as the Rust library ``fst`` writes them.

`lance_core_text.postings.fst` documents the bytes. Keys come in ascending order: a node is written
once no further key has it, after the nodes that it leads to. Nodes that are equal are written once,
if the first one is among those that are still known: two of each bucket of a table, by a hash. The
bytes therefore equal those of ``fst`` for the same keys and numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from lance_core_text.loops.library import is_compiled, native
from lance_core_text.postings.fst import COMMON, MAX_UNINDEXED, VERSION

_BUCKETS = 10_000
_HASH_START, _HASH_FACTOR, _HASH_MASK = 14695981039346656037, 1099511628211, (1 << 64) - 1

_NONE = 1
"""The address of no node."""

_NUMBER_OF = {byte: number for number, byte in enumerate(COMMON, 1)}
"""The common bytes, by the number of 6 bits that stands for each."""

_Arc: TypeAlias = "tuple[int, int, int]"
"""A transition: its byte, its output and the address of its node."""

_Frozen: TypeAlias = "tuple[bool, int, tuple[_Arc, ...]]"
"""A node that does not change any more: whether keys end here, their output, transitions."""


@dataclass(slots=True)
class _Open:
    """A node of the last key. ``byte``, ``output``: its last transition, to the next node."""

    is_final: bool = False
    final_output: int = 0
    arcs: list[_Arc] = field(default_factory=list)
    byte: int = -1
    output: int = 0

    def add_output(self, prefix: int) -> None:
        """Add ``prefix``, which the transition to this node has no longer, to what follows."""
        if self.is_final:
            self.final_output += prefix
        self.arcs = [(byte, output + prefix, address) for byte, output, address in self.arcs]
        if self.byte >= 0:
            self.output += prefix

    def frozen(self, address: int) -> _Frozen:
        """The node, whose last transition leads to ``address``."""
        if self.byte >= 0:
            self.arcs.append((self.byte, self.output, address))
            self.byte = -1
        return self.is_final, self.final_output, tuple(self.arcs)


def encode_fst(keys: pa.Array) -> bytes:
    """The bytes of a transducer of ``keys``, large binary values that ascend, and their indices."""
    if is_compiled():
        _, offsets, data = keys.buffers()
        own = np.frombuffer(offsets or bytes(8), np.int64)[keys.offset :][: len(keys) + 1]
        letters = np.frombuffer(data or b"", np.uint8)
        return native.write_transducer(letters, own, np.frombuffer(COMMON, np.uint8))
    writer = FstWriter()
    writer.add(keys.to_pylist(), 0)
    return writer.finish()


class FstWriter:
    """Writes a transducer of keys that ascend by their bytes, each with a number."""

    def __init__(self) -> None:
        self._data = bytearray(VERSION.to_bytes(8, "little") + bytes(8))
        self._open = [_Open()]
        self._known: dict[int, list[tuple[_Frozen, int]]] = {}
        self._last = _NONE
        self._num_keys = 0

    def add(self, keys: Iterable[bytes], first: int) -> None:
        """Add keys with the numbers from ``first`` on; they come after those before them."""
        for number, key in enumerate(keys, first):
            self._add(key, number)

    def finish(self) -> bytes:
        """The bytes of all keys. It is called once."""
        self._freeze(0)
        root = self._compile(self._open[0].frozen(0))
        self._data += self._num_keys.to_bytes(8, "little") + root.to_bytes(8, "little")
        return bytes(self._data) + _masked_checksum(self._data).to_bytes(4, "little")

    def _add(self, key: bytes, output: int) -> None:
        self._num_keys += 1
        nodes = self._open
        if not key:
            nodes[0].is_final, nodes[0].final_output = True, output
            return
        depth = 0
        while depth < len(key) and nodes[depth].byte == key[depth]:
            node = nodes[depth]
            shared = min(node.output, output)
            rest, output, node.output = node.output - shared, output - shared, shared
            depth += 1
            if rest:
                nodes[depth].add_output(rest)
        self._freeze(depth)
        for byte in key[depth:]:
            nodes[-1].byte, nodes[-1].output = byte, output
            output = 0
            nodes.append(_Open())
        nodes[-1].is_final = True

    def _freeze(self, depth: int) -> None:
        """Write the nodes below ``depth``; the key that follows does not have them."""
        address = _NONE
        while depth + 1 < len(self._open):
            address = self._compile(self._open.pop().frozen(address))
        self._open[-1].frozen(address)

    def _compile(self, node: _Frozen) -> int:
        """The address of a node, which is written unless an equal one is known."""
        if node == (True, 0, ()):
            return 0
        bucket = self._known.setdefault(_hash(node) % _BUCKETS, [])
        for index, (known, address) in enumerate(bucket):
            if known == node:
                bucket.insert(0, bucket.pop(index))
                return address
        self._write(node)
        self._last = len(self._data) - 1
        bucket.insert(0, (node, self._last))
        del bucket[2:]
        return self._last

    def _write(self, node: _Frozen) -> None:
        is_final, final_output, arcs = node
        if len(arcs) != 1 or is_final:
            self._write_any(is_final, final_output, arcs)
            return
        data, ((byte, output, target),) = self._data, arcs
        state = 0xC0
        if target != self._last or output:
            state = 0x80
            distance = len(data) - target if target else 0
            output_size = _size(output) if output else 0
            data += output.to_bytes(output_size, "little")
            data += distance.to_bytes(_size(distance), "little")
            data.append(_size(distance) << 4 | output_size)
        if byte not in _NUMBER_OF:
            data.append(byte)
        data.append(state | _NUMBER_OF.get(byte, 0))

    def _write_any(self, is_final: bool, final_output: int, arcs: tuple[_Arc, ...]) -> None:
        """Write a node with any number of transitions, the last one first."""
        data, start = self._data, len(self._data)
        backward = arcs[::-1]
        distances = [start - target if target else 0 for _, _, target in backward]
        outputs = [final_output] * is_final + [output for _, output, _ in backward]
        distance_size = max(map(_size, distances), default=0)
        output_size = max(map(_size, outputs)) if any(outputs) else 0
        for output in outputs:
            data += output.to_bytes(output_size, "little")
        for distance in distances:
            data += distance.to_bytes(distance_size, "little")
        data += bytes(byte for byte, _, _ in backward)
        if len(arcs) > MAX_UNINDEXED:
            index = bytearray(b"\xff" * 256)
            for number, (byte, _, _) in enumerate(arcs):
                index[byte] = number
            data += index
        data.append(distance_size << 4 | output_size)
        is_long = len(arcs) > 63
        if is_long or not arcs:
            data.append(1 if len(arcs) == 256 else len(arcs))
        data.append(is_final << 6 | (0 if is_long else len(arcs)))


def _size(number: int) -> int:
    """The bytes of a number, at least one."""
    return max(1, (number.bit_length() + 7) // 8)


def _hash(node: _Frozen) -> int:
    """The hash of a node by FNV-1a over its numbers."""
    is_final, final_output, arcs = node
    hashed = (_HASH_START ^ is_final) * _HASH_FACTOR & _HASH_MASK
    hashed = (hashed ^ final_output) * _HASH_FACTOR & _HASH_MASK
    for arc in arcs:
        for number in arc:
            hashed = (hashed ^ number) * _HASH_FACTOR & _HASH_MASK
    return hashed


def _masked_checksum(data: bytes | bytearray) -> int:
    """The CRC-32C of ``data``, rotated and shifted, as files of Snappy have it."""
    table = _checksum_table()
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _checksum_table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table
