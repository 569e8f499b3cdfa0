"""Rows of a merge are taken in pieces of limited size."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_core.dataset.write.merge_insert import new_values


def test_pieces_are_as_large_as_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_values, "PIECE_BYTES", 320)
    rows = pa.table({"k": pa.array(range(100), pa.int64())})
    pieces = list(new_values._pieces(np.arange(90), rows))
    assert [(piece.start, piece.stop) for piece in pieces] == [(0, 40), (40, 80), (80, 120)]
    assert list(new_values._pieces(np.arange(3), rows.slice(0, 0))) == [slice(0, 320)]
