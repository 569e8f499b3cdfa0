"""Nested Arrow arrays put together anew around other children, without copying values."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa


def visible_children(array: pa.Array) -> list[pa.Array]:
    """The child arrays of a struct, list, map or fixed size list, as `with_children` takes them.

    A struct's children are cut to its rows; all others are whole, whatever rows ``array`` has.
    """
    if pa.types.is_struct(array.type):
        return [array.field(i) for i in range(array.type.num_fields)]
    return [array.values]


def with_children(array: pa.Array, arrow: pa.DataType, children: Sequence[pa.Array]) -> pa.Array:
    """The rows of ``array`` as type ``arrow``, made of ``children`` in place of its own.

    ``arrow`` is of the same kind (struct, list, …) and of the same dimension. Offsets and validity
    are shared; only a sliced struct gets a new validity bitmap.
    """
    own = array.buffers()
    if pa.types.is_struct(arrow):
        if array.offset == 0 or not children:
            return pa.Array.from_buffers(
                arrow, len(array), own[:1], array.null_count, array.offset, children=list(children)
            )
        members = [arrow.field(i) for i in range(arrow.num_fields)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(list(children), fields=members, mask=mask)
    kept = own[:1] if pa.types.is_fixed_size_list(arrow) else own[:2]
    return pa.Array.from_buffers(
        arrow, len(array), kept, array.null_count, array.offset, children=list(children)
    )
