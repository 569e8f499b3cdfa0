"""`ModelTraining`: the models of an index of vectors, trained one by one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import (
    ColumnNotFoundError,
    InvalidInputError,
    InvalidTypeError,
    UnsupportedFeatureError,
)
from lance_core.hookspecs.arrays import from_numpy
from lance_core.hookspecs.options import hint
from lance_core_vector.builder.dataset_rows import DatasetRows
from lance_core_vector.builder.models import IvfModel, PqModel
from lance_core_vector.training.build import Training, train
from lance_core_vector.training.parameters import BuildParameters
from lance_core_vector.vectors import NUMBERS, vector_type

Parameters = Mapping[str, Any]


class ModelTraining:
    """Trains the models of an index of a column of vectors.

    ``dataset``: a `LanceDataset`. ``column``: the name of a column of vectors, or a list of one.
    Raises `ColumnNotFoundError` and `InvalidTypeError`.
    """

    def __init__(self, dataset: Any, column: str | Sequence[str]) -> None:
        names = [column] if isinstance(column, str) else list(column)
        if len(names) != 1:
            raise UnsupportedFeatureError("an index has exactly one column")
        (name,) = names
        if name not in dataset.schema.names:
            near = hint(name, dataset.schema.names)
            raise ColumnNotFoundError(f"{name} not found in schema{near}")
        self.dataset = dataset
        self.column = names
        self.rows = DatasetRows(dataset, name)
        type_of_vectors = vector_type(self.rows.type)
        if type_of_vectors is None:
            raise InvalidTypeError(
                f"Vector column {name} must be FixedSizeListArray, list<FixedSizeList> "
                f"(multivector), or 1-dimensional FixedShapeTensorArray, got {self.rows.type}"
            )
        self._vector, _ = type_of_vectors
        if self._vector.value_type not in NUMBERS:
            raise InvalidTypeError(
                f"Vector column {name} must have floating or unsigned integer value type, got "
                f"{self._vector.value_type}"
            )
        self.dimension = int(self._vector.list_size)

    def train_ivf(
        self,
        num_partitions: int | None = None,
        *,
        distance_type: str = "l2",
        accelerator: Any = None,
        sample_rate: int = 256,
        max_iters: int = 50,
        fragment_ids: Sequence[int] | None = None,
    ) -> IvfModel:
        """Train the centroids of partitions.

        ``num_partitions``: by default the square root of the number of rows. ``sample_rate``: rows
        for each partition that are read. ``fragment_ids``: only the rows of these fragments.
        Raises `InvalidInputError`, also for too few rows, and `UnsupportedFeatureError` for an
        ``accelerator``.
        """
        refuse_accelerator(accelerator)
        rows = DatasetRows.of_ids(self.dataset, self.column[0], fragment_ids)
        count = round(math.sqrt(rows.num_rows)) if num_partitions is None else num_partitions
        options = {
            "kind": "IVF_FLAT",
            "metric": distance_type,
            "num_partitions": count,
            "max_iters": max_iters,
        }
        parameters = self.parameters(options)
        needed = (parameters.num_partitions or 1) * _sample_rate(sample_rate)
        if needed > rows.num_rows:
            raise InvalidInputError(
                "There are not enough rows in the dataset to create IVF centroids with "
                f"{count} partitions and a sample rate of {sample_rate}. {needed} rows needed and "
                f"there are {rows.num_rows}"
            )
        parameters = self.parameters({**options, "sample_rate": sample_rate})
        training = train(rows, parameters, _no_progress)
        return IvfModel(self._lists(training.centroids), distance_type.lower())

    def train_pq(
        self,
        ivf_model: IvfModel,
        num_subvectors: int | None = None,
        *,
        sample_rate: int = 256,
        max_iters: int = 50,
        num_bits: int = 8,
        fragment_ids: Sequence[int] | None = None,
    ) -> PqModel:
        """Train the codewords of ``num_subvectors`` parts of the vectors less their centroids.

        By default a part has 16 numbers, or 8. See `train_ivf` for the other arguments.
        """
        rows = DatasetRows.of_ids(self.dataset, self.column[0], fragment_ids)
        parts = self._parts(num_subvectors)
        needed = _sample_rate(sample_rate) << num_bits
        if needed > rows.num_rows:
            raise InvalidInputError(
                "There are not enough rows in the dataset to create PQ codebook with a sample rate "
                f"of {sample_rate} and num_bits of {num_bits}. {needed} rows needed and there are "
                f"{rows.num_rows}"
            )
        options = {"num_sub_vectors": parts, "num_bits": num_bits, "max_iters": max_iters}
        parameters = self.parameters(
            {**self.of_ivf(ivf_model), **options, "sample_rate": sample_rate}
        )
        codebook = train(rows, parameters, _no_progress).encoder.codebook
        assert codebook is not None
        return PqModel(parts, self._lists(codebook.reshape(-1, self.dimension)), num_bits=num_bits)

    def prepare_global_ivf_pq(  # noqa: PLR0913 (the arguments are those of pylance)
        self,
        num_partitions: int | None = None,
        num_subvectors: int | None = None,
        *,
        distance_type: str = "l2",
        accelerator: Any = None,
        sample_rate: int = 256,
        max_iters: int = 50,
        num_bits: int = 8,
        fragment_ids: Sequence[int] | None = None,
    ) -> dict[str, pa.FixedSizeListArray]:
        """Train both models: ``ivf_centroids`` and ``pq_codebook``, arguments of `create_index`."""
        ivf = self.train_ivf(
            num_partitions,
            distance_type=distance_type,
            accelerator=accelerator,
            sample_rate=sample_rate,
            max_iters=max_iters,
            fragment_ids=fragment_ids,
        )
        pq = self.train_pq(
            ivf,
            num_subvectors,
            sample_rate=sample_rate,
            max_iters=max_iters,
            num_bits=num_bits,
            fragment_ids=fragment_ids,
        )
        return {"ivf_centroids": ivf.centroids, "pq_codebook": pq.codebook}

    def of_ivf(self, ivf: IvfModel) -> Parameters:
        """The parameters of an index of type ``IVF_PQ`` with these partitions."""
        return {"kind": "IVF_PQ", "metric": ivf.distance_type, "ivf_centroids": ivf.centroids}

    def parameters(self, options: Parameters) -> BuildParameters:
        """The parameters ``options``, checked for this column. Raises `InvalidInputError`."""
        parameters = BuildParameters.of(options)
        parameters.check_column(self.rows.type)
        return parameters

    def trained(self, options: Parameters) -> Training:
        """The models of an index with these parameters."""
        return train(self.rows, self.parameters(options), _no_progress)

    def _lists(self, vectors: npt.NDArray[Any]) -> pa.FixedSizeListArray:
        """Vectors in the type of the column."""
        item = self._vector.value_type
        flat = from_numpy(np.ascontiguousarray(vectors).reshape(-1).astype(NUMBERS[item]))
        return pa.FixedSizeListArray.from_arrays(flat, self.dimension)

    def _parts(self, num_subvectors: int | None) -> int:
        width = self.dimension
        if num_subvectors is None:
            size = 16 if width % 16 == 0 else 8
            if width % size:
                raise InvalidInputError(
                    f"vector dimension {width} is not divisible by 16 or 8: num_subvectors must be "
                    "given"
                )
            return width // size
        if isinstance(num_subvectors, bool) or not isinstance(num_subvectors, int):
            raise InvalidInputError("num_subvectors must be an int")
        if not 0 < num_subvectors <= width:
            raise InvalidInputError(
                f"num_subvectors must be from 1 to {width}, got {num_subvectors}"
            )
        if width % num_subvectors:
            raise InvalidInputError(
                f"dimension ({width}) must be divisible by num_subvectors ({num_subvectors}) "
                "without remainder"
            )
        return num_subvectors


def _sample_rate(rate: object) -> int:
    if isinstance(rate, bool) or not isinstance(rate, int) or rate < 2:
        raise InvalidInputError(f"The sample_rate must be an int greater than 1, got {rate}")
    return rate


def refuse_accelerator(accelerator: object) -> None:
    """Raise `UnsupportedFeatureError` unless ``accelerator`` is None."""
    if accelerator is not None:
        raise UnsupportedFeatureError(
            f"accelerator {accelerator!r}: models are trained by the processor only; leave the "
            "argument out"
        )


def _no_progress(stage: str, done: int, total: int) -> None:
    """Report nothing."""
