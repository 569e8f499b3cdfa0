"""Which fields are read and written together."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core_compaction import field_groups
from lance_core_compaction.stored_rows import all_rows
from tests.each_case import each_case


@each_case("most, expected", [(1800, [[0, 1], [2, 3], [4]]), (899, [[0], [1], [2], [3], [4]])])
def test_a_group_has_as_many_fields_as_its_bytes_allow(
    tmp_path: Path, most: int, expected: list[list[int]]
) -> None:
    rows = pa.table({f"n{number}": np.arange(100) for number in range(5)})
    snapshot = lance.write_dataset(rows, str(tmp_path)).snapshot
    spans = all_rows(snapshot, snapshot.manifest.fragments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(field_groups, "group_bytes", lambda: most)
        passes = field_groups._Passes(snapshot, spans, 100, lambda _: None)
        assert [list(group.numbers) for group in passes.groups()] == expected


def test_fields_of_unknown_width_share_the_bytes_that_others_leave(uri: str) -> None:
    texts = [random.Random(number).randbytes(6000) for number in range(10)]
    rows = pa.table({"n": range(10), "s": texts, "t": texts[::-1]})
    snapshot = lance.write_dataset(rows, uri).snapshot
    spans = all_rows(snapshot, snapshot.manifest.fragments)
    fixed, *texts_widths = field_groups._widths(snapshot.schema.fields, spans)
    stored = sum(file.file_size_bytes or 0 for file in snapshot.manifest.fragments[0].files)
    assert fixed == 9
    assert texts_widths == [(stored // 10 - 9) // 2] * 2


def test_the_smallest_windows_have_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = lance.write_dataset(
        pa.table({"n": range(9), "s": ["x"] * 9}), str(tmp_path)
    ).snapshot
    monkeypatch.setattr(field_groups, "group_bytes", lambda: 1)
    for field in snapshot.schema.fields:
        sizer = field_groups._sizer([field], 9, 8)
        spans = list(sizer.windows(all_rows(snapshot, snapshot.manifest.fragments)))
        assert [span.stop - span.start for span in spans] == [1] * 9
