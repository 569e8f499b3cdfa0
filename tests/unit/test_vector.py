"""Tables of vectors."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_core.vector import vec_to_table
from tests.each_case import each_case


def test_vectors_become_a_column() -> None:
    table = vec_to_table(np.arange(6.0).reshape(3, 2))
    assert table.schema == pa.schema({"vector": pa.list_(pa.float32(), 2)})
    assert table["vector"].to_pylist() == [[0, 1], [2, 3], [4, 5]]
    assert vec_to_table([[1, 2]], names="v").column_names == ["v"]
    assert vec_to_table([], ndim=3).schema.field("vector").type == pa.list_(pa.float32(), 3)


def test_ids_become_a_column_too() -> None:
    table = vec_to_table({"a": [1, 2], "b": [3, 4]})
    assert table.to_pydict() == {"id": ["a", "b"], "vector": [[1, 2], [3, 4]]}


@each_case(
    ("data", "options", "message"),
    [
        ([[1, 2], [3]], {}, "vector 1 has 1 dimensions, expected 2"),
        (np.zeros((2, 3)), {"ndim": 2}, "vector 0 has 3 dimensions, expected 2"),
        ([], {}, "must be given as ndim"),
        ({"a": [1]}, {"names": "v"}, "2 column names are needed"),
    ],
)
def test_what_is_no_table_of_vectors_is_refused(
    data: object, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        vec_to_table(data, **options)  # type: ignore[arg-type]
