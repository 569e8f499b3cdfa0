"""The argument ``nearest`` of a scan: its keys, and what they may be."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import InvalidInputError, InvalidTypeError
from lance_core.hookspecs.options import unknown_argument
from lance_core_vector.distances import METRICS, Metric

DEFAULT_K = 10
DEFAULT_MIN_PROBES = 1

KEYS = frozenset(
    {
        *("column", "q", "k", "metric", "nprobes", "minimum_nprobes", "maximum_nprobes"),
        *("refine_factor", "use_index", "ef", "query_parallelism", "approx_mode"),
        *("distance_range", "search_effort", "recall"),
    }
)

EFFORT = (
    *("nprobes", "minimum_nprobes", "maximum_nprobes", "refine_factor", "ef", "approx_mode"),
    "search_effort",
)
"""Keys that say how thoroughly an index is searched. A query without any of them leaves it to us:
quantised codes are refined, see `Quantizer.refinement`."""

APPROX_MODES = ("fast", "normal", "accurate")


@dataclass(frozen=True, slots=True, eq=False)
class NearestOptions:
    """The values of ``nearest``.

    ``queries``: the query vectors, one a row, as they were given. ``is_batch``: True if they were
    given as several. ``metric``: None if an index, or the type of the column, decides.
    ``distance_range``: the smallest distance of a result, and the first one above; None for none.
    ``recall``: the share of the nearest rows that an index must find. ``probes``: partitions that
    are searched at first, as measured for it. ``leaves_effort``: True if none of `EFFORT` is given.
    """

    column: str
    queries: npt.NDArray[Any]
    is_batch: bool
    k: int = DEFAULT_K
    metric: Metric | None = None
    min_probes: int | None = None
    max_probes: int | None = None
    refine_factor: int | None = None
    use_index: bool = True
    ef: int | None = None
    approx_mode: str = "normal"
    distance_range: tuple[float | None, float | None] = (None, None)
    search_effort: float | None = None
    recall: float | None = None
    probes: int | None = None
    leaves_effort: bool = False

    @classmethod
    def of(cls, nearest: Any) -> NearestOptions:
        """The values in the dictionary ``nearest``.

        Raises ``TypeError`` for unknown and missing keys and `InvalidInputError` for values.
        """
        if not isinstance(nearest, Mapping):
            raise InvalidTypeError(f"nearest must be a dict, got {type(nearest).__name__}")
        for name in nearest:
            if name not in KEYS:
                raise unknown_argument(str(name), KEYS)
        for name in ("column", "q"):
            if nearest.get(name) is None:
                raise TypeError(f"nearest has no {name!r}")
        if not isinstance(nearest["column"], str):
            raise InvalidTypeError(f"column of nearest must be a name, got {nearest['column']!r}")
        queries, is_batch = query_vectors(nearest["q"])
        options = {name: value for name, value in nearest.items() if value is not None}
        efforts = [name for name in EFFORT if name in options]
        if efforts and "recall" in options:
            raise InvalidInputError(f"recall and {efforts[0]} of nearest cannot both be given")
        exactly = _at_least(options, "nprobes", 1, "Nprobes must be > 0 but got")
        fewest = _at_least(options, "minimum_nprobes", 1)
        most = _at_least(options, "maximum_nprobes", 1)
        if fewest is not None and most is not None and fewest > most:
            raise InvalidInputError(
                f"minimum_nprobes must be <= maximum_nprobes, got {fewest} and {most}"
            )
        return cls(
            column=nearest["column"],
            queries=queries,
            is_batch=is_batch,
            k=_at_least(options, "k", 1, "Nearest-K must be > 0 but got") or DEFAULT_K,
            metric=None if "metric" not in options else metric_named(options["metric"]),
            min_probes=fewest or exactly,
            max_probes=most or exactly,
            refine_factor=_at_least(
                options, "refine_factor", 1, "Refine factor must be 1 or more got"
            ),
            use_index=bool(options.get("use_index", True)),
            ef=_at_least(options, "ef", 1),
            approx_mode=_approx_mode(options.get("approx_mode", "normal")),
            distance_range=_range(options.get("distance_range")),
            search_effort=_share(options, "search_effort"),
            recall=_share(options, "recall"),
            leaves_effort=not efforts and "recall" not in options,
        )


def metric_named(name: object) -> Metric:
    """The metric ``name``, in any case. Raises `InvalidInputError`."""
    metric = METRICS.get(name.lower()) if isinstance(name, str) else None
    if metric is None:
        known = ", ".join(METRICS)
        raise InvalidInputError(f"Metric type {name!r} is not supported: {known}")
    return metric


def query_vectors(value: Any) -> tuple[npt.NDArray[Any], bool]:
    """The query vectors in ``value``, one a row, and True if these are several."""
    if isinstance(value, pa.ExtensionArray | pa.ExtensionScalar):
        value = value.storage if isinstance(value, pa.ExtensionArray) else value.value
    if isinstance(value, pa.ChunkedArray):
        value = value.combine_chunks()
    if isinstance(value, pa.Array | pa.Scalar):
        value = value.to_pylist() if isinstance(value, pa.Array) else value.as_py()
    if isinstance(value, str | bytes):
        raise InvalidTypeError(f"q of nearest must be a vector, got {type(value).__name__}")
    try:
        vectors = np.asarray(value)
        if vectors.dtype == object:
            vectors = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        reason = "All query vectors must have the same length: " if _has_lists(value) else ""
        raise InvalidTypeError(
            f"{reason}q of nearest must be a vector of numbers: {error}"
        ) from None
    if vectors.ndim not in (1, 2) or vectors.dtype.kind not in "fiub":
        raise InvalidTypeError(
            f"q of nearest must be one or several vectors of numbers, got {vectors.ndim} "
            f"dimensions of {vectors.dtype}"
        )
    if not vectors.size:
        raise InvalidInputError("q of nearest has no numbers")
    return np.atleast_2d(vectors), vectors.ndim == 2


def _at_least(options: Mapping[str, Any], name: str, least: int, text: str = "") -> int | None:
    if name not in options:
        return None
    try:
        number = operator.index(options[name])
    except TypeError:
        raise InvalidTypeError(
            f"{name} of nearest must be a whole number, got {options[name]!r}"
        ) from None
    if number < least:
        raise InvalidInputError(f"{text or f'{name} must be {least} or more, got'} {number}")
    return number


def _approx_mode(value: object) -> str:
    if value not in APPROX_MODES:
        raise InvalidInputError(f"approx_mode is {value!r}: one of {', '.join(APPROX_MODES)}")
    return str(value)


def _range(value: Any) -> tuple[float | None, float | None]:
    if value is None:
        return None, None
    try:
        low, high = value
        return (
            None if low is None else float(low),
            None if high is None else float(high),
        )
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"distance_range must be a tuple of (lower_bound, upper_bound), got {value!r}"
        ) from None


def _share(options: Mapping[str, Any], name: str) -> float | None:
    value = options.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInputError(f"{name} must be between 0 and 1, got {value!r}")
    return float(value)


def _has_lists(value: Any) -> bool:
    """True for several vectors."""
    return isinstance(value, Sequence) and all(hasattr(vector, "__len__") for vector in value)
