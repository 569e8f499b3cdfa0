"""Verbs that add, change and remove columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import types as st

from lance_core.dataset import AlterColumn
from lance_core.errors import InvalidInputError, InvalidTypeError
from lance_core.hookspecs.options import hint
from lance_core_spark.table.add_columns import add_columns
from lance_core_spark.table.expressions import Expression
from lance_core_spark.table.verbs.base import TableVerbs
from lance_core_spark.types.stored_fields import stored_field

_CHANGES = ("name", "type", "nullable")


class ColumnVerbs(TableVerbs):
    """Each verb is one version."""

    def addColumns(self, values: Mapping[str, Expression]) -> None:  # noqa: N802
        """Add columns with computed values, and commit them as one version.

        ``values`` maps names of new columns to SQL of Spark or to columns, such as the results of
        ``arrow_udf``. The new columns can be null. Tasks of Spark write one new file for each
        fragment, existing files stay as they are.

        Raises `SchemaMismatchError` for a column that the table has, `InvalidInputError` for
        expressions that Spark cannot resolve, `RetryableCommitConflictError` if another writer has
        changed the table in the meantime; then nothing is added.
        """
        add_columns(self._target, values)

    def alterColumns(  # noqa: N802
        self, changes: Mapping[str, Mapping[str, str | bool | st.DataType]]
    ) -> None:
        """Rename columns, let them be null or not, or change their types, in one version.

        ``changes`` maps columns, or members of structs by path, to a mapping with some of ``name``,
        ``nullable`` and ``type`` (a type of Spark, or its SQL), such as
        ``{"price": {"type": "decimal(20,2)"}, "nick": {"name": "alias"}}``. The driver writes the
        values of another type; other changes write no data.

        Raises `InvalidInputError` for other keys, `UnsupportedFeatureError` for types that are not
        stored, and the errors of `LanceDataset.alter_columns`.
        """
        if not isinstance(changes, Mapping) or not changes:
            raise InvalidInputError("alterColumns needs columns and what to change of them")
        alterations = [_alteration(path, change) for path, change in changes.items()]

        def alter() -> None:
            self._target.table.open().alter_columns(*alterations)

        shown = {path: dict(change) for path, change in changes.items()}
        self._target.commit_once("alter columns", alter, _nothing, {"columns": shown})

    def dropColumns(self, columns: Sequence[str]) -> None:  # noqa: N802
        """Remove columns, or members of structs by path, in one version; writes no data.

        Raises the errors of `LanceDataset.drop_columns`.
        """

        def drop() -> None:
            self._target.table.open().drop_columns(columns)

        self._target.commit_once("drop columns", drop, _nothing, {"columns": list(columns)})


def _nothing() -> None:
    """What remains to be done if a version has a change already."""


def _alteration(path: str, change: object) -> AlterColumn:
    if not isinstance(change, Mapping):
        raise InvalidTypeError(f"alterColumns: what to change of {path!r} is a mapping")
    made: AlterColumn = {"path": path}
    for key, value in change.items():
        if key == "name":
            made["name"] = value
        elif key == "nullable":
            made["nullable"] = value
        elif key == "type":
            made["data_type"] = _arrow_type(path, value)
        else:
            raise InvalidInputError(
                f"alterColumns: unknown key {key!r}{hint(str(key), _CHANGES)}; there are "
                f"{', '.join(_CHANGES)}"
            )
    return made


def _arrow_type(path: str, spark: object) -> pa.DataType:
    if isinstance(spark, str):
        spark = st.DataType.fromDDL(spark)
    if not isinstance(spark, st.DataType):
        raise InvalidTypeError(f"alterColumns: the type of {path!r} is a type of Spark or its SQL")
    return stored_field(st.StructField(path, spark)).type
