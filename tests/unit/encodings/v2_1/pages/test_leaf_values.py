"""Values of the dictionary of a page, by few indices and by many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core._pb.encodings_v2_1_pb2 import REPDEF_ALL_VALID_ITEM
from lance_core.encodings.kernels.numpy.loops import NUMPY
from lance_core.encodings.v2_1.codecs.values import FixedWidth
from lance_core.encodings.v2_1.levels.repdef import Levels
from lance_core.encodings.v2_1.pages.base import kinds_of
from lance_core.encodings.v2_1.pages.leaf_values import FEW_INDICES, Dictionary, dictionary_values
from lance_core.errors import CorruptFileError
from tests.each_case import each_case

ITEMS = (
    pa.array([7, -1, 2**62]),
    pa.array([0, 200, 3], pa.uint8()).slice(1),
    pa.array([1.5, float("nan"), -0.0]),
    pa.array([1, 2], pa.timestamp("us", "UTC")),
    pa.array([True, False]),
    pa.array(["a", "", "bc"]),
    pa.array(["x", "äöü", "", "a string of many more bytes"]).slice(1),
    pa.array([b"", b"\xff"], pa.large_binary()),
    pa.array(["a", None]),
    pa.array([4, None, 6]),
)


def values_at(items: pa.Array, indices: np.ndarray[Any, Any]) -> pa.Array:
    levels = Levels(kinds_of([REPDEF_ALL_VALID_ITEM], len(indices)), None, None, len(indices))
    where = slice(0, len(indices))
    dictionary = Dictionary(items)
    return dictionary_values(FixedWidth.of(indices), where, levels, dictionary, items.type, NUMPY)


@each_case("items", ITEMS)
@pytest.mark.parametrize("count", [0, 1, FEW_INDICES, FEW_INDICES + 1])
def test_indices_give_the_items_of_every_type(items: pa.Array, count: int) -> None:
    indices = (np.arange(count) * 5 % len(items)).astype(np.uint32)
    found = values_at(items, indices)
    found.validate(full=True)
    assert found.type == items.type
    assert repr(found.to_pylist()) == repr(items.take(pa.array(indices)).to_pylist())


def test_an_index_without_an_item_is_damage() -> None:
    with pytest.raises(CorruptFileError, match="index 3 is outside"):
        values_at(pa.array([1, 2, 3]), np.array([0, 3], np.uint8))
