"""The contract of encodings of arrays (2.0 files), as tests to inherit.

::

    class TestDeltaEncoding(EncodingTests):
        spec = lance_core_delta.SPEC

        def samples(self):
            return {"few": pa.array([1, 2, 4]), "with nulls": pa.array([1, None])}

Decoding must return the encoded array: as a whole, in ranges and as single rows, from buffers at
any offset. Decoding damaged data must raise a `LanceError` or return valid arrays.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from lance_core.encodings import v2_0
from lance_core.encodings.decoding import RowIndices
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.v2_0.base import ArrayEncoding
from lance_core.errors import LanceError
from lance_core.hookspecs.encodings import EncodingFamily, EncodingSpec
from lance_core.hookspecs.file_versions import RowRange, Rows
from lance_core_testing.assertions import must_raise
from lance_core_testing.encodings.stored_array import StoredArray, select_rows
from lance_core_testing.memory_bound import bounded_memory
from lance_core_testing.mutants import mutants, mutate_message
from lance_core_testing.threads import race_threads

MUTANTS = 300
"""Number of damaged copies of each sample: in half of them the buffers are damaged, in half the
description."""

MEASURED = 30
"""Number of damaged copies whose memory use is measured, which is several times slower."""

_NEVER, _ALWAYS = 0, 1 << 40


class EncodingTests:
    """The contract of an encoding of arrays. Subclass it and set ``spec``.

    ``samples`` returns the arrays to store, by name; the encoding must support each of them. If the
    encoding is read-only and has no encoder, override ``stored``.
    """

    spec: EncodingSpec

    def samples(self) -> Mapping[str, pa.Array]:
        raise NotImplementedError("provide `samples`")

    def stored(self, array: pa.Array) -> StoredArray:
        """The encoded form of ``array``."""
        assert self.spec.encoder is not None, "provide `stored` for an encoding without encoder"
        return StoredArray.encode(array, self.spec.encoder, self.registry())

    def registry(self) -> EncodingRegistry:
        """A registry with this encoding and the built-in ones."""
        others = [("built-in", builtin) for builtin in v2_0.specs() if builtin.key != self.spec.key]
        return EncodingRegistry([*others, ("tested", self.spec)])

    def test_the_descriptor_is_complete(self) -> None:
        spec = self.spec
        assert spec.key, "`key` is empty; it must name the field of the message ArrayEncoding"
        assert spec.family is EncodingFamily.ARRAY, f"`family` is {spec.family}, must be ARRAY"
        registered = self.registry().find(spec.key)
        assert registered is spec, (
            f"the key {spec.key!r} finds {registered}; it must find the encoding"
        )

    def test_an_array_comes_back_as_it_was(self) -> None:
        for name, array in self.samples().items():
            if len(array):
                self._check(name, array, self.stored(array), RowRange(0, len(array)))

    def test_an_array_without_rows_can_be_stored(self) -> None:
        for name, array in self.samples().items():
            count = self.stored(array.slice(0, 0)).num_values
            assert count == 0, f"{name}: no rows are stored as {count} values"

    def test_ranges_of_rows_come_back(self) -> None:
        for name, array in self.samples().items():
            stored = self.stored(array)
            for rows in _ranges(len(array)):
                self._check(name, array, stored, rows)

    def test_single_rows_come_back(self) -> None:
        for name, array in self.samples().items():
            stored = self.stored(array)
            for rows in _indices(len(array)):
                self._check(name, array, stored, rows)

    def test_a_slice_is_stored_without_what_is_around_it(self) -> None:
        for name, array in self.samples().items():
            for start, stop in ((1, len(array)), (3, len(array) - 1), (9, len(array) - 2)):
                part = array.slice(start, max(0, stop - start))
                if len(part):
                    self._check(name, part, self.stored(part), RowRange(0, len(part)))

    def test_decoding_twice_gives_the_same(self) -> None:
        for name, array in self.samples().items():
            if len(array):
                rows = RowRange(len(array) // 2, len(array))
                got = self.stored(array).decode(rows, self.registry(), again=True)
                _assert_same(name, got, select_rows(array, rows))

    def test_a_decoded_array_stays_as_it_is(self) -> None:
        decoded_samples = [
            (name, array, self.stored(array).decode(RowRange(0, len(array)), self.registry()))
            for name, array in self.samples().items()
            if len(array)
        ]
        for name, array, decoded in decoded_samples:
            _assert_same(f"{name}, held while others were decoded", decoded, array)

    def test_threads_decode_at_the_same_time(self) -> None:
        stored = [(name, a, self.stored(a)) for name, a in self.samples().items() if len(a)]

        def decode(thread: int) -> None:
            for name, array, stored_array in stored[thread:] + stored[:thread]:
                self._check(
                    f"{name}, in one of several threads",
                    array,
                    stored_array,
                    RowRange(0, len(array)),
                )

        race_threads(decode, 4)

    def test_buffers_may_lie_anywhere_in_a_file(self) -> None:
        for name, array in self.samples().items():
            if not len(array):
                continue
            stored = self.stored(array)
            for shift in (1, 3, 8):
                moved = StoredArray(
                    b"x" * shift + stored.data,
                    tuple(type(r)(r.start + shift, r.stop + shift) for r in stored.buffers),
                    stored.encoding,
                    stored.type,
                    stored.num_values,
                )
                self._check(name, array, moved, RowRange(0, len(array)))

    def test_damaged_buffers_do_no_worse_than_an_error(self) -> None:
        registry = self.registry()
        for name, array in self.samples().items():
            stored = self.stored(array)
            if not stored.data or not len(array):
                continue
            damaged = list(mutants(stored.data, MUTANTS // 2, seed=len(array)))
            with bounded_memory(name, len(stored.data) + array.nbytes):
                for mutant in damaged[:MEASURED]:
                    _read_damaged(f"{name}, {mutant.kind}", stored.with_data(mutant.data), registry)
            for mutant in damaged[MEASURED:]:
                _read_damaged(f"{name}, {mutant.kind}", stored.with_data(mutant.data), registry)

    def test_a_damaged_description_does_no_worse_than_an_error(self) -> None:
        registry = self.registry()
        chance = random.Random(17)  # noqa: S311 (no secret)
        for name, array in self.samples().items():
            stored = self.stored(array)
            if not len(array):
                continue
            with bounded_memory(name, len(stored.data) + array.nbytes):
                for _ in range(MUTANTS // 2):
                    encoding = ArrayEncoding.FromString(stored.encoding.SerializeToString())
                    mutation = mutate_message(encoding, chance)
                    _read_damaged(f"{name}, {mutation}", stored.with_encoding(encoding), registry)

    def test_fewer_bytes_than_values_need_are_an_error(self) -> None:
        for name, array in self.samples().items():
            stored = self.stored(array)
            for number, byte_range in enumerate(stored.buffers):
                if byte_range.length == 0 or not len(array):
                    continue
                cut = list(stored.buffers)
                cut[number] = type(byte_range)(
                    byte_range.start, byte_range.start + byte_range.length // 2
                )
                short = StoredArray(
                    stored.data, tuple(cut), stored.encoding, stored.type, stored.num_values
                )
                with must_raise(
                    LanceError, f"{name}: decoding half of the bytes of buffer {number}"
                ):
                    short.decode(RowRange(0, len(array)), self.registry())

    def _check(self, name: str, array: pa.Array, stored: StoredArray, rows: Rows) -> None:
        registry = self.registry()
        for gap in (_ALWAYS, _NEVER):
            got = stored.decode(rows, registry, gap)
            _assert_same(f"{name}, {rows}", got, select_rows(array, rows))


def _read_damaged(what: str, stored: StoredArray, registry: EncodingRegistry) -> None:
    count = stored.num_values
    several = RowIndices(np.arange(0, count, 2))
    for rows in (RowRange(0, count), RowRange(count // 2, count), several):
        try:
            array = stored.decode(rows, registry)
            # The number of digits of a decimal is not checked.
            array.validate(full=not pa.types.is_decimal(array.type))
            assert len(array) == len(rows), f"{len(array)} rows instead of {len(rows)}"
        except LanceError:
            pass
        except Exception as error:
            raise AssertionError(
                f"{what}: decoding damaged data raised {error!r}; it must raise a LanceError "
                "or return a valid array"
            ) from error


def _ranges(count: int) -> list[RowRange]:
    edges = sorted({0, 1, 3, 8, count // 3, count // 2, count - 1, count} & set(range(count + 1)))
    return [RowRange(a, b) for a in edges for b in edges if a < b]


def _indices(count: int) -> list[RowIndices]:
    chance = np.random.default_rng(5)
    picked = [np.arange(0, count, 2), np.arange(1, count, 5), np.arange(count)]
    picked += [np.flatnonzero(chance.random(count) < share) for share in (0.1, 0.5)]
    return [RowIndices(values.astype(np.int64)) for values in picked if len(values)]


def _assert_same(name: str, got: pa.Array, expected: pa.Array) -> None:
    got.validate(full=True)
    assert got.type == expected.type, f"{name}: the type is {got.type}, must be {expected.type}"
    if pa.types.is_dictionary(got.type):  # the dictionaries may differ
        got, expected = (array.cast(array.type.value_type) for array in (got, expected))
    assert got.equals(expected), f"{name}: {got}, must be {expected}"
