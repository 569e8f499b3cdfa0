"""The rows of a random table of vectors, and the plain model that they are compared with."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

WIDTH = 8
NUMBERS: dict[str, type[Any]] = {
    "float16": np.float16,
    "float32": np.float32,
    "float64": np.float64,
    "uint8": np.uint8,
}
"""The numbers of vectors by their names."""

Vector = npt.NDArray[Any]


@dataclass
class Rows:
    """The vector of each row of the table by its ``id``; None for a null."""

    number: str
    metric: str
    random: random.Random
    vectors: dict[int, Vector | None] = field(default_factory=dict)
    next_id: int = 0

    def new(self, count: int, *, special: bool = True) -> dict[int, Vector | None]:
        """``count`` rows that the table does not have.

        ``special``: some vectors are null, of zeros, not finite, or those of other rows.
        """
        ids = range(self.next_id, self.next_id + count)
        self.next_id += count
        return {id_: self.vector(special=special) for id_ in ids}

    def vector(self, *, special: bool = True) -> Vector | None:
        """A vector near one of a few centers, or a special one."""
        draw = np.random.default_rng(self.random.getrandbits(32))
        if self.number == "uint8":
            found = draw.integers(0, 256, WIDTH).astype(np.uint8)
        else:
            center = np.random.default_rng(self.random.randrange(6)).normal(size=WIDTH) * 2
            found = (center + draw.normal(size=WIDTH)).astype(NUMBERS[self.number])
        if not special or self.random.random() > 0.12:
            return found
        kind = self.random.choice(["null", "zeros", "nan", "infinite", "same", "same"])
        known = [one for one in self.vectors.values() if one is not None]
        if kind == "null":
            return None
        if kind == "same" and known:
            return self.random.choice(known[:20]).copy()
        if kind in ("nan", "infinite") and self.number != "uint8":
            # Of infinite products the lowest come first, and only without an index.
            is_nan = kind == "nan" or self.metric == "dot"
            found[self.random.randrange(WIDTH)] = np.nan if is_nan else np.inf
            return found
        return np.zeros_like(found)

    def table(self, ids: Any) -> pa.Table:
        """The rows with these ids."""
        vectors = [self.vectors[id_] for id_ in ids]
        return table_of(dict(zip(ids, vectors, strict=True)), self.number)

    def query(self) -> Vector:
        """A vector to search for: near a row of the table, or anywhere."""
        known = [one for one in self.vectors.values() if one is not None and one.any()]
        known = [one for one in known if self.number == "uint8" or np.isfinite(one).all()]
        if not known or self.random.random() < 0.3:
            found = self.vector(special=False)
            assert found is not None
            return found
        return self.random.choice(known)

    def nearest(self, query: Vector, ids: Any) -> dict[int, float]:
        """The distance of each of ``ids`` that has one, by the definition of the metric."""
        found = {}
        for id_ in ids:
            vector = self.vectors[id_]
            if vector is None:
                continue
            distance = _distance(vector, query, self.metric)
            if not np.isnan(distance):
                found[id_] = distance
        return found


def table_of(vectors: dict[int, Vector | None], number: str) -> pa.Table:
    """Rows as data of the table."""
    kind = pa.list_(pa.from_numpy_dtype(NUMBERS[number]), WIDTH)
    empty = np.zeros(WIDTH, NUMBERS[number])
    flat = [empty if one is None else one for one in vectors.values()]
    numbers = np.concatenate(flat) if flat else empty[:0]
    nulls = pa.array([one is None for one in vectors.values()], pa.bool_())
    column = pa.FixedSizeListArray.from_arrays(pa.array(numbers), type=kind, mask=nulls)
    ids = pa.array(list(vectors), pa.int64())
    return pa.table({"id": ids, "v": column, "n": pa.array([0] * len(ids), pa.int64())})


def _distance(vector: Vector, query: Vector, metric: str) -> float:
    if metric == "hamming":
        return float(np.unpackbits(vector ^ query).sum())
    wide, own = vector.astype(np.float64), query.astype(np.float64)
    with np.errstate(all="ignore"):
        if metric == "l2":
            return float(((wide - own) ** 2).sum())
        if metric == "dot":
            return float(1 - wide @ own)
        return float(1 - wide @ own / np.sqrt((wide @ wide) * (own @ own)))
