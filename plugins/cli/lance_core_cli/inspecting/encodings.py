"""The encoding of a page in a few words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

_WORDS = {
    "mini_block_layout": "mini-block",
    "full_zip_layout": "full-zip",
    "constant_layout": "constant",
    "blob_layout": "blob",
    "flat": "plain",
    "inline_bitpacking": "bit-packed",
    "out_of_line_bitpacking": "bit-packed",
    "bitpacked": "bit-packed",
    "bitpacked_for_non_neg": "bit-packed",
    "byte_stream_split": "byte-stream-split",
    "packed_struct": "packed struct",
    "fsst": "FSST",
    "rle": "run-length",
}
"""What people call the fields and enum values of encoding messages."""

_LAYOUTS = ("mini-block", "full-zip", "constant", "blob")

_SKIPPED = frozenset({"rep_compression", "def_compression", "layers", "offsets"})
"""Parts of an encoding that are about nulls and lists, not about values."""

_SILENT = frozenset(
    {
        *("general", "variable", "fixed_size_list", "nullable", "no_nulls", "some_nulls"),
        *("all_nulls", "list", "struct"),
    }
)
"""Messages around what matters."""


def encoding_label(encoding: Any) -> str:
    """Words for the layout and the compressions of a page, such as ``mini-block, FSST, lz4``.

    ``encoding``: the message of the format, or that of a plugin's encoding, whose name is returned.
    """
    if not isinstance(encoding, Message):
        return str(getattr(encoding, "type_url", "unknown")).rpartition("/")[2]
    words = list(dict.fromkeys(_words(encoding)))
    layout = [word for word in words if word in _LAYOUTS]
    values = [word for word in words if word not in (*_LAYOUTS, "plain")]
    if not values and not {"constant", "blob"} & set(layout):
        values = ["plain"]
    return ", ".join([*layout, *values])


def _words(message: Message) -> Iterator[str]:
    for field, value in message.ListFields():
        if field.name in _SKIPPED:
            continue
        if field.enum_type is not None and not field.is_repeated:
            known = field.enum_type.values_by_number.get(value)
            yield str(value) if known is None else known.name.rpartition("_")[2].lower()
        if field.message_type is None or field.is_repeated:
            continue
        if field.name == "dictionary":
            yield "dictionary"
        elif field.containing_oneof is not None and field.name not in _SILENT:
            yield _WORDS.get(field.name, field.name.replace("_", " "))
        yield from _words(value)
