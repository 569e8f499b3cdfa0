"""For query engines that read and write tables in many processes, as the Spark plugin does.

One process plans and commits; others read the splits of a scan and write fragments.
`lance_core.fragment`, `lance_core.optimize` and `lance_core.indices` have the values that they
exchange. The functions here are the checks that the library makes itself before it starts a change:
with them, a planner refuses wrong arguments before it starts a job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lance_core.imports.on_demand import lazy_module

if TYPE_CHECKING:
    from lance_core.dataset import IndexConfig, LanceDataset
    from lance_core.dataset.expressions import filters
    from lance_core.dataset.expressions.filters import Filter
    from lance_core.dataset.maintenance.indices import create
    from lance_core.dataset.write import commit_context
    from lance_core.dataset.write.merge_insert import plan
    from lance_core.dataset.write.schema_evolution import add_columns
    from lance_core.schema import LanceSchema, evolution, lance_schema
else:
    # A process that only reads imports nothing that writes.
    add_columns = lazy_module("lance_core.dataset.write.schema_evolution.add_columns")
    commit_context = lazy_module("lance_core.dataset.write.commit_context")
    create = lazy_module("lance_core.dataset.maintenance.indices.create")
    evolution = lazy_module("lance_core.schema.evolution")
    filters = lazy_module("lance_core.dataset.expressions.filters")
    lance_schema = lazy_module("lance_core.schema.lance_schema")
    plan = lazy_module("lance_core.dataset.write.merge_insert.plan")

__all__ = [
    "added_schema",
    "as_filter",
    "can_cast",
    "check_new_index",
    "commit_properties",
    "key_columns",
    "trained_parameters",
]


def as_filter(condition: str, schema: pa.Schema) -> Filter:
    """The filter for SQL text about columns of ``schema``: ``mask(table)`` evaluates it.

    Its ``columns`` are the paths of the columns that it reads. Raises `InvalidExpressionError` for
    text that cannot be parsed, unknown columns and conditions that are not boolean, and
    `UnsupportedFeatureError` for SQL constructs that are not supported.
    """
    return filters.as_filter(condition, schema)


def can_cast(stored: pa.DataType, new: pa.DataType) -> bool:
    """True if `LanceDataset.alter_columns` can change a column of type ``stored`` to ``new``."""
    return evolution.can_cast(stored, new)


def commit_properties(
    properties: Mapping[str, str], is_committed: Callable[[Mapping[str, str]], bool] | None = None
) -> AbstractContextManager[None]:
    """A context whose commits, of this thread, have ``properties`` besides their own.

    For verbs without arguments for them, such as compactions and builds of indices. The ids that a
    compaction reserves before are a version without them. ``is_committed`` is called with the
    properties of each transaction that others have committed since the version that a change is
    based on; if it returns True, the change is not committed again: `AlreadyCommittedError`.

    Raises `InvalidInputError` unless names and values are ``str``.
    """
    return commit_context.commit_properties(properties, is_committed)


def key_columns(dataset: LanceDataset, on: str | Iterable[str] | None) -> tuple[str, ...]:
    """The key columns of a merge ``on`` names, or on the primary key of the table if it is None.

    A name may differ from the column's in case. Raises ``TypeError`` for other values, and
    `InvalidInputError` for unknown columns and without any key.
    """
    return plan.key_columns(dataset.snapshot.schema, on)


def added_schema(dataset: LanceDataset, columns: pa.Schema) -> LanceSchema:
    """The schema of `LanceOperation.Merge` for a table that gets the new ``columns``.

    The new fields have the next free ids, and types that files of the table's version can store.
    Raises `InvalidInputError` for columns that the table has, or that cannot be stored.
    """
    snapshot = dataset.snapshot
    added = add_columns.added_fields(snapshot, columns, snapshot.next_field_id)
    return lance_schema.LanceSchema(added.schema)


def check_new_index(
    dataset: LanceDataset,
    column: str | Sequence[str],
    index_type: str | IndexConfig,
    name: str | None = None,
    *,
    replace: bool = True,
    parameters: Mapping[str, Any] | None = None,
) -> tuple[str, str]:
    """The path of the column and the name of the index that these arguments would create.

    The arguments are those of `LanceDataset.create_scalar_index`, whose errors it raises; it reads
    no data file.
    """
    new = create.NewIndex(column, index_type, parameters or {}, name, replace)
    request, checked_name = create.check_new_index(dataset.snapshot, new)
    return request.path, checked_name


def trained_parameters(
    dataset: LanceDataset,
    column: str | Sequence[str],
    index_type: str | IndexConfig,
    parameters: Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    """Parameters with which processes build segments of one index, beside ``parameters``.

    Each process passes all of them to `LanceDataset.create_index_uncommitted`. They have what an
    index learns from its rows, such as the centroids of vectors, so that all segments have the
    same and can be merged without reading rows again. Rows from random places of the table are
    read, as many as the type needs; none for types that learn nothing.

    The arguments are those of `LanceDataset.create_scalar_index`, whose errors it raises, and
    `TooFewRowsError` of `lance_core.hookspecs.indices` if there are too few rows to learn from.
    """
    new = create.NewIndex(column, index_type, parameters or {})
    return create.trained_parameters(dataset.snapshot, new)
