"""Defects of encodings: each a good encoding with one thing wrong."""

from __future__ import annotations

import dataclasses
import itertools
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.encodings import v2_0
from lance_core.encodings.plugin_values.value_encoding import ValueEncodingSpec
from lance_core.encodings.registry import EncodingSpec
from lance_core_testing import EncodingTests, ValueEncodingTests
from lance_core_testing.encodings.stored_array import StoredArray
from tests.conformance.planted.runner import Defect, defects_of


def plain(values: pa.Array) -> bytes:
    return bytes(values.to_numpy().tobytes())


def unplain(data: pa.Buffer, type_: pa.DataType, count: int) -> pa.Array:
    return pa.array(np.frombuffer(data, np.float64))


SPEC = ValueEncodingSpec(
    key="/example.org/plain",
    name="plain",
    distribution="lance-core-plain",
    encoder=plain,
    decoder=unplain,
    accepts=lambda type_: True,
)


class Floats(ValueEncodingTests):
    spec = SPEC

    def types(self) -> list[pa.DataType]:
        return [pa.float64()]


def without_slices(values: pa.Array) -> bytes:
    return bytes(values.buffers()[1])


def without_signs(values: pa.Array) -> bytes:
    numbers = values.to_numpy()
    return plain(pa.array(np.where(numbers == 0, 0.0, numbers)))


def with_canonical_nans(values: pa.Array) -> bytes:
    numbers = values.to_numpy()
    return plain(pa.array(np.where(np.isnan(numbers), np.nan, numbers)))


def without_the_last_of_many(values: pa.Array) -> bytes:
    return plain(values.slice(0, min(len(values), 1024)))


_numbers = itertools.count()


def by_chance(values: pa.Array) -> bytes:
    return plain(values) + b"%8d" % next(_numbers)


def take_the_next(
    data: pa.Buffer, type_: pa.DataType, count: int, at: np.ndarray[Any, Any]
) -> pa.Array:
    return unplain(data, type_, count).take(pa.array((at + 1) % count))


def unplain_by_chance(data: pa.Buffer, type_: pa.DataType, count: int) -> pa.Array:
    return unplain(data.slice(0, max(0, data.size - 8)), type_, count)


def greedy(data: pa.Buffer, type_: pa.DataType, count: int) -> pa.Array:
    np.empty(max(0, int.from_bytes(data[:4], "little") >> 3), np.uint8)
    return unplain(data, type_, count)


def tolerant(data: pa.Buffer, type_: pa.DataType, count: int) -> pa.Array:
    found = np.zeros(count)
    numbers = np.frombuffer(data, np.float64, data.size // 8)[:count]
    found[: len(numbers)] = numbers
    return pa.array(found)


def with_files(data: pa.Buffer, type_: pa.DataType, count: int) -> pa.Array:
    Path(__file__).read_bytes()
    return unplain(data, type_, count)


def zipped(values: pa.Array) -> bytes:
    return zlib.compress(plain(values), 1)


def unzipped(data: pa.Buffer, type_: pa.DataType, count: int) -> pa.Array:
    """Takes the memory that the block claims, and only then looks how many values were wanted."""
    return unplain(pa.py_buffer(zlib.decompress(data)[: count * 8]), type_, count)


_space = np.zeros(1 << 21)


def view_of_one_space(data: pa.Buffer, type_: pa.DataType, count: int) -> pa.Array:
    numbers = np.frombuffer(data, np.float64)
    _space[: len(numbers)] = numbers
    time.sleep(0.0005)
    buffer = pa.py_buffer(_space[: len(numbers)])
    return pa.Array.from_buffers(type_, len(numbers), [None, buffer])


def copy_of_one_space(data: pa.Buffer, type_: pa.DataType, count: int) -> pa.Array:
    numbers = np.frombuffer(data, np.float64)
    _space[: len(numbers)] = numbers
    time.sleep(0.0005)
    return pa.array(_space[: len(numbers)].copy())


_BLOCK = "test_blocks_come_back_bit_for_bit"

OF_VALUES: Sequence[tuple[str, Mapping[str, object], str]] = [
    ("slices", {"encoder": without_slices}, _BLOCK),
    ("signs of zeros", {"encoder": without_signs}, _BLOCK),
    ("payloads of NaNs", {"encoder": with_canonical_nans}, _BLOCK),
    ("the last of many", {"encoder": without_the_last_of_many}, _BLOCK),
    (
        "other bytes each time",
        {"encoder": by_chance, "decoder": unplain_by_chance},
        "test_encoding_changes_nothing_and_gives_the_same_bytes_again",
    ),
    (
        "other values where few are wanted",
        {"take": take_the_next},
        "test_taken_values_are_those_that_decoding_gives",
    ),
    ("memory", {"decoder": greedy}, "test_damaged_blocks_do_no_worse_than_an_error"),
    (
        "a bomb",
        {"encoder": zipped, "decoder": unzipped},
        "test_a_block_of_few_values_takes_little_memory_however_many_it_claims_inside",
    ),
    ("too few bytes", {"decoder": tolerant}, "test_a_block_that_is_cut_is_an_error"),
    ("files", {"decoder": with_files}, "test_neither_way_does_input_or_output"),
    ("reused buffers", {"decoder": view_of_one_space}, "test_a_decoded_array_stays_as_it_is"),
    ("one space", {"decoder": copy_of_one_space}, "test_threads_decode_at_the_same_time"),
    (
        "no types",
        {"accepts": lambda _: False},
        "test_values_within_lists_and_structs_come_back",
    ),
]


def of_values(changes: Mapping[str, object]) -> ValueEncodingTests:
    """The kit of an encoding of values with a defect."""
    kit = Floats()
    kit.spec = dataclasses.replace(SPEC, **changes)  # type: ignore[arg-type]
    return kit


FLAT = next(spec for spec in v2_0.specs() if spec.key == "flat")


class Flat(EncodingTests):
    """The built-in encoding of values of fixed width, perhaps with a defect."""

    spec: EncodingSpec = FLAT

    def samples(self) -> Mapping[str, pa.Array]:
        return {"numbers": pa.array(range(150)), "others": pa.array(range(7, 157))}


class StoresWhatIsAround(Flat):
    def stored(self, array: pa.Array) -> StoredArray:
        buffers = array.buffers()
        return super().stored(pa.Array.from_buffers(array.type, len(array), buffers))


class WithoutKey(Flat):
    spec = dataclasses.replace(FLAT, key="")


class SwapsRows(Flat):
    def stored(self, array: pa.Array) -> StoredArray:
        return super().stored(array.take(pa.array(range(len(array))[::-1], pa.int64())))


class KeepsARow(Flat):
    """An array without rows is stored as one row."""

    def stored(self, array: pa.Array) -> StoredArray:
        return super().stored(array if len(array) else pa.array([0], array.type))


class CutsNumbers(Flat):
    def stored(self, array: pa.Array) -> StoredArray:
        return super().stored(pa.array(array.to_numpy() % 128, array.type))


OF_ARRAYS: Sequence[Defect] = [
    *defects_of("test_a_slice_is_stored_without_what_is_around_it", StoresWhatIsAround),
    *defects_of("test_the_descriptor_is_complete", WithoutKey),
    *defects_of("test_an_array_comes_back_as_it_was", CutsNumbers, SwapsRows),
    *defects_of("test_an_array_without_rows_can_be_stored", KeepsARow),
]
