"""The answers of both libraries, and whether two of them are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

TOLERANCE = {"float16": 4e-3, "float32": 1e-5, "float64": 1e-5, "uint8": 0.0}
"""The relative error of a distance, by the type of the vectors."""


def answer(library: Any, uri: str, nearest: dict[str, Any], scan: dict[str, Any]) -> pa.Table:
    """The ids and distances of the nearest rows."""
    dataset = library.dataset(uri)
    found: pa.Table = dataset.to_table(["id", "_distance"], nearest=nearest, **scan)
    return found


def finite(found: pa.Table) -> list[tuple[int, float]]:
    """The rows of an answer with finite distances.

    pylance keeps infinite ones in exact search, and its indices do not have them.
    """
    pairs = zip(found["id"].to_pylist(), found["_distance"].to_pylist(), strict=True)
    return [(id_, distance) for id_, distance in pairs if np.isfinite(distance)]


def alike(
    first: list[tuple[int, float]], second: list[tuple[int, float]], tolerance: float
) -> bool:
    """True if distances are equal, and rows that are clearly nearer than the last one."""
    if len(first) != len(second):
        return False
    own, other = ([distance for _, distance in part] for part in (first, second))
    if not np.allclose(own, other, rtol=tolerance, atol=tolerance):
        return False
    if not first:
        return True
    limit = own[-1] - 2 * tolerance * max(1.0, abs(own[-1]))
    return {id_ for id_, at in first if at < limit} <= {id_ for id_, _ in second}


def text(found: pa.Table) -> str:
    """An answer for a message."""
    pairs = zip(found["id"].to_pylist(), found["_distance"].to_pylist(), strict=True)
    return str([(id_, float(f"{distance:.6g}")) for id_, distance in pairs][:12])
