"""All kinds, and how two writers' targets may lie to each other."""

from __future__ import annotations

import enum

from lance_core.table.transactions.operations import OperationKind
from tests.explore.pairs import row_kinds, table_kinds
from tests.explore.pairs.kinds import Kind, Target
from tests.explore.pairs.model import X, Y

KINDS = (
    Kind("append", OperationKind.APPEND, row_kinds.append),
    Kind("insert", OperationKind.UPDATE_ROWS, row_kinds.insert),
    Kind("delete", OperationKind.DELETE, row_kinds.delete),
    Kind("delete, rows unknown", OperationKind.DELETE, row_kinds.delete_unknown),
    Kind("delete a fragment", OperationKind.DELETE, row_kinds.delete_fragment),
    Kind("delete most rows", OperationKind.DELETE, row_kinds.delete_most),
    Kind("delete in two fragments", OperationKind.DELETE, row_kinds.delete_in_two),
    Kind("update rows", OperationKind.UPDATE_ROWS, row_kinds.update_rows),
    Kind("upsert", OperationKind.UPDATE_ROWS, row_kinds.upsert),
    Kind("update rows, unknown", OperationKind.UPDATE_ROWS, row_kinds.update_unknown),
    Kind("update most rows", OperationKind.UPDATE_ROWS, row_kinds.update_most),
    Kind("update a fragment", OperationKind.UPDATE_ROWS, row_kinds.update_fragment),
    Kind("update columns", OperationKind.UPDATE_COLUMNS, row_kinds.update_columns),
    Kind("replace data", OperationKind.DATA_REPLACEMENT, row_kinds.replace_data),
    Kind("overwrite", OperationKind.OVERWRITE, row_kinds.overwrite),
    Kind("rewrite", OperationKind.REWRITE, row_kinds.rewrite),
    Kind("create index", OperationKind.CREATE_INDEX, table_kinds.create_index),
    Kind("replace index", OperationKind.CREATE_INDEX, table_kinds.replace_index),
    Kind("add a segment", OperationKind.CREATE_INDEX, table_kinds.add_segment),
    Kind("drop index", OperationKind.CREATE_INDEX, table_kinds.drop_index),
    Kind("merge", OperationKind.MERGE, table_kinds.merge),
    Kind("merge, nullable", OperationKind.MERGE_SAFE, table_kinds.merge_safe),
    Kind("require a column", OperationKind.PROJECT, table_kinds.require),
    Kind("rename a column", OperationKind.PROJECT_SAFE, table_kinds.rename),
    Kind("drop a column", OperationKind.PROJECT_SAFE, table_kinds.drop_column),
    Kind("drop a column with its files", OperationKind.PROJECT_SAFE, table_kinds.drop_file),
    Kind("restore", OperationKind.RESTORE, table_kinds.restore),
    Kind("reserve", OperationKind.RESERVE_FRAGMENTS, table_kinds.reserve),
    Kind("configure", OperationKind.UPDATE_CONFIG, table_kinds.configure),
    Kind("describe the schema", OperationKind.UPDATE_METADATA, table_kinds.describe_schema),
    Kind("describe a field", OperationKind.UPDATE_METADATA, table_kinds.describe_field),
    Kind("add a base", OperationKind.UPDATE_BASES, table_kinds.add_base),
)

BY_NAME = {kind.name: kind for kind in KINDS}


class Place(enum.Enum):
    """Where the second writer's rows are, seen from the first one's."""

    DISJOINT = "disjoint"
    SAME_FRAGMENT = "same fragment"
    SAME_ROWS = "same rows"


def first_target() -> Target:
    """The first writer's. Its partner is never another writer's fragment."""
    return Target(1, 0, (1, 2), X, "a", 1)


def second_target(place: Place, same_names: bool) -> Target:
    """Another writer's; ``same_names``: it has the same column and names in view."""
    column, key = (X, "a") if same_names else (Y, "b")
    if place is Place.DISJOINT:
        return Target(2, 3, (1, 2), column, key, 2)
    return Target(1, 0, (4, 5) if place is Place.SAME_FRAGMENT else (2, 3), column, key, 2)
