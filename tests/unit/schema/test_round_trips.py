"""Whatever the nesting: schemas come back from messages and Arrow, arrays from storage."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_core.schema import Schema, align_batch, append_schema, encode_metadata, wrap
from tests.examples import examples

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
TOP_NAMES = NAMES.filter(lambda name: "." not in name)
METADATA = st.dictionaries(NAMES.map(lambda name: f"k:{name}"), NAMES, max_size=2)

FIXED = [
    pa.bool_(),
    pa.int8(),
    pa.uint64(),
    pa.float16(),
    pa.float64(),
    pa.date32(),
    pa.time64("ns"),
    pa.timestamp("us", "+01:00"),
    pa.duration("ms"),
    pa.decimal128(20, 3),
    pa.decimal256(60, -3),
    pa.binary(3),
]
LEAVES = [
    *FIXED,
    pa.null(),
    pa.string(),
    pa.large_binary(),
    pa.dictionary(pa.int16(), pa.string()),
    pa.uuid(),
    pa.bool8(),
    pa.fixed_shape_tensor(pa.int8(), [2, 2]),
]


@st.composite
def arrow_fields(draw: st.DrawFn, types: st.SearchStrategy[pa.DataType], name: str) -> pa.Field:
    arrow = draw(types)
    nullable = arrow == pa.null() or draw(st.booleans())
    return pa.field(name, arrow, nullable, metadata=draw(METADATA) or None)


@st.composite
def nested(draw: st.DrawFn, inner: st.SearchStrategy[pa.DataType]) -> pa.DataType:
    kind = draw(st.sampled_from(["struct", "list", "large_list", "map", "fixed"]))
    if kind == "struct":
        names = draw(st.lists(NAMES, max_size=3, unique=True))
        return pa.struct([draw(arrow_fields(inner, name)) for name in names])
    if kind == "map":
        key = pa.field("key", draw(st.sampled_from([pa.string(), pa.int8()])), False)
        return pa.map_(key, draw(arrow_fields(inner, "value")))
    if kind == "fixed":
        return pa.list_(draw(st.sampled_from(FIXED)), draw(st.integers(1, 3)))
    item = draw(arrow_fields(inner, draw(st.sampled_from(["item", "element"]))))
    return pa.list_(item) if kind == "list" else pa.large_list(item)


TYPES = st.recursive(st.sampled_from(LEAVES), nested, max_leaves=8)


@st.composite
def arrow_schemas(draw: st.DrawFn) -> pa.Schema:
    names = draw(st.lists(TOP_NAMES, max_size=4, unique=True))
    fields = [draw(arrow_fields(TYPES, name)) for name in names]
    return pa.schema(fields, metadata=draw(METADATA) or None)


slow = settings(max_examples=examples(20))


@slow
@given(arrow_schemas(), st.integers(0, 1000))
def test_a_schema_comes_back(arrow: pa.Schema, first_id: int) -> None:
    schema = Schema.from_arrow(arrow, first_id)
    assert schema.to_arrow().equals(arrow, check_metadata=True)
    assert schema.field_ids == list(range(first_id, first_id + len(schema.field_ids)))
    again = Schema.from_proto(schema.to_proto(), encode_metadata(schema.metadata))
    assert again == schema
    assert again.to_arrow().equals(arrow, check_metadata=True)
    assert append_schema(schema, arrow) == schema


@slow
@given(arrow_schemas())
def test_every_field_is_found_by_its_path(arrow: pa.Schema) -> None:
    schema = Schema.from_arrow(arrow)
    for field in schema.walk():
        path = schema.path_of(field.id)
        found = schema.field_by_path(path)
        assert found is field
        (top,) = schema.project([path]).fields
        assert field in list(top.walk())


@slow
@given(arrow_schemas(), st.data())
def test_null_rows_fit_after_reordering_and_come_back(
    arrow: pa.Schema, data: st.DataObject
) -> None:
    nullable = pa.schema([field.with_nullable(True) for field in arrow])
    schema = Schema.from_arrow(nullable)
    columns = [pa.nulls(3, field.type) for field in nullable]
    order = data.draw(st.permutations(range(len(columns))))
    batch = pa.RecordBatch.from_arrays(
        [columns[i] for i in order], schema=pa.schema([nullable.field(i) for i in order])
    )
    stored = align_batch(batch, schema)
    assert stored.schema == schema.storage_schema()
    for column, field, seen in zip(stored.columns, schema.fields, columns, strict=True):
        wrapped = wrap(column[1:], field)
        wrapped.validate(full=True)
        assert wrapped.equals(seen[1:])
