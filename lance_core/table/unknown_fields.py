"""Decoding stored messages, and keeping the fields of them that this library does not know."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from lance_core.errors import CorruptFileError
from lance_core.schema.unknown_fields import unknown_fields

__all__ = ["all_known", "parse", "unknown_fields"]

M = TypeVar("M", bound=Message)


def parse(kind: type[M], data: bytes, field: str) -> M:
    """Decode ``data`` as a message of ``kind``; `CorruptFileError` names ``field``."""
    try:
        return kind.FromString(data)
    except (DecodeError, RecursionError):
        name = kind.DESCRIPTOR.full_name
        raise CorruptFileError(f"these bytes are not a {name}", field=field) from None


def all_known(message: Message, size: int) -> bool:
    """True if ``message``, parsed from ``size`` bytes, has no unknown field at any depth.

    May be False for a message that merely was encoded unusually. Consumes unknown fields.
    """
    message.DiscardUnknownFields()
    return message.ByteSize() == size
