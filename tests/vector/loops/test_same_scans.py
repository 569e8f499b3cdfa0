"""The best rows of partitions by the compiled scans and by numpy: the same, bit for bit.

Sums of floats are of small whole numbers where their order differs, which have no rounding. All
numbers have many equal scores, so that row numbers decide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core_vector.loops.batch_scan import BestOfQueries, Block
from lance_core_vector.loops.best_rows import BestRows, Masks
from lance_core_vector.loops.float_scan import Score, best_by_floats
from lance_core_vector.loops.library import native, numpy_loops
from lance_core_vector.loops.nearest import nearest_centroids
from lance_core_vector.loops.product_scan import arranged, best_by_product, codes_at
from lance_core_vector.loops.rabit_scan import RabitTerms, best_by_rabit
from lance_core_vector.loops.scalar_scan import best_by_scalars
from lance_core_vector.loops.sign_scan import SignTerms, best_by_signs, sign_tables

Partitions = tuple[list[npt.NDArray[np.uint64]], Masks | None]

SIZES = st.lists(st.integers(0, 90), min_size=1, max_size=4)
SEEDS = st.integers(0, 10_000)
BITS = st.sampled_from([4, 8])
COUNTS = st.sampled_from([1, 3, 40, 400])


def partitions(random: np.random.Generator, sizes: list[int]) -> Partitions:
    """Row numbers, and which rows count."""
    numbers = random.permutation(sum(sizes)).astype(np.uint64)
    rows = np.split(numbers, np.cumsum(sizes)[:-1])
    masks = [random.random(size) < 0.5 for size in sizes]
    return rows, masks if random.random() < 0.5 else None


def assert_same(scan: Callable[..., BestRows], *arguments: Any) -> None:
    found = scan(*arguments)
    with numpy_loops():
        expected = scan(*arguments)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@given(sizes=SIZES, seed=SEEDS, count=COUNTS, width=st.integers(1, 20), bits=BITS)
@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_product_codes(
    sizes: list[int], seed: int, count: int, width: int, bits: int, is_shared: bool, whole: bool
) -> None:
    random = np.random.default_rng(seed)
    rows, masks = partitions(random, sizes)
    codes = [random.integers(0, 256, (width, size)).astype(np.uint8) for size in sizes]
    codes = [arranged(one, bits) for one in codes]
    shape = (1 if is_shared else len(sizes), width * (8 // bits), 1 << bits)
    tables = random.integers(-3, 4, shape) if whole else random.normal(3, 1, shape)
    assert_same(best_by_product, codes, rows, masks, tables.astype(np.float32), 1.0, count)


@given(seed=SEEDS, count=st.sampled_from([1, 3, 40]), width=st.integers(4, 40))
@pytest.mark.parametrize("is_shared", [False, True])
def test_product_codes_of_many_rows(seed: int, count: int, width: int, is_shared: bool) -> None:
    """Of these, the last bytes are left out where the sums are too high without them."""
    random = np.random.default_rng(seed)
    rows, masks = partitions(random, [2100, 601])
    codes = [arranged(random.integers(0, 256, (width, n)).astype(np.uint8), 8) for n in (2100, 601)]
    shape = 1 if is_shared else 2, width, 256
    tables = random.integers(-3, 4, shape) if seed % 2 else random.normal(3, 1, shape)
    assert_same(best_by_product, codes, rows, masks, tables.astype(np.float32), 1.0, count)


@given(seed=SEEDS)
@pytest.mark.parametrize(("bits", "parts"), [(4, 40), (8, 20)])
def test_product_codes_whose_greatest_distances_cancel(seed: int, bits: int, parts: int) -> None:
    random = np.random.default_rng(seed)
    codes = [random.integers(0, 256, (20, 2000)).astype(np.uint8)]
    rows = [np.arange(2000, dtype=np.uint64)]
    codes = [arranged(one, bits) for one in codes]
    tables = random.permuted(np.tile(np.arange(float(1 << bits)), (1, parts, 1)), axis=2)
    tables += np.where(np.arange(parts) < parts // 2, 1e7, -1e7)[:, None]
    assert_same(best_by_product, codes, rows, None, tables.astype(np.float32), 0.0, 5)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", [0, 7, slice(None)])
def test_many_product_codes_with_distances_that_are_no_numbers(
    number: float, column: int | slice
) -> None:
    random = np.random.default_rng(0)
    codes = [random.integers(0, 256, (8, 3000)).astype(np.uint8)]
    tables = random.normal(3, 1, (1, 8, 256)).astype(np.float32)
    tables[0, column, :100] = number
    rows = [np.arange(3000, dtype=np.uint64)]
    assert_same(best_by_product, codes, rows, None, tables, 0.0, 35)


def test_product_codes_with_distances_that_are_no_numbers() -> None:
    codes = [np.arange(40, dtype=np.uint8).reshape(1, -1) % 4]
    rows, tables = [np.arange(40, dtype=np.uint64)], np.zeros((1, 1, 256), np.float32)
    tables[0, 0, :3] = np.nan, np.inf, -1
    for width in (256, 16):
        some = np.repeat(tables[:, :, :width], 1 if width == 256 else 2, axis=1)
        stored = [arranged(one, 8 if width == 256 else 4) for one in codes]
        assert_same(best_by_product, stored, rows, None, some, 0.0, 35)


@given(sizes=SIZES, seed=SEEDS, count=COUNTS, width=st.integers(1, 300), most=st.integers(1, 256))
def test_scalar_codes(sizes: list[int], seed: int, count: int, width: int, most: int) -> None:
    random = np.random.default_rng(seed)
    rows, masks = partitions(random, sizes)
    codes = [(random.integers(0, most, (size, width)).astype(np.uint8),) for size in sizes]
    query = random.integers(0, most, width).astype(np.uint8)
    assert_same(best_by_scalars, codes, rows, masks, query, [0.0, 0.1, 3.7][seed % 3], count)


@given(sizes=SIZES, seed=SEEDS, count=COUNTS, width=st.integers(1, 150))
@pytest.mark.parametrize("kind", ["differences", "products"])
def test_vectors(kind: Score, sizes: list[int], seed: int, count: int, width: int) -> None:
    random = np.random.default_rng(seed)
    rows, masks = partitions(random, sizes)
    vectors = [random.integers(-2, 3, (size, width)).astype(np.float32) for size in sizes]
    query = random.integers(-2, 3, width).astype(np.float32)
    assert_same(best_by_floats, vectors, rows, masks, query, kind, count)


def test_angles() -> None:
    """Powers of two as lengths, and vectors of zeros, which have no angle."""
    vectors = np.diag(np.float32([1, 2, 0, 4, -1, 8]))
    rows, query = [np.arange(6, dtype=np.uint64)], np.float32([1, 2, 3, 1, 2, 1])
    assert_same(best_by_floats, [vectors], rows, None, query, "angles", 4)
    vectors[3, 3] = 1e30
    assert best_by_floats([vectors], rows, None, query, "angles", 4) is None


@given(
    sizes=SIZES,
    seed=SEEDS,
    count=COUNTS,
    queries=st.sampled_from([1, 3, 8, 9, 17, 140]),
    width=st.sampled_from([1, 7, 30, 300]),
)
def test_batches(sizes: list[int], seed: int, count: int, queries: int, width: int) -> None:
    random = np.random.default_rng(seed)
    rows, masks = partitions(random, sizes)

    def numbers(*shape: int) -> npt.NDArray[np.float32]:
        return random.integers(-2, 3, shape).astype(np.float32)

    asked, limits = numbers(queries, width), None
    if seed % 2:
        limits = np.float32(random.choice([-20, 0, 3, np.inf], queries))
    best = [BestOfQueries(asked, count, limits) for _ in range(2)]
    position = 0
    for number, size in enumerate(sizes):
        some = random.permutation(queries)[: random.integers(0, queries + 1)]
        mask = masks and masks[number]
        block = Block(numbers(size, width), rows[number], numbers(size), numbers(size), mask)
        best[0].offer(block, some, position)
        with numpy_loops():
            best[1].offer(block, some, position)
        position += size
    for query in range(queries):
        for ours, theirs in zip(best[0].of_query(query), best[1].of_query(query), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@given(
    seed=SEEDS,
    rows=st.integers(0, 120),
    count=st.sampled_from([1, 5, 8, 9, 16, 17, 130, 300]),
    width=st.sampled_from([1, 8, 30, 300]),
)
def test_nearest_centroids(seed: int, rows: int, count: int, width: int) -> None:
    random = np.random.default_rng(seed)
    vectors, centroids = (
        random.integers(-3, 4, (size, width)).astype(np.float32) for size in (rows, count)
    )
    halves = random.integers(0, 9, count).astype(np.float32) / 2
    found = nearest_centroids(vectors, centroids, halves)
    with numpy_loops():
        expected = nearest_centroids(vectors, centroids, halves)
    np.testing.assert_array_equal(found, expected)


@given(sizes=SIZES, seed=SEEDS, count=COUNTS, width=st.integers(1, 70))
def test_rabit_codes(sizes: list[int], seed: int, count: int, width: int) -> None:
    random = np.random.default_rng(seed)
    rows, masks = partitions(random, sizes)

    def numbers(count: int) -> npt.NDArray[np.float32]:
        return random.integers(-3, 4, count).astype(np.float32)

    codes = [
        (random.integers(-8, 8, (size, width)).astype(np.int8), numbers(size), numbers(size))
        for size in sizes
    ]
    terms = RabitTerms(numbers(width), 1.5, numbers(len(sizes)), numbers(len(sizes)))
    assert_same(best_by_rabit, codes, rows, masks, terms, count)


@given(sizes=SIZES, seed=SEEDS, count=COUNTS, width=st.sampled_from([8, 24, 64, 1024, 1032]))
def test_rabit_codes_that_signs_exclude(
    sizes: list[int], seed: int, count: int, width: int
) -> None:
    """The errors of scores by signs are what they differ from those by all bits."""
    random = np.random.default_rng(seed)
    rows, masks = partitions(random, sizes)
    rotated = random.normal(0, 1, width).astype(np.float32)
    half = float(rotated.sum()) / 2
    reaches, codes = random.uniform(1, 3, len(sizes)).astype(np.float32), []
    for size, reach in zip(sizes, reaches.tolist(), strict=True):
        bits = random.random((size, width)) < 0.5
        code = (16 * bits - 16 + random.integers(0, 16, bits.shape)).astype(np.int8)
        added, scales = random.normal(9, 1, size), random.uniform(-0.2, -0.1, size)
        by_all = (code @ rotated.astype("f8") + half) * scales + added
        by_signs = (bits @ rotated.astype("f8") - half) * 16 * scales + added
        errors = np.abs(by_all - by_signs) / reach + 1e-3
        signs = arranged(np.packbits(bits, axis=1, bitorder="little").T, 4)
        codes.append((code, added, scales, signs, added, 16 * scales, errors))
    stored = [tuple(one if one.dtype != "f8" else one.astype("f4") for one in own) for own in codes]
    ones, zeros = np.ones(len(sizes), "f4"), np.zeros(len(sizes), "f4")
    terms = RabitTerms(rotated, half, ones, zeros, sign_tables(rotated), reaches)
    found = best_by_rabit(stored, rows, masks, terms, count)
    expected = best_by_rabit(stored, rows, masks, terms._replace(tables=None), count)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@given(sizes=SIZES, seed=SEEDS, count=COUNTS, width=st.sampled_from([1, 3, 16, 128, 129]))
def test_signs(sizes: list[int], seed: int, count: int, width: int) -> None:
    random = np.random.default_rng(seed)
    rows, masks = partitions(random, sizes)

    def numbers(count: int) -> npt.NDArray[np.float32]:
        return random.integers(-3, 4, count).astype(np.float32)

    codes = [
        (arranged(signs, 4), numbers(signs.shape[1]), numbers(signs.shape[1]))
        for signs in (random.integers(0, 256, (width, size)).astype(np.uint8) for size in sizes)
    ]
    tables = sign_tables(numbers(8 * width))
    terms = SignTerms(tables, -1.5, numbers(len(sizes)), numbers(len(sizes)))
    assert_same(best_by_signs, codes, rows, masks, terms, count)


def test_no_row_is_lost_to_the_rounding_of_small_numbers() -> None:
    random = np.random.default_rng(5)
    codes, rows, sizes = [], [], (3_000, 1_001)
    for size in sizes:
        added, scales = random.normal(100, 30, size), random.normal(-3, 0.5, size)
        signs = random.integers(0, 256, (16, size)).astype(np.uint8)
        codes.append((arranged(signs, 4), added.astype(np.float32), scales.astype(np.float32)))
        rows.append(np.arange(size, dtype=np.uint64) + 10_000 * len(rows))
    for shift in (0, 50):
        query = random.normal(shift, 1, 128).astype(np.float32)
        terms = SignTerms(
            sign_tables(query), -0.5 * float(query.sum()), np.ones(2, "f4"), np.zeros(2, "f4")
        )
        found = best_by_signs(codes, rows, None, terms, 60)
        expected = []
        for (signs, added, scales), numbers in zip(codes, rows, strict=True):
            bits = np.unpackbits(
                codes_at(signs, np.arange(len(numbers))).T, axis=0, bitorder="little"
            ).reshape(16, 8, -1)
            products = query.astype("f8") @ (bits.reshape(128, -1) - 0.5)
            expected += zip(products * scales + added, numbers.tolist(), strict=True)
        assert found.rows.tolist() == [row for _, row in sorted(expected)[:60]]


def test_wrong_sizes_are_an_error() -> None:
    rows, query = [np.arange(3, dtype=np.uint64)], np.zeros(4, np.uint8)
    out = np.empty(2, np.float32), np.empty(2, np.uint64), np.empty(2, np.int64)
    codes: list[Any] = [np.zeros(11, np.uint8)]
    with pytest.raises(ValueError, match="do not belong together"):
        native.scan_scalar(codes, rows, None, query, 1.0, *out)
    with pytest.raises(ValueError, match="do not belong together"):
        native.scan_scalar([np.zeros(12, np.uint8)], rows, [query], query, 1.0, *out)
    with pytest.raises(ValueError, match="do not belong together"):
        native.scan_product(codes, rows, None, 4, 8, np.zeros(1023, np.float32), 0.0, *out)
    with pytest.raises(ValueError, match="do not belong together"):
        native.scan_floats([np.zeros(12, np.float32)[1:]], rows, None, query, 0, *out)
