"""DataFusion, an optional query engine: expressions that our SQL does not support, and queries.

This is the only module that imports DataFusion's package.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa

from lance_core.dataset.expressions.combine_chunks import with_few_chunks
from lance_core.errors import (
    InvalidInputError,
    LanceError,
    ResultTooLargeError,
    UnsupportedFeatureError,
)
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.empty_arrays import empty_table

INSTALL = 'pip install "lance-core[datafusion]"'
"""The command that installs the engine."""

_OPTIONS = {
    # Names in backticks, text in quotes of both kinds, as in our SQL; names keep their case.
    "datafusion.sql_parser.dialect": "databricks",
    "datafusion.sql_parser.enable_ident_normalization": "false",
    # The rows of an expression keep their order.
    "datafusion.execution.target_partitions": "1",
}
_TABLE, _VALUE, _ROWS = "t", "value", "__rows"


def engine() -> Any:
    """The module `datafusion`, None if it is not installed."""
    try:
        import datafusion
    except ImportError:
        return None
    return datafusion


@dataclass(frozen=True, slots=True)
class EngineExpression:
    """An SQL expression that DataFusion evaluates; see `filters.RowExpression`."""

    text: str
    type: pa.DataType
    columns: tuple[tuple[str, ...], ...]
    nullable: ClassVar = True
    metadata: ClassVar = None
    path: ClassVar = None
    node: ClassVar = None

    def evaluate(self, data: pa.Table) -> pa.ChunkedArray:
        names = list(dict.fromkeys(path[0] for path in self.columns))
        with engine_errors(f"cannot evaluate {self.text!r}"):
            batches = _selected(self.text, with_few_chunks(data.select(names))).collect()
        return pa.chunked_array([batch.column(0) for batch in batches], self.type)


def engine_expression(
    text: str, schema: pa.Schema, reason: UnsupportedFeatureError
) -> EngineExpression:
    """``text`` as an expression of DataFusion.

    ``reason``: the error of our SQL. Raises `UnsupportedFeatureError` with its text if DataFusion
    is not installed or does not support it either.
    """
    if isinstance(reason, ResultTooLargeError):
        raise reason
    if engine() is None:
        raise UnsupportedFeatureError(f"{reason}; DataFusion supports more: {INSTALL}") from reason
    # Only a column whose name is in the text can be needed.
    names = [name for name in schema.names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    sample = empty_table(pa.schema([schema.field(name) for name in names]))
    try:
        frame = _selected(text, sample)
        kind = frame.schema().field(0).type
        steps = frame.logical_plan().display_indent().split("\n")
        if [step.split(":")[0].strip() for step in steps] != ["Projection", "TableScan"]:
            raise UnsupportedFeatureError(str(reason))
        frame.collect()
    except UnsupportedFeatureError:
        raise  # it does not have one value for each row
    except Exception as error:  # the engine has no class of its own errors
        first = str(error).split("\n", maxsplit=1)[0]
        raise UnsupportedFeatureError(f"{reason}; DataFusion: {first}") from error
    return EngineExpression(text, kind, tuple((name,) for name in names))


def _selected(text: str, data: pa.Table) -> Any:
    """The data frame with the value of ``text`` for each row of ``data``."""
    context = session(_OPTIONS)
    if not data.num_columns:
        data = pa.table({_ROWS: pa.nulls(data.num_rows)})
    batches = data.to_batches() or [pa.RecordBatch.from_pylist([], schema=data.schema)]
    context.register_record_batches(_TABLE, [batches])
    frame = context.table(_TABLE)
    return frame.select(frame.parse_sql_expr(text).alias(_VALUE))


def session(options: dict[str, str]) -> Any:
    """A new session of DataFusion."""
    found = engine()
    config = found.SessionConfig()
    for name, value in options.items():
        config = config.set(name, value)
    return found.SessionContext(config)


@contextlib.contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Translate errors of the engine to `InvalidInputError`; ours stay."""
    try:
        yield
    except (LanceError, KeyboardInterrupt):
        raise
    except Exception as error:  # as above
        raise InvalidInputError(f"{what}: {error}") from error
