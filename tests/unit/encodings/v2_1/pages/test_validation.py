"""Pages are refused in files of a version that does not have them, before any of them is read."""

from __future__ import annotations

import pytest

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, PageLayout
from lance_core.byte_ranges import ByteRange
from lance_core.encodings.v2_1.pages.validation import check_page
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError
from tests.each_case import each_case
from tests.page_grammar import BOTH, Case, blob, cases, mini_block, values


@each_case("version", sorted(BOTH))
@each_case("number", range(len(cases("2.1"))), ids=[c.name for c in cases("2.1")])
def test_a_page_is_allowed_in_files_of_the_versions_that_have_it(number: int, version: str) -> None:
    case: Case = cases(version)[number]
    if version in case.allowed:
        check_page(case.layout, (), FileVersion(version))
    else:
        with pytest.raises(CorruptFileError):
            check_page(case.layout, (), FileVersion(version))


@each_case("by", [1, 8, 32, 63])
def test_buffers_start_at_multiples_of_64(by: int) -> None:
    page = values(CompressiveEncoding(flat={"bits_per_value": 64}))("2.1")
    check_page(page, (ByteRange(0, 3), ByteRange(64, 99)), FileVersion.V2_1)
    with pytest.raises(CorruptFileError, match="not a multiple of 64") as caught:
        check_page(page, (ByteRange(0, 3), ByteRange(64 + by, 99)), FileVersion.V2_1)
    assert caught.value.offset == 64 + by


def test_what_is_nested_without_end_is_refused() -> None:
    encoding = CompressiveEncoding(flat={"bits_per_value": 64})
    for _ in range(40):
        encoding = CompressiveEncoding(general={"values": encoding})
    with pytest.raises(CorruptFileError, match="more than 16 levels"):
        check_page(values(encoding)("2.1"), (), FileVersion.V2_1)
    make = mini_block(value_compression=CompressiveEncoding(flat={"bits_per_value": 64}))
    for _ in range(40):
        make = blob(make)
    with pytest.raises(CorruptFileError, match="has no layout"):
        check_page(make("2.1"), (), FileVersion.V2_1)


def test_an_error_names_what_it_is_about() -> None:
    with pytest.raises(CorruptFileError, match=r"field 'has_large_chunk': a 2\.1 file has large"):
        check_page(PageLayout(mini_block_layout={"has_large_chunk": True}), (), FileVersion.V2_1)
