from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.fragment import RowIdSequence, write_fragments
from tests.each_case import each_case


@each_case(
    "ids",
    [
        range(3, 9),
        range(9, 3),
        range(0, 10, 2),
        [7, 12, 1],
        [],
        (3, (1 << 64) - 1),
        np.array([4, 2]),
        pa.array([3, 1], pa.int8()),
        pa.chunked_array([[3], [1]]),
    ],
)
def test_ids_are_kept_in_order(ids: Iterable[int]) -> None:
    sequence = RowIdSequence(ids)
    wanted = ids.to_pylist() if isinstance(ids, pa.Array | pa.ChunkedArray) else list(ids)
    assert list(sequence) == wanted
    assert len(sequence) == len(wanted)
    assert sequence.to_pyarrow() == pa.array(wanted, pa.uint64())
    again = RowIdSequence.from_inline_metadata(sequence.to_inline_metadata())
    assert again == sequence == pickle.loads(pickle.dumps(sequence))
    assert hash(again) == hash(sequence)
    assert repr(sequence) == f"RowIdSequence({[int(id_) for id_ in wanted]})"
    assert sequence != wanted


@each_case(
    ("ids", "error", "message"),
    [
        ([1, 2, 1], InvalidInputError, "1 occurs twice"),
        ([-1], InvalidInputError, "got -1"),
        (range(-3, 3), InvalidInputError, "got -3"),
        ([1 << 64], InvalidInputError, "from 0 to"),
        (pa.array([1, None]), InvalidInputError, "null"),
        (pa.array([1.0]), TypeError, "double"),
        ([1.5], TypeError, "integers"),
        ("ab", TypeError, "integers"),
        (5, TypeError, "integers"),
    ],
)
def test_other_values_are_no_ids(ids: Iterable[int], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        RowIdSequence(ids)


def test_other_bytes_are_no_ids() -> None:
    with pytest.raises(CorruptFileError):
        RowIdSequence.from_inline_metadata(b"\xff")


def test_a_transaction_by_hand_moves_rows_with_their_ids(tmp_path: Path) -> None:
    rows = pa.table({"a": range(6)})
    dataset = lance.write_dataset(rows, tmp_path / "t", enable_stable_row_ids=True)
    (new,) = write_fragments(pa.table({"a": [40, 10, 100]}), tmp_path / "t")
    new.row_id_meta = RowIdSequence([4, 1]).to_inline_metadata()
    old = dataset.get_fragments()[0].delete("a IN (1, 4)")
    assert old is not None
    update = lance.LanceOperation.Update(updated_fragments=[old], new_fragments=[new])
    dataset = lance.LanceDataset.commit(dataset, update, read_version=1)
    taken = dataset._take_rows(range(8), columns=["a", "_row_created_at_version"])
    assert taken["a"].to_pylist() == [0, 10, 2, 3, 40, 5, 100]
    assert taken["_row_created_at_version"].to_pylist() == [1, 1, 1, 1, 1, 1, 2]
