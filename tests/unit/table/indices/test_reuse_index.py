"""The fragment-reuse index, and what it means for the fragments of other indices."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap

from lance_core._pb import table_pb2
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.schema.tree import Schema
from lance_core.table.fragments.data_file import ExternalFile
from lance_core.table.indices.index_coverage import REUSE_INDEX, retained, without_fragments
from lance_core.table.indices.index_metadata import (
    IndexDetails,
    IndexMetadata,
    encode_fragment_ids,
    fragment_bitmap,
)
from lance_core.table.indices.reuse_index import (
    FragmentDigest,
    ReuseGroup,
    ReuseVersion,
    address_bitmap,
    content_bytes,
    current_fragments,
    external_details,
    inline_details,
    parse_content,
    parse_details,
)
from tests.each_case import each_case


def version(number: int, *groups: tuple[Sequence[int], Sequence[int]]) -> ReuseVersion:
    return ReuseVersion(
        number,
        tuple(
            ReuseGroup(
                address_bitmap((id_, 10, None) for id_ in old),
                tuple(FragmentDigest(id_, 10, 1) for id_ in old),
                tuple(FragmentDigest(id_, 9) for id_ in new),
            )
            for old, new in groups
        ),
    )


VERSIONS = (version(5, ((0, 1), (6,)), ((2, 3), (7, 8))), version(9, ((6, 9), (11,))))


def test_details_are_read_as_they_were_written() -> None:
    assert parse_details(inline_details(VERSIONS)) == VERSIONS
    assert parse_content(content_bytes(VERSIONS)) == VERSIONS
    assert parse_details(external_details("details.binpb", 7)) == ExternalFile(
        "details.binpb", 0, 7
    )
    with pytest.raises(CorruptFileError):
        parse_details(IndexDetails("", b"\xff"))


def test_details_of_a_newer_kind_are_refused() -> None:
    message = table_pb2.FragmentReuseIndexDetails()
    message.inline.transitions.add()
    with pytest.raises(UnsupportedFeatureError, match="tagged"):
        parse_details(IndexDetails("", message.SerializeToString()))


def test_addresses_are_a_portable_bitmap_with_a_part_for_each_fragment() -> None:
    deleted = np.array([0, 3], np.uint32)
    data = address_bitmap([(2, 5, deleted), (4, 1, np.array([0], np.uint32)), (7, 3, None)])
    (count,) = struct.unpack_from("<Q", data)
    (first,) = struct.unpack_from("<I", data, 8)
    assert (count, first) == (2, 2)
    part = BitMap.deserialize(data[12:])
    assert list(part) == [1, 2, 4]
    rest = data[12 + len(part.serialize()) :]
    assert struct.unpack_from("<I", rest) == (7,)
    assert list(BitMap.deserialize(rest[4:])) == [0, 1, 2]


@each_case(
    ("covered", "now"),
    [
        ([0, 1, 2, 3], [6, 7, 8]),
        ([0, 1, 9], [11]),
        ([0, 2, 3], [0, 7, 8]),
        ([4], [4]),
        ([], []),
        ([6], [6]),
    ],
)
def test_fragments_are_followed_through_all_versions(
    covered: Iterable[int], now: Iterable[int]
) -> None:
    assert current_fragments(covered, VERSIONS) == frozenset(now)


def index(name: str, ids: Iterable[int], details: IndexDetails | None = None) -> IndexMetadata:
    fields = () if name == REUSE_INDEX else (0,)
    bitmap = encode_fragment_ids(fragment_bitmap(ids))
    return IndexMetadata(uuid.uuid4(), name, fields, 1, bitmap, details)


def test_new_values_end_the_coverage_of_the_fragments_that_rows_moved_to() -> None:
    indices = (index("a", [0, 1, 2, 3]), index(REUSE_INDEX, [6, 7, 8], inline_details(VERSIONS)))
    found, reuse = without_fragments(indices, [0], [7])
    assert list(found.fragments or ()) == [6, 8]
    assert reuse == indices[1]
    assert without_fragments(indices, [5], [7]) == indices


def test_without_its_file_a_fragment_reuse_index_ends_all_coverage_of_changed_fields() -> None:
    indices = (index("a", [0, 1]), index(REUSE_INDEX, [6], external_details("details.binpb", 1)))
    found, _ = without_fragments(indices, [0], [7])
    assert list(found.fragments or ()) == []


@pytest.mark.parametrize(
    "details", [inline_details(VERSIONS), external_details("details.binpb", 1)]
)
def test_an_index_of_moved_rows_is_kept(details: IndexDetails) -> None:
    vector = IndexDetails("/lance.table.VectorIndexDetails")
    indices = (index("v", [0, 1, 2, 3], vector), index(REUSE_INDEX, [6, 7, 8], details))
    schema = Schema.from_arrow(pa.schema([("a", pa.int64())]))
    assert retained(indices, schema, [6, 7, 8]) == indices
