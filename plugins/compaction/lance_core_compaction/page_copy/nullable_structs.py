"""Which structs around lists a page declares as nullable.

pylance 14 cannot read rows of several pages of a column that differ in it ("Incorrect number of
nulls for StructArray"). Pages that `lance_core.encodings.v2_1.levels.repdef` describes declare all.
"""

from __future__ import annotations

from google.protobuf.message import Message

from lance_core.hookspecs.stored_pages import (
    REPDEF_ALL_VALID_ITEM,
    ForeignEncoding,
    PageLayout,
    layer_kinds,
)


def nullable_structs(encoding: Message | ForeignEncoding) -> tuple[bool, ...]:
    """For each struct around a list, innermost first, if a page of 2.1 or 2.2 declares it nullable.

    Raises `CorruptFileError` for unknown layers.
    """
    layout = encoding.WhichOneof("layout") if isinstance(encoding, PageLayout) else None
    layers = () if layout is None else getattr(getattr(encoding, layout), "layers", ())
    if not layers:
        return ()
    layer_types = layer_kinds(tuple(layers))
    lists = [layer_types.is_list(number) for number in range(len(layers))]
    outer = range(lists.index(True) if True in lists else len(layers), len(layers))
    return tuple([layers[n] != REPDEF_ALL_VALID_ITEM for n in outer if not lists[n]])
