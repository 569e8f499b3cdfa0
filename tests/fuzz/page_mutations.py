"""Damage to the pages of 2.1 and 2.2 files that knows what it hits."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from typing import Any

from google.protobuf.any_pb2 import Any as AnyMessage

from lance_core._pb.encodings_v2_1_pb2 import PageLayout
from lance_core_testing.mutants import Mutant, Mutation
from tests.fuzz.container import (
    FOOTER,
    Parsed,
    change_any,
    change_column,
    change_schema,
    change_table,
    swap_columns,
)

_HEAD = 32
_NUMBERS = (0, 1, 2, 7, 8, 255, 256, (1 << 15) - 1, 1 << 15, (1 << 16) - 1, 1 << 16)
_WIDE = ((1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 48, (1 << 63) - 1, 1 << 63)
_EDGES = (*_NUMBERS, *_WIDE, (1 << 64) - 1)


def _page(parsed: Parsed, chance: random.Random) -> tuple[str, Any]:
    number = chance.randrange(len(parsed.columns))
    pages = parsed.columns[number].pages
    place = chance.randrange(len(pages))
    return f"columns[{number}].pages[{place}]", pages[place]


def layout_of(page: Any) -> PageLayout:
    """The layout of a page."""
    return PageLayout.FromString(AnyMessage.FromString(page.encoding.direct.encoding).value)


def set_layout(page: Any, layout: PageLayout | bytes) -> None:
    """Give a page another layout."""
    stored = AnyMessage.FromString(page.encoding.direct.encoding)
    stored.value = layout if isinstance(layout, bytes) else layout.SerializeToString()
    page.encoding.direct.encoding = stored.SerializeToString()


def change_layout(data: bytes, chance: random.Random) -> Mutant:
    parsed = Parsed(data)
    name, page = _page(parsed, chance)
    kind = change_any(page.encoding.direct, PageLayout, chance)
    return Mutant(f"{name}: {kind}", parsed.build())


def change_layers(data: bytes, chance: random.Random) -> Mutant:
    """Other kinds of layers than the levels are of."""
    parsed = Parsed(data)
    name, page = _page(parsed, chance)
    layout = layout_of(page)
    layers = getattr(layout, layout.WhichOneof("layout")).layers
    layers[chance.randrange(len(layers))] = chance.randrange(8)
    set_layout(page, layout)
    return Mutant(f"{name}: layers {list(layers)}", parsed.build())


def _buffer(parsed: Parsed, chance: random.Random) -> tuple[str, Any, int]:
    """A page buffer that is not empty, and its number; the first page's if none is."""
    for _ in range(8):
        name, page = _page(parsed, chance)
        some = [number for number, size in enumerate(page.buffer_sizes) if size]
        if some:
            number = chance.choice(some)
            return f"{name}, buffer {number}", page, number
    return "no buffer", None, 0


def forge_in_buffer(data: bytes, chance: random.Random) -> Mutant:
    """Another number in a page buffer: mostly in its head, or in that of a chunk."""
    parsed = Parsed(data)
    name, page, number = _buffer(parsed, chance)
    if page is None:
        return change_layout(data, chance)
    start, size = page.buffer_offsets[number], page.buffer_sizes[number]
    place, width = start, chance.choice([1, 2, 2, 4, 4, 8])
    kind = chance.random()
    if number == 1 and kind < 0.5:
        place = start + chance.choice(_chunk_starts(parsed.data, page))
    if kind < 0.8:
        place += chance.randrange(min(_HEAD, max(1, start + size - place)))
    else:
        place += chance.randrange(start + size - place)
    place -= (place - start) % width
    changed = bytearray(parsed.data)
    width = min(width, start + size - place)
    old = int.from_bytes(changed[place : place + width], "little")
    near = [old + 1, old - 1, old + 8, old - 8, old + 16, old * 2, old // 2, size, size + 1]
    new = chance.choice([*near, *near, *_EDGES, chance.getrandbits(64)])
    new %= 1 << (8 * width)
    changed[place : place + width] = new.to_bytes(width, "little")
    parsed.data = bytes(changed)
    return Mutant(f"{name}: {width} bytes at {place - start} = {new}, were {old}", parsed.build())


def _chunk_starts(data: bytes, page: Any) -> Sequence[int]:
    """Where the chunks of a mini-block page begin in their buffer; 0 for other pages."""
    layout = layout_of(page)
    if layout.WhichOneof("layout") != "mini_block_layout" or not page.buffer_sizes[0]:
        return [0]
    width = 4 if layout.mini_block_layout.has_large_chunk else 2
    start, size = page.buffer_offsets[0], page.buffer_sizes[0]
    words = struct.unpack_from(f"<{size // width}{'I' if width == 4 else 'H'}", data, start)
    starts = [0]
    for word in words[:-1]:
        starts.append(starts[-1] + ((word >> 4) + 1) * 8)
    return starts


def resize_buffer(data: bytes, chance: random.Random) -> Mutant:
    """A page buffer that is said to be a little longer or shorter."""
    parsed = Parsed(data)
    name, page, number = _buffer(parsed, chance)
    if page is None:
        return change_column(data, chance)
    size = page.buffer_sizes[number]
    step = chance.choice([-64, -16, -8, -4, -2, -1, 1, 2, 4, 8, 16, 64])
    page.buffer_sizes[number] = max(0, size + step)
    return Mutant(f"{name}: {size} bytes {step:+}", parsed.build())


def exchange_buffers(data: bytes, chance: random.Random) -> Mutant:
    """Two buffers of a page in each other's place, or one left out."""
    parsed = Parsed(data)
    name, page, _ = _buffer(parsed, chance)
    if page is None or len(page.buffer_sizes) < 2:
        return change_column(data, chance)
    one, other = chance.sample(range(len(page.buffer_sizes)), 2)
    for numbers in (page.buffer_offsets, page.buffer_sizes):
        if chance.random() < 0.1:
            del numbers[one]
            continue
        numbers[one], numbers[other] = numbers[other], numbers[one]
    return Mutant(f"{name}: buffers {one} and {other} exchanged", parsed.build())


def change_rows(data: bytes, chance: random.Random) -> Mutant:
    """A page of more or fewer rows, its counts agreeing or not."""
    parsed = Parsed(data)
    name, page = _page(parsed, chance)
    rows = page.length
    new = chance.choice([0, 1, rows - 1, rows + 1, rows * 2, rows // 2, *_EDGES])
    page.length = max(0, new)
    if chance.random() < 0.7 and parsed.descriptor.length + max(0, new) >= rows:
        parsed.descriptor.length = min(parsed.descriptor.length + max(0, new) - rows, (1 << 64) - 1)
    layout = layout_of(page)
    kind = layout.WhichOneof("layout")
    if kind in ("mini_block_layout", "full_zip_layout") and chance.random() < 0.6:
        most = (1 << (64 if kind == "mini_block_layout" else 32)) - 1
        getattr(layout, kind).num_items = min(max(0, new), most)
        set_layout(page, layout)
    return Mutant(f"{name}: {new} rows, were {rows}", parsed.build())


def change_version(data: bytes, chance: random.Random) -> Mutant:
    footer = list(FOOTER.unpack(data[-FOOTER.size :]))
    footer[5:7] = chance.choice([(2, 1), (2, 2), (2, 0), (0, 3), (2, 3), (0, 2)])
    kind = f"version {footer[5]}.{footer[6]}"
    return Mutant(kind, data[: -FOOTER.size] + FOOTER.pack(*footer))


def layout_from(others: Sequence[bytes]) -> Mutation:
    """A mutation that gives a page the layout of one in another file, or a part of it."""
    layouts = [layout_of(page) for raw in others for c in Parsed(raw).columns for page in c.pages]

    def exchange_layout(data: bytes, chance: random.Random) -> Mutant:
        parsed = Parsed(data)
        name, page = _page(parsed, chance)
        own, other = layout_of(page), chance.choice(layouts)
        kind = own.WhichOneof("layout")
        taken = other.WhichOneof("layout")
        if kind != taken or kind not in ("mini_block_layout", "full_zip_layout"):
            set_layout(page, other)
            return Mutant(f"{name}: a foreign {taken}", parsed.build())
        mine, theirs = getattr(own, kind), getattr(other, kind)
        fields = [field for field, _ in theirs.ListFields() if field.message_type]
        field = chance.choice(fields)
        getattr(mine, field.name).CopyFrom(getattr(theirs, field.name))
        set_layout(page, own)
        return Mutant(f"{name}: a foreign {field.name}", parsed.build())

    return exchange_layout


AWARE: tuple[Mutation, ...] = (
    *(forge_in_buffer,) * 4,
    *(change_layout,) * 3,
    change_layers,
    change_schema,
    change_column,
    swap_columns,
    change_table,
    resize_buffer,
    exchange_buffers,
    change_rows,
    change_version,
)
