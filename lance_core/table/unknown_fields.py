"""Decode stored messages, and detect fields that this library does not know."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from lance_core.errors import CorruptFileError
from lance_core.schema.unknown_fields import unknown_fields

__all__ = ["all_known", "parse", "unknown_fields"]

M = TypeVar("M", bound=Message)


def parse(message_type: type[M], data: bytes, field: str) -> M:
    """Decode ``data`` as a ``message_type``. Raises `CorruptFileError` naming ``field``."""
    try:
        return message_type.FromString(data)
    except (DecodeError, RecursionError):
        name = message_type.DESCRIPTOR.full_name
        raise CorruptFileError(f"these bytes are not a {name}", field=field) from None


def all_known(message: Message, size: int) -> bool:
    """True if ``message``, parsed from ``size`` bytes, has no unknown field at any depth.

    Discards the unknown fields of ``message`` and compares its size. May also return False for a
    message without unknown fields in an unusual encoding.
    """
    message.DiscardUnknownFields()
    return message.ByteSize() == size
