"""Convert layers to repetition and definition levels (messages of ``encodings_v2_1.proto``).

A leaf column of a 2.1 or 2.2 page is a stream of levels. Definition 0 is a value with no null
around it. A higher definition tells which layer, counted from the innermost one outwards, is null
or empty. Repetition 0 continues the innermost list; k starts a new list at the k-th list layer from
inside; the number of list layers starts a new row. A layer is Arrow's data for one nesting step:
the valid slots and, for lists, the offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from lance_core._pb.encodings_v2_1_pb2 import (
    REPDEF_ALL_VALID_ITEM,
    REPDEF_ALL_VALID_LIST,
    REPDEF_EMPTYABLE_LIST,
    REPDEF_NULL_AND_EMPTY_LIST,
    REPDEF_NULLABLE_ITEM,
    REPDEF_NULLABLE_LIST,
)
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels import Kernels
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

LevelArray = npt.NDArray[np.uint16]
BoolArray = npt.NDArray[np.bool_]

_LIST_KINDS = frozenset(
    {
        REPDEF_ALL_VALID_LIST,
        REPDEF_NULLABLE_LIST,
        REPDEF_EMPTYABLE_LIST,
        REPDEF_NULL_AND_EMPTY_LIST,
    }
)
_DEFINITIONS: dict[int, int] = {
    REPDEF_ALL_VALID_ITEM: 0,
    REPDEF_ALL_VALID_LIST: 0,
    REPDEF_NULLABLE_ITEM: 1,
    REPDEF_NULLABLE_LIST: 1,
    REPDEF_EMPTYABLE_LIST: 1,
    REPDEF_NULL_AND_EMPTY_LIST: 2,
}
_MAX_LAYERS = 256


@dataclass(frozen=True, slots=True)
class LayerKinds:
    """The kinds of the layers of a column, innermost first, and derived numbers.

    ``bases[i]`` is the highest definition level of the layers inside layer i. ``max_rep`` is the
    number of list layers. A level is visible (has a value) if its definition is at most
    ``max_visible_def``.
    """

    kinds: tuple[int, ...]
    bases: tuple[int, ...]
    max_rep: int
    max_def: int
    max_visible_def: int

    def is_list(self, layer: int) -> bool:
        return self.kinds[layer] in _LIST_KINDS


@lru_cache(maxsize=1024)
def layer_kinds(kinds: tuple[int, ...]) -> LayerKinds:
    """The kinds (``RepDefLayer``) of a page. Raises `CorruptFileError` for unknown kinds."""
    if not kinds or len(kinds) > _MAX_LAYERS:
        raise CorruptFileError(f"a page has {len(kinds)} layers", field="layers")
    bases, total, lists, visible = [], 0, 0, -1
    for kind in kinds:
        if kind not in _DEFINITIONS:
            raise CorruptFileError(f"unknown kind of layer {kind}", field="layers")
        if kind in _LIST_KINDS:
            lists += 1
            visible = total if visible < 0 else visible
        bases.append(total)
        total += _DEFINITIONS[kind]
    return LayerKinds(kinds, tuple(bases), lists, total, total if visible < 0 else visible)


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """``count`` consecutive levels that start at the start of a row.

    An absent array stands for zeros. ``rep`` may only be absent if there are no lists.
    """

    kinds: LayerKinds
    rep: LevelArray | None
    definition: LevelArray | None
    count: int

    def visible(self) -> BoolArray | None:
        """A mask of the levels that have a value; None: all levels."""
        if self.definition is None or self.kinds.max_visible_def == self.kinds.max_def:
            return None
        return self.definition <= self.kinds.max_visible_def

    def part(self, start: int, stop: int) -> Levels:
        """The levels ``start`` to ``stop`` (exclusive)."""
        rep = None if self.rep is None else self.rep[start:stop]
        definition = None if self.definition is None else self.definition[start:stop]
        return Levels(self.kinds, rep, definition, stop - start)

    def row_starts(self) -> Int64Array | None:
        """Positions of the levels that start a row; None: all levels."""
        if self.rep is None:
            return None
        return np.flatnonzero(self.rep == self.kinds.max_rep)


@dataclass(frozen=True, slots=True, eq=False)
class ItemLayer:
    """The slots of a struct or value layer. ``valid`` is None if no slot is null.

    A slot inside a null slot of an outer layer also counts as null.
    """

    count: int
    valid: BoolArray | None


@dataclass(frozen=True, slots=True, eq=False)
class ListLayer:
    """The slots of a list layer; n slots have n + 1 ``offsets``, from 0. Null lists are empty."""

    offsets: Int64Array
    valid: BoolArray | None

    @property
    def count(self) -> int:
        return len(self.offsets) - 1


Layer = ItemLayer | ListLayer


def check_levels(levels: Levels, kernels: Kernels) -> None:
    """Raise `CorruptFileError` unless the levels can be converted to layers without loss."""
    kinds, rep, definition = levels.kinds, levels.rep, levels.definition
    if kinds.max_rep and rep is None:
        raise CorruptFileError("a page has lists but no repetition levels", field="rep_compression")
    if definition is not None or kinds.max_rep:
        kernels.check_levels(
            rep if kinds.max_rep else None, definition, kinds.max_rep, _least_repetitions(kinds)
        )


@lru_cache(maxsize=1024)
def _least_repetitions(kinds: LayerKinds) -> LevelArray:
    """The minimum repetition by definition: a list without items always starts at its own layer."""
    least = np.zeros(kinds.max_def + 1, np.uint16)
    depth = 0
    for layer, base in enumerate(kinds.bases):
        if kinds.is_list(layer):
            depth += 1
            least[base + 1 :] = depth
    return least


def ravel(layers: Sequence[Layer]) -> Levels:
    """The levels of ``layers``, outermost first; each has the slots that the previous one defines.

    The kind of each layer follows from its nulls and empty lists.
    """
    if len(layers) == 1 and layers[0].valid is None and isinstance(layers[0], ItemLayer):
        return _valid_items(layers[0].count)
    kinds = layer_kinds(tuple(reversed(_kinds(layers))))
    count, depth = layers[0].count, kinds.max_rep
    rep = np.full(count, depth, np.uint16) if depth else None
    definition = np.zeros(count, np.uint16) if kinds.max_def else None
    live: Int64Array | None = None  # levels that are slots of the current layer; None: all
    outer: BoolArray | None = None
    for number, layer in enumerate(layers):
        base = kinds.bases[len(layers) - 1 - number]
        # A struct member without nulls shares the mask of the struct, whose nulls are already
        # defined.
        if definition is not None and layer.valid is not None and layer.valid is not outer:
            nulls = np.flatnonzero(~layer.valid)
            _define(definition, nulls if live is None else live.take(nulls), base + 1)
        outer = layer.valid
        if isinstance(layer, ItemLayer):
            continue
        assert rep is not None
        depth -= 1
        lengths = np.diff(layer.offsets)
        if definition is not None:
            empty = np.flatnonzero(lengths == 0)
            kind = kinds.kinds[len(layers) - 1 - number]
            level = base + 1 if kind == REPDEF_EMPTYABLE_LIST else base + 2
            _define(definition, empty if live is None else live.take(empty), level)
        rep, definition, live = _expand(rep, definition, live, lengths, depth)
    return Levels(kinds, rep, definition, count if rep is None else len(rep))


@lru_cache(maxsize=16)
def _valid_items(count: int) -> Levels:
    """The levels of a top-level column without nulls; kept, as a file has several of them."""
    return Levels(layer_kinds((REPDEF_ALL_VALID_ITEM,)), None, None, count)


def _define(definition: LevelArray, levels: Int64Array, level: int) -> None:
    """Set the definition of ``levels``, except of those that an outer layer has already defined."""
    definition[levels[definition.take(levels) == 0]] = level


def _expand(
    rep: LevelArray,
    definition: LevelArray | None,
    live: Int64Array | None,
    lengths: Int64Array,
    depth: int,
) -> tuple[LevelArray, LevelArray | None, Int64Array | None]:
    """Expand each list to one level per item; items after the first one of a list repeat it."""
    # Fast path: every level is a list with items.
    if live is None and lengths.all():
        starts = np.cumsum(lengths) - lengths
        expanded = np.full(int(lengths.sum()), depth, np.uint16)
        expanded[starts] = rep
        return expanded, None if definition is None else np.repeat(definition, lengths), None
    # A level without items (an empty list, or a slot of an outer layer) keeps one level.
    times = np.ones(len(rep), np.int64)
    has_items = np.zeros(len(rep), np.bool_)
    where = np.arange(len(rep)) if live is None else live
    times[where] = np.maximum(lengths, 1)
    has_items[where] = lengths > 0
    starts = np.cumsum(times) - times
    expanded = np.full(int(times.sum()), depth, np.uint16)
    expanded[starts] = rep
    items = np.flatnonzero(np.repeat(has_items, times))
    return expanded, None if definition is None else np.repeat(definition, times), items


def _kinds(layers: Sequence[Layer]) -> list[int]:
    """The kind of each layer, outermost first.

    If a struct has nulls, every layer below it, up to and including the next list, becomes
    nullable, even without nulls of its own. Otherwise pylance returns fill values when it reads
    members of null structs alone, and it cannot read lists and structs below such a struct.

    A struct around a list is always nullable: pylance cannot read rows of several pages of which
    only some declare it.
    """
    kinds: list[int] = []
    last_list = -1
    for number, layer in enumerate(layers):
        if isinstance(layer, ListLayer):
            last_list = number
    visible: BoolArray | None = None  # slots that are not null and not inside a null struct
    is_nullable = False
    for number, layer in enumerate(layers):
        valid = layer.valid
        if valid is not None and not valid.all():
            visible = valid if visible is None else visible & valid
            is_nullable = True
        if isinstance(layer, ItemLayer):
            is_nullable |= number < last_list
            kinds.append(REPDEF_NULLABLE_ITEM if is_nullable else REPDEF_ALL_VALID_ITEM)
            continue
        empty = np.diff(layer.offsets) == 0
        has_empty = bool((empty if visible is None else empty & visible).any())
        if is_nullable:
            kinds.append(REPDEF_NULL_AND_EMPTY_LIST if has_empty else REPDEF_NULLABLE_LIST)
        else:
            kinds.append(REPDEF_EMPTYABLE_LIST if has_empty else REPDEF_ALL_VALID_LIST)
        visible, is_nullable = None, False
    return kinds
