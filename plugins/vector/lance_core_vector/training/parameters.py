"""The parameters of a new vector index: their names are those of pylance."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import InvalidInputError, InvalidTypeError
from lance_core.hookspecs.indices import IndexNotWrittenError
from lance_core.hookspecs.options import unknown_argument
from lance_core_vector.distances import Metric
from lance_core_vector.options import metric_named

BUILT = ("IVF_FLAT", "IVF_PQ", "IVF_SQ", "IVF_RQ")
"""The kinds that are built."""

_PARTITION_ROWS = {"IVF_FLAT": 4096, "IVF_PQ": 8192, "IVF_SQ": 8192, "IVF_RQ": 4096}
"""Rows of a partition by default."""

_MAX_PARTITIONS = 4096

DEFAULT_RABIT_BITS, MAX_RABIT_BITS = 5, 9
"""Bits of a number of IVF_RQ, its sign among them."""

_IGNORED = frozenset(
    {
        *("accelerator", "filter_nan", "index_cache_size", "ivf_centroids_file"),
        *("precomputed_partition_dataset", "shuffle_partition_batches", "skip_transpose"),
        *("shuffle_partition_concurrency", "storage_options", "streaming_coreset_rate"),
        *("streaming_refine_passes", "streaming_sample_rate"),
    }
)
"""Parameters of pylance that change how it builds, and not what is built."""

_KNOWN = _IGNORED | {
    *("kind", "metric", "metric_type", "num_partitions", "target_partition_size"),
    *("num_sub_vectors", "num_bits", "ivf_centroids", "pq_codebook", "sample_rate", "max_iters"),
    "seed",
}


@dataclass(frozen=True, slots=True, eq=False)
class BuildParameters:
    """Checked parameters.

    ``centroids`` of the shape (partitions, numbers) and ``codebook`` of the shape (parts,
    codewords, numbers of a part) are used instead of training. ``seed``: the same rows and seed
    give the same index.
    """

    kind: str
    metric: Metric
    num_partitions: int | None
    partition_rows: int
    num_parts: int | None
    bits: int
    centroids: npt.NDArray[np.float32] | None
    codebook: npt.NDArray[np.float32] | None
    sample_rate: int
    iterations: int
    seed: int

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> BuildParameters:
        """The parameters in ``given``.

        Raises `IndexNotWrittenError` for kinds that are not built, and `InvalidInputError` and
        ``TypeError`` for wrong values and names.
        """
        kind = str(given.get("kind", "")).upper()
        if kind not in BUILT:
            raise IndexNotWrittenError(
                f"indices of type {kind or 'vector'} are not built yet: {', '.join(BUILT)} are"
            )
        for name in given:
            if name not in _KNOWN:
                raise unknown_argument(name, _KNOWN)
        metric = metric_named(given.get("metric") or given.get("metric_type") or "l2")
        if metric.of_bits and kind != "IVF_FLAT":
            raise InvalidInputError(f"an index of type {kind} has no Hamming distance")
        bits = _number(given, "num_bits", DEFAULT_RABIT_BITS if kind == "IVF_RQ" else 8)
        if kind == "IVF_PQ" and bits not in (4, 8):
            raise InvalidInputError(f"num_bits of IVF_PQ is 4 or 8, got {bits}")
        if kind == "IVF_RQ" and bits > MAX_RABIT_BITS:
            raise InvalidInputError(f"num_bits of IVF_RQ is 1 to {MAX_RABIT_BITS}, got {bits}")
        parts = _number(given, "num_sub_vectors", None)
        codebook = given.get("pq_codebook")
        if kind == "IVF_PQ" and parts is None:
            raise InvalidInputError("num_sub_vectors is required for IVF_PQ")
        if parts is not None and bits == 4 and parts % 2:
            raise InvalidInputError(f"num_sub_vectors of 4 bits must be even, got {parts}")
        rows = _number(given, "target_partition_size", _PARTITION_ROWS[kind])
        return cls(
            kind,
            metric,
            _number(given, "num_partitions", None),
            rows or 1,
            parts,
            bits or 8,
            _matrix(given.get("ivf_centroids"), "ivf_centroids"),
            None if codebook is None else _matrix(codebook, "pq_codebook"),
            _number(given, "sample_rate", 256) or 256,
            _number(given, "max_iters", 50) or 50,
            _number(given, "seed", 0, least=0) or 0,
        )

    def partitions_for(self, rows: int) -> int:
        """The number of partitions of an index of so many vectors."""
        if self.centroids is not None:
            return len(self.centroids)
        wanted = self.num_partitions
        if wanted is None:
            wanted = min(max(rows // self.partition_rows, 1), _MAX_PARTITIONS)
        return max(1, min(wanted, rows))


def _number(given: Mapping[str, Any], name: str, default: int | None, least: int = 1) -> Any:
    value = given.get(name)
    if value is None:
        return default
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidTypeError(f"{name} must be a whole number, got {value!r}") from None
    if number < least:
        raise InvalidInputError(f"{name} must be {least} or more, got {number}")
    return number


def _matrix(value: Any, name: str) -> npt.NDArray[np.float32] | None:
    if value is None:
        return None
    if isinstance(value, pa.ExtensionArray):
        value = value.storage
    if isinstance(value, pa.FixedSizeListArray):
        width = value.type.list_size
        value = value.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
    try:
        found = np.asarray(value, np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{name} must be an array of numbers: {error}") from None
    if found.ndim not in (2, 3) or not found.size or not np.isfinite(found).all():
        raise InvalidInputError(f"{name} must be a matrix of finite numbers")
    return found
