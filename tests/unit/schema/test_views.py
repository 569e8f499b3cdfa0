from __future__ import annotations

import pyarrow as pa

from lance_core.schema.views import without_views
from tests.each_case import each_case

VIEW, BYTES = pa.string_view(), pa.binary_view()
NOT_NULL = pa.field("m", VIEW, nullable=False, metadata={"a": "b"})
PAIRS = [
    (VIEW, pa.string()),
    (BYTES, pa.binary()),
    (pa.int64(), pa.int64()),
    (pa.struct([NOT_NULL]), pa.struct([NOT_NULL.with_type(pa.string())])),
    (pa.list_(pa.list_(BYTES)), pa.list_(pa.list_(pa.binary()))),
    (pa.large_list(VIEW), pa.large_list(pa.string())),
    (pa.list_(VIEW, 2), pa.list_(pa.string(), 2)),
    (pa.map_(VIEW, BYTES, True), pa.map_(pa.string(), pa.binary(), True)),
    (pa.dictionary(pa.int8(), VIEW, True), pa.dictionary(pa.int8(), pa.string(), True)),
]


@each_case(("type_", "wanted"), PAIRS)
def test_views_become_plain_types_at_all_levels(type_: pa.DataType, wanted: pa.DataType) -> None:
    found = without_views(type_)
    assert found.equals(wanted, check_metadata=True)
