"""The sound tables with vector indices of every kind, and what searches of them find."""

from __future__ import annotations

import functools
import itertools
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import lance_core as lance
from lance_core_vector.plugin import KINDS
from tests.fuzz.tables import Files, files_of
from tests.fuzz.unsealed import without_checksums

ROWS, WIDTH, PARTITIONS, K = 320, 8, 3, 10
"""K divides the rows that are left after a deletion, so that refinement can reach all."""

PARAMETERS: dict[str, tuple[dict[str, Any], ...]] = {
    "IVF_PQ": ({"num_sub_vectors": 4}, {"num_sub_vectors": 4, "num_bits": 4}),
    "IVF_RQ": ({"num_bits": 1}, {"num_bits": 5}, {"num_bits": 8}),
    "IVF_HNSW_PQ": ({"num_sub_vectors": 4},),
}

_numbers = itertools.count()


def cases() -> tuple[tuple[str, int, str], ...]:
    """Kind, number of its parameters, and who builds it: all kinds of the plugin.

    pylance builds them, too, where it is installed.
    """
    found = []
    for kind in KINDS:
        builders = ["lance_core", *(["lance"] if find_spec("lance") else [])]
        for number in range(len(PARAMETERS.get(kind, ({},)))):
            found.extend((kind, number, builder) for builder in builders)
    return tuple(found)


def vectors() -> npt.NDArray[np.float32]:
    """Vectors around a few centers."""
    random = np.random.default_rng(8)
    centers = random.normal(size=(5, WIDTH)) * 2
    found = centers[random.integers(0, 5, ROWS)] + random.normal(size=(ROWS, WIDTH))
    return found.astype(np.float32)


def queries() -> npt.NDArray[np.float32]:
    """What is searched for."""
    return vectors()[[3, 200]] + np.float32(0.25)


@functools.cache
@without_checksums
def sound(kind: str, number: int, builder: str) -> Files:
    """The files of a table of three fragments with deleted rows and an index."""
    matrix = vectors()
    flat = pa.array(matrix.ravel())
    column = pa.FixedSizeListArray.from_arrays(flat, WIDTH)
    rows = pa.table({"id": range(ROWS), "v": column})
    parameters = PARAMETERS.get(kind, ({},))[number]
    if builder == "lance":
        return _by_pylance(rows, kind, parameters)
    uri = f"memory://vectors/{next(_numbers)}"
    dataset = lance.write_dataset(rows, uri, max_rows_per_file=110)
    dataset.create_index("v", kind, num_partitions=PARTITIONS, **parameters)
    dataset.delete("id % 16 = 7")
    return files_of(dataset)


def _by_pylance(rows: pa.Table, kind: str, parameters: dict[str, Any]) -> Files:
    import lance as pylance  # it need not be installed

    with tempfile.TemporaryDirectory() as folder:
        dataset = pylance.write_dataset(rows, f"{folder}/t", max_rows_per_file=110)
        if "HNSW" not in kind:
            parameters = {"ivf_centroids": vectors()[:PARTITIONS], **parameters}
        dataset.create_index("v", kind, num_partitions=PARTITIONS, **parameters)
        pylance.dataset(f"{folder}/t").delete("id % 16 = 7")
        root = Path(folder, "t")
        paths = [path for path in root.rglob("*") if path.is_file()]
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


@functools.cache
def distances() -> npt.NDArray[np.float32]:
    """The distance of each row (by id) from each query; NaN for deleted rows."""
    wide = vectors().astype(np.float64)[:, None] - queries().astype(np.float64)
    found = (wide**2).sum(axis=2).astype(np.float32)
    found[np.arange(ROWS) % 16 == 7] = np.nan
    return found
