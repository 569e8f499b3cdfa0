"""Joins of data frames with the nearest rows of tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import lance_core
from lance_core.errors import ColumnNotFoundError, InvalidInputError, InvalidTypeError
from lance_core_spark import nearest_join

WIDTH = 4


def table_of(path: Path, rows: int = 600) -> np.ndarray:
    """A table of three fragments with vectors, of which it returns the numbers."""
    vectors = np.random.default_rng(0).random((rows, WIDTH), np.float32)
    column = pa.FixedSizeListArray.from_arrays(vectors.ravel(), WIDTH)
    made = pa.table({"id": range(rows), "even": [n % 2 == 0 for n in range(rows)], "v": column})
    lance_core.write_dataset(made, str(path), max_rows_per_file=rows // 3)
    return vectors


def test_each_row_is_joined_with_its_nearest_rows(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    vectors = table_of(path)
    rows = [(f"q{n}", vectors[n].tolist()) for n in range(5)]
    rows += [("null", None), ("within", [1.0, None, 0.0, 0.0]), ("nan", [float("nan")] * WIDTH)]
    left = spark.createDataFrame(rows, "`the name` string, v array<double>").repartition(2)
    joined = nearest_join(left, path, "v", 3, filter="even")
    assert joined.columns == ["the name", "v", "id", "even", "_distance"]
    found: dict[str, list[tuple[int, float]]] = {}
    for row in joined.collect():
        assert row["even"]
        found.setdefault(row[0], []).append((row["id"], row["_distance"]))
    dataset = lance_core.dataset(str(path))
    assert found.keys() == {f"q{n}" for n in range(5)}
    for name, pairs in found.items():
        q = vectors[int(name[1:])]
        one = dataset.to_table(
            ["id", "_distance"], filter="even", nearest={"column": "v", "q": q, "k": 3}
        )
        assert pairs == [(row["id"], pytest.approx(row["_distance"])) for row in one.to_pylist()]

    dataset.create_index("v", "IVF_FLAT", num_partitions=2)
    vector = left.selectExpr("v AS x")
    near = nearest_join(vector, path, "v", 1, on="x", columns=["id"], prefix="t_", nprobes=2)
    assert sorted(near.select("t_id").collect()) == [(n,) for n in range(5)]
    assert near.columns == ["x", "t_id", "_distance"]


def test_wrong_arguments_are_refused_before_a_task_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t.lance"
    table_of(path, 30)
    left = spark.createDataFrame([([1.0, 2.0],)], "v array<float>")
    with pytest.raises(ColumnNotFoundError, match="the table has no column 'w'"):
        nearest_join(left, path, "w")
    with pytest.raises(ColumnNotFoundError, match="the data frame has no column 'w'"):
        nearest_join(left, path, "v", on="w")
    with pytest.raises(InvalidTypeError, match="column 'id' has no vectors but int64"):
        nearest_join(left, path, "id")
    with pytest.raises(InvalidInputError, match="both sides have the columns 'v'"):
        nearest_join(left, path, "v", columns=["v"])
    with pytest.raises(InvalidInputError, match="Nearest-K"):
        nearest_join(left, path, "v", 0)
    with pytest.raises(TypeError, match="nprobe"):
        nearest_join(left, path, "v", nprobe=1)
    with pytest.raises(PySparkException, match="lists of 4 values"):
        nearest_join(left, path, "v").collect()
