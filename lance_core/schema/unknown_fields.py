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
    from google.protobuf.unknown_fields import UnknownFieldSet

    # Nearly all messages have none; to find that out is much cheaper than to cut out the others.
    if not len(UnknownFieldSet(message)):
        return b""
    rest = type(message)()
    rest.CopyFrom(message)
    for descriptor, _ in rest.ListFields():
        rest.ClearField(descriptor.name)
    return rest.SerializeToString()
