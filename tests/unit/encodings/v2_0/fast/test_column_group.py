"""Which columns of 2.0 files are read together."""

from __future__ import annotations

import pyarrow as pa

from lance_core.encodings.context import DecodeContext
from lance_core.encodings.page import GroupKey
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.v2_0.fast.column_group import MAX_COPIED_BYTES, group_key
from lance_core.encodings.version import FileVersion
from tests.unit.encodings.v2_0.conftest import Store


def key_of(array: pa.Array, store: Store, registry: EncodingRegistry) -> GroupKey | None:
    stored = store(array)
    context = DecodeContext(1 << 40, len(stored.data), FileVersion.V2_0, registry)
    (page,) = stored.columns[0].pages
    return group_key(stored.field, [(stored.field, page)], context)


def test_only_columns_with_equal_encodings_share_a_key(
    store: Store, registry: EncodingRegistry
) -> None:
    numbers = key_of(pa.array([1, 2, 3]), store, registry)
    assert numbers == key_of(pa.array([7, 8, 9, 10]), store, registry)
    assert numbers is not None
    assert not numbers.is_copied
    with_nulls = key_of(pa.array([1, None, 3]), store, registry)
    assert with_nulls is not None
    assert with_nulls != numbers
    assert with_nulls.is_copied
    assert with_nulls.max_page_bytes == MAX_COPIED_BYTES
    assert key_of(pa.array(["one", "two"]), store, registry) not in (None, numbers)
    assert key_of(pa.array([[1], [2, 3]]), store, registry) is None
