"""The example of a search with an index keeps the contract of ranked answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from lance_core_example_closest import SEARCH, SPEC

import lance_core as lance
from lance_core.errors import InvalidInputError
from lance_core_testing import RankedIndexTests


class TestSortedNumbers(RankedIndexTests):
    """Numbers with some that are equal, null, NaN or infinite."""

    spec = SPEC
    search = SEARCH

    def values(self) -> pa.Array:
        numbers = np.random.default_rng(3).normal(size=400).round(2) * 10
        numbers[::50], numbers[25::50] = np.nan, np.inf
        return pa.array(numbers, mask=np.arange(400) % 9 == 4)

    def targets(self) -> Sequence[Any]:
        return [0.0, -7.3, 1e9]

    def argument(self, targets: Any, k: int) -> Any:
        return {"column": "value", "to": targets, "k": k}

    def naive_score(self, value: Any, target: Any) -> float:
        return float(abs(value - target))


def test_scans_ask_for_a_search_by_its_argument(tmp_path: Path) -> None:
    dataset = lance.write_dataset(pa.table({"x": range(100)}), tmp_path / "table")
    closest = {"column": "x", "to": 41.9, "k": 2}
    assert dataset.to_table(closest=closest)["x"].to_pylist() == [42, 41]
    assert dataset.to_pandas(closest=closest)["x"].tolist() == [42, 41]
    fragment = dataset.get_fragments()[0]
    assert fragment.to_table(closest=closest)["x"].to_pylist() == [42, 41]
    with pytest.raises(InvalidInputError, match="closest and nearest cannot both be given"):
        dataset.to_table(closest=closest, nearest={"column": "x", "q": [1.0]})
    with pytest.raises(TypeError, match="closest_"):
        dataset.to_table(closest_=closest)
