"""`OpenJson`: an open JSON index."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.hookspecs.concurrency import cached_property
from lance_core.hookspecs.indices import (
    EMPTY,
    IndexFolder,
    InRange,
    IsNull,
    OpenIndex,
    RowNumbers,
    SearchResult,
    UnansweredQueryError,
)
from lance_core_indices.bitmaps import build
from lance_core_indices.bloom_filter import OpenBloomFilter
from lance_core_indices.btree import layout
from lance_core_indices.json.details import TARGET_PARAMETERS, VALUE_TYPES, JsonDetails
from lance_core_indices.json.json_rows import NO_VALUES
from lance_core_indices.zone_map import FILE as ZONE_FILE

_VALUE_COLUMNS = {
    "btree": (layout.PAGE_LOOKUP, "min"),
    "bitmap": (build.FILE_NAME, build.KEYS),
    "zonemap": (ZONE_FILE, "min"),
}
"""A file and a column with the type of the values, by the type of index over them."""


class OpenJson(OpenIndex):
    """An open index of the values at a path.

    ``kind``: the type of the values. None if neither the details nor the files of a Bloom filter
    state it: values of another type have other hashes.
    """

    def __init__(self, folder: IndexFolder, details: JsonDetails) -> None:
        self.details = details
        self.kind = _stored_kind(folder, details)
        value_type = NO_VALUES if self.kind is None else self.kind
        self.target = details.target.open(folder.of_type(value_type), details.target_details)
        """The index over the values."""

    @property
    def nbytes(self) -> int:
        """Those of the index over the values."""
        return self.target.nbytes

    @cached_property
    def has_values(self) -> bool:
        """False if all rows are null, and no type of values is stated.

        An NGRAM index always counts as one with values, which are strings.
        """
        if isinstance(self.target, OpenBloomFilter):
            return self.kind is not None or self.target.has_values
        if self.kind != NO_VALUES or self.details.spec.name == "ngram":
            return True
        return bool(self.target.search(InRange(lower=pa.scalar("", NO_VALUES))).rows)

    @property
    def null_rows(self) -> RowNumbers:
        """The numbers of the null rows, ascending; not of an NGRAM index."""
        return self.target.search(IsNull()).rows.numbers()

    def search(self, query: Any, *, with_nulls: bool = False) -> SearchResult:
        """See `OpenIndex.search`; ``query`` is a `lance_core.index.queries.OfJsonField`.

        Raises `UnansweredQueryError` if the values of the index have another type than the query.
        """
        if query.kind == self.kind:
            return self.target.search(query.query, with_nulls=with_nulls)
        if isinstance(query.query, IsNull) and (self.kind is None or not self.has_values):
            # Null is null in any type.
            return self.target.search(query.query, with_nulls=with_nulls)
        if self.has_values:
            raise UnansweredQueryError(f"the values have type {self.kind}, not {query.kind}")
        return SearchResult(EMPTY, self.target.search(IsNull()).rows if with_nulls else None)

    def statistics(self) -> Mapping[str, Any]:
        """Those of the index over the values."""
        return self.target.statistics()

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The path, the type of the values, and the type and parameters of the index over them."""
        details = replace(self.details, kind=self.kind if self.has_values else None)
        inner = self.target.parameters
        more = {TARGET_PARAMETERS: json.dumps(dict(inner))} if inner else {}
        return {**details.parameters, **more}

    def prewarm(self) -> None:
        """Load the index over the values."""
        self.target.prewarm()


def _stored_kind(folder: IndexFolder, details: JsonDetails) -> pa.DataType | None:
    """The type of the values; raises `CorruptFileError` if the files contradict the details."""
    if details.spec.name == "ngram":
        return pa.string()
    column_of = _VALUE_COLUMNS.get(details.spec.name)
    if column_of is None:
        return details.kind
    file, column = column_of
    schema = folder.reader(file).schema
    if schema.get_field_index(column) < 0:
        raise CorruptFileError("the column is missing", file, field=column)
    stored_type = schema.field(column).type
    if details.kind is not None and details.kind != stored_type:
        raise CorruptFileError(
            f"the values are {stored_type}, not {details.kind}", file, field=column
        )
    if stored_type not in VALUE_TYPES.values():
        raise UnsupportedFeatureError(f"a JSON index of values of type {stored_type}")
    return stored_type
