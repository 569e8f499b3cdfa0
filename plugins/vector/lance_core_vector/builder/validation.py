"""`validate_vector_index`: an index finds the vectors that it contains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.arrays import to_numpy

MAX_DISTANCE = 1e-6
"""The distance of a vector from itself, with rounding."""


def validate_vector_index(
    dataset: Any,
    column: str,
    refine_factor: int = 5,
    sample_size: int | None = None,
    pass_threshold: float = 1.0,
) -> None:
    """Search for vectors of ``column``, each of which should be its own nearest one.

    ``sample_size``: how many random vectors, None for all. One partition is searched for each.
    Raises `InvalidInputError` if fewer than the share ``pass_threshold`` of them are found.
    """
    rows = (
        dataset.to_table(columns=[column])
        if sample_size is None
        else dataset.sample(sample_size, columns=[column])
    )
    vectors = rows[column].combine_chunks()
    if isinstance(vectors, pa.ExtensionArray):
        vectors = vectors.storage
    vectors = vectors.drop_null()
    matrix = to_numpy(vectors.flatten()).reshape(len(vectors), -1)
    if matrix.dtype.kind == "f":
        matrix = matrix[~np.isnan(matrix).any(axis=1)]
    passed = 0
    for vector in matrix:
        nearest = {
            "column": column,
            "q": vector,
            "k": 1,
            "nprobes": 1,
            "refine_factor": refine_factor,
        }
        distances = dataset.to_table(columns=[column], nearest=nearest)["_distance"].to_pylist()
        passed += bool(distances) and abs(distances[0]) < MAX_DISTANCE
    if passed < pass_threshold * len(matrix):
        raise InvalidInputError(
            f"Vector index failed sanity check, only {passed}/{len(matrix)} passed"
        )
