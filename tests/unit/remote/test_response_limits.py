"""Answers are read to their end, up to a limit."""

from __future__ import annotations

import io

import pytest

from lance_core_remote.client import Failure, RequestError
from lance_core_remote.response_limits import (
    MAX_RESPONSE,
    PIECE,
    read_content,
    read_pooled,
    read_response,
)
from tests.each_case import each_case


class Body(io.BytesIO):
    """Bytes of which at most ``most`` come at once."""

    def __init__(self, content: bytes, most: int = PIECE) -> None:
        super().__init__(content)
        self.most = most

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size or 0, self.most))


@each_case(("length", "most"), [(0, 3), (10, 3), (MAX_RESPONSE, 1 << 30)])
def test_what_comes_in_pieces_is_put_together(length: int, most: int) -> None:
    content = bytes(range(10)) * (length // 10) + bytes(length % 10)
    assert read_response(Body(content, most)) == content


def test_no_more_is_read_than_an_answer_has() -> None:
    endless = Body(bytes(MAX_RESPONSE + 5 * PIECE))
    positions: list[int] = []
    endless.close = lambda: positions.append(endless.tell())  # type: ignore[method-assign]
    with pytest.raises(RequestError, match="has over") as caught:
        read_response(endless)
    assert caught.value.failure is Failure.UNKNOWN
    assert positions == [MAX_RESPONSE + PIECE]


@each_case("length", [0, 10, 1 << 16, (1 << 16) + 1, 3 * PIECE + 5])
def test_content_has_as_many_bytes_as_announced(length: int) -> None:
    content = bytes(i % 251 for i in range(length))
    assert read_content(io.BytesIO(content + b"more"), length).to_pybytes() == content


@pytest.mark.parametrize("length", [10, 1 << 17])
def test_content_that_ends_early_is_no_content(length: int) -> None:
    with pytest.raises(RequestError, match="broke off") as caught:
        read_content(io.BytesIO(bytes(length - 1)), length)
    assert caught.value.failure is Failure.UNKNOWN


class Response(Body):
    """A response of urllib3, with ``length_remaining`` bytes, and the calls that concern it."""

    def __init__(self, content: bytes, length_remaining: int | None) -> None:
        super().__init__(content, most=7)
        self.length_remaining = length_remaining
        self.calls: list[str] = []

    def read(self, size: int | None = -1, /) -> bytes:
        self.calls.append("read")
        return super().read(size)

    def close(self) -> None:
        self.calls.append("close")

    def release_conn(self) -> None:
        self.calls.append("release")


@each_case("is_announced", [False, True])
@each_case("length", [0, 1, 19, 20])
def test_a_body_within_its_limit_is_read_and_its_connection_kept(
    length: int, is_announced: bool
) -> None:
    response = Response(bytes(length), length if is_announced else None)
    assert read_pooled(response, 20) == bytes(length)
    assert "read" in response.calls
    assert "close" not in response.calls
    assert response.calls[-1] == "release"


@each_case("announced", [None, 25, 1 << 60])
def test_of_a_longer_body_one_byte_more_is_read(announced: int | None) -> None:
    response = Response(bytes(25), announced)
    assert read_pooled(response, 20) == bytes(21)
    assert response.calls[-2:] == ["close", "release"]


def test_a_body_that_cannot_be_read_gives_up_its_connection() -> None:
    class Broken(Response):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError("gone")

    response = Broken(b"", None)
    with pytest.raises(OSError, match="gone"):
        read_pooled(response, 20)
    assert response.calls == ["close", "release"]
