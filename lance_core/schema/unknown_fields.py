"""Fields of a stored message that this library does not know, kept to be written back.

Values hold them as the bytes of a message that has only these fields; merging those bytes into a
message with the known fields restores it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.protobuf.message import Message


def unknown_fields(message: Message) -> bytes:
    """The unknown fields of ``message`` itself, not those of messages inside it."""
    # Nearly all messages have none; to find that out is much cheaper than to cut out the others.
    return without_known(message) if has_unknown_fields(message) else b""


def has_unknown_fields(message: Message) -> bool:
    """Whether ``message`` itself has any."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    return len(UnknownFieldSet(message)) > 0


def without_known(message: Message, keep: frozenset[str] = frozenset()) -> bytes:
    """``message`` with only its unknown fields and those named ``keep``, serialized."""
    rest = type(message)()
    rest.CopyFrom(message)
    for descriptor, _ in rest.ListFields():
        if descriptor.name not in keep:
            rest.ClearField(descriptor.name)
    return rest.SerializeToString(deterministic=True)
