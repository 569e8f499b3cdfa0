"""What libraries that hold all vectors in memory take for the same searches.

They store nothing, and return numbers of rows only: their figures stand beside the others, without
a bar. faiss and hnswlib are measured where they are installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.vectors.kinds import PROBES
from benchmarks.vectors.vector_sets import Floats, VectorSet
from benchmarks.vectors.worker import K

Rows = npt.NDArray[np.int64]

Search = Callable[[Floats], Rows]
"""The `K` rows nearest to each query, one a row; -1 where there are fewer."""

ROWS_OF_PARTITION = {"Flat": 4096, "SQ8": 8192, "PQ": 8192}
"""As many as our indices have by default, by how faiss encodes vectors."""

M, EF_CONSTRUCTION, EF = 20, 150, 100
"""Of graphs: our defaults."""


@dataclass(frozen=True, slots=True)
class InMemoryFigures:
    """``build``: seconds of processor time. ``seconds``: elapsed for each query, asked alone."""

    name: str
    build: float
    seconds: tuple[float, ...]
    rows: Rows


def in_memory_figures(vector_set: VectorSet, queries: Floats) -> Iterator[InMemoryFigures]:
    """Measure each library and kind of index in turn."""
    for name, build in _builds(vector_set):
        start = time.process_time()
        search = build(vector_set)
        took = time.process_time() - start
        seconds, rows = [], []
        search(queries[:1])
        for query in queries[:, None]:
            begin = time.perf_counter()
            rows.append(search(query))
            seconds.append(time.perf_counter() - begin)
        yield InMemoryFigures(name, took, tuple(seconds), np.concatenate(rows))


def _builds(vector_set: VectorSet) -> list[tuple[str, Callable[[VectorSet], Search]]]:
    builds = [("BLAS, all rows", _brute_force)]
    if importlib.util.find_spec("faiss"):
        parts = vector_set.parts
        kinds = ("Flat", f"PQ{parts}x8", f"PQ{2 * parts}x4fs", "SQ8")
        builds += [(f"faiss IVF,{kind}", _faiss(kind)) for kind in kinds]
    if importlib.util.find_spec("hnswlib"):
        builds.append(("hnswlib", _hnswlib))
    return builds


def _brute_force(vector_set: VectorSet) -> Search:
    vectors = vector_set.vectors
    is_l2 = vector_set.metric == "l2"
    squares = np.einsum("ij,ij->i", vectors, vectors) if is_l2 else np.zeros(1, np.float32)

    def search(queries: Floats) -> Rows:
        rows = []
        for query in queries:
            scores = squares - (2 if is_l2 else 1) * (vectors @ query)
            near = np.argpartition(scores, K - 1)[:K]
            rows.append(near[np.argsort(scores[near])])
        return np.stack(rows)

    return search


def _faiss(kind: str) -> Callable[[VectorSet], Search]:
    def build(vector_set: VectorSet) -> Search:
        faiss: Any = importlib.import_module("faiss")
        count, width = vector_set.vectors.shape
        rows = next(rows for name, rows in ROWS_OF_PARTITION.items() if kind.startswith(name))
        metric = faiss.METRIC_L2 if vector_set.metric == "l2" else faiss.METRIC_INNER_PRODUCT
        index = faiss.index_factory(width, f"IVF{max(1, count // rows)},{kind}", metric)
        index.train(vector_set.vectors)
        index.add(vector_set.vectors)
        index.nprobe = PROBES

        def search(queries: Floats) -> Rows:
            found: Rows = index.search(np.ascontiguousarray(queries), K)[1]
            return found

        return search

    return build


def _hnswlib(vector_set: VectorSet) -> Search:
    hnswlib: Any = importlib.import_module("hnswlib")
    count, width = vector_set.vectors.shape
    index = hnswlib.Index("l2" if vector_set.metric == "l2" else "ip", width)
    index.init_index(count, ef_construction=EF_CONSTRUCTION, M=M)
    index.add_items(vector_set.vectors)
    index.set_ef(EF)

    def search(queries: Floats) -> Rows:
        rows: Rows = index.knn_query(queries, K)[0].astype(np.int64)
        return rows

    return search
