"""The physical columns of fields of all kinds."""

from __future__ import annotations

import pyarrow as pa

from lance_core.encodings.version import FileVersion
from lance_core.schema import Schema
from lance_core_compaction.page_copy.field_layout import field_layouts
from tests.each_case import each_case

INT = pa.int32()
LIST, STRUCT = pa.list_(INT), pa.struct({"x": INT, "y": INT})
STRUCT_OF_LIST, LIST_OF_STRUCT = pa.struct({"l": LIST, "z": INT}), pa.list_(STRUCT)
VECTOR = pa.list_(INT, 4)


@each_case(
    "kind, version, expected",
    [
        (INT, "2.0", [(False, 1, False)]),
        (INT, "2.1", [(False, 1, False)]),
        (STRUCT, "2.0", [(True, 1, False), (False, 1, False), (False, 1, False)]),
        (STRUCT, "2.2", [(False, 1, False), (False, 1, False)]),
        (LIST, "2.0", [(False, 1, False), (False, None, False)]),
        (LIST, "2.1", [(False, 1, False)]),
        (
            STRUCT_OF_LIST,
            "2.0",
            [(True, 1, False), (False, 1, False), (False, None, False), (False, 1, False)],
        ),
        (STRUCT_OF_LIST, "2.1", [(False, 1, True), (False, 1, False)]),
        (LIST_OF_STRUCT, "2.2", [(False, 1, False), (False, 1, False)]),
        (pa.struct({"s": STRUCT_OF_LIST}), "2.2", [(False, 1, True), (False, 1, False)]),
        (pa.list_(STRUCT_OF_LIST), "2.1", [(False, 1, True), (False, 1, False)]),
    ],
)
def test_a_field_has_a_column_for_each_of_its_parts_with_data(
    kind: pa.DataType, version: str, expected: list[tuple[bool, int | None, bool]]
) -> None:
    fields = Schema.from_arrow(pa.schema({"before": INT, "a": kind, "after": INT})).fields
    before, layout, after = field_layouts(fields, FileVersion(version))
    columns = layout.columns
    assert [(one.is_header, one.scale, one.has_struct_of_lists) for one in columns] == expected
    assert before.last_column == layout.first_column == 1
    assert after.first_column == layout.last_column == 1 + len(expected)
    assert layout.has_structs_of_lists == any(has for *_, has in expected)
    assert layout.data_columns == [n for n, one in enumerate(expected) if not one[0]]
