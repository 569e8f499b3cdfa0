"""The contract of encodings of values accepts what keeps it, of any type, and nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.value_encoding import ValueEncodingSpec
from lance_core.errors import LanceError
from lance_core.testing.value_encoding import ValueEncodingTests


def encode(values: pa.Array) -> pa.Buffer:
    batch = pa.record_batch([values], ["values"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def decode(data: pa.Buffer, type_: pa.DataType, count: int) -> pa.Array:
    (batch,) = pa.ipc.open_stream(data)
    return batch.column(0)


SPEC = ValueEncodingSpec(
    key="/example.org/arrow",
    name="arrow",
    distribution="lance-core-arrow",
    encoder=encode,
    decoder=decode,
    accepts=lambda type_: True,
)


class TestArrow(ValueEncodingTests):
    spec = SPEC

    def types(self) -> list[pa.DataType]:
        return [pa.bool_(), pa.large_string(), pa.binary(3), pa.list_(pa.uint8(), 3)]


class Floats(ValueEncodingTests):
    def types(self) -> list[pa.DataType]:
        return [pa.float64()]


def plain(values: pa.Array) -> bytes:
    return bytes(values.to_numpy().tobytes())


def unplain(data: pa.Buffer, type_: pa.DataType, count: int) -> pa.Array:
    return pa.array(np.frombuffer(data, np.float64))


def without_slices(values: pa.Array) -> bytes:
    return bytes(values.buffers()[1])


def without_signs(values: pa.Array) -> bytes:
    numbers = values.to_numpy()
    return plain(pa.array(np.where(numbers == 0, 0.0, numbers)))


def with_canonical_nans(values: pa.Array) -> bytes:
    numbers = values.to_numpy()
    return plain(pa.array(np.where(np.isnan(numbers), np.nan, numbers)))


def greedy(data: pa.Buffer, type_: pa.DataType, count: int) -> pa.Array:
    np.ones(max(0, int.from_bytes(data[:4], "little") >> 3), np.uint8)
    return unplain(data, type_, count)


def tolerant(data: pa.Buffer, type_: pa.DataType, count: int) -> pa.Array:
    found = np.zeros(count)
    numbers = np.frombuffer(data, np.float64, data.size // 8)[:count]
    found[: len(numbers)] = numbers
    return pa.array(found)


def with_files(data: pa.Buffer, type_: pa.DataType, count: int) -> pa.Array:
    Path(__file__).read_bytes()
    return unplain(data, type_, count)


NUMBERS = dataclasses.replace(SPEC, encoder=plain, decoder=unplain)


@pytest.mark.parametrize(
    ("broken", "test"),
    [
        ({"encoder": without_slices}, Floats.test_blocks_come_back_bit_for_bit),
        ({"encoder": without_signs}, Floats.test_blocks_come_back_bit_for_bit),
        ({"encoder": with_canonical_nans}, Floats.test_blocks_come_back_bit_for_bit),
        ({"decoder": greedy}, Floats.test_damaged_blocks_do_no_worse_than_an_error),
        ({"decoder": tolerant}, Floats.test_a_block_that_is_cut_is_an_error),
        ({"decoder": with_files}, Floats.test_neither_way_does_input_or_output),
        ({"accepts": lambda _: False}, Floats.test_values_within_lists_and_structs_come_back),
    ],
    ids=["slices", "zeros", "nans", "memory", "lengths", "files", "types"],
)
def test_what_does_not_keep_the_contract_is_found(
    broken: dict[str, Any], test: Callable[..., None]
) -> None:
    kept, lost = Floats(), Floats()
    kept.spec, lost.spec = NUMBERS, dataclasses.replace(NUMBERS, **broken)
    versions = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    arguments = [versions[0].args[1][0]] if versions else []
    test(kept, *arguments)
    with pytest.raises((AssertionError, LanceError)):
        test(lost, *arguments)
