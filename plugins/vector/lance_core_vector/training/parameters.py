"""The parameters of a new vector index: their names are those of pylance."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.errors import InvalidInputError, InvalidTypeError, UnsupportedFeatureError
from lance_core.hookspecs.indices import IndexNotWrittenError
from lance_core.hookspecs.options import did_you_mean, unknown_argument, warn_caller
from lance_core_vector.distances import METRICS, Metric
from lance_core_vector.graphs.stored_graph import MAX_EF, MAX_LEVELS, MAX_M, GraphParameters
from lance_core_vector.loops.library import is_compiled
from lance_core_vector.training.given_models import (
    MODELS,
    GivenModels,
    check_codebook,
)
from lance_core_vector.vectors import NUMBERS, vector_type

PARTITION_ROWS = {
    "IVF_FLAT": 4096,
    "IVF_PQ": 8192,
    "IVF_SQ": 8192,
    "IVF_RQ": 4096,
    **dict.fromkeys(("IVF_HNSW_FLAT", "IVF_HNSW_PQ", "IVF_HNSW_SQ"), 1 << 20),
}
"""Rows of a partition by default, of each kind that is built."""

MAX_PARTITIONS = 4096
"""Partitions by default at most."""

DEFAULT_RABIT_BITS, MAX_RABIT_BITS = 5, 9
"""Bits of a number of IVF_RQ, its sign among them."""

DEFAULT_MEMORY = 512 << 20
MIN_MEMORY = 256 << 20
"""Bytes that a build takes beyond its model: by default, and at least."""

SCAN_MEMORY = 176 << 20
"""Bytes of these for batches of rows that are read, compared and encoded."""

BUDGET_SHARE = 4
"""A sample, which a training copies, takes this part of what is left at most, as do encoded rows
that wait in memory."""

_COUNTS = (
    *("kmeans_redos", "shuffle_partition_batches", "shuffle_partition_concurrency"),
    *("streaming_coreset_rate", "streaming_sample_rate"),
)
_FLAGS = ("filter_nan", "one_pass_ivfpq", "use_torch")
_WITHOUT_EFFECT = frozenset(
    {*_COUNTS, *_FLAGS, "implementation", "index_cache_size", "storage_options"}
    | {"streaming_refine_passes"}
)
"""Parameters of pylance that change how it builds, and not what is built."""

_REFUSED = {
    "precomputed_shuffle_buffers_path": "precomputed_shuffle_buffers has the paths of files",
    "rabitq_model": "the rotation of an index follows from its seed",
}
"""Parameters of pylance for which nothing is done, and what can be done instead."""

_KNOWN = (
    _WITHOUT_EFFECT
    | _REFUSED.keys()
    | MODELS
    | {
        *("accelerator", "index_file_version", "kind", "max_iters", "memory_limit", "metric"),
        *("metric_type", "num_bits", "num_partitions", "num_sub_vectors", "sample_rate", "seed"),
        *("ef_construction", "m", "max_level", "skip_transpose", "target_partition_size"),
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class BuildParameters:
    """Checked parameters.

    ``models``: what callers give instead of a training. ``partition_rows``: the rows of a partition
    that the caller asks for, None for the default of the kind. ``transposed``: codes of `IVF_PQ`
    are stored part by part. ``seed``: the same rows and seed give the same index.
    ``memory_limit``: bytes beyond the model. ``graph``: how the graphs of kinds with a graph are
    built; None for others. ``is_limited``: True if the limit of memory was given.
    """

    kind: str
    metric: Metric
    num_partitions: int | None
    partition_rows: int | None
    num_parts: int | None
    bits: int
    models: GivenModels
    transposed: bool
    sample_rate: int
    iterations: int
    seed: int
    memory_limit: int
    graph: GraphParameters | None = None
    is_limited: bool = False

    @property
    def codes(self) -> str:
        """The last part of the kind: ``FLAT``, ``PQ``, ``SQ`` or ``RQ``."""
        return self.kind.rsplit("_", 1)[-1]

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> BuildParameters:
        """The parameters in ``options``.

        Raises `IndexNotWrittenError` for kinds that are not built, `InvalidInputError` and
        ``TypeError`` for wrong values and names, and `UnsupportedFeatureError` for what only other
        programs do.
        """
        kind = _kind(options)
        if kind not in PARTITION_ROWS:
            raise IndexNotWrittenError(
                f"indices of type {kind or 'vector'} are not built: {', '.join(PARTITION_ROWS)} are"
            )
        for name in options:
            if name not in _KNOWN:
                raise unknown_argument(name, _KNOWN)
        _check_without_effect(options)
        _check_refused(options, kind)
        metric = _metric(options.get("metric") or options.get("metric_type") or "l2")
        codes = kind.rsplit("_", 1)[-1]
        if metric.of_bits and codes != "FLAT":
            raise InvalidInputError(f"an index of type {kind} has no Hamming distance")
        bits = whole_number(options, "num_bits", DEFAULT_RABIT_BITS if kind == "IVF_RQ" else 8)
        parts = whole_number(options, "num_sub_vectors", None)
        if codes == "PQ":
            _check_codes(parts, bits)
        if kind == "IVF_RQ" and bits > MAX_RABIT_BITS:
            raise InvalidInputError(f"num_bits of IVF_RQ is 1 to {MAX_RABIT_BITS}, got {bits}")
        models = GivenModels.of(options)
        if models.encoded_files is not None and kind != "IVF_PQ":
            raise InvalidInputError(f"precomputed_shuffle_buffers have codes of IVF_PQ, not {kind}")
        partitions = whole_number(options, "num_partitions", None, whole_floats=True)
        if models.centroids is not None and partitions not in (None, len(models.centroids)):
            raise InvalidInputError(
                f"Ivf centroids has {len(models.centroids)} clusters, but "
                f"num_partitions={partitions}"
            )
        return cls(
            kind,
            metric,
            partitions,
            whole_number(options, "target_partition_size", None),
            parts,
            bits,
            models,
            not _flag(options, "skip_transpose", default=False),
            whole_number(options, "sample_rate", 256),
            whole_number(options, "max_iters", 50),
            whole_number(options, "seed", 0, least=0),
            whole_number(options, "memory_limit", DEFAULT_MEMORY, least=MIN_MEMORY),
            _graph(options, kind),
            is_limited="memory_limit" in options,
        )

    def check_column(self, data_type: pa.DataType) -> None:
        """Raise `InvalidInputError` if columns of type ``data_type`` cannot have such an index."""
        type_of_vectors = vector_type(data_type)
        assert type_of_vectors is not None  # the type accepts the column
        vector, is_multivector = type_of_vectors
        width = vector.list_size
        if self.metric.of_bits != (vector.value_type == pa.uint8()):
            raise InvalidInputError(
                f"metric {self.metric.name} of vectors of {vector.value_type}: uint8 has the "
                "metric hamming, and floats have l2, cosine and dot"
            )
        if is_multivector and self.metric.name != "cosine":
            raise InvalidInputError("an index of several vectors a row has the metric cosine")
        if self.kind == "IVF_RQ" and width % 8:
            raise InvalidInputError(
                f"dimension ({width}) must be divisible by 8 for an index of type IVF_RQ"
            )
        if self.num_parts is not None and width % self.num_parts:
            raise InvalidInputError(
                f"dimension ({width}) must be divisible by num_sub_vectors ({self.num_parts})"
            )
        centroids, codebook = self.models.centroids, self.models.codebook
        if centroids is not None and centroids.shape[1] != width:
            raise InvalidInputError(
                f"ivf_centroids are not vectors of {width} numbers but of {centroids.shape[1]}"
            )
        if codebook is not None and self.num_parts is not None:
            check_codebook(codebook, (self.num_parts, 1 << self.bits, width // self.num_parts))
        assert vector.value_type in NUMBERS

    def partitions_for(self, rows: int) -> int:
        """The number of partitions of an index of so many vectors."""
        if self.models.centroids is not None:
            return len(self.models.centroids)
        count = self.num_partitions
        if count is None:
            size = self.partition_rows or PARTITION_ROWS[self.kind]
            count = min(max(rows // size, 1), MAX_PARTITIONS)
        return max(1, min(count, rows))

    @property
    def budget(self) -> int:
        """The bytes of a sample, or of encoded rows that wait in memory."""
        return (self.memory_limit - SCAN_MEMORY) // BUDGET_SHARE

    def with_target_of(self, rows: int) -> BuildParameters:
        """The parameters with the rows of a partition that follow from a number of partitions.

        ``rows``: the vectors of the index. Later, partitions with many more are split.
        """
        if self.partition_rows is not None or self.num_partitions is None or not rows:
            return self
        return replace(self, partition_rows=-(-rows // self.num_partitions))


def _kind(options: Mapping[str, Any]) -> str:
    """The kind of index, in capital letters; empty if it is not given."""
    return str(options.get("kind", "")).upper()


def _graph(options: Mapping[str, Any], kind: str) -> GraphParameters | None:
    """How graphs are built. Raises `IndexNotWrittenError` without compiled loops."""
    if "HNSW" not in kind:
        return None
    if not is_compiled():
        raise IndexNotWrittenError(
            f"indices of type {kind} are built by compiled loops only, which are missing: install "
            "lance-core-vector where there is a C compiler"
        )
    numbers = {}
    for name, argument, least, most in (
        ("m", "m", 2, MAX_M),
        ("ef", "ef_construction", 1, MAX_EF),
        ("max_level", "max_level", 1, MAX_LEVELS),
    ):
        number = whole_number(options, argument, getattr(GraphParameters(), name), least=least)
        if number > most:
            raise InvalidInputError(f"{argument} must be {most} or less, got {number}")
        numbers[name] = number
    return GraphParameters(**numbers)


def warn_of_unused(options: Mapping[str, Any]) -> None:
    """Warn, as pylance does, about values that are accepted and change nothing."""
    if options.get("index_cache_size") is not None:
        warn_caller(
            "The 'index_cache_size' parameter of create_index is ignored. The index cache is sized "
            "on the dataset, by lance.dataset(..., index_cache_size_bytes=...) or a Session.",
            DeprecationWarning,
        )
    if isinstance(options.get("num_partitions"), float):
        warn_caller("num_partitions is float, converting to int")
    kind = _kind(options)
    if options.get("accelerator") is not None and kind != "IVF_PQ":
        warn_caller(f"Index type {kind} does not support GPU acceleration; falling back to CPU")
    version = _file_version(options)
    if version == "LEGACY":
        warn_caller("index_file_version 'Legacy' is not written: the index has the version 'V3'")


def whole_number(
    options: Mapping[str, Any],
    name: str,
    default: Any,
    *,
    least: int = 1,
    whole_floats: bool = False,
) -> Any:
    """The number ``name`` of ``options``; ``default`` for None.

    ``whole_floats``: floats lose what is behind the point. Raises `InvalidTypeError` and
    `InvalidInputError`.
    """
    value = options.get(name)
    if value is None:
        return default
    if whole_floats and isinstance(value, float) and np.isfinite(value):
        value = int(value)
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidTypeError(f"{name} must be a whole number, got {value!r}") from None
    if isinstance(value, bool) or number < least:
        raise InvalidInputError(f"{name} must be {least} or more, got {value}")
    return number


def _flag(options: Mapping[str, Any], name: str, *, default: bool) -> bool:
    value = options.get(name)
    if value is None:
        return default
    if not isinstance(value, bool | np.bool_):
        raise InvalidTypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def _metric(name: object) -> Metric:
    metric = METRICS.get(name.lower()) if isinstance(name, str) else None
    if metric is None:
        near = did_you_mean(name, METRICS) if isinstance(name, str) else ""
        raise InvalidInputError(f"Metric {name} not supported.{near}")
    return metric


def _check_codes(parts: int | None, bits: int) -> None:
    if parts is None:
        raise InvalidInputError("num_sub_vectors is required for IVF_PQ")
    if bits not in (4, 8):
        raise InvalidInputError(f"num_bits of IVF_PQ is 4 or 8, got {bits}")
    if bits == 4 and parts % 2:
        raise InvalidInputError(f"num_sub_vectors of 4 bits must be even, got {parts}")


def _check_without_effect(options: Mapping[str, Any]) -> None:
    for name in _COUNTS:
        whole_number(options, name, None)
    whole_number(options, "streaming_refine_passes", None, least=0)
    for name in _FLAGS:
        _flag(options, name, default=True)
    storage = options.get("storage_options")
    if storage is not None and not isinstance(storage, Mapping):
        raise InvalidTypeError(f"storage_options must be a dict, got {type(storage).__name__}")
    _file_version(options)


def _check_refused(options: Mapping[str, Any], kind: str) -> None:
    for name, instead in _REFUSED.items():
        if options.get(name) is not None:
            raise UnsupportedFeatureError(f"{name} is not supported: {instead}")
    accelerator = options.get("accelerator")
    if accelerator is None or kind != "IVF_PQ":
        return
    name = str(accelerator)
    if name.split(":")[0] not in ("cuda", "mps"):
        raise InvalidInputError(f"accelerator is 'cuda' or 'mps' in pylance, got {name!r}")
    raise UnsupportedFeatureError(
        f"accelerator {name!r}: indices are built by the processor only; leave the argument out"
    )


def _file_version(options: Mapping[str, Any]) -> str:
    """The version of the files: ``V3``, or ``LEGACY`` for one that is not written any more."""
    value = options.get("index_file_version")
    if value is None:
        return "V3"
    text = str(getattr(value, "value", value)).upper()
    if text not in ("V3", "LEGACY"):
        raise InvalidInputError(f"Invalid index_file_version: {value!r} is not V3 or Legacy")
    return text
