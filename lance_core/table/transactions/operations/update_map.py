"""``Transaction.UpdateMap``: changes of a map with text keys and values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from lance_core._pb import transaction_pb2
from lance_core.lazy_dataclass import dataclass, replace


@dataclass(frozen=True, slots=True)
class UpdateMap:
    """Values to set by key; None removes the key. With ``replace``, all other keys are removed.

    ``stored`` is the serialized message if its bytes differ from those of an equal message that
    `to_proto` would create (for example with a duplicate key); it is written back unchanged.
    """

    updates: Mapping[str, str | None] = dataclasses.field(default_factory=dict, hash=False)
    replace: bool = False
    stored: bytes = dataclasses.field(default=b"", repr=False)

    def applied(self, current: Mapping[str, str]) -> dict[str, str]:
        """A copy of ``current`` with the updates."""
        changed = {} if self.replace else dict(current)
        for key, value in self.updates.items():
            if value is None:
                changed.pop(key, None)
            else:
                changed[key] = value
        return changed

    def meets(self, other: UpdateMap) -> bool:
        """True if both change the same key; a replacement changes all keys."""
        if self.replace or other.replace:
            return True
        return not self.updates.keys().isdisjoint(other.updates)

    @classmethod
    def from_proto(cls, message: transaction_pb2.Transaction.UpdateMap) -> UpdateMap:
        """Decode a message; for a duplicate key, the last entry counts."""
        made = cls(
            {
                entry.key: entry.value if entry.HasField("value") else None
                for entry in message.update_entries
            },
            message.replace,
        )
        stored = message.SerializeToString(deterministic=True)
        if made.to_proto().SerializeToString(deterministic=True) == stored:
            return made
        return replace(made, stored=stored)

    def to_proto(self) -> transaction_pb2.Transaction.UpdateMap:
        message = transaction_pb2.Transaction.UpdateMap()
        if self.stored:
            message.MergeFromString(self.stored)
            return message
        message.replace = self.replace
        for key, value in self.updates.items():
            message.update_entries.add(key=key, value=value)
        return message
