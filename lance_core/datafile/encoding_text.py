"""Format an encoding message as readable text, in the notation of pylance."""

from __future__ import annotations

import json
from typing import Any

from google.protobuf.message import Message

from lance_core.encodings.page import ForeignEncoding

_INDENT = "    "


def encoding_text(encoding: Message | ForeignEncoding) -> str:
    """The encoding with all nested messages, one field per line, without a final line break."""
    if isinstance(encoding, ForeignEncoding):
        return f"{encoding.type_url} ({len(encoding.value)} bytes)"
    return "\n".join(_message(encoding))


def _message(message: Message) -> list[str]:
    descriptor = message.DESCRIPTOR
    lines: list[str] = []
    for oneof in descriptor.oneofs:
        # protobuf represents an optional field as a synthetic oneof; the text has it as a field.
        if not (len(oneof.fields) == 1 and oneof.name.startswith("_")):
            lines += _entry(oneof.name, _choice(message, oneof.name))
    for field in descriptor.fields:
        if field.containing_oneof is None or field.containing_oneof.name.startswith("_"):
            lines += _entry(field.name, _value(message, field))
    if not lines:
        return [descriptor.name]
    return [f"{descriptor.name} {{", *_indented(lines), "}"]


def _entry(name: str, value: list[str]) -> list[str]:
    return (
        [f"{name}: {value[0]}", *value[1:-1], f"{value[-1]},"]
        if len(value) > 1
        else [f"{name}: {value[0]},"]
    )


def _choice(message: Message, oneof: str) -> list[str]:
    chosen = message.WhichOneof(oneof)
    if chosen is None:
        return ["None"]
    inner = _single(message.DESCRIPTOR.fields_by_name[chosen], getattr(message, chosen))
    return _wrapped("Some", _wrapped(_camel(chosen), inner))


def _value(message: Message, field: Any) -> list[str]:
    value = getattr(message, field.name)
    if field.is_repeated:
        items = [_single(field, item) for item in value]
        if not items:
            return ["[]"]
        lines = [line for item in items for line in [*item[:-1], f"{item[-1]},"]]
        return ["[", *_indented(lines), "]"]
    if field.has_presence:
        if not message.HasField(field.name):
            return ["None"]
        return _wrapped("Some", _single(field, value))
    return _single(field, value)


def _single(field: Any, value: Any) -> list[str]:
    if field.message_type is not None:
        return _message(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return [_camel(known.name) if known is not None else str(value)]
    if isinstance(value, bytes):
        return [f"{len(value)} bytes"]
    if isinstance(value, str):
        return [json.dumps(value)]
    return [str(value).lower() if isinstance(value, bool) else str(value)]


def _wrapped(name: str, lines: list[str]) -> list[str]:
    return [f"{name}(", *_indented([*lines[:-1], f"{lines[-1]},"]), ")"]


def _indented(lines: list[str]) -> list[str]:
    return [_INDENT + line for line in lines]


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
