"""Codes are compared as the definitions of the quantizers say, computed row by row."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.hookspecs.indices import IndexNotWrittenError
from lance_core_vector.distances import METRICS
from lance_core_vector.kinds import query_batch
from lance_core_vector.kinds.query_batch import best_of_queries
from lance_core_vector.kinds.stored_encoder import encoder_of
from lance_core_vector.loops.integer_products import integer_products
from lance_core_vector.loops.rabit import hadamard
from lance_core_vector.partitions.index_files import IvfModel, row_numbers
from lance_core_vector.partitions.partition_cache import Partition
from lance_core_vector.quantizers import product
from lance_core_vector.quantizers.base import check_columns, matrix, numbers, places_of, rows_at
from lance_core_vector.quantizers.flat import FlatQuantizer
from lance_core_vector.quantizers.product import ProductQuantizer
from lance_core_vector.quantizers.rabit import RabitQuantizer, ResidualRabitQuantizer, _rotation
from lance_core_vector.quantizers.rabit_layout import (
    FACTORS,
    SIGNS,
    extra_width,
    pack_extra,
    pack_signs,
    record_type,
    unpack_extra,
    unpack_signs,
)
from lance_core_vector.quantizers.rotation import (
    FastRotation,
    MatrixRotation,
    num_sign_bytes,
    rotate,
)
from lance_core_vector.quantizers.scalar import ScalarQuantizer
from lance_core_vector.training.rabit_encoder import RabitEncoder

WIDTH = 24
Numbers = npt.NDArray[Any]


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(4)


def lists(rows: Numbers) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1])


def model(centroids: Numbers) -> IvfModel:
    zeros = np.zeros(len(centroids), np.int64)
    return IvfModel(centroids, zeros, zeros, None)


def partition(number: int, codes: Any, rows: int | None = None) -> Partition:
    count = len(codes[0]) if rows is None else rows
    return Partition(number, np.arange(count, dtype=np.uint64), codes)


@pytest.mark.parametrize("count", [0, 3, 40])
def test_rows_of_several_arrays_come_in_the_order_of_positions(
    random: np.random.Generator, count: int
) -> None:
    arrays = [random.random((size, 5)) for size in (4, 0, 7)]
    positions = random.integers(0, 11, count)
    found = rows_at(arrays, *places_of([len(one) for one in arrays], positions))
    np.testing.assert_array_equal(found, np.concatenate(arrays)[positions])


@pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("transposed", [False, True])
def test_product_codes_are_distances_from_codewords(
    random: np.random.Generator, metric: str, bits: int, transposed: bool
) -> None:
    parts, size = 6, WIDTH // 6
    codebook = random.normal(size=(parts, 1 << bits, size)).astype(np.float32)
    centroids = random.normal(size=(3, WIDTH)).astype(np.float32)
    quantizer = ProductQuantizer(
        codebook, bits, transposed=transposed, metric=metric, model=model(centroids), path="x"
    )
    query = random.normal(size=WIDTH).astype(np.float32)
    partitions, expected = [], []
    for number, count in ((2, 9_000), (0, 7)):
        codes = random.integers(0, 1 << bits, (count, parts), np.uint8)
        stored = codes if bits == 8 else codes[:, 0::2] | codes[:, 1::2] << 4
        if transposed:
            stored = stored.T.copy().reshape(stored.shape)
        partitions.append(partition(number, quantizer.load([lists(stored)]), count))
        vectors = codebook[np.arange(parts), codes].reshape(count, WIDTH).astype(np.float64)
        if metric == "dot":
            expected.append(1 - vectors @ query)
        else:
            expected.append(((vectors - (query - centroids[number])) ** 2).sum(axis=1))
    found = quantizer.scorer(query).scores(partitions)
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("transposed", [False, True])
def test_rows_of_product_codes_can_be_left_out(
    random: np.random.Generator, transposed: bool
) -> None:
    codebook = random.normal(size=(4, 256, 2)).astype(np.float32)
    quantizer = ProductQuantizer(
        codebook, 8, transposed=transposed, metric="l2", model=model(codebook[0]), path="x"
    )
    codes = random.integers(0, 256, (50, 4), np.uint8)
    stored = codes.T.copy().reshape(50, 4) if transposed else codes
    order = np.array([7, 3, 49])
    (some,) = quantizer.without([lists(stored)], order)
    assert (quantizer.load([some])[0] & 255 == codes[order].T).all()


@pytest.mark.parametrize("metric", ["l2", "dot"])
def test_scalar_codes_are_steps_of_the_range(random: np.random.Generator, metric: str) -> None:
    quantizer = ScalarQuantizer(WIDTH, -2.0, 3.0, metric, "x")
    vectors = random.normal(size=(500, WIDTH)) * 2
    codes = quantizer.encode(vectors)
    query = random.normal(size=WIDTH).astype(np.float32)
    found = quantizer.scorer(query).scores([partition(0, quantizer.load([lists(codes)]))])
    steps = codes.astype(np.int64)
    if metric == "dot":
        expected = 1 - (-2.0 + steps * 5 / 255) @ query.astype(np.float64)
    else:
        expected = ((steps - quantizer.encode(query).astype(np.int64)) ** 2).sum(1) * (5 / 255) ** 2
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("metric", ["l2", "cosine", "dot", "hamming"])
def test_stored_vectors_have_exact_distances(random: np.random.Generator, metric: str) -> None:
    is_bits = metric == "hamming"
    vectors = random.integers(0, 256, (300, WIDTH)).astype(np.uint8 if is_bits else np.float32)
    kind = pa.list_(pa.uint8() if is_bits else pa.float32(), WIDTH)
    quantizer = FlatQuantizer(kind, METRICS[metric], "x")
    query = vectors[5] / np.linalg.norm(vectors[5]) if metric == "cosine" else vectors[5]
    scorer = quantizer.scorer(query)
    halves = [partition(0, quantizer.load([lists(v)])) for v in (vectors[:100], vectors[100:])]
    scores = scorer.scores(halves)
    positions = np.array([0, 5, 99, 100, 299])
    found = scorer.exact(halves, positions, scores[positions])
    assert (found == METRICS[metric].exact(vectors[positions], query)).all()
    assert np.abs(scores[positions] - found).max() <= scorer.error


@pytest.mark.parametrize("bits", range(1, 10))
def test_rabit_codes_estimate_products_with_the_rotated_query(
    random: np.random.Generator, bits: int
) -> None:
    width, count = 72, 70
    centroids = random.normal(size=(2, width)).astype(np.float32)
    signs = random.integers(0, 256, num_sign_bytes(width)).tolist()
    for metric in ("l2", "dot"):
        quantizer = RabitQuantizer(
            width, bits, FastRotation(signs), metric=metric, model=model(centroids), path="x"
        )
        whole = random.integers(0, 1 << bits, (count, width))
        sign_rows = np.packbits(whole >> (bits - 1), axis=1, bitorder="little")
        low = (whole & ((1 << (bits - 1)) - 1)).astype(np.uint8)
        add, scale = random.normal(size=(2, count)).astype(np.float32)
        factors = [pa.array(one) for one in (add, scale, add)]
        arrays = [lists(pack_signs(sign_rows)), *factors]
        if bits > 1:
            arrays += [lists(packed_extra(low, bits - 1)), pa.array(add), pa.array(scale)]
        query = random.normal(size=width).astype(np.float32)
        found = quantizer.scorer(query).scores([partition(1, quantizer.load(arrays))])
        products = (whole - ((1 << bits) - 1) / 2) @ rotate(query[None], signs)[0]
        center = centroids[1].astype(np.float64)
        if metric == "l2":
            expected = add + ((query - center) ** 2).sum() + scale * products
        else:
            share = query @ center / (center @ center)
            expected = 1 - query @ center + share * (add - 1) + scale * products
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * (1 << bits))


@pytest.mark.parametrize("metric", ["l2", "dot"])
@pytest.mark.parametrize("bits", [1, 5, 9])
def test_coarse_rabit_codes_are_the_signs_with_factors_of_their_own(
    random: np.random.Generator, bits: int, metric: str
) -> None:
    width, count = 72, 70
    centroids = random.normal(size=(2, width)).astype(np.float32)
    turns = random.integers(0, 256, num_sign_bytes(width)).tolist()
    quantizer = RabitQuantizer(
        width, bits, FastRotation(turns), metric=metric, model=model(centroids), path="x"
    )
    assert [*quantizer.coarse.columns] == [*quantizer.columns][:4]
    signs = random.integers(0, 2, (count, width))
    add, scale = random.normal(size=(2, count)).astype(np.float32)
    factors = [pa.array(one) for one in (add, scale, add)]
    sign_bytes = pack_signs(np.packbits(signs, axis=1, bitorder="little"))
    codes = quantizer.coarse.load([lists(sign_bytes), *factors])
    query = random.normal(size=width).astype(np.float32)
    scorer = quantizer.coarse.scorer(query)
    stored = partition(1, codes, count)
    products = (signs - 0.5) @ rotate(query[None], turns)[0]
    center = centroids[1].astype(np.float64)
    if metric == "l2":
        expected = add + ((query - center) ** 2).sum() + scale * products
    else:
        share = query @ center / (center @ center)
        expected = 1 - query @ center + share * (add - 1) + scale * products
    found = scorer.scores([stored])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    best = scorer.top([stored], 10, None)
    np.testing.assert_allclose(best.scores, np.sort(expected)[:10], rtol=1e-4, atol=1e-4)
    assert best.rows.tolist() == np.argsort(expected)[:10].tolist()


@pytest.mark.parametrize("bits", [1, 5, 8])
def test_no_row_is_nearest_by_rabit_codes_where_none_is_allowed(
    random: np.random.Generator, bits: int
) -> None:
    width, count = 72, 33
    turns = random.integers(0, 256, num_sign_bytes(width)).tolist()
    quantizer = RabitQuantizer(
        width, bits, FastRotation(turns), metric="l2", model=model(np.zeros((1, width))), path="x"
    )
    signs = random.integers(0, 256, (count, num_sign_bytes(width)), np.uint8)
    add = pa.array(random.normal(size=count).astype(np.float32))
    arrays = [lists(pack_signs(signs[:, : width // 8])), add, add, add]
    if bits > 1:
        low = random.integers(0, 1 << (bits - 1), (count, width)).astype(np.uint8)
        arrays += [lists(packed_extra(low, bits - 1)), add, add]
    query = random.normal(size=width).astype(np.float32)
    for one in (quantizer, quantizer.coarse):
        stored = partition(0, one.load(arrays[: len(one.columns)]), count)
        best = one.scorer(query).top([stored], 10, [np.zeros(count, np.bool_)])
        assert (len(best.rows), len(best.scores)) == (0, 0)


def packed_extra(codes: Numbers, bits: int) -> Numbers:
    """The bytes of extra bits, number by number, by the table of the format's description."""
    count, width = codes.shape
    found = np.zeros((count, extra_width(width, bits)), np.uint8)
    for row in range(count):
        for number in range(width):
            code = int(codes[row, number])
            block, at = divmod(number, 64)
            quarter, b = divmod(at, 16)
            first = block * 8 * bits
            if bits == 8:
                found[row, first + at] = code
                continue
            if bits == 1:
                found[row, first + at // 8] |= code << at % 8
                continue
            body = bits & ~1
            rest = code & ((1 << body) - 1)
            if body == 2:
                found[row, first + b] |= rest << 2 * quarter
            elif body == 4 and bits == 4:
                half, place = divmod(b, 8)
                found[row, first + 8 * quarter + place] |= rest << 4 * half
            elif body == 4:
                found[row, first + 16 * (quarter // 2) + b] |= rest << 4 * (quarter % 2)
            elif quarter < 3:
                found[row, first + 16 * quarter + b] |= rest
            else:
                for part in range(3):
                    found[row, first + 16 * part + b] |= (rest >> 2 * part & 3) << 6
            if bits % 2:
                bit = 8 * (b % 8) + 2 * quarter + b // 8
                found[row, first + 8 * body + bit // 8] |= (code >> body) << bit % 8
    return found


@pytest.mark.parametrize("bits", range(1, 9))
def test_extra_bits_are_unpacked(random: np.random.Generator, bits: int) -> None:
    codes = random.integers(0, 1 << bits, (5, 136)).astype(np.uint8)
    assert (unpack_extra(packed_extra(codes, bits), bits, 136) == codes).all()
    assert (pack_extra(codes, bits) == packed_extra(codes, bits)).all()


@pytest.mark.parametrize("count", [1, 31, 32, 33, 100])
def test_sign_bytes_are_unpacked_and_packed(random: np.random.Generator, count: int) -> None:
    rows = random.integers(0, 256, (count, 5), np.uint8)
    assert (unpack_signs(pack_signs(rows)) == rows).all()
    stored = pack_signs(rows).reshape(-1)
    if count >= 32:
        assert stored[1] == rows[8, 0] & 15 | (rows[24, 0] & 15) << 4
        assert stored[17] == rows[8, 0] >> 4 | rows[24, 0] & 0xF0


@pytest.mark.parametrize("width", [8, 24, 64, 72])
def test_rotations_keep_lengths_and_angles(random: np.random.Generator, width: int) -> None:
    signs = random.integers(0, 256, num_sign_bytes(width)).tolist()
    vectors = random.normal(size=(5, width))
    rotated = rotate(vectors, signs)
    np.testing.assert_allclose(rotated @ rotated.T, vectors @ vectors.T, atol=1e-9)
    assert not np.allclose(rotated, vectors)


def test_hadamard_transforms_are_those_of_the_matrix() -> None:
    matrix_of_2 = np.array([[1, 1], [1, -1]])
    of_8 = np.kron(np.kron(matrix_of_2, matrix_of_2), matrix_of_2)
    assert (hadamard(np.eye(8)) == of_8).all()


def test_sums_of_products_of_whole_numbers_are_exact(random: np.random.Generator) -> None:
    codes = random.integers(-128, 128, (3_000, 768)).astype(np.int8)
    factors = random.integers(-128, 128, 768)
    found = integer_products(codes, factors.astype(np.float32))
    assert (found == codes.astype(np.int64) @ factors).all()


def test_columns_of_other_types_and_nulls_are_corrupt() -> None:
    kind = pa.list_(pa.uint8(), 4)
    with pytest.raises(CorruptFileError, match="the column is missing"):
        check_columns({"codes": kind}, pa.schema([]), "x")
    for other in (pa.list_(pa.uint8(), 3), pa.list_(pa.int8(), 4), pa.uint8()):
        with pytest.raises(CorruptFileError, match="has the type"):
            check_columns({"codes": kind}, pa.schema([pa.field("codes", other)]), "x")
    with pytest.raises(CorruptFileError, match="a code is null"):
        matrix(pa.array([[1, 2, 3, 4], None], kind), "x")
    with pytest.raises(CorruptFileError, match="a factor is null"):
        numbers(pa.array([1.0, None]), "x")


def test_columns_of_lists_and_of_row_numbers_are_checked() -> None:
    kind = pa.list_(pa.uint32())
    named = pa.list_(pa.field("element", pa.uint32(), nullable=False))
    check_columns({"near": kind}, pa.schema([pa.field("near", named)]), "x")
    for other in (pa.list_(pa.int64()), pa.uint32(), pa.large_list(pa.uint32()), pa.string()):
        with pytest.raises(CorruptFileError, match="has the type"):
            check_columns({"near": kind}, pa.schema([pa.field("near", other)]), "x")
    with pytest.raises(CorruptFileError, match="a row number is null"):
        row_numbers(pa.array([1, None], pa.uint64()), "x")
    buffer = pa.py_buffer(bytes(3) + np.arange(5, dtype=np.uint64).tobytes()).slice(3)
    found = row_numbers(pa.Array.from_buffers(pa.uint64(), 5, [None, buffer]), "x")
    assert found.flags.aligned
    assert found.tolist() == [0, 1, 2, 3, 4]


def test_several_queries_in_float64_search_vectors_in_float32(random: np.random.Generator) -> None:
    codes = FlatQuantizer(pa.list_(pa.float32(), WIDTH), METRICS["l2"], "x").load(
        [lists(random.normal(size=(200, WIDTH)).astype(np.float32))]
    )
    queries = codes[0][:3].astype(np.float64)
    found = best_of_queries(METRICS["l2"], queries, [(partition(0, codes), np.arange(3))], 5, None)
    assert [hits is not None and int(hits.rows[0]) for hits in found] == [0, 1, 2]
    codes[0][:] = codes[0][0]  # as near as each other, whatever the rounding
    codes[1][:] = codes[1][0]
    found = best_of_queries(METRICS["l2"], queries, [(partition(0, codes), np.arange(3))], 5, None)
    assert found == [None, None, None]


def test_threads_of_several_queries_find_what_one_finds(
    random: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    quantizer = FlatQuantizer(pa.list_(pa.float32(), WIDTH), METRICS["l2"], "x")
    sizes = (40, 1, 200, 7, 90)
    partitions = [
        partition(number, quantizer.load([lists(random.random((size, WIDTH), np.float32))]))
        for number, size in enumerate(sizes)
    ]
    queries = random.random((9, WIDTH), np.float32)
    searched = [
        (one, np.flatnonzero(random.random(9) < 0.7).astype(np.int64)) for one in partitions
    ]
    answers = []
    for products in (1 << 40, 1):
        monkeypatch.setattr(query_batch, "PART_PRODUCTS", products)
        answers.append(best_of_queries(METRICS["l2"], queries, searched, 8, None))
    for single, several in zip(*answers, strict=True):
        assert single is not None
        assert several is not None
        assert single.rows.tolist() == several.rows.tolist()
        assert single.scores.tolist() == several.scores.tolist()


def test_codewords_of_any_size_give_no_warning() -> None:
    """Those of damaged files: they are far from all queries."""
    codebook = np.full((1, 256, 8), 3e38, np.float32)
    quantizer = ProductQuantizer(
        codebook, 8, transposed=True, metric="l2", model=model(np.zeros((1, 8))), path=""
    )
    with np.errstate(all="ignore"):  # as a search has it
        assert not np.isfinite(quantizer.tables(np.ones(8, np.float32), [0])).any()


def test_metadata_of_quantizers_is_checked() -> None:
    codes = SimpleNamespace(path="auxiliary.idx")
    for wrong in (
        {"dim": WIDTH, "bounds": {"start": 1.0, "end": 0.0}},
        {"dim": WIDTH, "bounds": {"start": float("nan"), "end": 0.0}},
        {"dim": WIDTH + 1, "bounds": {"start": 0.0, "end": 1.0}},
        {"dim": WIDTH, "bounds": None},
        {"dim": WIDTH, "bounds": {"start": 0, "end": 10**400}},
        {"dim": WIDTH, "bounds": {"start": 0.0, "end": 1e200}},
        {"dim": WIDTH, "bounds": {"start": 0.0, "end": True}},
    ):
        files: Any = SimpleNamespace(quantizer=wrong, codes=codes, metric="l2")
        with pytest.raises(CorruptFileError, match="auxiliary"):
            ScalarQuantizer.of(files, WIDTH)
    good = {
        "nbits": 8,
        "num_sub_vectors": 4,
        "dimension": WIDTH,
        "transposed": True,
        "codebook_position": None,
    }
    for change in ({"nbits": 5}, {"num_sub_vectors": 7}, {"dimension": 8}, {"num_sub_vectors": 0}):
        files = SimpleNamespace(quantizer={**good, **change}, codes=codes, metric="l2")
        with pytest.raises(CorruptFileError, match="auxiliary"):
            ProductQuantizer.of(files, model(np.zeros((1, WIDTH), np.float32)))


@pytest.mark.parametrize("width", [1, 2, 5, 40])
@pytest.mark.parametrize("name", ["l2", "cosine", "dot"])
def test_distances_by_products_are_wrong_by_no_more_than_they_say(
    random: np.random.Generator, name: str, width: int
) -> None:
    """Also of vectors that are far from zero and near each other, whose products cancel."""
    vectors = (random.normal(size=(300, width)) + 1000).astype(np.float32)
    queries = vectors[:5] + np.float32(0.01)
    near, errors = METRICS[name].approximate(vectors, queries)
    exact = [METRICS[name].exact(vectors, query) for query in queries]
    differences = np.abs(near - np.stack(exact, axis=1)).max(axis=0)
    assert (errors > 0).all()
    assert name != "cosine" or (errors < 1e-3).all()
    assert (differences <= errors).all()


def test_a_codebook_of_other_numbers_or_another_length_is_corrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files: Any = SimpleNamespace(codes=SimpleNamespace(path="auxiliary.idx"), quantizer={})
    monkeypatch.setattr(product, "buffer_tensor", lambda *_: None)
    count = WIDTH << 4
    for codewords in (
        np.zeros(count, np.uint8),
        np.zeros(count - 1, np.float32),
        np.full(count, np.inf, np.float32),
    ):
        monkeypatch.setattr(product, "tensor", lambda *_, own=codewords: own)
        with pytest.raises(CorruptFileError, match="auxiliary"):
            product.codebook(files, 4, 6, WIDTH)
    monkeypatch.setattr(product, "tensor", lambda *_: np.zeros(count, np.float16))
    assert product.codebook(files, 4, 6, WIDTH).shape == (6, 16, 4)


def test_the_signs_of_a_rotation_are_bytes(random: np.random.Generator) -> None:
    def stored(signs: Any, rotation_type: str = "fast") -> Any:
        quantizer = {"rotation_type": rotation_type, "fast_rotation_signs": signs}
        return SimpleNamespace(quantizer=quantizer, codes=SimpleNamespace(path="auxiliary.idx"))

    signs = [0, 255, *random.integers(0, 256, num_sign_bytes(WIDTH) - 2).tolist()]
    rotation = _rotation(stored(signs), WIDTH)
    assert rotation.is_same(FastRotation(signs))
    assert not rotation.is_same(FastRotation([1, *signs[1:]]))
    assert not rotation.is_same(MatrixRotation(np.eye(WIDTH, dtype=np.float32)))
    for wrong in (None, signs[1:], [-1, *signs[1:]], [256, *signs[1:]], [True, *signs[1:]]):
        with pytest.raises(CorruptFileError, match="wrong signs"):
            _rotation(stored(wrong), WIDTH)
    with pytest.raises(UnsupportedFeatureError, match="'other'"):
        _rotation(stored(signs, "other"), WIDTH)


def test_rows_are_not_added_to_codes_of_older_releases() -> None:
    signs = FastRotation(np.zeros(num_sign_bytes(WIDTH), np.uint8))
    for kind, rotation in (
        (RabitQuantizer, MatrixRotation(np.eye(WIDTH, dtype=np.float32))),
        (ResidualRabitQuantizer, signs),
    ):
        quantizer = object.__new__(kind)
        quantizer.rotation = rotation
        source: Any = SimpleNamespace(quantizer=quantizer, vector=pa.list_(pa.float32(), WIDTH))
        with pytest.raises(IndexNotWrittenError, match="older releases"):
            encoder_of(source)


def test_numbers_that_are_zero_after_a_rotation_have_the_sign_of_positive_ones(
    random: np.random.Generator,
) -> None:
    encoder = RabitEncoder.random(WIDTH, 3, "l2", random)
    centroids = random.normal(size=(2, WIDTH)).astype(np.float32)
    codes = encoder.encode(centroids[1:], centroids, np.array([1]))
    record = np.ascontiguousarray(codes).view(record_type(WIDTH, 3))[0, 0]
    assert (record[SIGNS] == 255).all()


@pytest.mark.parametrize("metric", ["l2", "dot"])
def test_errors_of_signs_are_those_of_the_angle_to_them(
    random: np.random.Generator, metric: str
) -> None:
    """1.9 standard deviations, for a query at a distance of one; in dot products, half of it."""
    encoder = RabitEncoder.random(WIDTH, 1, metric, random)
    centroids = np.zeros((1, WIDTH), np.float32)
    vectors = random.normal(size=(20, WIDTH)).astype(np.float32)
    codes = encoder.encode(vectors, centroids, np.zeros(20, np.int64))
    records = np.ascontiguousarray(codes).view(record_type(WIDTH, 1))[:, 0]
    rotated = encoder._rotation.of_vectors(vectors).astype(np.float64)
    lengths = np.sqrt((rotated**2).sum(axis=1))
    cosines = np.abs(rotated).sum(axis=1) / (lengths * np.sqrt(WIDTH))
    errors = lengths * 1.9 * np.sqrt((cosines**-2 - 1) / (WIDTH - 1))
    expected = errors if metric == "dot" else 2 * errors
    np.testing.assert_allclose(records[FACTORS[2]], expected, rtol=1e-4)
