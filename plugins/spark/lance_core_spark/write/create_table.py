"""`create_table`: write a data frame as a table, as ``CREATE TABLE … AS SELECT`` does."""

from __future__ import annotations

import os

from pyspark.sql import DataFrame

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.options import Secret, hint
from lance_core_spark.arrow_batches import limited_by_rows
from lance_core_spark.write.small_partitions import gathered

_MODES = {
    "error": ("append", "error"),
    "ignore": ("append", "ignore"),
    "append": ("append", "append"),
    "replace": ("overwrite", "append"),
}
"""Spark's mode and the option ``if_exists`` for each mode."""


def create_table(
    frame: DataFrame, uri: str | os.PathLike[str], *, mode: str = "error", **options: object
) -> None:
    """Write the rows of ``frame`` as the table at ``uri``, in one commit.

    ``mode``: what to do if the table exists: ``"error"``, ``"ignore"`` (write nothing),
    ``"append"``, or ``"replace"`` (new content and schema; older versions stay readable).
    ``options``: those of ``df.write.format("lance")``; True and False are written in lower case.
    Batches are limited by rows, see `limited_by_rows`, and few tasks write many small partitions,
    see `gathered`.

    Raises `InvalidInputError` for an unknown mode. Spark raises its own errors for those of the
    write, such as `DatasetExistsError`, with their text.
    """
    if mode not in _MODES:
        raise InvalidInputError(f"unknown mode {mode!r}{hint(str(mode), _MODES)}")
    if "if_exists" in options:
        raise InvalidInputError("'mode' and the option 'if_exists' cannot both be given")
    save_mode, if_exists = _MODES[mode]
    texts = {name: _text(value) for name, value in options.items() if value is not None}
    writer = gathered(frame).write.format("lance").mode(save_mode).options(**texts)
    with limited_by_rows(frame):
        writer.option("if_exists", if_exists).save(os.fspath(uri))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.reveal() if isinstance(value, Secret) else str(value)
