"""The contract of encodings of values that plugins bring, as tests to inherit.

::

    class TestAlp(ValueEncodingTests):
        spec = lance_core_alp.SPEC

Values of every accepted type must be preserved bit for bit, in whole blocks and in pages of every
file version, also below nulls, lists and structs. Decoding damaged data must raise an error or
return a valid array, and must not use more memory than for valid data.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lance_core.encodings.decoding import RowIndices, decode_in_memory
from lance_core.encodings.plugin_values.foreign_blocks import ForeignBlocks, encode_blocks
from lance_core.encodings.plugin_values.value_encoding import MAX_BLOCK_VALUES, find_value_encoding
from lance_core.encodings.registry import EncodingRegistry
from lance_core.errors import LanceError
from lance_core.hookspecs.encodings import ENCODING_KEY, ValueEncodingSpec
from lance_core.hookspecs.file_versions import FileVersion, RowRange, Rows, Schema
from lance_core.hookspecs.stores import ByteRange
from lance_core.plugins.builtin import lance_encodings
from lance_core_testing.encodings.stored_array import select_rows
from lance_core_testing.encodings.stored_field import StoredField
from lance_core_testing.encodings.value_samples import TYPES, VALUES, hard_arrays
from lance_core_testing.memory_bound import bounded_memory
from lance_core_testing.mutants import mutants
from lance_core_testing.threads import race_threads

MUTANTS = 30
"""Number of damaged copies of each tested block."""

VERSIONS = (FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2)

_SMALL_BLOCKS = 64


class ValueEncodingTests:
    """The contract of an encoding of values. Subclass it and set ``spec``.

    ``samples`` adds arrays to the standard ones; return data for which the encoding is designed.
    """

    spec: ValueEncodingSpec

    def samples(self) -> Mapping[str, pa.Array]:
        """More arrays of accepted types, by name. They may have nulls."""
        return {}

    def types(self) -> list[pa.DataType]:
        """The types to test: the accepted ones of `lance_core_testing.encodings.value_samples`."""
        return [type_ for type_ in TYPES if self.spec.accepts(type_)]

    def test_the_descriptor_is_found_by_name_and_by_type_url(self) -> None:
        registry = self._registry()
        for key in (self.spec.key, self.spec.name):
            registered = find_value_encoding(key, registry, "a test")
            assert registered is self.spec, f"{key!r} finds {registered}; it must find the encoding"
        assert self.types() or self.samples(), "nothing to try it with: provide `samples`"

    def test_blocks_come_back_bit_for_bit(self) -> None:
        for name, array in self._arrays():
            for part in (array, array.slice(1), array.slice(len(array) // 3, 5)):
                if len(part):
                    block = self._block(part)
                    assert_same(name, self.spec.decoder(block, part.type, len(part)), part)

    def test_taken_values_are_those_that_decoding_gives(self) -> None:
        """Tested only if the encoding has a ``take``."""
        take = self.spec.take
        for name, array in self._arrays() if take is not None else ():
            assert take is not None
            block, count = self._block(array), len(array)
            for at in (np.array([0]), np.array([count - 1]), np.arange(0, count, 7)):
                expected = array.take(pa.array(at))
                assert_same(f"{name}, taken", take(block, array.type, count, at), expected)

    def test_a_decoded_array_stays_as_it_is(self) -> None:
        decoded_samples = [(name, array, self._decoded(array)) for name, array in self._arrays()]
        for name, array, decoded in decoded_samples:
            assert_same(f"{name}, held while others were decoded", decoded, array)

    def test_encoding_changes_nothing_and_gives_the_same_bytes_again(self) -> None:
        for name, array in self._arrays():
            before = pa.concat_arrays([array, array.slice(0, 0)])
            blocks = [self._block(array) for _ in range(2)]
            assert_same(f"{name}, after it was encoded", array, before)
            assert blocks[0].equals(blocks[1]), f"{name}: encoding twice gave different bytes"

    def test_threads_decode_at_the_same_time(self) -> None:
        arrays_ = [(name, array, self._block(array)) for name, array in self._arrays()]

        def decode(thread: int) -> None:
            for name, array, block in arrays_[thread:] + arrays_[:thread]:
                got = self.spec.decoder(block, array.type, len(array))
                assert_same(f"{name}, decoded in one of several threads", got, array)

        race_threads(decode, 4)

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def test_any_values_come_back_from_files(self, data: st.DataObject) -> None:
        accepted_types = [type_ for type_ in VALUES if self.spec.accepts(type_)]
        if not accepted_types:
            pytest.skip("no strategy makes values of the types that it accepts")
        type_ = data.draw(st.sampled_from(accepted_types))
        values = data.draw(st.lists(st.none() | VALUES[type_], max_size=80))
        array = pa.array(values, type_)
        version = data.draw(st.sampled_from(VERSIONS))
        if len(array):
            self._check_stored("drawn", array, version, [RowRange(0, len(array))])

    @pytest.mark.parametrize("version", VERSIONS, ids=str)
    def test_any_rows_of_a_page_come_back(self, version: FileVersion) -> None:
        tried = set[tuple[pa.DataType, int]]()
        for name, array in self._arrays():
            count = len(array)
            rows: list[Rows] = [RowRange(0, count), RowRange(count // 2, count)]
            if count > 3:
                rows += [RowRange(1, 3), RowIndices(np.arange(0, count, 3))]
                rows += [RowIndices(np.array([0, count - 1]))]
            if (array.type, count) in tried:  # blocks differ in their numbers of values
                rows = [rows[0], rows[-1]]
            tried.add((array.type, count))
            self._check_stored(name, array, version, rows)
            nulls = pa.array(np.arange(count) % 5 == 0)
            masked = array.take(pa.array(np.arange(count), mask=np.asarray(nulls)))
            self._check_stored(f"{name}, nulls", masked, version, rows)

    @pytest.mark.parametrize("version", VERSIONS, ids=str)
    def test_values_within_lists_and_structs_come_back(self, version: FileVersion) -> None:
        for name, array in self._arrays():
            field = pa.field("item", array.type, metadata={ENCODING_KEY: self.spec.name})
            edges = np.unique([0, *range(0, len(array), 3), len(array)])
            lists = pa.ListArray.from_arrays(pa.array(edges, pa.int32()), array)
            items = lists.cast(pa.list_(field))
            with_null = items.take(pa.array([0, None, len(items) - 1]))
            for nested in (items, with_null, pa.StructArray.from_arrays([array], fields=[field])):
                whole = RowRange(0, len(nested))
                self._check_stored(name, nested, version, [whole, RowIndices(np.array([0]))])

    def test_nothing_comes_back_as_nothing(self) -> None:
        for type_ in self.types():
            for array in (pa.array([], type_), pa.nulls(3, type_)):
                for version in VERSIONS:
                    self._check_stored("empty", array, version, [RowRange(0, len(array))])

    def test_damaged_blocks_do_no_worse_than_an_error(self) -> None:
        for name, array in self._arrays():
            block = self._block(array)
            damaged = list(mutants(block.to_pybytes(), MUTANTS, seed=len(array)))
            with bounded_memory(name, block.size + array.nbytes):
                for mutant in damaged:
                    self._decode_damaged(array, mutant.data, len(array))

    def test_a_block_that_is_cut_is_an_error(self) -> None:
        for name, array in self._arrays():
            data = self._block(array).to_pybytes()
            if len(array) > 1:
                decoded = self._decode_damaged(array, data[: len(data) // 2], len(array))
                assert decoded is None, f"{name}: half of a block gave an array"

    def test_a_block_of_more_values_than_it_holds_is_an_error(self) -> None:
        for name, array in self._arrays():
            data = self._block(array).to_pybytes()
            for count in (len(array) + 5000, MAX_BLOCK_VALUES):
                with bounded_memory(name, len(data)):
                    self._decode_damaged(array, data, count)

    def test_a_block_of_few_values_takes_little_memory_however_many_it_claims_inside(self) -> None:
        fixed = [type_ for type_ in self.types() if _width_of(type_) >= 32]
        for type_ in sorted(fixed, key=_width_of)[-1:]:
            size = MAX_BLOCK_VALUES * _width_of(type_) // 8
            array = pa.Array.from_buffers(
                type_, MAX_BLOCK_VALUES, [None, pa.py_buffer(bytes(size))]
            )
            data = self._block(array).to_pybytes()
            with bounded_memory(f"{type_}, a bomb", len(data), most=size // 2):
                self._decode_damaged(array, data, 10)

    def test_neither_way_does_input_or_output(self) -> None:
        for name, array in self._arrays():
            self.spec.decoder(self._block(array), array.type, len(array))  # imports happen here
            with _no_input_or_output(name):
                self.spec.decoder(self._block(array), array.type, len(array))

    def _arrays(self) -> Iterator[tuple[str, pa.Array]]:
        """The arrays to test, without nulls at the top level."""
        for type_ in self.types():
            for name, array in hard_arrays(type_):
                yield f"{type_}, {name}", array
        for name, array in self.samples().items():
            yield name, array.drop_null()

    def _registry(self) -> EncodingRegistry:
        others = [("built-in", spec) for spec in lance_encodings()]
        return EncodingRegistry([*others, ("tested", self.spec)])

    def _block(self, array: pa.Array) -> pa.Buffer:
        encoded = self.spec.encoder(array)
        return encoded if isinstance(encoded, pa.Buffer) else pa.py_buffer(encoded)

    def _decoded(self, array: pa.Array) -> pa.Array:
        return self.spec.decoder(self._block(array), array.type, len(array))

    def _decode_damaged(self, array: pa.Array, data: bytes, count: int) -> pa.Array | None:
        """The valid array decoded from a block, or None after a `LanceError`."""
        spec = dataclasses.replace(self.spec, block_values=MAX_BLOCK_VALUES)
        message, _ = encode_blocks(array.slice(0, 1), spec)
        message.num_values = count
        del message.block_bytes[:]
        message.block_bytes.append(len(data))
        blocks = ForeignBlocks.of(message, spec, array.type, ByteRange(0, len(data)))
        try:
            decode_in_memory(blocks.decode(slice(0, 1), 0), pa.py_buffer(data))
            return decode_in_memory(blocks.decode(slice(0, count), 0), pa.py_buffer(data))
        except LanceError:
            return None

    def _check_stored(
        self, name: str, array: pa.Array, version: FileVersion, rows: list[Rows]
    ) -> None:
        """Write an array as a field in small blocks, and check the rows read."""
        spec = dataclasses.replace(self.spec, block_values=_SMALL_BLOCKS)
        others = [("built-in", builtin) for builtin in lance_encodings()]
        registry = EncodingRegistry([*others, ("tested", spec)])
        metadata = None if pa.types.is_nested(array.type) else {ENCODING_KEY: spec.key}
        if pa.types.is_fixed_size_list(array.type):
            metadata = {ENCODING_KEY: spec.key}
        schema = Schema.from_arrow(pa.schema([pa.field("x", array.type, metadata=metadata)]))
        stored = StoredField.write(schema.fields[0], [array], registry, version)
        for selection in rows:
            if not len(selection):
                continue
            for gap in (0, 1 << 40):
                got = pa.concat_arrays(stored.read(selection, gap))
                assert_same(f"{name}, {selection}", got, select_rows(array, selection))


def assert_same(name: str, got: pa.Array, expected: pa.Array) -> None:
    """Raise `AssertionError` unless the arrays are equal, bit for bit where not null."""
    got.validate(full=not _has_decimals(got.type))
    assert got.type == expected.type, f"{name}: the type is {got.type}, must be {expected.type}"
    pairs = zip(_in_bits(got), _in_bits(expected), strict=True)
    assert all(left.equals(right) for left, right in pairs), f"{name}: {got}, must be {expected}"


def _in_bits(array: pa.Array) -> list[pa.Array]:
    """The parts of an array, with floating-point numbers as integers of the same bits."""
    type_ = array.type
    if pa.types.is_floating(type_):
        return [array.view(f"uint{type_.bit_width}")]
    if pa.types.is_struct(type_):
        members = [_in_bits(array.field(number)) for number in range(type_.num_fields)]
        return [array.is_valid(), *(part for parts in members for part in parts)]
    if pa.types.is_list(type_):
        return [array.value_lengths(), *_in_bits(array.flatten())]
    if pa.types.is_fixed_size_list(type_):
        return [array.is_valid(), *_in_bits(array.flatten())]
    return [array]


def _width_of(type_: pa.DataType) -> int:
    """Bits of a value of a type without children; 0 if values have no fixed width."""
    try:
        return 0 if pa.types.is_nested(type_) else int(type_.bit_width)
    except ValueError:
        return 0


def _has_decimals(type_: pa.DataType) -> bool:
    return "decimal" in str(type_)


_watching: list[str] = []
_FORBIDDEN = ("open", "socket.", "os.", "subprocess.", "shutil.", "tempfile.")


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if _watching and event.startswith(_FORBIDDEN):
        raise AssertionError(f"{_watching[-1]}: {event} {arguments}")


@contextmanager
def _no_input_or_output(name: str) -> Iterator[None]:
    """Raise `AssertionError` if the block opens a file, socket or process."""
    if not _hooked:
        sys.addaudithook(_watch)
        _hooked.append(True)
    _watching.append(name)
    try:
        yield
    finally:
        _watching.pop()


_hooked: list[bool] = []
