"""Damaged copies of files, for which a reader must raise a typed error or return valid data.

Mutants are derived from a seed, so a failing one can be reproduced.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_WIDE = (0, 1, 2, 7, 63, 64, 255, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32)
_EDGES = (*_WIDE, 1 << 40, (1 << 48) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
_MAX_CUT = 300


@dataclass(frozen=True, slots=True)
class Mutant:
    """A damaged copy; ``kind`` describes the damage and its position."""

    kind: str
    data: bytes


Mutation = Callable[[bytes, random.Random], Mutant]
"""Creates one damaged copy."""


def mutants(
    data: bytes, count: int, seed: int, extra: Sequence[Mutation] = (), hot: int = 0
) -> Iterator[Mutant]:
    """``count`` damaged copies of ``data``.

    Half of the mutations affect the last ``hot`` bytes, where a format has its metadata (0: all
    positions are equally likely). ``extra`` contains mutations that are specific to the format;
    each of them is as likely as all generic mutations together.
    """
    chance = random.Random(seed)  # noqa: S311 (no secret)
    general = [_with_place(change, hot) for change in _CHANGES]
    weights = [1] * len(general) + [len(general)] * len(extra)
    for _ in range(count):
        (mutation,) = chance.choices([*general, *extra], weights)
        yield mutation(data, chance)


def mutate_message(message: Message, chance: random.Random) -> str:
    """Change one field of ``message`` or of a nested message; returns a description.

    A number gets another value, mostly a boundary value; bytes and text are damaged; messages and
    list items are removed, duplicated, cleared or swapped.
    """
    fields = list(message.DESCRIPTOR.fields)
    if not fields:
        return "nothing"
    present = [field for field, _ in message.ListFields()]
    # Prefer fields that are set: setting one of the many absent fields often has no effect.
    field: Any = chance.choice(present if present and chance.random() < 0.8 else fields)
    if field.is_repeated and field.message_type and field.message_type.GetOptions().map_entry:
        message.ClearField(field.name)
        return f"{field.name} cleared"
    if field.is_repeated:
        return f"{field.name}{_mutate_items(getattr(message, field.name), field, chance)}"
    if field.message_type is None:
        setattr(message, field.name, _scalar(field, getattr(message, field.name), chance))
        return f"{field.name} = {str(getattr(message, field.name))[:40]}"
    draw = chance.random()
    if draw < 0.1:
        message.ClearField(field.name)
        return f"{field.name} cleared"
    inner = getattr(message, field.name)
    if draw < 0.2:
        inner.SetInParent()
        inner.Clear()
        return f"{field.name} emptied"
    inner.SetInParent()
    return f"{field.name}.{mutate_message(inner, chance)}"


def _mutate_items(items: Any, field: Any, chance: random.Random) -> str:
    if not len(items):
        if field.message_type is None:
            items.append(_scalar(field, _zero(field), chance))
        else:
            items.add()
        return " gets an item"
    index = chance.randrange(len(items))
    draw = chance.random()
    if draw < 0.15:
        del items[index]
        return f"[{index}] removed"
    if draw < 0.3:
        items.append(items[index])
        return f"[{index}] doubled"
    if field.message_type is not None:
        return f"[{index}].{mutate_message(items[index], chance)}"
    items[index] = _scalar(field, items[index], chance)
    return f"[{index}] = {str(items[index])[:40]}"


def _zero(field: Any) -> Any:
    """A valid item for a list of scalars."""
    if field.cpp_type != FieldDescriptor.CPPTYPE_STRING:
        return 0
    return b"" if field.type == FieldDescriptor.TYPE_BYTES else ""


_BITS = {
    FieldDescriptor.CPPTYPE_INT32: (32, True),
    FieldDescriptor.CPPTYPE_UINT32: (32, False),
    FieldDescriptor.CPPTYPE_INT64: (64, True),
    FieldDescriptor.CPPTYPE_UINT64: (64, False),
    FieldDescriptor.CPPTYPE_ENUM: (32, True),
}


def _scalar(field: Any, value: Any, chance: random.Random) -> Any:
    """A value for a field that mostly differs from ``value``."""
    if isinstance(value, bytes):
        return _damaged(value, chance)
    if isinstance(value, str):
        return _damaged(value.encode(), chance).decode("utf-8", "replace")
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return not value
    if field.cpp_type not in _BITS:
        return chance.choice([0.0, -1.0, float("inf"), float("nan")])
    bits, signed = _BITS[field.cpp_type]
    near = [value + chance.choice([-1, 1, 8, 64]), value * 2, value // 2]
    number = chance.choice([*near, *_EDGES]) & ((1 << bits) - 1)
    return number - (1 << bits) if signed and number >> (bits - 1) else number


def _damaged(value: bytes, chance: random.Random) -> bytes:
    if not value or chance.random() < 0.2:
        return chance.randbytes(chance.randrange(20))
    return chance.choice(_CHANGES)(value, chance, 0, len(value)).data


def _with_place(change: _Change, hot: int) -> Mutation:
    def mutation(data: bytes, chance: random.Random) -> Mutant:
        start = len(data) - hot if 0 < hot < len(data) and chance.random() < 0.5 else 0
        return change(data, chance, start, len(data))

    return mutation


_Change = Callable[[bytes, random.Random, int, int], Mutant]
"""Damages bytes that start between the two positions."""


def _flip_bit(data: bytes, chance: random.Random, start: int, stop: int) -> Mutant:
    position, bit = chance.randrange(start, stop), chance.randrange(8)
    return Mutant(
        f"bit {bit} of byte {position}", _put(data, position, bytes([data[position] ^ 1 << bit]))
    )


def _change_byte(data: bytes, chance: random.Random, start: int, stop: int) -> Mutant:
    position, value = chance.randrange(start, stop), chance.randrange(256)
    return Mutant(f"byte {position} = {value}", _put(data, position, bytes([value])))


def _forge_number(data: bytes, chance: random.Random, start: int, stop: int) -> Mutant:
    width = chance.choice([4, 8])
    position = chance.randrange(start, stop)
    # Numbers in files are mostly aligned relative to the end or the start.
    position = max(start, position - (position - stop) % width)
    size = len(data)
    value = chance.choice([*_EDGES, size, size - 1, size + 1, chance.getrandbits(64)])
    raw = struct.pack("<Q", value & ((1 << 64) - 1))[:width]
    return Mutant(f"{width} bytes at {position} = {value}", _put(data, position, raw))


def _truncate(data: bytes, chance: random.Random, start: int, stop: int) -> Mutant:
    position = chance.randrange(start, stop)
    return Mutant(f"truncated to {position}", data[:position])


def _remove(data: bytes, chance: random.Random, start: int, stop: int) -> Mutant:
    position, length = chance.randrange(start, stop), chance.randrange(1, _MAX_CUT)
    return Mutant(
        f"{length} bytes at {position} removed", data[:position] + data[position + length :]
    )


def _insert(data: bytes, chance: random.Random, start: int, stop: int) -> Mutant:
    position, length = chance.randrange(start, stop), chance.randrange(1, _MAX_CUT)
    added = chance.choice([bytes(length), chance.randbytes(length)])
    return Mutant(f"{length} bytes put in at {position}", data[:position] + added + data[position:])


def _splice(data: bytes, chance: random.Random, start: int, stop: int) -> Mutant:
    position, source = chance.randrange(start, stop), chance.randrange(len(data))
    length = chance.randrange(1, _MAX_CUT)
    part = data[source : source + length]
    return Mutant(f"{len(part)} bytes at {position} from {source}", _put(data, position, part))


def _clear(data: bytes, chance: random.Random, start: int, stop: int) -> Mutant:
    position, length = chance.randrange(start, stop), chance.randrange(1, _MAX_CUT)
    value = chance.choice([b"\0", b"\xff"])
    return Mutant(f"{length} bytes at {position} = {value!r}", _put(data, position, value * length))


def _put(data: bytes, position: int, part: bytes) -> bytes:
    """``data`` with ``part`` written over it; the length does not change."""
    return (data[:position] + part + data[position + len(part) :])[: len(data)]


_CHANGES: tuple[_Change, ...] = (
    _flip_bit,
    _change_byte,
    _forge_number,
    _truncate,
    _remove,
    _insert,
    _splice,
    _clear,
)
