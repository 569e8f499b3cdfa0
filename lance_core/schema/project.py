"""Prune schema fields by path or by id."""

from __future__ import annotations

from collections.abc import Sequence

from lance_core.schema.field import Field


def keep_ids(field: Field, ids: frozenset[int]) -> Field | None:
    """``field`` pruned to the wanted ids, their descendants and their ancestors.

    Fields keep their order. Returns None if no field is left.
    """
    if field.id in ids:
        return field
    children = tuple(part for child in field.children if (part := keep_ids(child, ids)) is not None)
    if not children:
        return None
    return (
        field
        if len(children) == len(field.children) and children == field.children
        else (field.with_children(children))
    )


def project_lineages(lineages: Sequence[Sequence[Field]]) -> tuple[Field, ...]:
    """Top-level fields pruned to the last field of each lineage (outermost field first).

    Top-level fields have the order of their first lineage, nested fields the schema's order.
    """
    ids = frozenset(lineage[-1].id for lineage in lineages)
    tops = {lineage[0].id: lineage[0] for lineage in lineages}
    pruned = (keep_ids(top, ids) for top in tops.values())
    return tuple(field for field in pruned if field is not None)


def without_ids(fields: Sequence[Field], unwanted: frozenset[int]) -> tuple[Field, ...]:
    """The fields without the unwanted ids; a parent that loses all children is removed too."""
    left = []
    for field in fields:
        if field.id in unwanted:
            continue
        children = without_ids(field.children, unwanted)
        if field.children and not children:
            continue
        left.append(field if children == field.children else field.with_children(children))
    return tuple(left)
