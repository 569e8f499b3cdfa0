"""The built-in encodings of arrays keep the contract."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, BitpackedForNonNeg, Buffer
from lance_core.encodings import v2_0
from lance_core.encodings.kernels import NUMPY
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK
from lance_core.encodings.registry import EncodingSpec
from lance_core_testing import EncodingTests
from lance_core_testing.encodings.stored_array import StoredArray

RNG = np.random.default_rng(11)
ROWS = 150
SPECS = {spec.key: spec for spec in v2_0.specs()}
TEXTS = [f"text {i} {'ä€𝄞'[: i % 4]}" * (i % 4) for i in range(ROWS)]
SOME = np.arange(ROWS) % 4 == 1


class TestFlat(EncodingTests):
    spec: EncodingSpec = SPECS["flat"]

    def samples(self) -> Mapping[str, pa.Array]:
        numbers = np.arange(ROWS)
        return {
            "int8": pa.array(numbers % 100, pa.int8()),
            "float16": pa.array(numbers.astype(np.float16)),
            "int32": pa.array(numbers, pa.int32()),
            "timestamp": pa.array(numbers, pa.timestamp("ns", "UTC")),
            "decimal128": pa.array([Decimal(i) for i in range(ROWS)], pa.decimal128(9, 2)),
            "decimal256": pa.array([Decimal(i) for i in range(ROWS)], pa.decimal256(60, 2)),
            "3 bytes": pa.array([bytes([i % 256] * 3) for i in range(ROWS)], pa.binary(3)),
            "bool": pa.array(numbers % 3 == 0),
            "one": pa.array([7]),
        }


class TestNullable(EncodingTests):
    spec: EncodingSpec = SPECS["nullable"]

    def samples(self) -> Mapping[str, pa.Array]:
        numbers = np.arange(ROWS)
        pairs = [None if i % 3 == 1 else [i, None if i % 5 == 1 else 2] for i in range(ROWS)]
        return {
            "no nulls": pa.array(numbers),
            "some": pa.array(numbers, mask=SOME),
            "all": pa.nulls(ROWS, pa.int32()),
            "type null": pa.nulls(ROWS),
            "bool": pa.array(numbers % 3 == 0, mask=SOME),
            "decimal": pa.array([None, Decimal(1)] * 20, pa.decimal128(9, 2)),
            "lists": pa.array(pairs, pa.list_(pa.int16(), 2)),
            "lists of bool": pa.array([None, [True, None, False]] * 20, pa.list_(pa.bool_(), 3)),
            "null lists": pa.nulls(ROWS, pa.list_(pa.int16(), 2)),
            "lists of null": pa.array([[None, None]] * ROWS, pa.list_(pa.int16(), 2)),
        }


class TestFixedSizeList(EncodingTests):
    spec: EncodingSpec = SPECS["fixed_size_list"]

    def samples(self) -> Mapping[str, pa.Array]:
        floats = pa.array(np.arange(ROWS * 4, dtype=np.float32))
        deep = [[[i % 100, None], None, [1, 2]] for i in range(ROWS)]
        return {
            "floats": pa.FixedSizeListArray.from_arrays(floats, 4),
            "bits": pa.array([[True, False, True]] * ROWS, pa.list_(pa.bool_(), 3)),
            "nested": pa.array(deep, pa.list_(pa.list_(pa.int8(), 2), 3)),
            "flat nested": pa.array([[[1, 2]]] * ROWS, pa.list_(pa.list_(pa.int64(), 2), 1)),
        }


class TestBinary(EncodingTests):
    spec: EncodingSpec = SPECS["binary"]

    def samples(self) -> Mapping[str, pa.Array]:
        gaps = [None if i % 4 == 1 else text for i, text in enumerate(TEXTS)]
        # A null may have bytes of its own.
        hidden = pa.array(TEXTS).buffers()
        bitmap = pa.py_buffer(np.packbits(~SOME, bitorder="little"))
        return {
            "string": pa.array(TEXTS),
            "large_string": pa.array(gaps, pa.large_string()),
            "binary": pa.array([RNG.bytes(i % 30) for i in range(ROWS)], pa.binary()),
            "large_binary": pa.array([RNG.bytes(i % 30) for i in range(ROWS)], pa.large_binary()),
            "nulls": pa.array(gaps),
            "nulls with bytes": pa.Array.from_buffers(pa.string(), ROWS, [bitmap, *hidden[1:]]),
            "only nulls": pa.nulls(ROWS, pa.string()),
            "only empty": pa.array([""] * ROWS),
        }


class TestArrowDictionary(EncodingTests):
    spec: EncodingSpec = SPECS["dictionary"]

    def samples(self) -> Mapping[str, pa.Array]:
        keys = pa.array(np.arange(ROWS) % 3, pa.int8(), mask=SOME)
        return {
            "strings": pa.DictionaryArray.from_arrays(keys, pa.array(["a", "", "ccc"])),
            "null item": pa.DictionaryArray.from_arrays(keys, pa.array(["a", None, "ccc"])),
            "numbers": pa.DictionaryArray.from_arrays(keys.fill_null(0), pa.array([5, 6, None])),
            "only null": pa.DictionaryArray.from_arrays(pa.nulls(ROWS, pa.int32()), pa.array([1])),
        }


class TestStringDictionary(EncodingTests):
    spec: EncodingSpec = SPECS["dictionary"]

    def samples(self) -> Mapping[str, pa.Array]:
        words = ["a", "", None, "ccc", "ä"]
        return {
            "few": pa.array([words[i % 5] for i in range(ROWS)]),
            "no null": pa.array(["x", "yy"] * 40),
            "only null": pa.nulls(ROWS, pa.string()),
            "many": pa.array([str(i) for i in range(ROWS)]),
            "large_string": pa.array(["x", None, "yy"] * 40, pa.large_string()),
        }


class TestFsst(EncodingTests):
    spec: EncodingSpec = SPECS["fsst"]

    def samples(self) -> Mapping[str, pa.Array]:
        texts = [f"the quick brown fox {i} jumps over the lazy dog" for i in range(1000)]
        noise = [RNG.bytes(i % 60) + b"compressible " * 5 for i in range(800)]
        return {
            "text": pa.array(texts),
            "nulls": pa.array([None if i % 3 == 1 else text for i, text in enumerate(texts)]),
            "escapes": pa.array(noise, pa.binary()),
            "255": pa.array([b"\xff" * (i % 90) for i in range(1000)], pa.binary()),
            "long": pa.array(["".join(texts)] * 2),
            "little": pa.array(["too little to be compressed"]),
            "large_string": pa.array(texts, pa.large_string()),
        }


class TestPackedStruct(EncodingTests):
    spec: EncodingSpec = SPECS["packed_struct"]

    def samples(self) -> Mapping[str, pa.Array]:
        rows = [{"a": i, "b": i / 2, "c": [i, 1]} for i in range(ROWS)]
        members = {"a": pa.int16(), "b": pa.float64(), "c": pa.list_(pa.int32(), 2)}
        return {
            "three": pa.array(rows, pa.struct(members)),
            "one": pa.array([{"x": b"abc"}] * 20, pa.struct({"x": pa.binary(3)})),
        }


class TestBitpackedForNonNeg(EncodingTests):
    spec: EncodingSpec = SPECS["bitpacked_for_non_neg"]

    def samples(self) -> Mapping[str, pa.Array]:
        return {
            "uint8": pa.array(np.arange(2500) % 32, pa.uint8()),
            "int32": pa.array(np.arange(1500) * 70, pa.int32()),
            "int64": pa.array(RNG.integers(0, 1 << 40, 1024)),
        }

    def stored(self, array: pa.Array) -> StoredArray:
        values = array.to_numpy()
        bits = values.dtype.itemsize * 8
        packed_bits = max(1, int(values.max()).bit_length()) if len(values) else 1
        padded = np.zeros(-(-len(values) // CHUNK) * CHUNK, f"u{bits // 8}")
        padded[: len(values)] = values
        message = BitpackedForNonNeg(
            compressed_bits_per_value=packed_bits,
            uncompressed_bits_per_value=bits,
            buffer=Buffer(buffer_index=0),
        )
        encoding = ArrayEncoding(bitpacked_for_non_neg=message)
        buffer = NUMPY.pack_fastlanes(padded, packed_bits).tobytes()
        return StoredArray.of([buffer], encoding, array.type, len(array))
