"""A sealed message is a message to others, and any other bit of the file is noticed."""

from __future__ import annotations

import pytest

from lance_core._pb import transaction_pb2
from lance_core.checksums import environment
from lance_core.checksums.seal import MARK, SEAL_BYTES, is_seal, seal, sealed, unsealed
from lance_core.errors import CorruptFileError

MESSAGE = transaction_pb2.Transaction(read_version=7, uuid="some-uuid").SerializeToString()


def test_a_sealed_message_is_a_message_and_gives_it_back() -> None:
    data = sealed(MESSAGE)
    assert len(data) == len(MARK) + len(MESSAGE) + SEAL_BYTES
    assert bytes(unsealed(data)) == MESSAGE
    parsed = transaction_pb2.Transaction.FromString(data)
    assert (parsed.read_version, parsed.uuid) == (7, "some-uuid")


def test_other_messages_stay_as_they_are() -> None:
    assert bytes(unsealed(MESSAGE)) == MESSAGE
    assert bytes(unsealed(b"")) == b""


def test_no_flipped_bit_gives_another_message() -> None:
    data = sealed(MESSAGE)
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CorruptFileError):
            unsealed(bytes(changed))


def test_both_parts_are_checked_and_the_error_says_where() -> None:
    field = seal(b"before", b"behind")
    assert is_seal(field, b"before", b"behind")
    assert not is_seal(b"another field..", b"before", b"behind")
    with pytest.raises(CorruptFileError, match=r"offset 40.*6 bytes"):
        is_seal(field, b"befare", b"behind", 40)
    with pytest.raises(CorruptFileError, match=r"offset 61.*6 bytes"):
        is_seal(field, b"before", b"behand", 40)


def test_the_environment_can_forbid_seals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "WRITTEN", "no")
    assert sealed(MESSAGE) == MESSAGE
    assert seal(MESSAGE) == b""
