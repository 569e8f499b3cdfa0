"""Arrow arrays of any type that version 2.0 stores, for property tests."""

from __future__ import annotations

from random import Random

import pyarrow as pa
from hypothesis import strategies as st

from lance_core.schema.rebuild import visible_children, with_children
from lance_core_testing.encodings.value_samples import VALUES

_FIXED = [type_ for type_ in VALUES if not str(type_).endswith(("string", "binary"))]


def fixed_size_lists() -> st.SearchStrategy[pa.DataType]:
    """Lists of fixed size of values of fixed width, perhaps of such lists."""
    items = st.sampled_from(_FIXED)
    inner = st.builds(pa.list_, items, st.integers(1, 3))
    return inner | st.builds(pa.list_, inner, st.integers(1, 2))


def types() -> st.SearchStrategy[pa.DataType]:
    """Types that a column may have, with a few levels of nesting."""
    leaves = st.sampled_from([*VALUES, pa.null()]) | fixed_size_lists()
    keys = st.sampled_from([pa.int8(), pa.uint32(), pa.int64()])
    words = st.sampled_from([pa.string(), pa.large_binary(), pa.int32()])
    return st.recursive(
        leaves | st.builds(pa.dictionary, keys, words),
        lambda inner: (
            st.builds(pa.list_, inner)
            | st.builds(pa.large_list, inner)
            | st.lists(inner, min_size=1, max_size=3).map(
                lambda members: pa.struct({f"m{i}": one for i, one in enumerate(members)})
            )
        ),
        max_leaves=4,
    )


def arrays(type_: pa.DataType, max_size: int = 40) -> st.SearchStrategy[pa.Array]:
    """Arrays of ``type_``; structs in them are never null, as in 2.0 files."""
    values = st.lists(_values(type_), max_size=max_size)
    if pa.types.is_dictionary(type_):
        words = _values(type_.value_type).filter(lambda value: value is not None)
        few = st.lists(words, min_size=1, max_size=5, unique=True)
        values = few.flatmap(
            lambda items: st.lists(st.sampled_from([*items, None]), max_size=max_size)
        )
    return values.map(lambda rows: _array(rows, type_))


def _array(rows: list[object], type_: pa.DataType) -> pa.Array:
    """The rows as an array; before version 25 Arrow does not make all dictionaries itself."""
    return _encoded(pa.array(rows, _decoded(type_)), type_)


def _decoded(type_: pa.DataType) -> pa.DataType:
    """The type with plain values in place of dictionaries."""
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_decoded(field.type)) for field in type_])
    if pa.types.is_large_list(type_):
        return pa.large_list(_decoded(type_.value_type))
    return pa.list_(_decoded(type_.value_type)) if pa.types.is_list(type_) else type_


def _encoded(array: pa.Array, type_: pa.DataType) -> pa.Array:
    if array.type == type_:
        return array
    if pa.types.is_dictionary(type_):
        found = array.dictionary_encode()
        indices = found.indices.cast(type_.index_type)
        return pa.DictionaryArray.from_arrays(indices, found.dictionary)
    inner = [type_.field(number).type for number in range(type_.num_fields)]
    children = map(_encoded, visible_children(array), inner)
    return with_children(array, type_, list(children))


def _values(type_: pa.DataType) -> st.SearchStrategy[object]:
    if pa.types.is_null(type_):
        return st.none()
    if pa.types.is_dictionary(type_):
        return st.none() | VALUES[type_.value_type]
    if pa.types.is_fixed_size_list(type_):
        size = type_.list_size
        return st.none() | st.lists(_values(type_.value_type), min_size=size, max_size=size)
    if pa.types.is_struct(type_):
        return st.fixed_dictionaries({field.name: _values(field.type) for field in type_})
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return st.none() | st.lists(_values(type_.value_type), max_size=3)
    return st.none() | VALUES[type_]


def nullable_types() -> st.SearchStrategy[pa.DataType]:
    """Types that a column of a 2.2 file may have: also maps, around leaves of a few kinds."""
    leaves = st.sampled_from([pa.int32(), pa.bool_(), pa.string(), pa.list_(pa.int8(), 2)])
    return st.recursive(
        leaves,
        lambda inner: (
            st.builds(pa.list_, inner)
            | st.builds(pa.large_list, inner)
            | st.builds(pa.map_, st.sampled_from([pa.string(), pa.int64()]), inner)
            | st.lists(inner, min_size=1, max_size=3).map(
                lambda members: pa.struct({f"m{i}": one for i, one in enumerate(members)})
            )
        ),
        max_leaves=5,
    )


def nullable_arrays(type_: pa.DataType, max_size: int = 12) -> st.SearchStrategy[pa.Array]:
    """Arrays of ``type_``, perhaps slices, in which everything but keys of maps may be null.

    What a null hides may be anything, too.
    """
    rows = st.lists(_nullable_values(type_), max_size=max_size)
    whole = st.builds(_hidden, rows.map(lambda values: pa.array(values, type_)), st.randoms())
    return st.builds(lambda array, start: array.slice(start), whole, st.integers(0, 2))


def _nullable_values(type_: pa.DataType) -> st.SearchStrategy[object]:
    if pa.types.is_map(type_):
        keys, items = VALUES[type_.key_type], _nullable_values(type_.item_type)
        return st.none() | st.lists(st.tuples(keys, items), max_size=3)
    if pa.types.is_struct(type_):
        members = {field.name: _nullable_values(field.type) for field in type_}
        return st.none() | st.fixed_dictionaries(members)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return st.none() | st.lists(_nullable_values(type_.value_type), max_size=3)
    return _values(type_)


def _hidden(array: pa.Array, random: Random) -> pa.Array:
    """``array`` with some more nulls at the top, which hide what was there."""
    if not pa.types.is_nested(array.type) or array.type.num_fields != 1 or array.offset:
        return array
    keep = [value.is_valid and random.random() < 0.8 for value in array]
    bitmap = pa.array(keep, pa.bool_()).buffers()[1]
    size = len(array)
    if pa.types.is_struct(array.type):
        return pa.Array.from_buffers(array.type, size, [bitmap], -1, 0, [array.field(0)])
    if pa.types.is_fixed_size_list(array.type):
        return pa.Array.from_buffers(array.type, size, [bitmap], -1, 0, [array.values])
    return pa.Array.from_buffers(
        array.type, size, [bitmap, array.buffers()[1]], -1, 0, [array.values]
    )
