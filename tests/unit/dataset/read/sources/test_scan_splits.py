"""Scans by several processes: one searches the indices, others read what it found."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.dataset import LanceDataset, ScanSplit
from lance_core.dataset.read.sources.prefilter import candidate_rows
from lance_core.errors import InvalidInputError, InvalidTypeError
from tests.each_case import each_case

ROWS = 400


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> LanceDataset:
    """Four fragments with an index of ``id``, another without, and deleted rows in both."""
    uri = str(tmp_path_factory.mktemp("splits") / "t.lance")
    ids = np.random.default_rng(0).permutation(ROWS)
    table = pa.table({"id": ids, "x": ids % 7, "s": [f"s{i}" for i in ids]})
    lance_core.write_dataset(table, uri, max_rows_per_file=100).create_scalar_index("id", "BTREE")
    dataset = lance_core.write_dataset(table.slice(0, 50), uri, mode="append")
    dataset.delete("x = 3")
    return dataset


CASES = [
    ("id < 40", {}, True),
    ("id < 40 AND x = 1", {"columns": ["s"], "with_row_address": True}, False),
    ("id >= 20", {"limit": 30, "offset": 5}, True),
    ("id < 0", {"columns": ["id"], "blob_handling": "all_binary"}, True),
    ("x = 1", {"batch_size": 7}, None),
    (None, {"limit": 9}, None),
]


@each_case(("condition", "options", "is_exact"), CASES)
def test_splits_have_the_rows_of_the_scan(
    dataset: LanceDataset,
    monkeypatch: pytest.MonkeyPatch,
    condition: str | None,
    options: dict[str, Any],
    is_exact: bool | None,
) -> None:
    splits = dataset.scanner(filter=condition, **options).splits()
    indexed = [one for one in splits if one.chosen is not None]
    assert {one.is_exact for one in indexed} <= {is_exact}
    assert all(one.is_exact is (condition is None) for one in splits if one.chosen is None)
    halves = [(0, one.num_rows // 2, one.num_rows) for one in splits]
    parts = [
        one.part(*cut)
        for one, (start, middle, end) in zip(splits, halves, strict=True)
        for cut in ((start, middle), (middle, end))
    ]
    assert sum(one.num_rows for one in parts) == sum(one.num_rows for one in splits)
    parts = pickle.loads(pickle.dumps(parts))
    expected = dataset.to_table(filter=condition, use_scalar_index=False, **options)
    with monkeypatch.context() as patch:
        patch.setattr(candidate_rows, "open_index", None)  # a scan of splits searches no index
        scanner = dataset.scanner(filter=condition, splits=parts, **options)
        assert scanner.to_table() == expected
        assert scanner.count_rows() == len(expected)
        whole = {name: value for name, value in options.items() if name not in ("limit", "offset")}
        each = [dataset.to_table(filter=condition, splits=[one], **whole) for one in parts]
        every = dataset.to_table(filter=condition, use_scalar_index=False, **whole)
        assert pa.concat_tables(each) == every


def test_splits_of_a_search_have_few_rows(dataset: LanceDataset) -> None:
    splits = dataset.scanner(filter="id IN (3, 5)").splits()
    assert sum(one.num_rows for one in splits if one.chosen is not None) == 2
    assert [one.num_rows for one in splits if one.chosen is None] == [50]
    fast = dataset.scanner(filter="id IN (3, 5)", fast_search=True).splits()
    assert sum(one.num_rows for one in fast) == 2


BAD: list[tuple[Callable[[LanceDataset], object], type[Exception], str]] = [
    (lambda d: d.scanner(splits=[(0, 1, 2)]), InvalidTypeError, "LanceScanner.splits"),
    (lambda d: d.scanner(splits=3), InvalidTypeError, "LanceScanner.splits"),
    (lambda d: d.scanner(splits=[], row_ranges=[]), InvalidInputError, "splits cannot be"),
    (lambda d: d.scanner(splits=[], fragments=[]), InvalidInputError, "splits cannot be"),
    (
        lambda d: d.scanner(splits=[ScanSplit(0, 5, 101, None, True)]),
        InvalidInputError,
        "not in fragment 0",
    ),
    (
        lambda d: d.scanner(splits=[], with_row_id=True, include_deleted_rows=True),
        InvalidInputError,
        "include_deleted_rows",
    ),
]


@each_case(("call", "error", "match"), BAD)
def test_bad_splits_are_refused(
    dataset: LanceDataset,
    call: Callable[[LanceDataset], object],
    error: type[Exception],
    match: str,
) -> None:
    with pytest.raises(error, match=match):
        call(dataset)
