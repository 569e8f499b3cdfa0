"""Statistics of 0.1 files that say too much are not believed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from lance_core.schema import Schema
from lance_core_legacy.page_table import PageTable
from lance_core_legacy.statistics import StoredStatistics, read_statistics
from tests.each_case import each_case

NAMES = ["null_count", "min_value", "max_value"]


@each_case("twice", NAMES)
def test_a_name_that_is_there_twice_means_nothing(twice: str) -> None:
    (about,) = Schema.from_arrow(pa.schema([("x", pa.int64())])).fields
    members = [(name, pa.int64()) for name in (*NAMES, "other")]
    (statistics,) = Schema.from_arrow(pa.schema([("0", pa.struct(members))])).fields
    *children, other = statistics.children
    statistics = statistics.with_children((*children, replace(other, name=twice)))
    table = PageTable(0, np.array([0, 1]))
    stored = StoredStatistics(table, np.array([5]), {0: 0}, {about.id: statistics})
    reading = read_statistics(stored, [about], cast(Any, None))
    with pytest.raises(StopIteration) as done:
        next(reading)
    assert done.value.value == {about.id: None}
