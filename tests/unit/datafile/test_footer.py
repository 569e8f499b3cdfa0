"""A footer survives writing and reading; one that does not fit its file is refused by name."""

from __future__ import annotations

import struct

import pytest

from lance_core.datafile.footer import FOOTER_LENGTH, Footer, parse_footer
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from tests.each_case import each_case

# 100 bytes of data, 50 of column metadata, tables of 2 columns and 1 global buffer.
GOOD = Footer(100, 150, 182, 1, 2, FileVersion.V2_0)
SIZE = 182 + 16 + FOOTER_LENGTH


def packed(
    metadata: int = 100,
    columns: int = 150,
    buffers: int = 182,
    counts: tuple[int, int] = (1, 2),
    version: tuple[int, int] = (0, 3),
    magic: bytes = b"LANC",
) -> bytes:
    return struct.pack("<QQQIIHH4s", metadata, columns, buffers, *counts, *version, magic)


def test_a_footer_survives_writing_and_reading() -> None:
    assert GOOD.to_bytes() == packed()
    assert parse_footer(GOOD.to_bytes(), SIZE) == GOOD


def test_only_the_end_of_what_is_given_counts() -> None:
    assert parse_footer(b"\xff" * 17 + GOOD.to_bytes(), SIZE) == GOOD


def test_both_version_numbers_of_2_0_are_understood() -> None:
    assert parse_footer(packed(version=(2, 0)), SIZE).version is FileVersion.V2_0


def test_space_before_the_footer_is_allowed() -> None:
    assert parse_footer(GOOD.to_bytes(), SIZE + 100) == GOOD


@each_case(
    ("version", "named"),
    [((0, 0), "0.1"), ((0, 2), "0.1"), ((2, 3), "2.3")],
)
def test_a_version_that_cannot_be_read_is_named(version: tuple[int, int], named: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=named):
        parse_footer(packed(version=version), SIZE)


@each_case("version", [(0, 4), (1, 0), (9999, 1), (0, 0xFFFF)])
def test_numbers_that_are_no_version_are_damage(version: tuple[int, int]) -> None:
    with pytest.raises(CorruptFileError) as caught:
        parse_footer(packed(version=version), SIZE)
    assert caught.value.offset == SIZE - 8
    assert "version" in str(caught.value)


@each_case("magic", [b"LAND", b"PAR1", b"\0\0\0\0"])
def test_a_file_that_does_not_end_with_the_magic_bytes_is_refused(magic: bytes) -> None:
    with pytest.raises(CorruptFileError, match=r"footer\.magic"):
        parse_footer(packed(magic=magic), SIZE)


@each_case("size", range(FOOTER_LENGTH))
def test_a_file_shorter_than_its_footer_is_refused(size: int) -> None:
    with pytest.raises(CorruptFileError, match="footer"):
        parse_footer(packed()[FOOTER_LENGTH - size :], size)


BEYOND = 1 << 63
DAMAGED = {
    "metadata after column table": packed(metadata=151),
    "metadata beyond the file": packed(metadata=BEYOND),
    "column table before metadata": packed(columns=99),
    "column table beyond the file": packed(columns=BEYOND),
    "column table after buffer table": packed(columns=183),
    "buffer table before column table": packed(buffers=149),
    "buffer table in the footer": packed(buffers=199),
    "buffer table beyond the file": packed(buffers=BEYOND),
    "too few columns": packed(counts=(1, 1)),
    "one column too many": packed(counts=(1, 3)),
    "absurdly many columns": packed(counts=(1, 0xFFFFFFFF)),
    "no global buffer": packed(counts=(0, 2)),
    "one global buffer too many": packed(counts=(2, 2)),
    "absurdly many global buffers": packed(counts=(0xFFFFFFFF, 2)),
}


@each_case("raw", DAMAGED.values(), ids=DAMAGED)
def test_parts_that_do_not_fit_the_file_are_refused(raw: bytes) -> None:
    with pytest.raises(CorruptFileError) as caught:
        parse_footer(raw, SIZE)
    assert caught.value.field.startswith("footer")
    assert caught.value.offset is not None
    assert SIZE - FOOTER_LENGTH <= caught.value.offset < SIZE
