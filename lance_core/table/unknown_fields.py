"""Fields of a stored message that this library does not know, kept to be written back.

The values of this package hold them as the bytes of a message that has only these fields; merging
those bytes into a message with the known fields restores it.
"""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from lance_core.errors import CorruptFileError

M = TypeVar("M", bound=Message)


def parse(kind: type[M], data: bytes, field: str) -> M:
    """Decode ``data`` as a message of ``kind``; `CorruptFileError` names ``field``."""
    try:
        return kind.FromString(data)
    except (DecodeError, RecursionError):
        name = kind.DESCRIPTOR.full_name
        raise CorruptFileError(f"these bytes are not a {name}", field=field) from None


def unknown_fields(message: Message) -> bytes:
    """The unknown fields of ``message`` itself, not those of messages inside it."""
    rest = type(message)()
    rest.CopyFrom(message)
    for descriptor, _ in rest.ListFields():
        rest.ClearField(descriptor.name)
    return rest.SerializeToString()


def all_known(message: Message, size: int) -> bool:
    """Whether ``message``, parsed from ``size`` bytes, has no unknown field at any depth.

    May be False for a message that merely was encoded unusually. Consumes unknown fields.
    """
    message.DiscardUnknownFields()
    return message.ByteSize() == size
