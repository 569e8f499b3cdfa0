"""The tree of fields above the leaf columns, which the levels of the leaves must match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

import pyarrow as pa

from lance_core.encodings.v2_1.levels.repdef import LayerKinds
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """A field in the tree: a leaf, a struct, a list, a map or a fixed-size list.

    ``children``: none for a leaf, the members of a struct, else the single item (the entries of a
    map). ``is_list``: True if this field is a list layer. ``is_fixed``: True for a fixed-size list
    whose items have columns of their own.
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
        """The path to each leaf, outermost node first."""
        if self.is_leaf:
            yield (self,)
        for child in self.children:
            for path in child.paths():
                yield (self, *path)


def check_kinds(path: Sequence[Node], kinds: LayerKinds) -> None:
    """Raise `CorruptFileError` unless a leaf's layers match the fields around it."""
    expected = [node.is_list for node in reversed(path)]
    if expected != [kinds.is_list(layer) for layer in range(len(kinds.kinds))]:
        raise CorruptFileError("the layers of a page do not match its field", field="layers")


def rows_per_slot(path: Sequence[Node]) -> int:
    """The number of rows of the leaf's column for one row of the field."""
    scale = 1
    for number, node in enumerate(path):
        if node.is_fixed:
            # Within lists, a row of the field has no fixed number of rows of the column.
            if any(outer.is_list for outer in path[:number]):
                raise UnsupportedFeatureError(f"lists of {node.type}")
            scale *= node.type.list_size
    return scale
