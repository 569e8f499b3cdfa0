"""Extension types: remembered by metadata, back if they are registered."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from lance_core.schema import Field, Schema, to_storage, wrap, wrap_chunks
from lance_core.schema.extension import resolved
from tests.each_case import each_case

NAME = "ARROW:extension:name"
PARAMETERS = "ARROW:extension:metadata"


class Celsius(pa.ExtensionType):  # type: ignore[misc]  # pyarrow has no types
    def __init__(self, digits: int) -> None:
        self.digits = digits
        super().__init__(pa.float64(), "test.celsius")

    def __arrow_ext_serialize__(self) -> bytes:
        return str(self.digits).encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Celsius:
        return cls(int(serialized))


@pytest.fixture
def registered() -> Iterator[None]:
    pa.register_extension_type(Celsius(1))
    yield
    pa.unregister_extension_type("test.celsius")


BUILT_IN = [
    (pa.uuid(), "fixed_size_binary:16", ""),
    (pa.bool8(), "int8", ""),
    (pa.fixed_shape_tensor(pa.float32(), [2, 3]), "fixed_size_list:float:6", '{"shape":[2,3]}'),
    (pa.opaque(pa.int32(), "t", "v"), "int32", '{"type_name":"t","vendor_name":"v"}'),
]


@each_case(("arrow", "text", "parameters"), BUILT_IN, ids=str)
@each_case("shape", ["plain", "struct", "list", "map"])
def test_arrows_own_extension_types_come_back(
    arrow: pa.DataType, text: str, parameters: str, shape: str
) -> None:
    types = {
        "plain": arrow,
        "struct": pa.struct([("x", arrow)]),
        "list": pa.list_(arrow),
        "map": pa.map_(pa.string(), arrow),
    }
    given = pa.schema([pa.field("c", types[shape], metadata={"k": "v"})])
    schema = Schema.from_arrow(given)
    leaf = list(schema.walk())[-1]
    assert (leaf.logical_type, leaf.metadata[PARAMETERS]) == (text, parameters)
    assert leaf.extension_name == arrow.extension_name
    assert schema.to_arrow().equals(given, check_metadata=True)
    assert Schema.from_proto(schema.to_proto()).to_arrow().equals(given, check_metadata=True)


@pytest.mark.usefixtures("registered")
def test_a_registered_type_comes_back_with_its_parameters() -> None:
    schema = Schema.from_arrow(pa.schema([("t", Celsius(3))]))
    (field,) = Schema.from_proto(schema.to_proto()).fields
    assert field.arrow_type == Celsius(3)
    assert field.arrow_type.digits == 3
    assert field.storage_type == pa.float64()


def test_an_unregistered_type_comes_back_as_its_storage_with_metadata() -> None:
    field = Field("t", "double", metadata={NAME: "test.celsius", PARAMETERS: "3"})
    expected = pa.field("t", pa.float64(), metadata={NAME: "test.celsius", PARAMETERS: "3"})
    assert field.to_arrow().equals(expected, check_metadata=True)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("test.celsius", "no number"), ("arrow.fixed_shape_tensor", "{"), ("arrow.uuid", "")],
)
def test_a_type_that_refuses_its_parameters_stays_storage(name: str, parameters: str) -> None:
    field = Field("t", "double", metadata={NAME: name, PARAMETERS: parameters})
    assert field.arrow_type == pa.float64()
    assert field.to_arrow().metadata[NAME.encode()] == name.encode()


@pytest.mark.parametrize("text", ["string", "large_string"])
def test_json_is_text_outside_and_binary_inside(text: str) -> None:
    storage = pa.string() if text == "string" else pa.large_string()
    (field,) = Schema.from_arrow(pa.schema([("j", pa.json_(storage))])).fields
    assert field.is_json
    assert field.extension_name == "lance.json"
    assert field.arrow_type == pa.json_()
    assert field.storage_type == pa.large_binary()


def test_bfloat16_items_are_part_of_the_logical_type() -> None:
    item = pa.field("item", pa.binary(2), metadata={NAME: "lance.bfloat16", PARAMETERS: ""})
    (field,) = Schema.from_arrow(pa.schema([("v", pa.list_(item, 4))])).fields
    assert field.logical_type == "fixed_size_list:lance.bfloat16:4"
    assert field.storage_type == pa.list_(pa.binary(2), 4)
    # The type itself exists only where pylance is imported too.
    assert field.arrow_type.value_field.equals(resolved(item), check_metadata=True)


@each_case("offset", [0, 1])
@each_case("shape", ["plain", "struct", "list", "large_list", "fixed", "map"])
def test_wrapping_keeps_values_and_copies_none(shape: str, offset: int) -> None:
    ids = pa.array([bytes([i]) * 16 for i in range(6)], pa.binary(16))
    pairs = pa.array([0, 2, 4, 6], pa.int32())
    uuids = pa.ExtensionArray.from_storage(pa.uuid(), ids)
    made = {
        "plain": uuids,
        "struct": pa.StructArray.from_arrays([uuids], ["u"]),
        "list": pa.ListArray.from_arrays(pairs, uuids),
        "large_list": pa.LargeListArray.from_arrays(pairs.cast("int64"), uuids),
        "fixed": pa.FixedSizeListArray.from_arrays(pa.StructArray.from_arrays([uuids], ["u"]), 2),
        "map": pa.MapArray.from_arrays(pairs, pa.array([1, 2, 3, 4, 5, 6]), uuids),
    }
    seen = made[shape][offset:]
    (field,) = Schema.from_arrow(pa.schema([("c", seen.type)])).fields
    stored = to_storage(seen, field)
    assert stored.type == field.storage_type
    wrapped = wrap(stored, field)
    assert wrapped.type == seen.type
    assert wrapped.equals(seen)
    wrapped.validate(full=True)
    values = {buffer.address for buffer in wrapped.buffers() if buffer is not None}
    assert ids.buffers()[1].address in values


def test_wrapping_chunks_keeps_the_chunks() -> None:
    (field,) = Schema.from_arrow(pa.schema([("u", pa.uuid())])).fields
    chunks = pa.chunked_array([[b"a" * 16], [], [None]], pa.binary(16))
    wrapped = wrap_chunks(chunks, field)
    assert wrapped.type == pa.uuid()
    assert [len(chunk) for chunk in wrapped.chunks] == [1, 0, 1]
    assert wrap_chunks(pa.chunked_array([], pa.binary(16)), field).type == pa.uuid()
