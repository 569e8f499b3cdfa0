"""`RabitEncoder`: the codes of RaBitQ, and the factors that turn their products into distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.arrays import from_numpy
from lance_core_vector.loops.rabit import RabitSums, rabit_codes
from lance_core_vector.quantizers.rabit import columns_of
from lance_core_vector.quantizers.rabit_layout import (
    EXTRA,
    EXTRA_FACTORS,
    FACTORS,
    SIGNS,
    pack_extra,
    pack_signs,
    record_type,
)
from lance_core_vector.quantizers.rotation import FastRotation, num_sign_bytes
from lance_core_vector.training.encoders import Encoder, fixed_size_lists

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

BLOCK_ROWS = 4096
"""Vectors that are encoded at once."""

_ERROR_WIDTH = 1.9
"""Standard deviations of the error of a distance by signs that its bound has, as in pylance."""


class RabitEncoder(Encoder):
    """The signs, and ``bits - 1`` further bits, of the numbers of rotated residuals."""

    is_row_by_row = False

    def __init__(self, width: int, bits: int, rotation: FastRotation, metric: str) -> None:
        self.columns = columns_of(width, bits)
        self._width = width
        self._bits = bits
        self._rotation = rotation
        self._metric = metric
        self._record = record_type(width, bits)

    @classmethod
    def random(
        cls, width: int, bits: int, metric: str, random: np.random.Generator
    ) -> RabitEncoder:
        """An encoder with a random rotation, of vectors whose dimension 8 divides."""
        signs = random.integers(0, 256, num_sign_bytes(width), np.uint8)
        return cls(width, bits, FastRotation(signs), metric)

    def encode(
        self, vectors: npt.NDArray[Any], centroids: Floats, owners: npt.NDArray[np.int64]
    ) -> npt.NDArray[Any]:
        records = np.empty(len(vectors), self._record)
        rotated = self._rotation.of_vectors(centroids)
        for start in range(0, len(vectors), BLOCK_ROWS):
            some = slice(start, start + BLOCK_ROWS)
            residuals = vectors[some].astype(np.float32, copy=False) - centroids[owners[some]]
            turned = self._rotation.of_vectors(residuals)
            self._encode(records[some], turned, rotated, owners[some])
        return records.view(np.uint8).reshape(len(records), self._record.itemsize)

    def _encode(
        self,
        records: npt.NDArray[Any],
        rotated: Floats,
        centroids: Floats,
        owners: npt.NDArray[np.int64],
    ) -> None:
        """Fill ``records`` with the codes and factors of ``rotated`` residuals."""
        extra = self._bits - 1
        codes, sums = rabit_codes(rotated, centroids, owners, extra)
        records[SIGNS] = np.packbits(rotated >= 0, axis=1, bitorder="little")
        # Of vectors whose squares are no float32.
        with np.errstate(over="ignore", invalid="ignore"):
            add, scale = self._factors(sums, sums.with_signs, sums.centroid_with_signs)
            for name, values in zip(FACTORS, (add, scale, self._errors(sums)), strict=True):
                records[name] = values
            if extra:
                records[EXTRA] = pack_extra(codes, extra)
                factors = self._factors(sums, sums.with_codes, sums.centroid_with_codes)
                for name, values in zip(EXTRA_FACTORS, factors, strict=True):
                    records[name] = values

    def _factors(
        self, sums: RabitSums, own: Doubles, of_centroid: Doubles
    ) -> tuple[Doubles, Doubles]:
        """What is added to the product of a code and a query, and what it is multiplied with.

        ``own`` and ``of_centroid``: the products of the codes with vectors and with centroids.
        """
        ratio = np.divide(sums.square, own, out=np.zeros_like(own), where=own != 0)
        if self._metric == "dot":
            return 1 - sums.with_centroid + ratio * of_centroid, -ratio
        return sums.square + 2 * ratio * of_centroid, -2 * ratio

    def _errors(self, sums: RabitSums) -> Doubles:
        """A bound of the error of distances by signs, for a query at a distance of one."""
        squared = sums.with_signs**2
        lengthening = np.divide(
            sums.square * self._width / 4, squared, out=np.ones_like(squared), where=squared > 0
        )
        spread = np.sqrt(np.maximum(lengthening - 1, 0) / (self._width - 1))
        errors: Doubles = np.sqrt(sums.square) * _ERROR_WIDTH * spread
        return errors if self._metric == "dot" else 2 * errors

    def arrays(self, codes: npt.NDArray[Any]) -> Sequence[pa.Array]:
        records = np.ascontiguousarray(codes).view(self._record)[:, 0]
        arrays = []
        for name, data_type in self.columns.items():
            values = np.ascontiguousarray(records[name])
            if name == SIGNS:
                values = pack_signs(values)
            is_list = pa.types.is_fixed_size_list(data_type)
            arrays.append(fixed_size_lists(values, data_type) if is_list else from_numpy(values))
        return arrays

    def metadata(self) -> dict[str, Any]:
        return {
            "rotate_mat_position": None,
            "fast_rotation_signs": self._rotation.signs.tolist(),
            "rotation_type": "fast",
            "code_dim": self._width,
            "num_bits": self._bits,
            "packed": True,
            "query_estimator": "raw_query",
        }
