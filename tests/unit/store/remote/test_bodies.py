"""Bodies of answers are read in time and up to a limit."""

from __future__ import annotations

import io

import pytest

from lance_core.store.remote.bodies import LONGEST_ANSWER, PIECE, TimelyBody
from lance_core.store.remote.client import RequestError
from tests.unit.store.remote.scripted import Time


class Slow(io.BytesIO):
    """A second passes with each read, which brings three bytes at most."""

    def __init__(self, content: bytes, time: Time) -> None:
        super().__init__(content)
        self.time = time

    def read1(self, size: int | None = -1, /) -> bytes:
        self.time.sleep(1)
        return super().read1(min(size or 0, 3))


def body(content: bytes, seconds: float = 60.0) -> TimelyBody:
    time = Time()
    return TimelyBody(Slow(content, time), seconds, time.waiting.monotonic)


def test_what_comes_in_pieces_is_put_together() -> None:
    slow = body(b"0123456789")
    assert slow.read(4) == b"0123"
    target = bytearray(4)
    assert slow.readinto(memoryview(target)) == 3
    assert target == b"456\0"
    assert slow.read(0) == b""
    assert slow.read(10) == b"789"
    assert slow.read(10) == b""
    assert body(b"0123456789").read() == b"0123456789"


@pytest.mark.parametrize("amount", [10, -1])
def test_time_that_is_over_ends_reading(amount: int) -> None:
    with pytest.raises(RequestError, match="within the time"):
        body(b"0123456789", seconds=2.5).read(amount)


def test_no_more_is_read_than_an_answer_has() -> None:
    class Endless(io.BytesIO):
        was_read = 0

        def read1(self, size: int | None = -1, /) -> bytes:
            self.was_read += size or 0
            return bytes(size or 0)

    endless = Endless()
    with pytest.raises(RequestError, match="has over"):
        TimelyBody(endless, 60.0).read()
    assert endless.was_read <= LONGEST_ANSWER + PIECE
    assert endless.closed
