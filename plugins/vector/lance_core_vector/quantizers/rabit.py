"""`RabitQuantizer`: the signs, and further bits, of the numbers of rotated residuals (RaBitQ)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core_vector.partitions.index_files import (
    QUANTIZER_KEY,
    IndexFiles,
    IvfModel,
    whole,
)
from lance_core_vector.quantizers.base import (
    Codes,
    Distances,
    Quantizer,
    Scorer,
    Vector,
    fixed_bytes,
    integer_products,
    matrix,
    numbers,
)
from lance_core_vector.quantizers.rabit_layout import (
    extra_width,
    pack_signs,
    unpack_extra,
    unpack_signs,
)
from lance_core_vector.quantizers.rotation import num_sign_bytes, rotate

if TYPE_CHECKING:
    from lance_core_vector.partitions.partition_cache import Partition

SIGNS, EXTRA = "_rabit_codes", "__blocked_ex_codes"
FACTORS = ("__add_factors", "__scale_factors", "__error_factors")
EXTRA_FACTORS = ("__add_factors_ex", "__scale_factors_ex")

MAX_BITS = 9


class RabitQuantizer(Quantizer):
    """The rotation, and the number of bits of each number of a vector, its sign among them.

    Two factors of each vector turn the product of its code with the rotated query into a distance.
    """

    def __init__(
        self,
        width: int,
        bits: int,
        signs: Sequence[int],
        *,
        metric: str,
        model: IvfModel,
        path: str,
    ) -> None:
        self.bits = bits
        self.columns = {SIGNS: fixed_bytes(width // 8), **dict.fromkeys(FACTORS, pa.float32())}
        if bits > 1:
            self.columns[EXTRA] = fixed_bytes(extra_width(width, bits - 1))
            self.columns |= dict.fromkeys(EXTRA_FACTORS, pa.float32())
        self.bytes_per_row = width * (1 if bits < MAX_BITS else 2) + 8
        self.signs = np.array(signs, np.uint8)
        self.metric = metric
        self.model = model
        self._width = width
        self._path = path

    @classmethod
    def of(cls, files: IndexFiles, model: IvfModel) -> RabitQuantizer:
        """The quantizer of stored codes.

        Raises `CorruptFileError`, and `UnsupportedFeatureError` for what older releases write: a
        rotation by a matrix, codes that are not packed, other estimates.
        """
        stored, path = files.quantizer, files.codes.path
        width, bits = model.centroids.shape[1], whole(stored, "num_bits", path)
        for name, known in (
            ("rotation_type", "fast"),
            ("packed", True),
            ("query_estimator", "raw_query"),
        ):
            if stored.get(name) != known:
                raise UnsupportedFeatureError(
                    f"codes of {path} with {name} {stored.get(name)!r} instead of {known!r}"
                )
        signs = stored.get("fast_rotation_signs")
        if (
            whole(stored, "code_dim", path) != width
            or width % 8
            or bits > MAX_BITS
            or not isinstance(signs, list)
            or len(signs) != num_sign_bytes(width)
            or not all(type(one) is int and 0 <= one < 256 for one in signs)
        ):
            raise CorruptFileError(
                "wrong dimension, bits or signs of the rotation", path, field=QUANTIZER_KEY
            )
        return cls(width, bits, signs, metric=files.metric, model=model, path=path)

    def load(self, arrays: Sequence[pa.Array]) -> Codes:
        """The codes around zero without the half that all of them are above, and two factors."""
        columns = dict(zip(self.columns, arrays, strict=True))
        rows = unpack_signs(matrix(columns[SIGNS], self._path))
        bits = np.unpackbits(rows, axis=1, count=self._width, bitorder="little")
        extra = self.bits - 1
        kind: type[Any] = np.int8 if self.bits < MAX_BITS else np.int16
        codes = (bits.astype(kind) - kind(1)) << kind(extra)  # -2^extra or 0
        names = FACTORS[:2]
        if extra:
            names = EXTRA_FACTORS
            codes |= unpack_extra(matrix(columns[EXTRA], self._path), extra, self._width).astype(
                kind
            )
        add, scale = (numbers(columns[name], self._path) for name in names)
        return codes, add, scale

    def scorer(self, query: Vector) -> Scorer:
        return _Scorer(self, query)

    def without(
        self, arrays: Sequence[pa.Array], order: npt.NDArray[np.intp]
    ) -> Sequence[pa.Array]:
        found = list(super().without(arrays, order))
        rows = unpack_signs(matrix(arrays[0], self._path))[order]
        flat = pa.array(pack_signs(rows).reshape(-1))
        found[0] = pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
        return found


class _Scorer(Scorer):
    def __init__(self, quantizer: RabitQuantizer, query: Vector) -> None:
        self._quantizer = quantizer
        self._query = query.astype(np.float64)
        rotated = rotate(query[None], quantizer.signs)[0]
        self._rotated = rotated.astype(np.float32)
        self._half = 0.5 * float(rotated.sum())

    def scores(self, partitions: Sequence[Partition]) -> Distances:
        parts = []
        for partition in partitions:
            codes, add, scale = partition.codes
            found = integer_products(codes, self._rotated)
            found += np.float32(self._half)
            found *= scale
            factor, base = self._of_partition(partition.number)
            found += add if factor == 1 else add * np.float32(factor)
            found += np.float32(base)
            parts.append(found)
        return np.concatenate(parts)

    def _of_partition(self, number: int) -> tuple[float, float]:
        """What the add factors of a partition are multiplied with, and what is added."""
        centroid: npt.NDArray[Any] = self._quantizer.model.centroids[number].astype(np.float64)
        if self._quantizer.metric != "dot":
            difference = self._query - centroid
            return 1.0, float(difference @ difference)
        product, square = float(self._query @ centroid), float(centroid @ centroid)
        factor = product / square if square else 0.0
        return factor, 1 - product - factor
