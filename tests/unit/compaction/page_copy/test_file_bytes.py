"""The bytes of several files, as views of memory or read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.store.memory import MemoryStore, Objects
from lance_core_compaction.page_copy import file_bytes
from lance_core_compaction.page_copy.file_bytes import FileBytes, SourceFile
from tests.each_case import each_case

CONTENTS = [bytes(range(100)), bytes(range(100, 200)), b"z" * 300]


def bytes_of_files(monkeypatch: pytest.MonkeyPatch, has_views: bool) -> FileBytes:
    monkeypatch.setattr(MemoryStore, "has_views", has_views)
    store = MemoryStore(Objects())
    for number, content in enumerate(CONTENTS):
        store.put(f"{number}", content + b"metadata")
    files = [SourceFile(store, f"{number}", 1 << 20) for number in range(len(CONTENTS))]
    table: Any = SimpleNamespace(data_ends=np.array([len(one) for one in CONTENTS]))
    return FileBytes(table, files)


@pytest.mark.parametrize("has_views", [False, True])
def test_ranges_are_those_of_their_files(monkeypatch: pytest.MonkeyPatch, has_views: bool) -> None:
    found = bytes_of_files(monkeypatch, has_views)
    bases = found.ranges.bases.tolist()
    ranges = [ByteRange(bases[0] + 3, bases[0] + 8), ByteRange(bases[1], bases[1] + 100)]
    expected = [CONTENTS[0][3:8], CONTENTS[1]]
    assert [bytes(one) for one in found.get(ranges)] == expected
    files, starts, sizes = np.array([0, 1]), np.array([3, 0]), np.array([5, 100])
    assert [bytes(one) for one in found.slices(files, starts, sizes)] == expected
    some = [pa.py_buffer(CONTENTS[0][3:8])]
    with mock.patch.object(MemoryStore, "get_ranges", return_value=some) as read:
        assert [bytes(one) for one in found.get(ranges[:1])] == expected[:1]
    assert [list(call.args[1]) for call in read.call_args_list] == (
        [] if has_views else [[ByteRange(3, 8)]]
    )
    assert [found.path(number) for number in range(3)] == ["0", "1", "2"]


@each_case("share, count", [(0.0, 0), (0.4, 0), (0.6, 3), (1.0, 3)])
def test_all_pages_are_mapped_at_once_if_half_of_the_files_is_expected(
    share: float, count: int
) -> None:
    with (
        pytest.MonkeyPatch.context() as patch,
        mock.patch.object(file_bytes, "populate") as populate,
    ):
        found = bytes_of_files(patch, has_views=True)
        found.expect(int(found.ranges.end * share))
        numbers = np.array([2])
        assert [bytes(one) for one in found.slices(numbers, numbers * 0, numbers)] == [b"zz"]
    assert populate.call_count == count
