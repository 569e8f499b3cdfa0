"""Update the index metadata of a version when its fragments or fields change.

An index lists the fragments that it covers; a query scans the fragments that no index covers. So
it is always correct to remove a fragment from an index's list. A fragment may stay in the list
only if the index still has the address or id and the current value of all its rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.lazy_dataclass import replace
from lance_core.schema.tree import Schema
from lance_core.table.fragments.data_file import ExternalFile
from lance_core.table.indices.index_metadata import (
    IndexDetails,
    IndexMetadata,
    details_key,
    encode_fragment_ids,
    fragment_bitmap,
)
from lance_core.table.unknown_fields import parse

if TYPE_CHECKING:
    from pyroaring import BitMap

Indices = tuple[IndexMetadata, ...]
Groups = Sequence[tuple[Iterable[int], Iterable[int]]]
"""Pairs of the ids of old fragments and the ids of the new fragments that replace them."""

REUSE_INDEX = "__lance_frag_reuse"
"""Name of the fragment-reuse index, see `lance_core.table.indices.reuse_index`."""

SYSTEM_INDICES = frozenset({REUSE_INDEX, "__lance_mem_wal"})
"""Reserved names: indices of the table's internal state."""

_JSON = "jsonindexdetails"
_LAST_WITH_ROW_IDS = {
    "": 0,  # old indices without details are B-trees, bitmaps or vector indices
    "bitmapindexdetails": 0,
    "btreeindexdetails": 0,
    "invertedindexdetails": math.inf,
    "labellistindexdetails": 1,
    "ngramindexdetails": 0,
    "vectorindexdetails": math.inf,
}
"""The last version of indices that have row ids; later ones have addresses, or are unknown."""


def is_system_index(index: IndexMetadata) -> bool:
    """True for an index of the table's internal state, which has no fields."""
    return index.name in SYSTEM_INDICES


def _kind(index: IndexMetadata) -> str:
    """What identifies the message with the details of an index, "" if there are no details."""
    details = index.index_details
    if details is None:
        return ""
    key = details_key(details.type_url) or "unknown"
    return _kind_of_values(details) if key == _JSON else key


def _kind_of_values(details: IndexDetails) -> str:
    """What identifies the details of the index over the values of a JSON index."""
    # Few tables have such an index, and every commit would import the module.
    from lance_core._pb import index_pb2

    try:
        message = parse(index_pb2.JsonIndexDetails, details.value, "IndexMetadata.index_details")
    except CorruptFileError:
        return "unknown"
    return details_key(message.target_details.type_url) or "unknown"


def has_row_ids(index: IndexMetadata) -> bool:
    """True if the index of a table with stable row ids refers to rows by id, not by address.

    Such an index stays valid when rows move. Indices of unknown types count as those with
    addresses.
    """
    return (index.index_version or 0) <= _LAST_WITH_ROW_IDS.get(_kind(index), -math.inf)


def covers_any(index: IndexMetadata, fragments: BitMap) -> bool:
    """True if the index covers one of ``fragments``; False if its coverage is unknown."""
    covered = index.fragments
    return covered is not None and bool(covered.intersect(fragments))


def retained(indices: Indices, schema: Schema, fragment_ids: Iterable[int]) -> Indices:
    """The indices that a version with this schema and these fragments keeps.

    An index is removed if one of its fields is not in the schema. Parts of an index that cover none
    of the fragments are removed; parts that do not say what they cover stay. If no part covers any,
    the oldest part is kept as the definition of the index, to which later rows are added.
    """
    fields = frozenset(schema.field_ids)
    present = [i for i in indices if is_system_index(i) or fields.issuperset(i.fields)]
    there = fragment_bitmap(fragment_ids)
    parts: dict[str, list[IndexMetadata]] = {}
    now = _translated(present)
    if now is None:  # any of them may cover a fragment
        return tuple(present)
    for index in now:
        parts.setdefault(index.name, []).append(index)
    uuids = {index.uuid for same in parts.values() for index in _parts_kept(same, there)}
    return tuple(index for index in present if index.uuid in uuids)


def _parts_kept(parts: Sequence[IndexMetadata], there: BitMap) -> Sequence[IndexMetadata]:
    if parts[0].name == REUSE_INDEX:
        return parts
    useful = [part for part in parts if part.fragments is None or covers_any(part, there)]
    return useful or (min(parts, key=lambda part: part.dataset_version),)


def without_fragments(
    indices: Indices, fields: Collection[int], fragment_ids: Iterable[int]
) -> Indices:
    """The indices after ``fields`` of the fragments ``fragment_ids`` got new values."""
    changed = fragment_bitmap(fragment_ids)
    now = _translated(indices)
    if now is None:  # any of the listed fragments may have become one of the changed ones
        now, changed = indices, _all_fragments(indices)
    return tuple(
        index
        if frozenset(fields).isdisjoint(index.fields)
        else _covering(current, lambda ids: ids - changed)
        for index, current in zip(indices, now, strict=True)
    )


def with_moved_rows(
    indices: Indices, fields: Collection[int], sources: Iterable[int], new: Iterable[int]
) -> Indices:
    """The indices after rows with stable ids moved from fragments ``sources`` to ``new`` ones.

    ``fields`` got new values. An index with row ids that covers all sources has all rows of the new
    fragments.
    """
    before, after = fragment_bitmap(sources), fragment_bitmap(new)

    def follows(index: IndexMetadata) -> bool:
        covered = index.fragments
        is_unchanged = frozenset(fields).isdisjoint(index.fields)
        return is_unchanged and has_row_ids(index) and covered is not None and before <= covered

    return tuple(
        _covering(index, lambda ids: ids | after) if follows(index) else index for index in indices
    )


def _all_fragments(indices: Indices) -> BitMap:
    return fragment_bitmap(id_ for index in indices for id_ in index.fragments or ())


def _translated(indices: Sequence[IndexMetadata]) -> Indices | None:
    """``indices`` with the fragments that have their rows now.

    After a compaction with a fragment-reuse index, the other indices list the fragments before it.
    None if its details are in a file, which is not read here.
    """
    reuse = next((index for index in indices if index.name == REUSE_INDEX), None)
    if reuse is None or reuse.index_details is None:
        return tuple(indices)
    # Few tables have such an index, and every commit would import the module.
    from lance_core.table.indices import reuse_index

    versions = reuse_index.parse_details(reuse.index_details)
    if isinstance(versions, ExternalFile):
        return None

    def current(ids: BitMap) -> BitMap:
        return fragment_bitmap(reuse_index.current_fragments(ids, versions))

    return tuple(i if is_system_index(i) else _covering(i, current) for i in indices)


def exchanged(indices: Indices, groups: Groups) -> Indices:
    """The indices after each group's old fragments were replaced by its new fragments.

    Raises `InvalidInputError` if an index covers only some old fragments of a group: it would then
    cover only some rows of a new fragment, which the metadata cannot express.
    """
    bitmaps = [(fragment_bitmap(old), fragment_bitmap(new)) for old, new in groups]
    return tuple(_covering(index, lambda ids: _exchange(ids, bitmaps)) for index in indices)


def without_replaced(index: IndexMetadata, groups: Groups) -> IndexMetadata:
    """``index`` without the old fragments of all groups."""
    replaced = fragment_bitmap(id_ for old, _ in groups for id_ in old)
    return _covering(index, lambda ids: ids - replaced)


def _exchange(ids: BitMap, groups: Sequence[tuple[BitMap, BitMap]]) -> BitMap:
    changed = ids
    for old, new in groups:
        if not ids.intersect(old):
            continue
        if not old.issubset(ids):
            raise InvalidInputError(
                "a group of a rewrite has both fragments that an index covers and others"
            )
        changed = (changed - old) | new
    return changed


def _covering(index: IndexMetadata, change: Callable[[BitMap], BitMap]) -> IndexMetadata:
    before = index.fragments
    if before is None:
        return index
    after = change(before)
    if after == before:
        return index
    return replace(index, fragment_bitmap=encode_fragment_ids(after))
