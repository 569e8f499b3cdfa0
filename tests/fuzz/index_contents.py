"""Tables that are not those of an index, for valid files in its folder."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from lance_core.table.indices.row_set import RowSet

Table: TypeAlias = pa.Table
Change: TypeAlias = Callable[[Table, random.Random], Table]

FAR_ROWS = 12_000
"""More rows than any fragment has."""


def _rename(table: Table, chance: random.Random) -> Table:
    names = list(table.column_names)
    names[chance.randrange(len(names))] = "other"
    return table.rename_columns(names)


def _drop(table: Table, chance: random.Random) -> Table:
    if table.num_columns == 1:
        return _rename(table, chance)
    return table.remove_column(chance.randrange(table.num_columns))


def _retype(table: Table, chance: random.Random) -> Table:
    at = chance.randrange(table.num_columns)
    field = table.schema.field(at)
    other = pa.float32() if field.type != pa.float32() else pa.binary()
    return table.set_column(at, pa.field(field.name, other), pa.nulls(len(table), other))


def _nullify(table: Table, chance: random.Random) -> Table:
    """A column that must not be null is."""
    at = _number_columns(table)
    if not at:
        return _retype(table, chance)
    place = chance.choice(at)
    field = table.schema.field(place)
    return table.set_column(place, field.with_nullable(True), pa.nulls(len(table), field.type))


def _number_columns(table: Table) -> list[int]:
    names = ("ids", "bitmaps", "posting_list", "fragment_id", "zone_start", "zone_length")
    others = ("page_idx", "null_count", "bloom_filter_data")
    return [at for at, name in enumerate(table.column_names) if name in (*names, *others)]


def _shrink(table: Table, chance: random.Random) -> Table:
    """Fewer rows than another file or a count says."""
    return table.slice(0, 0)


def _far_rows(table: Table, chance: random.Random) -> Table:
    """Row numbers that no fragment has."""
    at = [n for n, name in enumerate(table.column_names) if name in ("ids", "zone_start")]
    if not at:
        return _drop(table, chance)
    far = np.full(len(table), (1 << 31) + 5, np.uint64)
    return table.set_column(at[0], table.schema.field(at[0]), pa.array(far, pa.uint64()))


def _other_form(table: Table, chance: random.Random) -> Table:
    """Sets of rows in the form of other kinds."""
    return _each_set(table, lambda rows, _, is_tree: _stored(rows, not is_tree))


def _cut_sets(table: Table, chance: random.Random) -> Table:
    return _each_set(table, lambda _, blob, __: blob[: chance.randrange(len(blob))])


def _extend_sets(table: Table, chance: random.Random) -> Table:
    return _each_set(table, lambda _, blob, __: blob + b"\0")


def _any_sets(table: Table, chance: random.Random) -> Table:
    return _each_set(table, lambda _, blob, __: chance.randbytes(len(blob)))


def _far_sets(table: Table, chance: random.Random) -> Table:
    """Sets of addresses that no fragment has."""
    return _each_set(table, lambda rows, _, is_tree: _stored(_moved(rows), is_tree))


def _moved(rows: RowSet) -> RowSet:
    return RowSet.of(rows.numbers() + np.uint64(FAR_ROWS))


def _stored(rows: RowSet, is_tree: bool) -> bytes:
    return rows.to_tree_map() if is_tree else rows.to_treemap()


def _each_set(table: Table, change: Callable[[RowSet, bytes, bool], bytes]) -> Table:
    """``change`` gets a set, its bytes, and whether they are a ``RowAddrTreeMap``."""
    is_tree = "bitmaps" in table.column_names
    at = table.schema.get_field_index("bitmaps" if is_tree else "posting_list")
    read = RowSet.from_tree_map if is_tree else RowSet.from_treemap
    blobs = [change(read(blob), blob, is_tree) for blob in table.column(at).to_pylist()]
    return table.set_column(at, table.schema.field(at), pa.array(blobs, pa.binary()))


def _reverse(table: Table, chance: random.Random) -> Table:
    """The pages of a lookup in another order."""
    return table.take(pa.array(range(len(table) - 1, -1, -1)))


GENERAL = (_rename, _drop, _retype, _nullify)
SETS = (*GENERAL, _other_form, _cut_sets, _extend_sets, _any_sets)


def changes_of(layout: str, path: str, *, stable: bool, has_pages: bool) -> Sequence[Change]:
    """What can be noticed of the content of a file of an index of type ``layout``.

    ``has_pages``: a BTREE has several of them. Ids of rows that do not exist are those of deleted
    rows. A file without rows may be right, but not beside another file of a BTREE.
    """
    if layout in ("bitmap", "label_list", "ngram"):
        return SETS if stable else (*SETS, _far_sets)
    if layout != "btree":
        return (*GENERAL, _far_rows)
    several = (_reverse,) if has_pages and path.endswith("page_lookup.lance") else ()
    return (*GENERAL, _far_rows, _shrink, *several)
