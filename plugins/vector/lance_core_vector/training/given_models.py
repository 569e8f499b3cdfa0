"""What callers give instead of a training: centroids, codewords, and the partitions of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.fs

from lance_core.errors import InvalidInputError, InvalidTypeError, ObjectNotFoundError
from lance_core.hookspecs.arrays import to_numpy
from lance_core_vector.quantizers.scalar import MAX_RANGE, usable_bounds

MODELS = frozenset(
    {
        *("ivf_centroids", "ivf_centroids_file", "pq_codebook"),
        *("precomputed_partition_dataset", "precomputed_partitions_file", "sq_bounds"),
        "precomputed_shuffle_buffers",
    }
)
"""The names of the parameters."""

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class GivenModels:
    """Models of a caller; None for those that are trained.

    ``centroids`` of the shape (partitions, numbers), ``codebook`` with the numbers of all codewords
    of the first part first. ``bounds``: the lowest and the highest number that codes of IVF_SQ
    distinguish. ``partitions_uri``: a table with the partition of each row. ``encoded_files``: the
    paths of files with the partitions and codes of all rows.
    """

    centroids: Floats | None
    codebook: Floats | None
    bounds: tuple[float, float] | None
    partitions_uri: str | None
    storage_options: Mapping[str, str] | None
    encoded_files: Sequence[str] | None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> GivenModels:
        """The models among the parameters ``options``.

        Raises `InvalidInputError`, `InvalidTypeError`, and `ObjectNotFoundError` for a file that
        does not exist.
        """
        centroids, path = options.get("ivf_centroids"), options.get("ivf_centroids_file")
        if centroids is not None and path is not None:
            raise InvalidInputError(
                "ivf_centroids and ivf_centroids_file cannot be provided at the same time"
            )
        if path is not None:
            centroids = _loaded(path)
        codebook = options.get("pq_codebook")
        partitions = options.get("precomputed_partition_dataset")
        if partitions is None:
            partitions = options.get("precomputed_partitions_file")
        if centroids is None and codebook is not None:
            raise InvalidInputError("ivf_centroids must be specified when pq_codebook is provided")
        if centroids is None and partitions is not None:
            raise InvalidInputError(
                "ivf_centroids must be provided when precomputed_partition_dataset is provided"
            )
        if partitions is not None and not isinstance(partitions, str):
            raise InvalidTypeError(
                f"precomputed_partition_dataset is the URI of a table, got {partitions!r}"
            )
        files = options.get("precomputed_shuffle_buffers")
        if files is not None and (centroids is None or codebook is None):
            raise InvalidInputError(
                "ivf_centroids and pq_codebook must be provided with precomputed_shuffle_buffers"
            )
        return cls(
            None if centroids is None else _centroids(centroids),
            None if codebook is None else numbers_of(codebook, "pq_codebook", (2, 3)),
            _bounds(options.get("sq_bounds")),
            partitions,
            options.get("storage_options"),
            None if files is None else [str(path) for path in files],
        )


def _bounds(value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    try:
        low, high = value
        if isinstance(low, bool) or isinstance(high, bool):
            raise TypeError
        bounds = usable_bounds(float(low), float(high))
    except (TypeError, ValueError):
        raise InvalidTypeError(f"sq_bounds are two numbers, got {value!r}") from None
    except OverflowError:
        bounds = None
    if bounds is None:
        raise InvalidInputError(
            f"sq_bounds are a lowest and a highest number, at most {MAX_RANGE:g} apart, "
            f"got {value!r}"
        )
    return bounds


def _centroids(value: Any) -> Floats:
    centroids = numbers_of(value, "ivf_centroids", (2,))
    if not len(centroids):
        raise InvalidInputError(
            f"Ivf centroids must have at least one cluster, got {centroids.shape}"
        )
    return centroids


def check_codebook(codebook: Floats, shape: tuple[int, int, int]) -> None:
    """Raise `InvalidInputError` unless ``codebook`` has the ``shape`` (parts, words, numbers).

    Arrays of Arrow have one dimension less: only the number of their numbers is checked.
    """
    if codebook.size != np.prod(shape) or (codebook.ndim == 3 and codebook.shape != shape):
        raise InvalidInputError(
            f"pq_codebook has the shape {codebook.shape}, and not (sub_vectors, codewords, "
            f"numbers) = {shape}"
        )


def numbers_of(value: Any, name: str, dimensions: Sequence[int]) -> Floats:
    """The float32 numbers of an array of numpy or Arrow, with one of ``dimensions``.

    Raises `InvalidTypeError` unless these are floats or bytes, and `InvalidInputError` for other
    shapes and for numbers that are not finite.
    """
    if isinstance(value, pa.ChunkedArray):
        value = value.combine_chunks()
    if isinstance(value, pa.ExtensionArray):
        value = value.storage
    if isinstance(value, pa.FixedSizeListArray):
        width = value.type.list_size
        if value.null_count or value.flatten().null_count:
            raise InvalidInputError(f"{name} has null values")
        value = to_numpy(value.flatten()).reshape(-1, width)
    try:
        numbers = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{name} must be an array of numbers: {error}") from None
    if numbers.dtype.kind != "f" and numbers.dtype != np.uint8:
        raise InvalidTypeError(f"{name} must be floating numbers, got {numbers.dtype}")
    if numbers.ndim not in dimensions:
        shown = " or ".join(f"{number}D" for number in dimensions)
        raise InvalidInputError(f"{name} must be {shown} array, got {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise InvalidInputError(f"{name} has numbers that are not finite")
    return numbers.astype(np.float32)


def _loaded(path: Any) -> npt.NDArray[Any]:
    """The array in a file of numpy, at a path or at a URI that Arrow knows."""
    if not isinstance(path, str | Path):
        raise InvalidTypeError(f"ivf_centroids_file is a path or URI, got {path!r}")
    text = str(path)
    try:
        if "://" in text:
            system, name = pyarrow.fs.FileSystem.from_uri(text)
            with system.open_input_file(name) as file:
                array = np.load(file)
        else:
            array = np.load(text)
    except FileNotFoundError as error:
        raise ObjectNotFoundError(f"ivf_centroids_file: {error}") from error
    except (ValueError, EOFError, pa.ArrowException) as error:
        raise InvalidInputError(f"ivf_centroids_file {text!r} has no array: {error}") from error
    if not isinstance(array, np.ndarray):
        raise InvalidInputError(f"ivf_centroids_file {text!r} has several arrays")
    return array
