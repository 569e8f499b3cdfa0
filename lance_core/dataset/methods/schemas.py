"""The methods of `LanceDataset` that change columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.dataset.mixin_base import DatasetBase
from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.imports.on_demand import lazy_module

if TYPE_CHECKING:
    from lance_core.dataset.write.input import ReaderLike
    from lance_core.dataset.write.schema_evolution import add_columns as adding
    from lance_core.dataset.write.schema_evolution import alter_columns as altering
    from lance_core.dataset.write.schema_evolution import merge as merging
    from lance_core.dataset.write.schema_evolution import udf
else:
    _FOLDER = "lance_core.dataset.write.schema_evolution"
    adding = lazy_module(f"{_FOLDER}.add_columns")
    altering = lazy_module(f"{_FOLDER}.alter_columns")
    merging = lazy_module(f"{_FOLDER}.merge")
    udf = lazy_module(f"{_FOLDER}.udf")


@short_tracebacks
class SchemaMethods(DatasetBase):
    """Adds, changes and removes columns. Existing data files stay as they are."""

    def add_columns(
        self,
        transforms: Mapping[str, str]
        | udf.BatchUDF
        | ReaderLike
        | pa.Field
        | list[pa.Field]
        | pa.Schema,
        read_columns: list[str] | None = None,
        reader_schema: pa.Schema | None = None,
        batch_size: int | None = None,
    ) -> None:
        """Add columns, and move to the new version.

        ``transforms``: SQL expressions by name of the new column; a function of a record batch (see
        `lance_core.batch_udf`); rows with the new columns for all rows of the table, in its order
        (``reader_schema``: the schema of an iterable of batches); or fields, whose values are null
        and need no data files. A struct of the table gets the new members of a struct with the same
        name, if the file version is 2.2.
        ``read_columns``: the columns that a function gets, by default all; ``_rowid`` and
        ``_rowaddr`` are possible. ``batch_size``: maximum rows of a batch.

        Raises `SchemaMismatchError` for a column that exists or for another number of rows,
        `UserFunctionError` for a function that fails, `InvalidInputError` and
        `UnsupportedFeatureError` for an invalid expression, ``TypeError`` for other ``transforms``,
        and `CommitConflictError` if another writer has added rows or changed columns at the same
        time.
        """
        self._snapshot = adding.add_columns(
            self._snapshot, transforms, read_columns, reader_schema, batch_size
        )

    def alter_columns(self, *alterations: altering.AlterColumn) -> None:
        """Change names, nullability or types of columns, and move to the new version.

        Each alteration is a dict with the ``path`` of a field (``"s.x"`` inside a struct) and some
        of ``name``, ``nullable`` and ``data_type``. Another type writes new data files with the
        cast values. It must be of the same kind (integers, floats, text, binary, times, lists).

        Raises `InvalidInputError` and ``TypeError`` for an invalid dict, and `SchemaMismatchError`
        for an unknown field, a type or value that cannot be cast, a cast of a column that has an
        index, nulls in a column that must not be null, or a name that exists.
        """
        changes = list(map(altering.as_alteration, alterations))
        self._snapshot = altering.alter_columns(self._snapshot, changes)

    def drop_columns(self, columns: Sequence[str]) -> None:
        """Remove columns or members of structs (``"s.x"``), and move to the new version.

        Only the schema changes; a data file is removed from the table when all its columns are
        dropped. Raises `InvalidInputError` for an unknown column, and for all columns.
        """
        self._snapshot = altering.drop_columns(self._snapshot, columns)

    def merge(
        self,
        data_obj: ReaderLike,
        left_on: str,
        right_on: str | None = None,
        schema: pa.Schema | None = None,
    ) -> None:
        """Add the columns of ``data_obj`` by a left join, and move to the new version.

        Rows without a match in ``data_obj`` get null; of several matches the last one counts. All
        rows of ``data_obj`` must fit into memory. ``left_on``: the column of the table with the
        keys, or ``_rowid`` or ``_rowaddr``. ``right_on``: the column of ``data_obj`` with the keys,
        by default with the same name; it is not added.

        Raises `SchemaMismatchError` for unknown columns, columns that both sides have, keys of
        different types, or nulls that the file version or the schema does not allow.
        """
        reader = udf.as_reader(data_obj, schema)
        self._snapshot = merging.merge(self._snapshot, reader, left_on, right_on or left_on)
