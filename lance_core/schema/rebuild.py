"""Replace the children of nested Arrow arrays without copying values."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa


def visible_children(array: pa.Array) -> list[pa.Array]:
    """The child arrays of a struct, list, map or fixed size list, as `with_children` takes them.

    The children of a struct are sliced to its rows; the children of other types are not sliced.
    """
    if pa.types.is_struct(array.type):
        return [array.field(i) for i in range(array.type.num_fields)]
    return [array.values]


def with_children(array: pa.Array, arrow: pa.DataType, children: Sequence[pa.Array]) -> pa.Array:
    """``array`` with type ``arrow`` and ``children`` in place of its own children.

    ``arrow`` has the same kind (struct, list, …) and dimension as the type of ``array``. Offsets
    and validity are shared; only a sliced struct gets a new validity bitmap.
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
    buffers = own[:1] if pa.types.is_fixed_size_list(arrow) else own[:2]
    return pa.Array.from_buffers(
        arrow, len(array), buffers, array.null_count, array.offset, children=list(children)
    )
