"""`RabitQuantizer`: the signs, and further bits, of the numbers of rotated residuals (RaBitQ)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.hookspecs.arrays import from_numpy
from lance_core.hookspecs.searches import Hits, best_of
from lance_core_vector.loops.best_rows import BestRows, Masks
from lance_core_vector.loops.float_scan import SPARE_ROWS
from lance_core_vector.loops.library import is_compiled
from lance_core_vector.loops.product_scan import arranged, codes_at
from lance_core_vector.loops.rabit_scan import RabitTerms, best_by_rabit, rabit_scores
from lance_core_vector.loops.sign_scan import SignTerms, best_by_signs, sign_scores, sign_tables
from lance_core_vector.partitions.index_files import (
    QUANTIZER_KEY,
    IndexFiles,
    IvfModel,
    buffer_tensor,
    tensor,
    whole,
)
from lance_core_vector.quantizers.base import (
    Codes,
    Distances,
    Quantizer,
    Scorer,
    Vector,
    aligned,
    fixed_bytes,
    matrix,
    numbers,
    places_of,
    rows_at,
    rows_of_codes,
)
from lance_core_vector.quantizers.rabit_layout import (
    EXTRA,
    EXTRA_FACTORS,
    FACTORS,
    SIGNS,
    extra_width,
    pack_signs,
    record_type,
    unpack_extra,
    unpack_signs,
)
from lance_core_vector.quantizers.rotation import (
    FastRotation,
    MatrixRotation,
    Rotation,
    num_sign_bytes,
)

if TYPE_CHECKING:
    from lance_core_vector.partitions.partition_cache import Partition

MAX_BITS = 9

ERROR_FACTOR = 3.0
"""How many times the stored error scores by signs may be wrong by: 5.7 standard deviations, which
one row in 100 million exceeds."""

_SIGNS_PER_CODE = 8
"""Signs that are compared in the time of one code."""

_REFINEMENTS = (None, 20, 8, 4, 2, 2, 2, None)
"""See `Quantizer.refinement`: by the number of bits; of more than all as of the last."""


class RabitQuantizer(Quantizer):
    """The rotation, and the number of bits of each number of a vector, its sign among them.

    Two factors of each vector turn the product of its code with the rotated query into a distance.
    """

    def __init__(
        self,
        width: int,
        bits: int,
        rotation: Rotation,
        *,
        metric: str,
        model: IvfModel,
        path: str,
    ) -> None:
        self.bits = bits
        self.refinement = _REFINEMENTS[min(bits, len(_REFINEMENTS) - 1)]
        self.columns = columns_of(width, bits)
        self.rotation = rotation
        self.metric = metric
        self.model = model
        self._width = width
        self._path = path
        self.bytes_per_row = width * (1 if bits < MAX_BITS else 2) + 8
        if self._has_bounds:
            self.bytes_per_row += width // 8 + 12

    @classmethod
    def of(cls, files: IndexFiles, model: IvfModel) -> RabitQuantizer:
        """The quantizer of stored codes.

        Raises `CorruptFileError`, and `UnsupportedFeatureError` for codes that are not packed, and
        for other estimates.
        """
        stored, path = files.quantizer, files.codes.path
        width, bits = model.centroids.shape[1], whole(stored, "num_bits", path)
        # Older releases wrote no estimate, and compared signs with differences of queries.
        estimate = stored.get("query_estimator", "residual_query")
        of_residuals = estimate == "residual_query" and bits == 1
        if stored.get("packed") is not True or not (of_residuals or estimate == "raw_query"):
            raise UnsupportedFeatureError(
                f"codes of {path} with {bits} bits and the query_estimator {estimate!r}, "
                f"packed: {stored.get('packed')!r}"
            )
        rotation = _rotation(files, width)
        if stored.get("code_dim", width) not in (0, width) or width % 8 or bits > MAX_BITS:
            raise CorruptFileError("wrong dimension or bits", path, field=QUANTIZER_KEY)
        quantizer_class = ResidualRabitQuantizer if of_residuals else cls
        return quantizer_class(width, bits, rotation, metric=files.metric, model=model, path=path)

    @property
    def coarse(self) -> Quantizer:
        """Signs have factors of their own: with these, they are a code of one bit."""
        if self.bits == 1:
            return self
        return SignQuantizer(
            self._width, 1, self.rotation, metric=self.metric, model=self.model, path=self._path
        )

    def load(self, arrays: Sequence[pa.Array]) -> Codes:
        """The codes around zero without the half that all of them are above, and two factors."""
        columns = dict(zip(self.columns, arrays, strict=True))
        rows = unpack_signs(matrix(columns[SIGNS], self._path))
        bits = np.unpackbits(rows, axis=1, count=self._width, bitorder="little")
        extra = self.bits - 1
        dtype: type[Any] = np.int8 if self.bits < MAX_BITS else np.int16
        codes = (bits.astype(dtype) - dtype(1)) << dtype(extra)  # -2^extra or 0
        names = FACTORS[:2]
        if extra:
            names = EXTRA_FACTORS
            codes |= unpack_extra(matrix(columns[EXTRA], self._path), extra, self._width).astype(
                dtype
            )
        factors = [aligned(numbers(columns[name], self._path)) for name in names]
        if not self._has_bounds:
            return codes, *factors
        bounds = [aligned(numbers(columns[name], self._path)) for name in FACTORS]
        return codes, *factors, arranged(rows.T, 4), *bounds

    @property
    def _has_bounds(self) -> bool:
        """True if signs leave out rows before all bits are compared."""
        return is_compiled() and 1 < self.bits < MAX_BITS and self.metric != "dot"

    def scorer(self, query: Vector) -> Scorer:
        return _BoundedScorer(self, query) if self._has_bounds else _Scorer(self, query)

    def thorough_scorer(self, query: Vector) -> Scorer:
        return _Scorer(self, query)

    def rows_of(self, arrays: Sequence[pa.Array]) -> npt.NDArray[Any]:
        count = len(arrays[0])
        records = np.empty(count, record_type(self._width, self.bits))
        for name, array in zip(self.columns, arrays, strict=True):
            is_list = pa.types.is_fixed_size_list(array.type)
            records[name] = (matrix if is_list else numbers)(array, self._path)
        records[SIGNS] = unpack_signs(records[SIGNS])
        return records.view(np.uint8).reshape(count, -1)

    def without(
        self, arrays: Sequence[pa.Array], order: npt.NDArray[np.intp]
    ) -> Sequence[pa.Array]:
        columns = list(super().without(arrays, order))
        rows = unpack_signs(matrix(arrays[0], self._path))[order]
        flat = from_numpy(pack_signs(rows).reshape(-1))
        columns[0] = pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
        return columns


class SignQuantizer(RabitQuantizer):
    """The signs of codes of more bits: a bit of memory for each number, and not a byte."""

    def __init__(self, width: int, *arguments: Any, **more: Any) -> None:
        super().__init__(width, *arguments, **more)
        self.bytes_per_row = width // 8 + 8

    def load(self, arrays: Sequence[pa.Array]) -> Codes:
        """The sign bytes, as scans take them, and two factors."""
        columns = dict(zip(self.columns, arrays, strict=True))
        signs = unpack_signs(matrix(columns[SIGNS], self._path))
        add, scale = (numbers(columns[name], self._path) for name in FACTORS[:2])
        return arranged(signs.T, 4), aligned(add), aligned(scale)

    def scorer(self, query: Vector) -> Scorer:
        return _SignScorer(self, query)

    def thorough_scorer(self, query: Vector) -> Scorer:
        return self.scorer(query)


class ResidualRabitQuantizer(RabitQuantizer):
    """Codes of one bit of older releases: their products are with differences from centroids."""

    def scorer(self, query: Vector) -> Scorer:
        return _ResidualScorer(self, query)

    def thorough_scorer(self, query: Vector) -> Scorer:
        return self.scorer(query)


def columns_of(width: int, bits: int) -> dict[str, pa.DataType]:
    """The columns of codes of ``bits`` bits of vectors of ``width`` numbers."""
    columns = {SIGNS: fixed_bytes(width // 8), **dict.fromkeys(FACTORS, pa.float32())}
    if bits > 1:
        columns[EXTRA] = fixed_bytes(extra_width(width, bits - 1))
        columns |= dict.fromkeys(EXTRA_FACTORS, pa.float32())
    return columns


def _rotation(files: IndexFiles, width: int) -> Rotation:
    """The rotation in the metadata: a matrix of a global buffer where there is no type."""
    stored, path = files.quantizer, files.codes.path
    rotation_type = stored.get("rotation_type", "matrix")
    if rotation_type == "fast":
        signs = stored.get("fast_rotation_signs")
        if (
            not isinstance(signs, list)
            or len(signs) != num_sign_bytes(width)
            or not all(type(byte) is int and 0 <= byte < 256 for byte in signs)
        ):
            raise CorruptFileError("wrong signs of the rotation", path, field=QUANTIZER_KEY)
        return FastRotation(signs)
    if rotation_type != "matrix":
        raise UnsupportedFeatureError(f"codes of {path} with the rotation_type {rotation_type!r}")
    message = buffer_tensor(files.codes, stored.get("rotate_mat_position"), "rotate_mat_position")
    rotation = tensor(message, path, "rotate_mat_position").astype(np.float32)
    if len(rotation) != width * width or not np.isfinite(rotation).all():
        raise CorruptFileError("wrong matrix of the rotation", path, field=QUANTIZER_KEY)
    return MatrixRotation(rotation.reshape(width, width))


class PartitionTerms(NamedTuple):
    """What the add factors of the rows of each partition are multiplied with, and what is added."""

    factors: npt.NDArray[np.float32]
    bases: npt.NDArray[np.float32]

    @classmethod
    def of(cls, factors: npt.NDArray[Any], bases: npt.NDArray[Any]) -> PartitionTerms:
        """The terms in the precision of scores."""
        return cls(factors.astype(np.float32), bases.astype(np.float32))


class _Scorer(Scorer):
    def __init__(self, quantizer: RabitQuantizer, query: Vector) -> None:
        self._quantizer = quantizer
        self._query = query.astype(np.float64)
        rotated = quantizer.rotation.of_query(query)
        self._rotated = rotated.astype(np.float32)
        self._half = 0.5 * float(rotated.sum())
        self.rows_of_part = rows_of_codes(len(rotated))

    def top(self, partitions: Sequence[Partition], count: int, masks: Masks | None) -> Hits:
        """By the rounded scores; those of the best rows, and of some more, are computed again."""
        codes: list[Any] = [partition.codes for partition in partitions]
        rows = [partition.rows for partition in partitions]
        each = self._of_partitions(partitions)
        best = self._best(codes, rows, masks, each, count + SPARE_ROWS)
        which, at = places_of([len(numbers) for numbers in rows], best.positions)
        near = self._codes_at([columns[0] for columns in codes], which, at).astype(np.float64)
        added, scales = (
            rows_at([columns[column] for columns in codes], which, at).astype(np.float64)
            for column in (1, 2)
        )
        products = np.einsum("ij,j->i", near, self._rotated)
        exact = (products + self._half) * scales + added * each.factors[which] + each.bases[which]
        return best_of(best.rows, exact.astype(np.float32), count, ascending=True)

    def _best(
        self,
        codes: Sequence[Any],
        rows: Sequence[npt.NDArray[np.uint64]],
        masks: Masks | None,
        each: PartitionTerms,
        count: int,
    ) -> BestRows:
        """The best rows by their rounded scores."""
        return best_by_rabit(codes, rows, masks, self._terms(each), count)

    def _terms(self, each: PartitionTerms) -> RabitTerms:
        return RabitTerms(self._rotated, self._half, *each)

    def _codes_at(
        self,
        codes: Sequence[npt.NDArray[Any]],
        which: npt.NDArray[np.intp],
        at: npt.NDArray[np.intp],
    ) -> npt.NDArray[Any]:
        """The codes of rows of partitions as `RabitQuantizer.load` returns them: see `rows_at`."""
        return rows_at(codes, which, at)

    def scores(self, partitions: Sequence[Partition]) -> Distances:
        codes: list[Any] = [partition.codes for partition in partitions]
        return rabit_scores(codes, self._terms(self._of_partitions(partitions)))

    def _of_partitions(self, partitions: Sequence[Partition]) -> PartitionTerms:
        centroids = self._centroids(partitions)
        if self._quantizer.metric != "dot":
            differences = self._query - centroids
            bases = np.einsum("ij,ij->i", differences, differences)
            return PartitionTerms.of(np.ones(len(bases)), bases)
        products, squares = centroids @ self._query, np.einsum("ij,ij->i", centroids, centroids)
        factors = np.divide(products, squares, out=np.zeros_like(squares), where=squares != 0)
        return PartitionTerms.of(factors, 1 - products - factors)

    def _centroids(self, partitions: Sequence[Partition]) -> npt.NDArray[np.float64]:
        centroids = self._quantizer.model.centroids[[partition.number for partition in partitions]]
        return centroids.astype(np.float64)


class _BoundedScorer(_Scorer):
    """Compares all bits only of rows whose signs are near enough."""

    def __init__(self, quantizer: RabitQuantizer, query: Vector) -> None:
        super().__init__(quantizer, query)
        self.rows_of_part *= _SIGNS_PER_CODE
        self._tables = sign_tables(self._rotated)

    def _terms(self, each: PartitionTerms) -> RabitTerms:
        reaches = np.float32(ERROR_FACTOR) * np.sqrt(each.bases)
        return RabitTerms(self._rotated, self._half, *each, self._tables, reaches)


class _SignScorer(_Scorer):
    """Looks up the products of four signs with the query at once."""

    def __init__(self, quantizer: RabitQuantizer, query: Vector) -> None:
        super().__init__(quantizer, query)
        if is_compiled():
            self.rows_of_part *= _SIGNS_PER_CODE
        self._tables = sign_tables(self._rotated)

    def scores(self, partitions: Sequence[Partition]) -> Distances:
        codes: list[Any] = [partition.codes for partition in partitions]
        return sign_scores(codes, self._sign_terms(self._of_partitions(partitions)))

    def _best(
        self,
        codes: Sequence[Any],
        rows: Sequence[npt.NDArray[np.uint64]],
        masks: Masks | None,
        each: PartitionTerms,
        count: int,
    ) -> BestRows:
        return best_by_signs(codes, rows, masks, self._sign_terms(each), count)

    def _sign_terms(self, each: PartitionTerms) -> SignTerms:
        return SignTerms(self._tables, -self._half, *each)

    def _codes_at(
        self,
        codes: Sequence[npt.NDArray[Any]],
        which: npt.NDArray[np.intp],
        at: npt.NDArray[np.intp],
    ) -> npt.NDArray[Any]:
        signs = np.empty((len(which), len(self._rotated) // 8), np.uint8)
        for number in np.unique(which).tolist():
            mine = which == number
            signs[mine] = codes_at(codes[number], at[mine])
        bits = np.unpackbits(signs, axis=1, count=len(self._rotated), bitorder="little")
        return bits.astype(np.int8) - np.int8(1)


class _ResidualScorer(_Scorer):
    """Compares signs with the difference of the query from the centroid, as older releases do."""

    def top(self, partitions: Sequence[Partition], count: int, masks: Masks | None) -> Hits:
        return Scorer.top(self, partitions, count, masks)

    def scores(self, partitions: Sequence[Partition]) -> Distances:
        each, parts = self._of_partitions(partitions), []
        differences = self._query - self._centroids(partitions)
        factor = 2 / np.sqrt(self._query.shape[0])
        for number, difference in enumerate(differences):
            rotated = factor * self._quantizer.rotation.of_query(difference)
            own = PartitionTerms(*(values[number : number + 1] for values in each))
            terms = RabitTerms(rotated.astype(np.float32), 0.5 * float(rotated.sum()), *own)
            codes: Any = partitions[number].codes
            parts.append(rabit_scores([codes], terms))
        return np.concatenate(parts)

    def _of_partitions(self, partitions: Sequence[Partition]) -> PartitionTerms:
        if self._quantizer.metric != "dot":
            return super()._of_partitions(partitions)
        products = self._centroids(partitions) @ self._query
        return PartitionTerms.of(np.ones(len(products)), -products)
