"""Schema fields to and from messages."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_core._pb import file_pb2
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.schema import DictionaryValues, Field, Schema, decode_metadata, encode_metadata


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


def test_metadata_that_is_not_text_survives() -> None:
    raw = {"k": b"\xff\x00", "": b"", "t": "é".encode()}
    assert encode_metadata(decode_metadata(raw)) == raw
    schema = Schema.from_proto([], raw)
    assert schema.to_arrow().metadata == {key.encode(): value for key, value in raw.items()}


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([message("a", 0), message("b", 0)], "b.*used twice"),
        ([message("a", -2)], "a.*negative field id"),
        ([message("a", -1)], "a.*negative field id"),
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


def test_field_is_a_plain_value() -> None:
    assert Field("a", "int8") == Field("a", "int8")
    assert Field("a", "int8") != Field("a", "int16")
    assert Field("a", "int8").id == -1
