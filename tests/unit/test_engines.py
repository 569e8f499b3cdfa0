"""What planners of query engines ask before they start a job."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core import engines
from lance_core.errors import InvalidInputError, LanceError

ROWS = pa.table({"id": [1, 2, 3], "s": ["a", "b", None]})


@pytest.fixture
def dataset(tmp_path: Path) -> lance.LanceDataset:
    return lance.write_dataset(ROWS, tmp_path / "table")


def test_a_filter_evaluates_rows_that_are_not_stored() -> None:
    condition = engines.as_filter("id > 1 AND s IS NOT NULL", ROWS.schema)
    assert np.flatnonzero(condition.mask(ROWS)).tolist() == [1]
    assert {path[0] for path in condition.columns} == {"id", "s"}


def test_a_filter_of_an_unknown_column_is_refused() -> None:
    with pytest.raises(LanceError, match="No field named"):
        engines.as_filter("ident > 1", ROWS.schema)


def test_the_keys_of_a_merge_are_named_or_refused(dataset: lance.LanceDataset) -> None:
    assert engines.key_columns(dataset, "ID") == ("id",)
    with pytest.raises(InvalidInputError, match="requires join keys"):
        engines.key_columns(dataset, None)


def test_the_schema_with_new_columns_has_new_field_ids(dataset: lance.LanceDataset) -> None:
    schema = engines.added_schema(dataset, pa.schema({"n": pa.int32()}))
    assert schema.to_pyarrow().names == ["id", "s", "n"]
    with pytest.raises(LanceError):
        engines.added_schema(dataset, pa.schema({"id": pa.int32()}))


def test_which_types_a_column_can_change_to() -> None:
    assert engines.can_cast(pa.int32(), pa.int64())
    assert not engines.can_cast(pa.int32(), pa.string())


def test_a_new_index_is_checked_before_it_is_built(dataset: lance.LanceDataset) -> None:
    assert engines.check_new_index(dataset, "id", "BTREE") == ("id", "id_idx")
    with pytest.raises(LanceError):
        engines.check_new_index(dataset, "ident", "BTREE")
    assert dataset.list_indices() == []
