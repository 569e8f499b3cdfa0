"""``Transaction.KeyExistenceFilter``: hashes of the keys that a merge inserted.

Two concurrent merges that insert the same key would duplicate it; the filters detect this.
"""

from __future__ import annotations

from lance_core._pb import transaction_pb2
from lance_core.lazy_dataclass import dataclass
from lance_core.table.unknown_fields import unknown_fields

_Message = transaction_pb2.Transaction


@dataclass(frozen=True, slots=True)
class ExactKeys:
    """Unsigned 64-bit hashes of all keys."""

    key_hashes: tuple[int, ...]
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class BloomKeys:
    """A split-block bloom filter. Two filters are comparable only if all parameters are equal.

    The filter was sized for ``number_of_items`` keys and a false positive rate ``probability``.
    """

    bitmap: bytes
    num_bits: int
    number_of_items: int
    probability: float
    unknown: bytes = b""

    def is_like(self, other: BloomKeys) -> bool:
        """True if the parameters are equal, so that a key sets the same bits in both filters."""
        own = (len(self.bitmap), self.num_bits, self.number_of_items, self.probability)
        return own == (
            len(other.bitmap),
            other.num_bits,
            other.number_of_items,
            other.probability,
        )


@dataclass(frozen=True, slots=True)
class KeyExistenceFilter:
    """Inserted keys; ``field_ids`` are the key columns. ``keys`` is None if unknown."""

    field_ids: tuple[int, ...]
    keys: ExactKeys | BloomKeys | None
    unknown: bytes = b""

    @classmethod
    def from_proto(cls, message: _Message.KeyExistenceFilter) -> KeyExistenceFilter:
        keys: ExactKeys | BloomKeys | None = None
        if message.HasField("exact"):
            exact = message.exact
            keys = ExactKeys(tuple(exact.key_hashes), unknown_fields(exact))
        elif message.HasField("bloom"):
            bloom = message.bloom
            keys = BloomKeys(
                bloom.bitmap,
                bloom.num_bits,
                bloom.number_of_items,
                bloom.probability,
                unknown_fields(bloom),
            )
        return cls(tuple(message.field_ids), keys, unknown_fields(message))

    def to_proto(self) -> _Message.KeyExistenceFilter:
        message = _Message.KeyExistenceFilter(field_ids=self.field_ids)
        if isinstance(self.keys, ExactKeys):
            exact = _Message.ExactKeySetFilter(key_hashes=self.keys.key_hashes)
            exact.MergeFromString(self.keys.unknown)
            message.exact.CopyFrom(exact)
        elif self.keys is not None:
            bloom = _Message.BloomFilter(
                bitmap=self.keys.bitmap,
                num_bits=self.keys.num_bits,
                number_of_items=self.keys.number_of_items,
                probability=self.keys.probability,
            )
            bloom.MergeFromString(self.keys.unknown)
            message.bloom.CopyFrom(bloom)
        message.MergeFromString(self.unknown)
        return message
