"""Delete and update the rows of a table that satisfy a condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

import lance_core
from lance_core.fragment import RowChangeCommit
from lance_core_spark.table.change_task import ACTION, ADDRESS, PLACE
from lance_core_spark.table.expressions import (
    Expression,
    analysed,
    as_column,
    assigned,
    checked_assignments,
    mentioned,
    quoted,
    resolve_paths,
)
from lance_core_spark.table.target import (
    Changes,
    Target,
    column_types,
    fragment_of,
    readable_columns,
)


def delete(target: Target, condition: Expression) -> int:
    """Delete the rows for which ``condition`` is true, and return their number."""
    condition_column = as_column(condition, "the condition")
    text = condition if isinstance(condition, str) else str(condition)

    def plan(version: lance_core.LanceDataset) -> Changes:
        names = readable_columns(version.schema)
        frame = target.load(mentioned(names, [condition]), version.version)
        rows = _chosen(frame, condition_column, names)
        return Changes(rows.select(*_keys()), (None,))

    counts = target.change(target.table.open(), plan, RowChangeCommit("delete", text))
    return counts["num_deleted_rows"]


def update(target: Target, condition: Expression | None, values: Mapping[str, Expression]) -> int:
    """Set columns to ``values`` where ``condition`` is true; return the number of rows."""
    condition_column = None if condition is None else as_column(condition, "the condition")
    checked = checked_assignments(values, "set")
    assignments = {name: as_column(value, "set") for name, value in checked.items()}

    def plan(version: lance_core.LanceDataset) -> Changes:
        names = readable_columns(version.schema)
        types = column_types(version.schema)
        resolved = resolve_paths(assignments, types, target.alias, "set")
        texts = [*values.values(), *([] if condition is None else [condition])]
        nested = {path[0] for path in resolved if len(path) > 1}
        needed = {*mentioned(names, texts), *nested}
        frame = target.load([name for name in names if name in needed], version.version)
        new = {path: assignments[name] for path, name in resolved.items()}
        cast = assigned(frame, new, types, "set", frame)
        rows = frame if condition_column is None else _chosen(frame, condition_column, names)
        columns = [value.alias(name) for name, value in cast.items()]
        return Changes(rows.select(*_keys(), *columns), (frozenset(cast),), tuple(cast))

    dataset = target.table.open()
    types = column_types(dataset.schema)
    paths = resolve_paths(assignments, types, target.alias, "set")
    how = RowChangeCommit("update", modified=tuple({path[0]: None for path in paths}))
    parameters = {"set": ", ".join(f"{name} = {value}" for name, value in checked.items())}
    if condition is not None:
        parameters["predicate"] = str(condition)
    return target.change(dataset, plan, how, **parameters)["num_updated_rows"]


def _chosen(frame: DataFrame, condition: Column, names: Sequence[str]) -> DataFrame:
    with analysed("the condition", names):
        rows = frame.where(condition)
        _ = rows.schema  # Spark Connect resolves columns only now.
    return rows


def _keys() -> list[Column]:
    address = sf.col(quoted(ADDRESS))
    return [address, sf.lit(0).alias(ACTION), fragment_of(address).alias(PLACE)]
