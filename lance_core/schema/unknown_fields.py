"""Keep the protobuf fields of a stored message that this library does not know.

The values of this package hold them as the bytes of a message that has only the unknown fields.
Merging these bytes into a message with the known fields restores the stored message.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from google.protobuf.unknown_fields import UnknownFieldSet


def unknown_fields(message: Message) -> bytes:
    """Serialized unknown fields of ``message`` itself; nested messages are not considered."""
    # Nearly all messages have none, and this check is much cheaper than removing known fields.
    return without_known(message) if _unknown_field_set()(message) else b""


def has_unknown_fields(message: Message) -> bool:
    """True if ``message`` itself has unknown fields."""
    return len(_unknown_field_set()(message)) > 0


@lru_cache(maxsize=1)
def _unknown_field_set() -> type[UnknownFieldSet]:
    from google.protobuf.unknown_fields import UnknownFieldSet

    return UnknownFieldSet


def without_known(message: Message, keep: frozenset[str] = frozenset()) -> bytes:
    """Serialize only the unknown fields of ``message`` and its known fields named in ``keep``."""
    rest = type(message)()
    rest.CopyFrom(message)
    for descriptor, _ in rest.ListFields():
        if descriptor.name not in keep:
            rest.ClearField(descriptor.name)
    return rest.SerializeToString(deterministic=True)
