"""Check what the index type of a plugin returns, so that its defects give errors and no wrong rows.

Errors of Python, such as `TypeError`, and values of wrong types name the plugin, the method and
the type. Where an index is opened or searched they are a `CorruptFileError`: damaged files cause
them as well, and a query then does without the index. Everywhere else they are a `PluginError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lance_core.error_texts.plugin_calls import CheckedCalls
from lance_core.errors import CorruptFileError, LanceError, PluginError
from lance_core.index.base import (
    IndexRows,
    IndexType,
    OpenIndex,
    Precision,
    SearchResult,
    UnansweredQueryError,
)
from lance_core.index.ranking import Hits, RankedIndex
from lance_core.table.indices.row_set import RowSet

if TYPE_CHECKING:
    from lance_core.index.base import IndexPart
    from lance_core.index.files import IndexFolder, IndexOutput
    from lance_core.index.queries import IndexQuery
    from lance_core.index.ranking import AllowedRows, RankedQuery


def _calls(plugin: str, kind: Callable[[str], LanceError]) -> CheckedCalls:
    return CheckedCalls(plugin, kind, (UnansweredQueryError,))


class CheckedIndexType(IndexType):
    """Forwards to ``inner``, the index type of a plugin, and checks how each call ends."""

    def __init__(self, inner: IndexType, plugin: str) -> None:
        self.inner = inner
        self._plugin = plugin
        self._call = _calls(plugin, PluginError)

    def accepts(self, kind: pa.DataType) -> bool:
        return bool(self._call("accepts", bool, lambda: self.inner.accepts(kind)))

    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        precision: Precision | None = self._call(
            "precision",
            (Precision, type(None)),
            lambda: self.inner.precision(query, kind, details),
        )
        return precision

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        check = self.inner.check_parameters
        self._call("check_parameters", type(None), lambda: check(parameters))

    @property
    def is_of_json(self) -> bool:  # type: ignore[override]  # a constant of the class elsewhere
        return bool(self._call("is_of_json", bool, lambda: self.inner.is_of_json))

    @property
    def is_of_list_members(self) -> bool:  # type: ignore[override]  # a constant of the class elsewhere
        return bool(self._call("is_of_list_members", bool, lambda: self.inner.is_of_list_members))

    @property
    def is_trained(self) -> bool:  # type: ignore[override]  # a constant of the class elsewhere
        return bool(self._call("is_trained", bool, lambda: self.inner.is_trained))

    def check_column(self, kind: pa.DataType, parameters: Mapping[str, Any]) -> None:
        check = self.inner.check_column
        self._call("check_column", type(None), lambda: check(kind, parameters))

    def build_parameters_of(self, details: bytes) -> Mapping[str, Any]:
        parameters: Mapping[str, Any] = self._call(
            "build_parameters_of", Mapping, lambda: self.inner.build_parameters_of(details)
        )
        return parameters

    def details_of(self, parameters: Mapping[str, Any]) -> bytes:
        return bytes(self._call("details_of", bytes, lambda: self.inner.details_of(parameters)))

    def parameters_of(self, details: bytes) -> Mapping[str, Any]:
        parameters: Mapping[str, Any] = self._call(
            "parameters_of", Mapping, lambda: self.inner.parameters_of(details)
        )
        return parameters

    def label_of(self, details: bytes) -> str | None:
        label_of = self.inner.label_of
        label: str | None = self._call("label_of", (str, type(None)), lambda: label_of(details))
        return label

    def name_suffix(self, details: bytes) -> str:
        suffix = self.inner.name_suffix
        return str(self._call("name_suffix", str, lambda: suffix(details)))

    def version_of(self, details: bytes) -> int | None:
        version_of = self.inner.version_of
        version: int | None = self._call(
            "version_of", (int, type(None)), lambda: version_of(details)
        )
        return version

    def accepts_stable_row_ids(self, details: bytes) -> bool:
        accepts = self.inner.accepts_stable_row_ids
        return bool(self._call("accepts_stable_row_ids", bool, lambda: accepts(details)))

    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        build = self.inner.build
        return bytes(self._call("build", bytes, lambda: build(rows, parameters, output)))

    def open(self, folder: IndexFolder, details: bytes) -> OpenIndex:
        call = _calls(self._plugin, CorruptFileError)
        opened: OpenIndex = call("open", OpenIndex, lambda: self.inner.open(folder, details))
        checked = CheckedRankedIndex if isinstance(opened, RankedIndex) else CheckedIndex
        return checked(opened, call)

    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        own = [part._replace(source=unchecked(part.source)) for part in parts]
        return bytes(self._call("merge", bytes, lambda: self.inner.merge(own, rows, output)))


class CheckedIndex(OpenIndex):
    """Forwards to ``inner``, an open index of a plugin, and checks how each call ends."""

    def __init__(self, inner: OpenIndex, call: CheckedCalls) -> None:
        self.inner = inner
        self._call = call

    @property
    def nbytes(self) -> int:
        return int(self._call("nbytes", int, lambda: self.inner.nbytes))

    def search(self, query: IndexQuery, *, with_nulls: bool = False) -> SearchResult:
        result: SearchResult = self._call(
            "search", SearchResult, lambda: self.inner.search(query, with_nulls=with_nulls)
        )
        self._call("rows of search", RowSet, lambda: result.rows)
        self._call("nulls of search", (RowSet, type(None)), lambda: result.nulls)
        self._call("num_pages of search", int, lambda: result.num_pages)
        return result

    def statistics(self) -> Mapping[str, Any]:
        statistics: Mapping[str, Any] = self._call("statistics", Mapping, self.inner.statistics)
        return statistics

    @property
    def parameters(self) -> Mapping[str, Any]:
        parameters: Mapping[str, Any] = self._call(
            "parameters", Mapping, lambda: self.inner.parameters
        )
        return parameters

    def prewarm(self) -> None:
        self._call("prewarm", type(None), self.inner.prewarm)


class CheckedRankedIndex(CheckedIndex, RankedIndex):
    """The same for an index that ranks its rows."""

    def top(self, query: RankedQuery, count: int, allowed: AllowedRows | None) -> Sequence[Hits]:
        inner = self.inner
        assert isinstance(inner, RankedIndex)
        answers: Sequence[Any] = self._call(
            "top", Sequence, lambda: inner.top(query, count, allowed)
        )
        if len(answers) != query.num_queries:
            raise CorruptFileError(f"top has {len(answers)} answers to {query.num_queries} queries")
        for hits in answers:
            if not isinstance(hits, Hits):
                raise CorruptFileError(f"an answer of top is {hits!r:.100}")
            elements = hits.rows if hits.elements is None else hits.elements
            if not len(hits.rows) == len(hits.scores) == len(elements) <= count:
                raise CorruptFileError(
                    f"top has {len(hits.rows)} rows and {len(hits.scores)} scores, of {count}"
                )
        return answers


def unchecked(index: OpenIndex) -> OpenIndex:
    """The open index as its plugin made it, which `RankedQuery.for_index` recognizes."""
    return index.inner if isinstance(index, CheckedIndex) else index
