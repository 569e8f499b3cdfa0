"""Which structs around lists a page declares as nullable."""

from __future__ import annotations

import pytest

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding
from lance_core._pb.encodings_v2_1_pb2 import (
    REPDEF_ALL_VALID_ITEM,
    REPDEF_ALL_VALID_LIST,
    REPDEF_EMPTYABLE_LIST,
    REPDEF_NULLABLE_ITEM,
    ConstantLayout,
    FullZipLayout,
    MiniBlockLayout,
    PageLayout,
)
from lance_core.encodings.page import ForeignEncoding
from lance_core.errors import CorruptFileError
from lance_core_compaction.page_copy.nullable_structs import nullable_structs
from tests.each_case import each_case

ITEM, NULLABLE, LIST = REPDEF_ALL_VALID_ITEM, REPDEF_NULLABLE_ITEM, REPDEF_EMPTYABLE_LIST


@each_case(
    ("layers", "expected"),
    [
        ([NULLABLE], ()),
        ([ITEM, ITEM, NULLABLE], ()),
        ([ITEM, LIST], ()),
        ([ITEM, ITEM, LIST], ()),
        ([ITEM, LIST, ITEM], (False,)),
        ([ITEM, LIST, NULLABLE, LIST, ITEM], (True, False)),
        ([ITEM, REPDEF_ALL_VALID_LIST, NULLABLE, NULLABLE], (True, True)),
    ],
)
def test_only_structs_around_lists_count(layers: list[int], expected: tuple[bool, ...]) -> None:
    for layout in (
        PageLayout(mini_block_layout=MiniBlockLayout(layers=layers)),
        PageLayout(constant_layout=ConstantLayout(layers=layers)),
        PageLayout(full_zip_layout=FullZipLayout(layers=layers)),
    ):
        assert nullable_structs(layout) == expected


def test_other_pages_have_none() -> None:
    assert nullable_structs(ArrayEncoding()) == ()
    assert nullable_structs(PageLayout(sparse_layout=b"x")) == ()
    assert nullable_structs(PageLayout()) == ()
    assert nullable_structs(ForeignEncoding("a", b"")) == ()


def test_unknown_layers_are_damage() -> None:
    with pytest.raises(CorruptFileError, match="layer 9"):
        nullable_structs(PageLayout(mini_block_layout=MiniBlockLayout(layers=[ITEM, 9])))
