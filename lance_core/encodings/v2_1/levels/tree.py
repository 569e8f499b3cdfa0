"""The fields above the leaves of a column: what their levels have to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

import pyarrow as pa

from lance_core.encodings.v2_1.levels.repdef import LayerKinds
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """A field of the tree to assemble: a leaf, a struct, a list, a map or a list of fixed size.

    ``children``: none for a leaf, else the members, or the one item (for a map its entries).
    ``is_list``: whether the layer of this field is one of lists. ``is_fixed``: whether these are
    lists of fixed size whose items have columns of their own.
    """

    type: pa.DataType
    children: tuple[Node, ...] = ()
    is_leaf: bool = False
    is_list: bool = field(init=False)
    is_fixed: bool = field(init=False)
    num_leaves: int = field(init=False)

    def __post_init__(self) -> None:
        leaf, type_ = self.is_leaf, self.type
        is_fixed = not leaf and pa.types.is_fixed_size_list(type_)
        is_list = not (leaf or is_fixed or pa.types.is_struct(type_))
        object.__setattr__(self, "is_fixed", is_fixed)
        object.__setattr__(self, "is_list", is_list)
        leaves = 1 if leaf else sum(child.num_leaves for child in self.children)
        object.__setattr__(self, "num_leaves", leaves)

    def paths(self) -> Iterator[tuple[Node, ...]]:
        """The way to each leaf, outermost first."""
        if self.is_leaf:
            yield (self,)
        for child in self.children:
            for path in child.paths():
                yield (self, *path)


def check_kinds(path: Sequence[Node], kinds: LayerKinds) -> None:
    """Raise `CorruptFileError` unless a leaf's layers are those of the fields around it."""
    expected = [node.is_list for node in reversed(path)]
    if expected != [kinds.is_list(layer) for layer in range(len(kinds.kinds))]:
        raise CorruptFileError("the layers of a page are not those of its field", field="layers")


def rows_per_slot(path: Sequence[Node]) -> int:
    """How many rows of the leaf's column there are for one row of the field."""
    scale = 1
    for number, node in enumerate(path):
        if node.is_fixed:
            if any(outer.is_list for outer in path[:number]):
                raise UnsupportedFeatureError(f"lists of {node.type}")
            scale *= node.type.list_size
    return scale
