"""A `pyarrow.compute.Expression` over the columns of a table, evaluated by Arrow.

Arrow does not list the columns that an expression uses, so this module finds them in two steps.
The expression's text contains all names, so columns whose name is not in it are dropped. Then the
expression is bound to an empty table without one of the rest: if this works, that column is
dropped too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.evaluate import arrow_errors
from lance_core.encodings.arrow.combine_chunks import with_few_chunks
from lance_core.errors import InvalidInputError
from lance_core.imports.on_demand import lazy_module
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.empty_arrays import empty_table

if TYPE_CHECKING:
    from lance_core.dataset.expressions import arrow_nodes
    from lance_core.dataset.expressions.sql.nodes.node import Node
else:
    arrow_nodes = lazy_module("lance_core.dataset.expressions.arrow_nodes")

Path = tuple[str, ...]

_MAX_TRIALS = 32
"""Maximum number of columns that are tested for being needed; each test binds the expression."""
_NESTED = re.compile(r"FieldRef\.Nested\(((?: ?FieldRef\.Name\([^()]*\))+)\)")
_NAME = re.compile(r"FieldRef\.Name\(([^()]*)\)")


@dataclass(frozen=True, slots=True)
class ArrowExpression:
    """An Arrow expression over ``schema``, and paths of all columns that it needs, perhaps more.

    ``columns`` are in the order of the table's top-level columns.
    """

    expression: pc.Expression
    type: pa.DataType
    columns: tuple[Path, ...]
    schema: pa.Schema
    nullable: ClassVar = True
    metadata: ClassVar = None
    path: ClassVar = None

    @classmethod
    def bind(cls, expression: pc.Expression, schema: pa.Schema) -> ArrowExpression:
        """The expression over ``schema``; raises `InvalidInputError` if it does not fit."""
        columns = _needed(expression, schema)
        try:
            kind = _bound(expression, schema, columns)
        except (pa.ArrowException, ValueError, TypeError) as error:
            reason = str(error).split("\n", maxsplit=1)[0]
            raise InvalidInputError(
                f"the expression {expression} does not fit: {reason}"
            ) from error
        return cls(expression, kind, tuple(columns), schema)

    @property
    def node(self) -> Node:
        return arrow_nodes.node_of(self.expression, self.schema)

    def evaluate(self, data: pa.Table) -> pa.ChunkedArray:
        """The value for each row of ``data``, which has at least `columns`."""
        with arrow_errors():
            names = dict.fromkeys(path[0] for path in self.columns)
            return _run(self.expression, with_few_chunks(data.select(list(names))))


def _needed(expression: pc.Expression, schema: pa.Schema) -> list[Path]:
    text = str(expression)
    everything: list[Path] = [(name,) for name in schema.names]
    if len(set(schema.names)) < len(schema.names) or "FieldPath(" in text:
        # The expression references a column by position: dropping columns would shift it.
        return everything
    needed = _mentioned(text, schema)
    if not _fits(expression, schema, needed):
        needed = [(name,) for name in schema.names if name in text]
        if not _fits(expression, schema, needed):
            return everything
    for path in needed[:_MAX_TRIALS]:
        fewer = [other for other in needed if other != path]
        if _fits(expression, schema, fewer):
            needed = fewer
    return needed


def _mentioned(text: str, schema: pa.Schema) -> list[Path]:
    """Paths of the columns whose names ``text`` contains.

    A struct's children replace the struct if the text names it only in nested references.
    """
    nested = [tuple(_NAME.findall(match[1])) for match in _NESTED.finditer(text)]
    rest = _NESTED.sub("", text)
    mentioned: list[Path] = []
    for name in schema.names:
        if name in rest:
            mentioned.append((name,))
        else:
            mentioned.extend(dict.fromkeys(path for path in nested if path[0] == name))
    return mentioned


def _fits(expression: pc.Expression, schema: pa.Schema, columns: list[Path]) -> bool:
    try:
        _bound(expression, schema, columns)
    except (pa.ArrowException, ValueError, TypeError):
        return False
    return True


def _bound(expression: pc.Expression, schema: pa.Schema, columns: list[Path]) -> pa.DataType:
    return _run(expression, empty_table(pa.schema(_pruned(schema, columns)))).type


def _pruned(fields: Iterable[pa.Field], columns: list[Path]) -> list[pa.Field]:
    """The fields at the paths ``columns``; structs keep only the children at these paths."""
    fields_left = []
    for field in fields:
        inside = [path[1:] for path in columns if path[0] == field.name]
        pruned = field
        if inside and all(inside) and pa.types.is_struct(field.type):
            children = [field.type.field(i) for i in range(field.type.num_fields)]
            pruned = field.with_type(pa.struct(_pruned(children, inside)))
        if inside:
            fields_left.append(pruned)
    return fields_left


def _run(expression: pc.Expression, data: pa.Table) -> pa.ChunkedArray:
    """Evaluate ``expression`` on ``data``, in one thread because that keeps the row order."""
    from pyarrow import acero

    if data.num_columns == 0:
        data = pa.table({"": pa.nulls(data.num_rows)})
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(data))
    project = acero.Declaration("project", acero.ProjectNodeOptions([expression], ["value"]))
    plan = acero.Declaration.from_sequence([source, project])
    return plan.to_table(use_threads=False).column(0)
