"""A data file, and a page of each layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scripts.drawings.canvas import HEADING, LABEL, NOTE, Box, Canvas, row

Part = tuple[str, str, float, str]
"""Name, note, share of the width, colour."""

VALUES, LEVELS, PLACES, TEXT = "blue", "yellow", "green", "grey"
"""Colours: values; repetition and definition levels; where something is; messages and headers."""


def bar(canvas: Canvas, x: float, y: float, width: float, parts: Sequence[Part]) -> list[Box]:
    """The parts of a run of bytes, in their order."""
    boxes = row(x, y, width, 48, [share for _, _, share, _ in parts])
    for box, (name, note, _, colour) in zip(boxes, parts, strict=True):
        canvas.box(
            box, [name, note] if note else [name], colour=colour, style=replace(LABEL, size=12)
        )
    return boxes


def page(title: str, note: str, height: float) -> Canvas:
    """An empty drawing with its title."""
    canvas = Canvas(760, height, title)
    canvas.text(30, 32, title, HEADING)
    canvas.text(30, 50, note, NOTE)
    return canvas


def file() -> str:
    """A data file, from its pages to its footer."""
    canvas = page(
        "A data file of 2.0, 2.1 and 2.2",
        "readers begin at the end: the footer, then the tables, then the pages that they need",
        290,
    )
    parts: list[Part] = [
        ("pages", "buffers of all columns", 3, VALUES),
        ("FileDescriptor", "schema, rows", 1.7, TEXT),
        ("ColumnMetadata", "one a column", 1.8, TEXT),
        ("columns", "u64 pairs", 1.1, PLACES),
        ("buffers", "u64 pairs", 1.1, PLACES),
        ("footer", "40 bytes", 1, PLACES),
    ]
    boxes = bar(canvas, 30, 80, 700, parts)
    below = 128 + 18
    for start, end, depth in ((5, 3, 0), (3, 2, 1), (2, 0, 2)):
        (x, _), (to, _) = boxes[start].middle, boxes[end].middle
        y = below + 14 * depth
        canvas.arrow((x - 8 * depth, 128), (x - 8 * depth, y), (to, y), (to, 132))
    one = Box(30, 214, 220, 48)
    canvas.funnel(boxes[0], one)
    bar(
        canvas,
        30,
        214,
        220,
        [("page", "", 1, VALUES), ("page", "", 1, VALUES), ("…", "", 0.5, "white")],
    )
    canvas.text(270, 234, "each page: one column, its own range of rows,", NOTE)
    canvas.text(
        270,
        252,
        "its encoding and the places of its buffers in ColumnMetadata",
        NOTE,
    )
    return canvas.render()


def flat_20() -> str:
    """Pages of version 2.0."""
    canvas = page(
        "Pages of 2.0: one buffer for each part of the Arrow array",
        "a list has two columns, its ends and its items, with pages of their own",
        290,
    )
    rows: tuple[tuple[str, list[Part]], ...] = (
        (
            "int64 with nulls",
            [("validity", "1 bit a row", 1, LEVELS), ("values", "8 bytes a row", 4, VALUES)],
        ),
        (
            "string",
            [
                ("ends", "u64 a row; null: + adjustment", 2, PLACES),
                ("bytes", "text, perhaps FSST", 3, VALUES),
            ],
        ),
        (
            "dictionary",
            [
                ("indices", "u8 a row", 1, VALUES),
                ("ends", "of items", 1, PLACES),
                ("bytes", "of items", 3, VALUES),
            ],
        ),
    )
    for at, (name, parts) in enumerate(rows):
        y = 76 + 68 * at
        canvas.text(30, y + 28, name, LABEL)
        bar(canvas, 180, y, 550, parts)
    return canvas.render()


def mini_block() -> str:
    """A mini-block page."""
    canvas = page(
        "Mini-block page: small values, in chunks of up to 4096 values",
        "a chunk is the least that is read; words say where each begins",
        250,
    )
    boxes = bar(
        canvas,
        30,
        76,
        700,
        [
            ("chunk words", "size, log2(values)", 1.6, PLACES),
            ("chunk 0", "", 1, VALUES),
            ("chunk 1", "", 1, VALUES),
            ("…", "", 0.4, "white"),
            ("dictionary", "if there is one", 1.3, VALUES),
            ("repetition index", "if there are lists", 1.6, PLACES),
        ],
    )
    inner = Box(30, 170, 700, 48)
    canvas.funnel(boxes[1], inner)
    bar(
        canvas,
        30,
        170,
        700,
        [
            ("header", "levels; sizes of parts", 1.5, TEXT),
            ("repetition levels", "which list begins", 1.4, LEVELS),
            ("definition levels", "what is null or empty", 1.4, LEVELS),
            ("values", "bit-packed, FSST, …", 2, VALUES),
        ],
    )
    return canvas.render()


def full_zip() -> str:
    """A full-zip page."""
    canvas = page(
        "Full-zip page: large values, each beside its levels",
        "one value is one request: the second buffer says where each row begins",
        250,
    )
    boxes = bar(
        canvas,
        30,
        76,
        700,
        [
            ("value 0", "", 1.2, VALUES),
            ("value 1", "", 1.8, VALUES),
            ("value 2", "", 1, VALUES),
            ("…", "", 0.5, "white"),
            ("row offsets", "1, 2, 4 or 8 bytes each", 1.6, PLACES),
        ],
    )
    inner = Box(30, 170, 480, 48)
    canvas.funnel(boxes[1], inner)
    bar(
        canvas,
        30,
        170,
        480,
        [
            ("control word", "repetition, definition", 1.3, LEVELS),
            ("length", "if it varies", 0.9, PLACES),
            ("bytes", "of the value", 1.8, VALUES),
        ],
    )
    return canvas.render()


def constant() -> str:
    """A constant page."""
    canvas = page(
        "Constant page: one value for all rows, or none",
        "a value of up to 32 bytes of fixed width is in the page's message, and costs no buffer",
        156,
    )
    bar(
        canvas,
        30,
        76,
        700,
        [
            ("scalar", "if it is not in the message", 1.6, VALUES),
            ("repetition levels", "if there are lists", 1.3, LEVELS),
            ("definition levels", "if something is null", 1.3, LEVELS),
        ],
    )
    return canvas.render()


def blob() -> str:
    """A page of blobs, and their bytes."""
    canvas = page(
        "Blob page: descriptors here, bytes elsewhere",
        "a scan reads the descriptors; a blob is read when somebody opens it",
        270,
    )
    canvas.text(30, 104, "bytes, each at a", LABEL)
    canvas.text(30, 121, "multiple of 64", LABEL)
    payloads = bar(
        canvas,
        180,
        82,
        550,
        [("blob 0", "", 2, VALUES), ("blob 1", "", 3, VALUES), ("blob 2", "", 1, VALUES)],
    )
    canvas.text(30, 214, "the page", LABEL)
    descriptors = bar(
        canvas,
        180,
        190,
        550,
        [
            ("position, size", "of blob 0", 1, PLACES),
            ("position, size", "of blob 1", 1, PLACES),
            ("position, size", "of blob 2", 1, PLACES),
        ],
    )
    for one, other in zip(descriptors, payloads, strict=True):
        canvas.arrow((one.middle[0], one.y), (other.middle[0], other.bottom + 3))
    return canvas.render()
