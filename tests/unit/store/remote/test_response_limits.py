"""Answers are read to their end, up to a limit."""

from __future__ import annotations

import io

import pytest

from lance_core.store.remote.client import Failure, RequestError
from lance_core.store.remote.response_limits import LONGEST_ANSWER, PIECE, read_answer


class Body(io.BytesIO):
    """Bytes of which at most ``most`` come at once."""

    def __init__(self, content: bytes, most: int = PIECE) -> None:
        super().__init__(content)
        self.most = most

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size or 0, self.most))


@pytest.mark.parametrize(("length", "most"), [(0, 3), (10, 3), (LONGEST_ANSWER, 1 << 30)])
def test_what_comes_in_pieces_is_put_together(length: int, most: int) -> None:
    content = bytes(range(10)) * (length // 10) + bytes(length % 10)
    assert read_answer(Body(content, most)) == content


def test_no_more_is_read_than_an_answer_has() -> None:
    endless = Body(bytes(LONGEST_ANSWER + 5 * PIECE))
    positions: list[int] = []
    endless.close = lambda: positions.append(endless.tell())  # type: ignore[method-assign]
    with pytest.raises(RequestError, match="has over") as caught:
        read_answer(endless)
    assert caught.value.failure is Failure.UNKNOWN
    assert positions == [LONGEST_ANSWER + PIECE]
