"""Schema fields to and from messages."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_core._pb import file_pb2
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.schema import DictionaryValues, Field, Schema, decode_metadata, encode_metadata
from tests.each_case import each_case
from tests.examples import examples


def message(
    name: str, id_: int, parent: int = -1, text: str = "int8", **more: object
) -> file_pb2.Field:
    return file_pb2.Field(name=name, id=id_, parent_id=parent, logical_type=text, **more)  # type: ignore[arg-type]


def test_a_tree_comes_back_from_its_flat_list() -> None:
    arrow = pa.schema(
        [
            ("a", pa.list_(pa.struct([("x", pa.int8()), ("y", pa.string())]))),
            ("b", pa.map_(pa.string(), pa.list_(pa.int8(), 2))),
            pa.field("c", pa.uuid(), False, metadata={"k": "v"}),
        ],
        metadata={"m": "n"},
    )
    schema = Schema.from_arrow(arrow, first_id=3)
    messages = schema.to_proto()
    assert [(m.id, m.parent_id) for m in messages][:3] == [(3, -1), (4, 3), (5, 4)]
    assert Schema.from_proto(messages, encode_metadata(schema.metadata)) == schema


def test_everything_in_a_message_survives() -> None:
    given = message("d", 5, text="dict:string:int8:false", nullable=True, encoding=3)
    given.type = file_pb2.Field.LEAF
    given.dictionary.offset, given.dictionary.length = 100, 7
    given.unenforced_primary_key = given.unenforced_clustering_key = True
    given.unenforced_primary_key_position = 2
    given.unenforced_clustering_key_position = 1
    given.metadata["binary"] = b"\xff\x00\xfe"
    given.extension_name = "x.y"
    given.metadata["ARROW:extension:name"] = b"x.y"
    given.MergeFromString(b"\xf8\x3f\x2a\xfa\x3f\x03abc")  # fields 1023, not in the format
    (field,) = Schema.from_proto([given]).fields
    assert field.dictionary == DictionaryValues(100, 7)
    assert field.extension_name == "x.y"
    (written,) = Schema((field,)).to_proto()
    assert written == given
    assert written.SerializeToString(deterministic=True) == given.SerializeToString(
        deterministic=True
    )


def test_an_extension_name_alone_is_enough() -> None:
    given = message("u", 0, text="fixed_size_binary:16", extension_name="arrow.uuid")
    assert Schema.from_proto([given]).to_arrow().field(0).type == pa.uuid()


def test_a_new_dictionary_field_says_that_it_has_a_dictionary() -> None:
    """Old readers do not open a table otherwise."""
    keys = pa.schema([("x", pa.dictionary(pa.int8(), pa.string())), ("y", pa.string())])
    written = [message.HasField("dictionary") for message in Schema.from_arrow(keys).to_proto()]
    assert written == [True, False]


def test_metadata_that_is_not_text_survives() -> None:
    raw = {"k": b"\xff\x00", "": b"", "t": "é".encode()}
    assert encode_metadata(decode_metadata(raw)) == raw
    schema = Schema.from_proto([], raw)
    assert schema.to_arrow().metadata == {key.encode(): value for key, value in raw.items()}


@each_case(
    ("messages", "reason"),
    [
        ([message("a", 0), message("b", 0)], "b.*used twice"),
        ([message("a", -2)], "a.*negative id"),
        ([message("a", -1)], "a.*negative id"),
        ([message("a", 0, parent=7)], "a.*parent 7 .* does not come before"),
        ([message("a", 0, parent=0)], "a.*parent 0 .* does not come before"),
        ([message("x", 1, 0), message("s", 0, text="struct")], "x.*does not come before"),
        ([message("a", 0), message("x", 1, 0)], "a.*cannot have child fields"),
        ([message("l", 0, text="list")], "l.*0 child fields"),
        (
            [message("l", 0, text="list"), message("x", 1, 0), message("y", 2, 0)],
            "l.*2 child fields",
        ),
        ([message("f", 0, text="fixed_size_list:struct:2")], "f.*0 child fields"),
        ([message("m", 0, text="map"), message("e", 1, 0)], "m.*not a key and a value"),
        ([message("f", 0, text="fixed_size_list:int8:-4")], "f.*-4"),
        (
            [message("s", 0, text="struct"), message("d", 1, 0, "decimal:128:99:0")],
            r"s\.d.*99",
        ),
    ],
)
def test_a_broken_list_is_corruption_of_a_named_field(
    messages: list[file_pb2.Field], reason: str
) -> None:
    with pytest.raises(CorruptFileError, match=reason):
        Schema.from_proto(messages)


def test_an_unknown_type_is_named_with_its_path() -> None:
    messages = [message("s", 0, text="struct"), message("x", 1, 0, "int128")]
    with pytest.raises(UnsupportedFeatureError, match=r"field s\.x: .*'int128'"):
        Schema.from_proto(messages)


def test_nesting_ends_at_100_levels() -> None:
    chain = [message("s", i, i - 1, "struct") for i in range(101)]
    assert len(list(Schema.from_proto(chain[:100]).walk())) == 100
    with pytest.raises(CorruptFileError, match="deeper than 100"):
        Schema.from_proto(chain)


def test_a_long_flat_list_is_read_in_linear_time() -> None:
    schema = Schema.from_proto([message(f"c{i}", i) for i in range(20_000)])
    assert schema.max_field_id == 19_999


def test_parts_of_a_blob_description_need_no_ids() -> None:
    blob = message("b", 0, text="struct", metadata={"lance-encoding:blob": b"true"})
    parts = [message("kind", -1, text="uint8"), message("size", -1, text="uint64")]
    schema = Schema.from_proto([blob, *parts, message("z", 3)])
    assert [field.name for field in schema.fields[0].children] == ["kind", "size"]
    assert schema.to_proto() == [blob, *parts, message("z", 3)]


PARTS = ["list", "struct", "map", "fixed_size_list", "dict", "decimal", "timestamp", "json", "null"]
PARTS += ["int8", "string", "lance.bfloat16", "128", "2", "0", "-1", "us", "-", "false", "", "\0"]
GOOD = ["struct", "struct", "null", "int8", "json", "fixed_size_list:int8:2", "decimal:128:5:2"]
MARKS = ["arrow.uuid", "arrow.json", "arrow.fixed_shape_tensor", "arrow.opaque", "\0"]


@st.composite
def field_lists(draw: st.DrawFn) -> list[file_pb2.Field]:
    """Lists that are nearly right: mostly nested types over earlier parents."""
    made: list[file_pb2.Field] = []
    for id_ in range(draw(st.integers(1, 6))):
        if draw(st.integers(0, 5)):
            text = draw(st.sampled_from(GOOD))
            structs = [m.id for m in made if m.logical_type == "struct"]
            parent = draw(st.sampled_from([-1, *structs]))
        else:
            text = ":".join(draw(st.lists(st.sampled_from(PARTS), max_size=5)))
            parent = draw(st.integers(-3, 7))
        field = message(
            draw(st.sampled_from("ab")), id_, parent, text, nullable=draw(st.booleans())
        )
        if draw(st.booleans()):
            field.extension_name = draw(st.sampled_from(MARKS))
            field.metadata["ARROW:extension:metadata"] = draw(st.binary(max_size=4))
        made.append(field)
    return made


@settings(max_examples=examples(75))
@given(field_lists())
def test_any_list_is_a_schema_or_a_typed_error(messages: list[file_pb2.Field]) -> None:
    try:
        schema = Schema.from_proto(messages)
    except (CorruptFileError, UnsupportedFeatureError):
        return
    again = Schema.from_proto(schema.to_proto())
    assert again == schema
    assert again.to_arrow().names == schema.storage_schema().names


def test_a_required_field_of_type_null_is_nullable_in_arrow() -> None:
    schema = Schema.from_proto([message("n", 0, text="null")])
    assert schema.to_arrow() == pa.schema([("n", pa.null())])


def test_field_is_a_plain_value() -> None:
    assert Field("a", "int8") == Field("a", "int8")
    assert Field("a", "int8") != Field("a", "int16")
    assert Field("a", "int8").id == -1
