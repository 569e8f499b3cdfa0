"""Operations that change columns, indices, settings and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lance_core.schema import Schema
from lance_core.table.indices.index_metadata import IndexMetadata, parse_index_section
from lance_core.table.manifest_parts import BasePath
from lance_core.table.transactions.operations import (
    CreateIndex,
    Merge,
    Project,
    ReserveFragments,
    Restore,
    UpdateBases,
    UpdateConfig,
    UpdateMap,
)
from tests.explore.pairs.base import BASE_INDEX, FRAGMENTS, ROWS, SCHEMA, WIDE, with_file
from tests.explore.pairs.footprint import Footprint
from tests.explore.pairs.kinds import Parts, Site
from tests.explore.pairs.model import NEW, Cell, Column, Model, X, Z
from tests.explore.pairs.shelf import Address

_EVERYTHING = frozenset(range(FRAGMENTS))
_BASE = frozenset({"base"})


def _projecting(schema: Schema) -> Footprint:
    return Footprint(described=frozenset(schema.field_ids), writes=frozenset({"columns"}))


def _index(site: Site, name: str, column: int, fragments: frozenset[int]) -> IndexMetadata:
    base = site.base
    known: dict[Address, Cell] = {
        base.address(number, offset): base.values(number, column)[offset]
        for number in fragments
        for offset in base.live(number)
    }
    made = site.desk.index(name, column, fragments, known)
    return replace(made, dataset_version=base.version)


def create_index(site: Site) -> Parts:
    """An index over a column of two fragments."""
    target = site.target
    name = f"index-{target.key}"
    covered = frozenset({target.fragment, target.partner})
    index = _index(site, name, target.column, covered)
    footprint = Footprint(
        covered=covered, indexed=frozenset({target.column}), index_names=frozenset({name})
    )

    def effect(model: Model) -> Model:
        return replace(model, indices={**model.indices, name: (target.column,)})

    return Parts(
        CreateIndex((index,)), effect, footprint, fits=lambda m: target.column in m.columns
    )


def replace_index(site: Site) -> Parts:
    """The index of the base is made anew."""
    index = _index(site, "base", X, _EVERYTHING)
    old = next(i for i in _indices(site) if i.uuid == BASE_INDEX)
    footprint = Footprint(
        covered=_EVERYTHING, indexed=frozenset({X}), index_names=_BASE, removed=_BASE
    )

    def effect(model: Model) -> Model:
        return replace(model, indices={**model.indices, "base": (X,)})

    return Parts(CreateIndex((index,), (old,)), effect, footprint, fits=lambda m: X in m.columns)


def add_segment(site: Site) -> Parts:
    """The index of the base gets another segment, over two fragments."""
    covered = frozenset({site.target.fragment, site.target.partner})
    index = _index(site, "base", X, covered)
    footprint = Footprint(covered=covered, indexed=frozenset({X}), index_names=_BASE)

    def effect(model: Model) -> Model:
        return replace(model, indices={**model.indices, "base": (X,)})

    return Parts(CreateIndex((index,)), effect, footprint, fits=lambda m: X in m.columns)


def drop_index(site: Site) -> Parts:
    """The index of the base goes."""
    old = next(i for i in _indices(site) if i.uuid == BASE_INDEX)

    def effect(model: Model) -> Model:
        left = {name: over for name, over in model.indices.items() if name != "base"}
        return replace(model, indices=left)

    footprint = Footprint(index_names=_BASE, removed=_BASE)
    return Parts(CreateIndex((), (old,)), effect, footprint)


def _indices(site: Site) -> tuple[IndexMetadata, ...]:
    return parse_index_section(site.base.newest.file.index_section)


def _merge(site: Site, is_safe: bool) -> Parts:
    base = site.base
    name = f"new-{site.target.key}"
    added = replace(WIDE.fields[NEW], name=name, nullable=is_safe)
    schema = replace(SCHEMA, fields=(*SCHEMA.fields, added))
    values: dict[str, Cell] = {}
    parts = []
    for number in range(FRAGMENTS):
        cells: list[Cell] = [f"{site.desk.name}:{number}.{i}" for i in range(ROWS)]
        values.update(zip(base.identities(number, range(ROWS)), cells, strict=True))
        file = site.desk.data_file({NEW: cells}, f"-{number}")
        parts.append(with_file(base.fragment(number), file))
    column = Column(name, not is_safe)
    return Parts(
        Merge(tuple(parts), schema, is_safe),
        lambda m: m.with_column(NEW, column, values),
        Footprint(
            fragments=_EVERYTHING,
            writes=frozenset({"columns"}),
            schema=frozenset(schema.field_ids),
        ),
        all_updated=True,
    )


def merge(site: Site) -> Parts:
    """A column comes that has a value in every row."""
    return _merge(site, is_safe=False)


def merge_safe(site: Site) -> Parts:
    """A column comes that may be null."""
    return _merge(site, is_safe=True)


def require(site: Site) -> Parts:
    """Column `Z` may not be null any more."""
    fields = tuple(replace(f, nullable=f.nullable and f.id != Z) for f in SCHEMA.fields)
    schema = Schema(fields)
    return Parts(
        Project(schema),
        lambda m: m.with_column_as(Z, lambda column: replace(column, required=True)),
        _projecting(schema),
    )


def rename(site: Site) -> Parts:
    """A column gets another name."""
    number, name = site.target.column, f"named-{site.target.key}"
    fields = tuple(replace(f, name=name) if f.id == number else f for f in SCHEMA.fields)
    schema = Schema(fields)
    return Parts(
        Project(schema, preserves_nullability=True),
        lambda m: m.with_column_as(number, lambda column: replace(column, name=name)),
        _projecting(schema),
    )


def drop_column(site: Site) -> Parts:
    """A column goes, and stays in its files, which hold others, too."""
    return _without(site.target.column)


def drop_file(site: Site) -> Parts:
    """A column goes with its files."""
    return _without(Z)


def _without(number: int) -> Parts:
    schema = Schema(tuple(field for field in SCHEMA.fields if field.id != number))
    return Parts(
        Project(schema, preserves_nullability=True),
        lambda m: m.without_column(number),
        _projecting(schema),
    )


def restore(site: Site) -> Parts:
    """An old version comes back."""
    version = 1 + site.target.number
    old = site.base.history[version].model
    return Parts(Restore(version), lambda _: old, Footprint(), is_blind=True)


def reserve(site: Site) -> Parts:
    """Two fragment ids are taken."""
    return Parts(ReserveFragments(2), lambda model: model, Footprint())


def configure(site: Site) -> Parts:
    """A key of the config and one of the table's metadata get values."""
    new = {f"key-{site.target.key}": site.desk.name}
    keys = frozenset(new)

    def effect(model: Model) -> Model:
        config = {**model.config, **new}
        return replace(model, config=config, table_metadata={**model.table_metadata, **new})

    operation = UpdateConfig(UpdateMap(_updates(new)), UpdateMap(_updates(new)))
    footprint = Footprint(settings=keys, writes=frozenset({("config", key) for key in keys}))
    return Parts(operation, effect, footprint)


def describe_schema(site: Site) -> Parts:
    """A key of the schema's metadata gets a value."""
    new = {f"key-{site.target.key}": site.desk.name}
    footprint = Footprint(
        metadata=frozenset({"schema"}), writes=frozenset({("schema", key) for key in new})
    )
    return Parts(
        UpdateConfig(schema_metadata=UpdateMap(_updates(new))),
        lambda m: replace(m, schema_metadata={**m.schema_metadata, **new}),
        footprint,
    )


def describe_field(site: Site) -> Parts:
    """A key of a field's metadata gets a value."""
    number = site.target.column
    new = {f"key-{site.target.key}": site.desk.name}
    footprint = Footprint(
        metadata=frozenset({number}), writes=frozenset({("field", number, key) for key in new})
    )

    def described(column: Column) -> Column:
        return replace(column, metadata={**column.metadata, **new})

    return Parts(
        UpdateConfig(field_metadata={number: UpdateMap(_updates(new))}),
        lambda m: m.with_column_as(number, described),
        footprint,
        fits=lambda m: number in m.columns,
    )


def _updates(new: Mapping[str, str]) -> dict[str, str | None]:
    return dict(new)


def add_base(site: Site) -> Parts:
    """A base path comes."""
    name, path = f"base-{site.target.key}", f"/elsewhere/{site.target.key}"

    def effect(model: Model) -> Model:
        return replace(model, bases=model.bases | {(name, path)})

    operation = UpdateBases((BasePath(0, path, name=name),))
    return Parts(operation, effect, Footprint(bases=frozenset({name})))
