"""Finite state transducers from byte strings to numbers, as the Rust library ``fst`` stores them.

``u64 3 | u64 0 | nodes | u64 number of keys | u64 address of the root | u32 checksum``, all little
endian. The address of a node is that of its last byte; address 0 is a final node without
transitions. Nodes are read backwards from their addresses. The last byte says what a node has:

- ``11``: one transition without output to the node right before it,
- ``10``: one transition, with an output and the distance to its node,
- ``0f``: any number of transitions; ``f`` is set if keys end here. Outputs, distances and bytes of
  the transitions follow in arrays; above 32 transitions, an index by byte as well.

The lower 6 bits are the byte of a single transition, as a number in a table of common ones, or the
number of transitions; 0 stands for a byte of its own before it. The number of a key is the sum of
the outputs of its transitions and of the final one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.analyzers import Integers
from lance_core.hookspecs.arrays import to_numpy
from lance_core_text.postings.numbered_runs import numbered_runs

COMMON = b"te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG"[:63]
"""The bytes that a number of 6 bits stands for, from 1 on."""

VERSION = 3

_HEADER = 16

_FOOTER = 20

MAX_UNINDEXED = 32
"""Transitions of a node without an index by byte."""

_MAX_NODES = 1 << 12
"""Decoded nodes that are kept: those near the root serve many keys."""

_MAX_KEY_BYTES = 1 << 16
"""Bytes of a key at most: more mean a circle in damaged bytes."""


class Node(NamedTuple):
    """A node: whether keys end here and with which output, and its transitions by byte."""

    is_final: bool
    final_output: int
    transitions: dict[int, tuple[int, int]]  # byte: output, address


class Fst:
    """A transducer in memory. Nodes are decoded when they are needed."""

    def __init__(self, data: pa.Buffer) -> None:
        self._data = memoryview(data).cast("B")
        if len(self._data) < _HEADER + _FOOTER or _integer(self._data, 0, 8) != VERSION:
            raise ValueError(f"is no transducer of version {VERSION}")
        end = len(self._data)
        self.num_keys = _integer(self._data, end - _FOOTER, 8)
        self._root = _integer(self._data, end - _FOOTER + 8, 8)
        if self._root >= end - _FOOTER:
            raise ValueError(f"the root is at {self._root} of {end} bytes")
        self._nodes: dict[int, Node] = {}

    @property
    def nbytes(self) -> int:
        """The bytes in memory, without decoded nodes."""
        return len(self._data)

    def get(self, key: bytes) -> int | None:
        """The number of ``key``, None if it is not there. Raises ``ValueError`` for damage."""
        node, total = self.node(self._root), 0
        for byte in key:
            transition = node.transitions.get(byte)
            if transition is None:
                return None
            total += transition[0]
            node = self.node(transition[1])
        return total + node.final_output if node.is_final else None

    def items(self) -> tuple[pa.Array, Integers]:
        """All keys in ascending order, as large binary, and their numbers.

        The prefixes of all keys with equally many bytes are followed at once.
        """
        addresses = np.array([self._root], np.int64)
        totals = np.zeros(1, np.int64)
        parents: list[tuple[Integers, npt.NDArray[np.uint8]]] = []
        ends: list[tuple[Integers, Integers]] = []  # by length: prefixes that are keys, numbers
        while len(addresses):
            if len(parents) > _MAX_KEY_BYTES:
                raise ValueError("a key has too many bytes")
            distinct, of_prefix = np.unique(addresses, return_inverse=True)
            level = _Level.of([self._decode(address) for address in distinct.tolist()])
            final = np.flatnonzero(level.is_final[of_prefix])
            ends.append((final, totals[final] + level.final_outputs[of_prefix[final]]))
            counts = level.counts[of_prefix]
            owners, number = numbered_runs(counts)
            arcs = level.firsts[of_prefix[owners]] + number
            parents.append((owners, level.bytes[arcs]))
            totals = totals[owners] + level.outputs[arcs]
            addresses = level.targets[arcs]
            if sum(len(prefixes) for prefixes, _ in ends) > self.num_keys:
                raise ValueError(f"more than {self.num_keys} keys")
        return _sorted(_keys(parents, ends))

    def node(self, address: int) -> Node:
        """The node at ``address``. Raises ``ValueError`` for a damaged one."""
        node = self._nodes.get(address)
        if node is None:
            if len(self._nodes) >= _MAX_NODES:
                self._nodes.clear()
            node = self._nodes[address] = self._decode(address)
        return node

    def _decode(self, address: int) -> Node:
        data = self._data
        if address == 0:
            return Node(True, 0, {})
        if not _HEADER <= address < len(data) - _FOOTER:
            raise ValueError(f"a node is at {address}")
        state = data[address]
        if state & 0x80:
            return self._single(address, state)
        count, end_of_bytes = state & 63, address
        if not count:
            end_of_bytes -= 1
            count = 256 if data[end_of_bytes] == 1 else data[end_of_bytes]
        end_of_bytes -= 1
        distance_size, output_size = divmod(data[end_of_bytes], 16)
        if count > MAX_UNINDEXED:
            end_of_bytes -= 256
        of_bytes = end_of_bytes - count
        of_distances = of_bytes - count * distance_size
        of_outputs = of_distances - count * output_size
        is_final = bool(state & 64)
        end = of_outputs - (output_size if is_final else 0)
        if end < _HEADER or max(distance_size, output_size) > 8:
            raise ValueError(f"a node at {address} ends at {end}")
        transitions = {}
        for number in range(count):  # stored in descending order of bytes, from the end
            back = number + 1
            distance = _integer(data, of_bytes - back * distance_size, distance_size)
            output = _integer(data, of_distances - back * output_size, output_size)
            target = end - distance if distance else 0
            transitions[data[end_of_bytes - back]] = (output, _before(target, address))
        final = _integer(data, end, output_size) if is_final else 0
        return Node(is_final, final, transitions)

    def _single(self, address: int, state: int) -> Node:
        data, offset = self._data, address
        common = state & 63
        if not common:
            offset -= 1
        byte = COMMON[common - 1] if common else data[offset]
        if state & 0x40:
            return Node(False, 0, {byte: (0, _before(offset - 1, address))})
        offset -= 1
        distance_size, output_size = divmod(data[offset], 16)
        of_distance = offset - distance_size
        end = of_distance - output_size
        if end < _HEADER or max(distance_size, output_size) > 8:
            raise ValueError(f"a node at {address} ends at {end}")
        distance = _integer(data, of_distance, distance_size)
        target = _before(end - distance if distance else 0, address)
        return Node(False, 0, {byte: (_integer(data, end, output_size), target)})


class _Level(NamedTuple):
    """Some nodes as arrays: the transitions of node i are ``counts[i]`` from ``firsts[i]`` on."""

    is_final: npt.NDArray[np.bool_]
    final_outputs: Integers
    counts: Integers
    firsts: Integers
    bytes: npt.NDArray[np.uint8]
    outputs: Integers
    targets: Integers

    @classmethod
    def of(cls, nodes: list[Node]) -> _Level:
        arcs = [(byte, *arc) for node in nodes for byte, arc in sorted(node.transitions.items())]
        table = np.array(arcs, np.int64).reshape(len(arcs), 3)
        counts = np.array([len(node.transitions) for node in nodes], np.int64)
        return cls(
            np.array([node.is_final for node in nodes], np.bool_),
            np.array([node.final_output for node in nodes], np.int64),
            counts,
            np.cumsum(counts) - counts,
            table[:, 0].astype(np.uint8),
            table[:, 1],
            table[:, 2],
        )


def _keys(
    parents: list[tuple[Integers, npt.NDArray[np.uint8]]],
    ends: list[tuple[Integers, Integers]],
) -> tuple[list[pa.Array], Integers]:
    """The keys of each length, and the numbers of all, in the same order."""
    keys = []
    for length, (final, _) in enumerate(ends):
        letters = np.empty((len(final), length), np.uint8)
        arcs = final  # those that lead to a prefix have its number
        for position in range(length - 1, -1, -1):
            owners, of_arc = parents[position]
            letters[:, position] = of_arc[arcs]
            arcs = owners[arcs]
        offsets = np.arange(len(letters) + 1, dtype=np.int64) * length
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(letters.reshape(-1))]
        keys.append(pa.Array.from_buffers(pa.large_binary(), len(letters), buffers))
    return keys, np.concatenate([numbers for _, numbers in ends])


def _sorted(unsorted: tuple[list[pa.Array], Integers]) -> tuple[pa.Array, Integers]:
    keys = pa.concat_arrays(unsorted[0])
    order = pc.sort_indices(keys)
    return keys.take(order), unsorted[1][to_numpy(order)]


def _integer(data: memoryview, start: int, size: int) -> int:
    return int.from_bytes(data[start : start + size], "little")


def _before(target: int, address: int) -> int:
    """``target``, an address that is before that of its node: there are no circles."""
    if not 0 <= target < address:
        raise ValueError(f"a node at {address} has a transition to {target}")
    return target
