"""`SearchedField`: a field whose values an index or a search reads, one value a row.

The field may be inside structs and lists. Below lists, the value of a row is the list of all values
of the field in the row, nested as the lists are: of a column of lists of structs with a text, it is
a list of texts.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lance_core.dataset.read.columns.projection import (
    META_COLUMNS,
    META_FIELDS,
    Output,
    Projection,
    select,
)
from lance_core.error_texts.suggestions import no_field
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import Field, Schema, binary_json, format_path
from lance_core.schema.path import parse_path
from lance_core.schema.project import project_lineages
from lance_core.schema.rebuild import with_children


@dataclass(frozen=True, slots=True, eq=False)
class SearchedField:
    """A field and what is read for it.

    ``lineage``: the field after those around it. ``read``: the outermost list around the field,
    pruned to it; the field itself if there is none. ``names``: those of the fields down to it.
    """

    lineage: tuple[Field, ...]
    read: Field
    names: tuple[str, ...]

    @classmethod
    def of(cls, lineage: Sequence[Field]) -> SearchedField:
        """The last field of ``lineage``, which are structs and lists otherwise."""
        (read,) = project_lineages([lineage])
        names = [read.name]
        for field in lineage[1:]:
            if read.is_list:
                break
            read = next(child for child in read.children if child.id == field.id)
            names.append(read.name)
        return cls(tuple(lineage), read, tuple(names))

    @property
    def type(self) -> pa.DataType:
        """The storage type of the values."""
        values = self.lineage[-1].storage_type
        for field in reversed(self.lineage[len(self.names) - 1 : -1]):
            if field.is_list:
                values = _lists_of(values, field.storage_type)
        return values

    def values(self, stored: pa.Array) -> pa.Array:
        """The values, of the values of `read` as they are stored."""
        return _below(stored, self.lineage[len(self.names) - 1 :])

    def projection(self, schema: Schema, column: str, meta: Sequence[str] = ()) -> Projection:
        """What reads `read` for ``column``, the path of the field, and meta columns."""
        if self.read.id == self.lineage[-1].id:
            return select(schema, [column], meta)
        pruned = Schema(project_lineages([self.lineage]), schema.metadata)
        outputs = [Output(binary_json(self.read).to_arrow().with_name(column), self.names)]
        outputs += [Output(META_FIELDS[name], (name,)) for name in meta]
        return Projection.of(pruned, outputs)


def searched_field(schema: Schema, path: str) -> SearchedField:
    """The field at ``path``. Raises `InvalidInputError` if there is none, or if it is in a map."""
    known: dict[str, SearchedField] = schema.derived("searched_fields", dict)
    if path not in known:
        lineage = lineage_of(schema, path)
        if not lineage:
            raise InvalidInputError(no_field(path, [*schema.names, *META_COLUMNS]))
        for field in lineage[:-1]:
            if not (field.is_struct or field.is_list):
                raise InvalidInputError(
                    f"column {path!r} is inside of {field.name!r}, which is not a struct or a list "
                    f"but {field.arrow_type}"
                )
        known[path] = SearchedField.of(lineage)
    return known[path]


def lineage_of(schema: Schema, path: str) -> tuple[Field, ...]:
    """The fields down to ``path``, which may leave out the elements of lists; empty if none is.

    ``structs.text`` is the same as ``structs.item.text``.
    """
    exact = schema.lineage(path)
    if exact:
        return exact
    first, *names = parse_path(path)
    top = schema.tops.get(first)
    lineage = [] if top is None else [top]
    for name in names:
        while lineage and lineage[-1].child(name) is None and lineage[-1].is_list:
            lineage.append(lineage[-1].children[0])
        child = lineage[-1].child(name) if lineage else None
        if child is None:
            return ()
        lineage.append(child)
    return tuple(lineage)


def short_path(lineage: Sequence[Field]) -> str:
    """The path of the last of ``lineage`` without the elements of lists around it."""
    pairs = zip((None, *lineage), lineage, strict=False)
    return format_path(
        [field.name for parent, field in pairs if parent is None or not parent.is_list]
    )


def _below(array: pa.Array, lineage: Sequence[Field]) -> pa.Array:
    """The values of the last of ``lineage`` in the values of the first, in the lists between."""
    field, *inner = lineage
    if not inner:
        return array
    if field.is_struct:
        import pyarrow.compute as pc

        return _below(pc.struct_field(array, [inner[0].name]), inner)
    values = _below(array.values, inner)
    return with_children(array, _lists_of(values.type, array.type), [values])


def _lists_of(values: pa.DataType, lists: pa.DataType) -> pa.DataType:
    """The type of lists of ``values``, which are as large as ``lists``."""
    return pa.large_list(values) if pa.types.is_large_list(lists) else pa.list_(values)
