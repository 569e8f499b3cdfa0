"""Which pages merge, and the ends of strings of merged pages."""

from __future__ import annotations

import numpy as np
import pytest

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Binary, Buffer, Flat, Nullable
from lance_core._pb.encodings_v2_0_pb2 import Compression as CompressionMessage
from lance_core._pb.encodings_v2_1_pb2 import (
    REPDEF_ALL_VALID_ITEM,
    REPDEF_NULLABLE_ITEM,
    REPDEF_NULLABLE_LIST,
    PageLayout,
)
from lance_core.errors import CorruptFileError
from lance_core_compaction.page_copy.mergeable_pages import (
    NumberForm,
    PageForm,
    merge_ends,
    merged_encoding,
    page_form,
)


def flat(bits: int, number: int = 0, **options: CompressionMessage) -> ArrayEncoding:
    buffer = Buffer(buffer_index=number, buffer_type=Buffer.page)
    return ArrayEncoding(flat=Flat(bits_per_value=bits, buffer=buffer, **options))


def not_null(values: ArrayEncoding) -> ArrayEncoding:
    return ArrayEncoding(nullable=Nullable(no_nulls=Nullable.NoNull(values=values)))


def strings(adjustment: int, **options: CompressionMessage) -> ArrayEncoding:
    content = flat(8, 1, **options)
    binary = Binary(indices=not_null(flat(64)), bytes=content, null_adjustment=adjustment)
    return ArrayEncoding(binary=binary)


def numbers(codec: str, count: int) -> PageLayout:
    layout = PageLayout()
    layout.mini_block_layout.num_items = count
    layout.mini_block_layout.num_buffers = 1
    layout.mini_block_layout.layers.append(REPDEF_ALL_VALID_ITEM)
    values = layout.mini_block_layout.value_compression
    if codec == "flat":
        values.flat.bits_per_value = 32
    else:
        values.inline_bitpacking.uncompressed_bits_per_value = 32
    return layout


def stored(rows: list[list[str | None]]) -> tuple[list[int], list[int], list[int], list[int]]:
    """The ends of the strings of pages as 2.0 files store them, rows, adjustments and bytes."""
    ends, adjustments, sizes = [], [], []
    for page in rows:
        lengths = [len(text or "") for text in page]
        size = sum(lengths)
        own = np.cumsum(lengths) + [(size + 1) * (text is None) for text in page]
        ends += own.tolist()
        adjustments.append(size + 1)
        sizes.append(size)
    return ends, [len(page) for page in rows], adjustments, sizes


def test_pages_with_the_same_buffers_have_one_key() -> None:
    one, other = page_form(strings(7), 3), page_form(strings(9), 4)
    assert isinstance(one, PageForm)
    assert isinstance(other, PageForm)
    assert one.key == other.key
    assert (one.bits, one.adjustment, other.adjustment) == ((64, None), 7, 9)
    assert one.buffer_bytes(3) == [24, 0]
    encoding = ArrayEncoding.FromString(merged_encoding(strings(7), 7, 15))
    assert encoding.binary.null_adjustment == 15


def test_bitmaps_and_values_are_described_by_their_bits() -> None:
    some = Nullable.SomeNull(validity=flat(1), values=flat(32, 1))
    form = page_form(ArrayEncoding(nullable=Nullable(some_nulls=some)), 9)
    assert isinstance(form, PageForm)
    assert form.bits == (1, 32)
    assert form.buffer_bytes(9) == [2, 36]
    swapped = Nullable.SomeNull(validity=flat(1, 1), values=flat(32))
    assert page_form(ArrayEncoding(nullable=Nullable(some_nulls=swapped)), 9) is None


def test_other_pages_do_not_merge() -> None:
    compressed = CompressionMessage(scheme="zstd")
    assert page_form(flat(64, compression=compressed), 3) is None
    assert page_form(strings(7, compression=compressed), 3) is None
    assert page_form(strings(0), 3) is None
    outside = Flat(bits_per_value=8, buffer=Buffer(buffer_type=Buffer.column))
    assert page_form(ArrayEncoding(flat=outside), 3) is None
    assert page_form(numbers("flat", 3), 4) is None
    lists = numbers("flat", 3)
    lists.mini_block_layout.layers[:] = [REPDEF_ALL_VALID_ITEM, REPDEF_NULLABLE_LIST]
    assert page_form(lists, 3) is None
    several = numbers("flat", 3)
    several.mini_block_layout.num_buffers = 2
    assert page_form(several, 3) is None
    with_items = numbers("flat", 3)
    with_items.mini_block_layout.dictionary.flat.bits_per_value = 64
    assert page_form(with_items, 3) is None


def test_numbers_of_both_codecs_merge() -> None:
    one, other = page_form(numbers("flat", 3), 3), page_form(numbers("inline_bitpacking", 5), 5)
    assert isinstance(one, NumberForm)
    assert isinstance(other, NumberForm)
    assert one.key == other.key
    assert (one.codec, other.codec) == (("flat", 32), ("inline_bitpacking", 32))
    assert one.levels == other.levels == b""


def test_numbers_with_and_without_nulls_merge() -> None:
    nullable = numbers("flat", 3)
    nullable.mini_block_layout.layers[:] = [REPDEF_NULLABLE_ITEM]
    nullable.mini_block_layout.def_compression.flat.bits_per_value = 16
    one, other = page_form(nullable, 3), page_form(numbers("flat", 5), 5)
    assert isinstance(one, NumberForm)
    assert isinstance(other, NumberForm)
    assert one.key == other.key
    assert one.levels != other.levels
    # Of members of structs, nulls of the struct may or may not be marked.
    for page in (nullable, member := numbers("flat", 5)):
        page.mini_block_layout.layers.append(REPDEF_NULLABLE_ITEM)
    one, other = page_form(nullable, 3), page_form(member, 5)
    assert isinstance(one, NumberForm)
    assert isinstance(other, NumberForm)
    assert one.key != other.key


def test_ends_of_pages_become_those_of_one_page() -> None:
    pages: list[list[str | None]] = [["ab", None, "", "c"], [None], ["", "defg"], ["h", "i", None]]
    ends, rows, adjustments, sizes = stored(pages)
    found = np.array(ends, np.uint64)
    lengths = merge_ends(found, np.array(rows), np.array(adjustments, np.uint64), np.array(sizes))
    assert lengths.tolist() == sizes
    assert found.tolist() == stored([[text for page in pages for text in page]])[0]


def test_bytes_after_the_last_string_are_left_out() -> None:
    found = np.array([2, 3, 1], np.uint64)
    adjustments = np.array([9, 9], np.uint64)
    lengths = merge_ends(found, np.array([2, 1]), adjustments, np.array([8, 8]))
    assert (lengths.tolist(), found.tolist()) == ([3, 1], [2, 3, 4])


@pytest.mark.parametrize("ends", [[3, 2, 1], [2, 9, 1], [2, 3, 9], [2, 3, 24]])
def test_ends_that_do_not_ascend_to_the_last_are_errors(ends: list[int]) -> None:
    found = np.array(ends, np.uint64)
    adjustments = np.array([10, 10], np.uint64)
    with pytest.raises(CorruptFileError, match="do not ascend"):
        merge_ends(found, np.array([2, 1]), adjustments, np.array([3, 3]))
