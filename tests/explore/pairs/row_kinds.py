"""Operations that bring, change, move and remove rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from pyroaring import BitMap

from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.row_ids.row_versions import RowVersions
from lance_core.table.row_ids.u64_segment import Ranges
from lance_core.table.transactions.operations import (
    Append,
    DataReplacement,
    DataReplacementGroup,
    Delete,
    ExactKeys,
    KeyExistenceFilter,
    Overwrite,
    Rewrite,
    RewriteGroup,
    RewrittenIndex,
    Update,
    UpdateMode,
)
from tests.explore.pairs.base import BASE_INDEX, ROWS, SCHEMA, with_file
from tests.explore.pairs.footprint import Footprint
from tests.explore.pairs.kinds import Parts, Site
from tests.explore.pairs.model import ID, Cell, Column, Model, Row, X, Y, Z
from tests.explore.pairs.shelf import Address

_COLUMNS = (ID, X, Y, Z)


def _new_rows(site: Site, names: Iterable[str]) -> tuple[dict[int, list[Cell]], dict[str, Row]]:
    """Columns and rows of new rows, which know nothing of `Z`."""
    identities = list(names)
    columns: dict[int, list[Cell]] = {
        ID: list(identities),
        X: [f"{site.desk.name}:x:{name}" for name in identities],
        Y: [f"{site.desk.name}:y:{name}" for name in identities],
    }
    rows = {n: {c: columns[c][i] for c in columns} for i, n in enumerate(identities)}
    return columns, rows


def append(site: Site) -> Parts:
    """Two new rows."""
    columns, rows = _new_rows(site, [f"{site.desk.name}.{i}" for i in range(2)])
    made = site.desk.new_fragment(columns)
    stored = frozenset(field for file in made.files for field in file.fields)
    footprint = Footprint(stored=stored)
    return Parts(Append((made,)), lambda model: model.with_rows(rows), footprint)


def _key_filter(key: str) -> KeyExistenceFilter:
    number = int.from_bytes(key.encode(), "big")
    return KeyExistenceFilter((ID,), ExactKeys((number % (1 << 64),)))


def insert(site: Site) -> Parts:
    """A row that comes because nobody has its key."""
    key = f"key-{site.target.key}"
    columns, rows = _new_rows(site, [key])
    made = site.desk.new_fragment(columns)
    operation = Update((), (), (made,), inserted_rows=_key_filter(key), affected_rows={})
    keys = frozenset({key})
    footprint = Footprint(keys=keys, knows_rows=True, writes=frozenset((k, ID) for k in keys))
    return Parts(operation, lambda model: model.with_rows(rows), footprint)


def _deleting(site: Site, offsets: Iterable[int]) -> tuple[Fragment, list[str]]:
    """The target's fragment without the rows at ``offsets``, and which rows these are."""
    base, number = site.base, site.target.fragment
    gone = list(offsets)
    dead = set(range(ROWS)) - set(base.live(number))
    made = site.desk.deletion_file(base.fragment(number), base.version, {*dead, *gone})
    return made, base.identities(number, gone)


def _row_footprint(site: Site, rows: Iterable[str], knows_rows: bool = True) -> Footprint:
    """Of an operation by which rows go."""
    touched = frozenset(rows)
    return Footprint(
        fragments=frozenset({site.target.fragment}),
        rows=touched,
        knows_rows=knows_rows,
        deletes=touched,
    )


def _cells(site: Site, rows: Iterable[str]) -> frozenset[tuple[str, int]]:
    """The values of the target's column in some rows."""
    return frozenset((identity, site.target.column) for identity in rows)


def _offsets(site: Site, offsets: Iterable[int]) -> dict[int, np.ndarray]:
    return {site.target.fragment: np.array(list(offsets), dtype=np.uint32)}


def delete(site: Site) -> Parts:
    """Two rows go."""
    made, rows = _deleting(site, site.target.offsets)
    operation = Delete((made,), (), "", affected_rows=_offsets(site, site.target.offsets))
    return Parts(operation, lambda m: m.without_rows(rows), _row_footprint(site, rows))


def _most(site: Site) -> list[int]:
    """All rows of the fragment but those that another writer aims at, so that nothing is left."""
    others = {4, 5} if site.target.offsets[0] == 1 else {1, 2}
    return [offset for offset in site.base.live(site.target.fragment) if offset not in others]


def delete_most(site: Site) -> Parts:
    """All rows of a fragment but two go."""
    made, rows = _deleting(site, _most(site))
    operation = Delete((made,), (), "", affected_rows=_offsets(site, _most(site)))
    return Parts(operation, lambda m: m.without_rows(rows), _row_footprint(site, rows))


def delete_in_two(site: Site) -> Parts:
    """Two rows of a fragment go, and all rows of another."""
    parts = delete(site)
    partner = site.target.partner
    live = site.base.live(partner)
    others = site.base.identities(partner, live)
    operation = parts.operation
    assert isinstance(operation, Delete)
    offsets = {**(operation.affected_rows or {}), partner: np.array(live, dtype=np.uint32)}
    both = parts.footprint.rows | frozenset(others)
    footprint = replace(
        parts.footprint,
        fragments=parts.footprint.fragments | {partner},
        dropped=frozenset({partner}),
        rows=both,
        deletes=both,
    )
    return Parts(
        replace(operation, deleted_fragment_ids=(partner,), affected_rows=offsets),
        lambda model: parts.effect(model).without_rows(others),
        footprint,
    )


def delete_unknown(site: Site) -> Parts:
    """Two rows go, and the committer is not told which."""
    made, rows = _deleting(site, site.target.offsets)
    footprint = _row_footprint(site, rows, knows_rows=False)
    return Parts(Delete((made,), (), ""), lambda m: m.without_rows(rows), footprint)


def delete_fragment(site: Site) -> Parts:
    """All rows of a fragment go."""
    number = site.target.fragment
    live = site.base.live(number)
    rows = site.base.identities(number, live)
    operation = Delete((), (number,), "", affected_rows=_offsets(site, live))
    footprint = replace(_row_footprint(site, rows), dropped=frozenset({number}))
    return Parts(operation, lambda m: m.without_rows(rows), footprint)


def _sequence(ids: Iterable[int]) -> bytes:
    return RowIdSequence.of([Ranges.of([(i, i + 1) for i in ids])]).to_bytes()


def _moved(site: Site, offsets: list[int]) -> tuple[Fragment, dict[str, Cell]]:
    """A new fragment with rows of the target's, and new values of its column."""
    base, target = site.base, site.target
    columns = {c: [base.values(target.fragment, c)[i] for i in offsets] for c in _COLUMNS}
    columns[target.column] = [f"{site.desk.name}:{identity}" for identity in columns[ID]]
    made = site.desk.new_fragment(columns)
    if base.stable:
        made = replace(made, row_ids=_sequence(base.row_ids(target.fragment, offsets)))
    return made, {str(i): v for i, v in zip(columns[ID], columns[target.column], strict=True)}


def _update(site: Site, offsets: list[int], knows_rows: bool = True) -> Parts:
    number, column = site.target.fragment, site.target.column
    made, values = _moved(site, offsets)
    is_all = offsets == site.base.live(number)
    left = () if is_all else (_deleting(site, offsets)[0],)
    operation = Update(
        (number,) if is_all else (),
        left,
        (made,),
        fields_for_preserving_frag_bitmap=(column,),
        affected_rows=_offsets(site, offsets) if knows_rows else None,
    )
    footprint = replace(
        _row_footprint(site, values, knows_rows), deletes=frozenset(), writes=_cells(site, values)
    )
    return Parts(operation, lambda m: m.with_values(column, values), footprint)


def update_rows(site: Site) -> Parts:
    """Two rows get new values and move."""
    return _update(site, list(site.target.offsets))


def upsert(site: Site) -> Parts:
    """Two rows get new values and move, and a row comes because nobody has its key."""
    parts = update_rows(site)
    operation = parts.operation
    assert isinstance(operation, Update)
    key = f"key-{site.target.key}"
    (moved,) = operation.new_fragments
    old = site.desk.shelf.files.pop(moved.files[0].path)
    columns, rows = _new_rows(site, [key])
    joined = {c: [*values, *columns.get(c, [None])] for c, values in old.items()}
    made = replace(site.desk.new_fragment(joined), row_ids=moved.row_ids)
    operation = replace(operation, new_fragments=(made,), inserted_rows=_key_filter(key))
    keys = frozenset({key})
    writes = parts.footprint.writes | {(key, ID)}
    return Parts(
        operation,
        lambda model: parts.effect(model).with_rows(rows),
        replace(parts.footprint, keys=keys, writes=writes),
    )


def update_most(site: Site) -> Parts:
    """All rows of a fragment but two get new values and move."""
    return _update(site, _most(site))


def update_unknown(site: Site) -> Parts:
    """Two rows get new values and move, and the committer is not told which."""
    return _update(site, list(site.target.offsets), knows_rows=False)


def update_fragment(site: Site) -> Parts:
    """All rows of a fragment get new values and move."""
    return _update(site, site.base.live(site.target.fragment))


def _replaced_column(site: Site, offsets: Iterable[int]) -> tuple[DataFile, dict[str, Cell]]:
    """A file with the column for all physical rows, new values in those at ``offsets``."""
    base, target = site.base, site.target
    values = base.values(target.fragment, target.column)
    for offset in offsets:
        values[offset] = f"{site.desk.name}:{offset}"
    identities = base.identities(target.fragment, offsets)
    changed = {i: values[offset] for i, offset in zip(identities, offsets, strict=True)}
    return site.desk.data_file({target.column: values}), changed


def update_columns(site: Site) -> Parts:
    """Two rows get new values where they are."""
    target = site.target
    file, values = _replaced_column(site, target.offsets)
    operation = Update(
        (),
        (with_file(site.base.fragment(target.fragment), file),),
        (),
        fields_modified=(target.column,),
        update_mode=UpdateMode.REWRITE_COLUMNS,
        updated_fragment_offsets={target.fragment: BitMap(target.offsets).serialize()},
    )
    footprint = Footprint(
        fragments=frozenset({target.fragment}),
        replaced=frozenset({target.column}),
        rows=frozenset(values),
        writes=_cells(site, values),
    )
    return Parts(operation, lambda m: m.with_values(target.column, values), footprint)


def replace_data(site: Site) -> Parts:
    """All rows of a fragment get new values where they are."""
    target = site.target
    file, values = _replaced_column(site, site.base.live(target.fragment))
    operation = DataReplacement((DataReplacementGroup(target.fragment, file),))
    footprint = Footprint(
        fragments=frozenset({target.fragment}),
        replaced=frozenset({target.column}),
        cells=frozenset({(target.fragment, target.column)}),
        writes=_cells(site, values),
    )
    return Parts(
        operation,
        lambda m: m.with_values(target.column, values),
        footprint,
        fits=lambda m: target.column in m.columns,
        all_updated=True,
    )


def overwrite(site: Site) -> Parts:
    """Other rows instead of all."""
    columns, rows = _new_rows(site, [f"{site.desk.name}.{i}" for i in range(2)])
    made = site.desk.new_fragment(columns)
    metadata = {"of": site.desk.name}

    def effect(model: Model) -> Model:
        empty = replace(
            model,
            columns={f.id: Column(f.name, not f.nullable) for f in SCHEMA.fields},
            rows={},
            indices={},
            schema_metadata=metadata,
        )
        return empty.with_rows(rows)

    operation = Overwrite((made,), replace(SCHEMA, metadata=metadata))
    return Parts(operation, effect, Footprint(), is_blind=True)


def rewrite(site: Site) -> Parts:
    """The rows of two fragments are stored as one; the index learns where, if it has to."""
    base, target = site.base, site.target
    old = tuple(sorted((target.fragment, target.partner)))
    places = [(number, offset) for number in old for offset in base.live(number)]
    columns = {c: [base.values(number, c)[i] for number, i in places] for c in _COLUMNS}
    made = site.desk.new_fragment(columns)
    rewritten: tuple[RewrittenIndex, ...] = ()
    if base.stable:
        ids = [base.row_ids(number, [i])[0] for number, i in places]
        first = RowVersions.uniform(len(places), 1).to_bytes()
        made = replace(
            made,
            row_ids=_sequence(ids),
            created_at_versions=first,
            last_updated_at_versions=first,
        )
    else:
        made = replace(made, id=3 + target.number)  # one of those that the base has reserved
        moved = {place: (made.id, row) for row, place in enumerate(places)}
        known = base.shelf.indices[BASE_INDEX]
        values: dict[Address, Cell] = {
            moved.get(place, place): found[0] for place, found in known.items()
        }
        index = site.desk.index("base", X, (), values)
        rewritten = (RewrittenIndex(BASE_INDEX, index.uuid),)
    parts = tuple(base.fragment(number) for number in old)
    operation = Rewrite((RewriteGroup(parts, (made,)),), rewritten)
    footprint = Footprint(
        fragments=frozenset(old),
        moved=frozenset(old),
        rows=frozenset(str(identity) for identity in columns[ID]),
        rewritten=frozenset({"base"} if rewritten else ()),
    )
    return Parts(operation, lambda model: model, footprint)
