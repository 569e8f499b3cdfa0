"""The compiled copy of ranges between open files."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core_kernels import _native
from lance_core_kernels.files import copy_ranges

BUFFER = bytearray(512 << 10)
CONTENT = np.random.default_rng(1).bytes(3 * len(BUFFER) + 12345)


@contextmanager
def opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two files, ``a`` and ``b``."""
    found = tmp_path_factory.mktemp("files")
    (found / "a").write_bytes(CONTENT)
    (found / "b").write_bytes(CONTENT[::-1])
    return found


places = st.integers(0, len(CONTENT))


@given(st.lists(st.tuples(st.booleans(), places, places), max_size=5), st.randoms())
def test_ranges_are_copied_to_their_places(
    folder: Path, wanted: list[tuple[bool, int, int]], chance: np.random.RandomState
) -> None:
    files = (CONTENT, CONTENT[::-1])
    expected = b"".join([files[which][start:stop] for which, start, stop in wanted])
    with (
        opened(folder / "a", os.O_RDONLY) as a,
        opened(folder / "b", os.O_RDONLY) as b,
        opened(folder / "new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as new,
    ):
        ranges, place = [], 0
        for which, start, stop in wanted:
            length = max(stop - start, 0)
            ranges.append(((a, b)[which], start, length, place))
            place += length
        chance.shuffle(ranges)
        copy_ranges(ranges, new, BUFFER)
    assert (folder / "new").read_bytes() == expected


def test_errors_are_those_of_the_system(folder: Path) -> None:
    with opened(folder / "a", os.O_RDONLY) as a, opened(folder / "c", os.O_RDWR | os.O_CREAT) as c:
        for ranges, target, code in [
            ([(a, len(CONTENT) - 5, 6, 0)], c, errno.EIO),
            ([(a, 1 << 40, 1, 0)], c, errno.EIO),
            ([(a, -1, 1, 0)], c, errno.EINVAL),
            ([(a, 0, 1, -1)], c, errno.EINVAL),
            ([(-1, 0, 1, 0)], c, errno.EBADF),
            ([(a + (1 << 32), 0, 1, 0)], c, errno.EBADF),
            ([(a, 0, 1, 0)], a, errno.EBADF),
        ]:
            with pytest.raises(OSError, match="ended" if code == errno.EIO else ".") as error:
                copy_ranges(ranges, target, BUFFER)
            assert error.value.errno == code, ranges


def test_nothing_is_copied_for_no_range_and_for_an_empty_one(folder: Path) -> None:
    with opened(folder / "d", os.O_WRONLY | os.O_CREAT) as d:
        copy_ranges([], d, BUFFER)
        copy_ranges([(-1, 0, 0, 0), (-1, 5, -7, 0)], d, BUFFER)
    assert (folder / "d").read_bytes() == b""


@pytest.mark.parametrize(("ranges", "room"), [(bytes(31), bytearray(8)), (bytes(32), bytearray())])
def test_arguments_that_do_not_fit_are_refused(ranges: bytes, room: bytearray) -> None:
    with pytest.raises(ValueError, match="belong together"):
        _native.copy_ranges(np.frombuffer(ranges, np.uint8), 0, room)
