"""`IndexType` and `OpenIndex`: what a type of scalar index implements.

An index has files in a folder of its own. It is built from the live rows of some fragments, never
changes, and is replaced by an index with another folder. The core commits indices, knows which
fragments they cover, masks deleted rows, scans other fragments, and combines the results of several
indices.

Row numbers are unsigned 64-bit numbers: the address of a row (fragment id in the upper 32 bits,
offset in the lower ones) or, for indices of some built-in types in tables with stable row ids, the
id of the row. A type only stores and returns them.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.index.files import IndexFolder, IndexOutput
    from lance_core.index.queries import IndexQuery
    from lance_core.table.indices.row_set import RowSet

RowNumbers: TypeAlias = npt.NDArray[np.uint64]
"""Row addresses, or row ids in a table with stable row ids."""


class IndexBatch(NamedTuple):
    """Live rows: their values (with the storage type of the column), and their row numbers."""

    values: pa.Array
    rows: RowNumbers


class IndexRows(Protocol):
    """The live rows to index, as a stream of one pass."""

    @property
    def type(self) -> pa.DataType:
        """The type of the column."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""

    def batches(self) -> Iterator[IndexBatch]:
        """All rows, in the order of fragments and offsets.

        A batch has rows of one or of several fragments.
        """


class RowMap(Protocol):
    """Where the rows of an existing index are now."""

    def moved(self, rows: RowNumbers) -> tuple[RowNumbers, npt.NDArray[np.bool_]]:
        """For each of ``rows``, its new number, and True if the new index has it.

        The new number of a row that the new index does not have is undefined. Rows that go from one
        old fragment to the same new fragment keep their order.
        """


class _NoRows:
    """See `NO_ROWS`."""

    def moved(self, rows: RowNumbers) -> tuple[RowNumbers, npt.NDArray[np.bool_]]:
        return rows, np.zeros(len(rows), np.bool_)


NO_ROWS: RowMap = _NoRows()
"""The map of a part that gives its training to a new index, and none of its rows."""


class IndexPart(NamedTuple):
    """An existing index whose rows go to a new one, and where these rows are now.

    ``rows``: the live ones of these rows with their values, for types that encode them again; None
    if they cannot be read.
    """

    source: OpenIndex
    map: RowMap
    rows: IndexRows | None = None


class RowProblem(NamedTuple):
    """What is wrong with what an index has of a row; ``row`` is its row number."""

    row: int
    text: str


class Precision(enum.Enum):
    """How precisely an index answers a query."""

    EXACT = "exact"
    """The result has all rows for which the query is true, and no others."""
    AT_MOST = "at most"
    """The result has all rows for which the query is true, and perhaps others."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer of an index to a query.

    ``rows``: the rows for which the query is true or, for `Precision.AT_MOST`, may be true.
    ``nulls``: the rows for which the query is NULL; None if they were not requested or if the
    answer is not exact. ``num_pages``: how many pages, zones or bitmaps of the index were compared.
    """

    rows: RowSet
    nulls: RowSet | None = None
    num_pages: int = 0


class IndexNotWrittenError(UnsupportedFeatureError):
    """A type does not build such an index, or cannot merge these parts or add rows to them.

    An optimization then leaves the index as it is, with a warning.
    """


class TooFewRowsError(InvalidInputError):
    """An index cannot be trained, because there are too few rows.

    The core then commits an index without files, which covers no rows; an optimization builds it
    when there are enough.
    """


class UnansweredQueryError(Exception):
    """An index cannot answer a query, which only its files show: the scan tests all rows."""


class OpenIndex(ABC):
    """An opened index. Thread-safe; it is cached, so that its files are opened once."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The approximate bytes in memory when everything is loaded that this index caches."""

    @abstractmethod
    def search(self, query: IndexQuery, *, with_nulls: bool = False) -> SearchResult:
        """The rows that satisfy ``query``, which `IndexType.precision` accepts.

        ``with_nulls``: also return the rows for which the query is NULL. Raises
        `CorruptFileError` for damaged files, and `UnansweredQueryError` if only the files show that
        the index cannot answer.
        """

    @abstractmethod
    def statistics(self) -> Mapping[str, Any]:
        """What ``index_stats`` shows of the index; values that JSON can represent."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters with which `IndexType.build` makes an index like this one."""
        return {}

    def prewarm(self) -> None:  # noqa: B027  # an index without a cache has nothing to load
        """Load what later searches need into memory."""


class IndexType(ABC):
    """A type of index. One object serves all indices of the type; it has no state."""

    is_trained = False
    """True if what an index learns from its rows makes it, as the centroids of vectors.

    `build` then reads the rows twice, and raises `TooFewRowsError`. New rows get the training of an
    existing index: `merge` is called with a part whose map is `NO_ROWS`.
    """

    is_of_json = False
    """True if columns of large binary values must have JSON, which is stored in this type."""

    is_of_list_members = False
    """True if fields of structs in lists can have such an index: their values are lists, too."""

    @abstractmethod
    def accepts(self, kind: pa.DataType) -> bool:
        """True if columns of this type can have such an index."""

    @abstractmethod
    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        """How precisely an index of a column of type ``kind`` answers ``query``; None: not at all.

        Reads no file. ``details`` are those of the index.
        """

    @abstractmethod
    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Raise `InvalidInputError` for an unknown parameter or an invalid value."""

    def check_column(self, kind: pa.DataType, parameters: Mapping[str, Any]) -> None:  # noqa: B027
        """Raise `InvalidInputError` for parameters that do not fit columns of type ``kind``."""

    def details_of(self, parameters: Mapping[str, Any]) -> bytes:
        """The part of the serialized details that is known before the index is built."""
        return b""

    def parameters_of(self, details: bytes) -> Mapping[str, Any]:
        """The parameters that ``details`` have; `OpenIndex.parameters` has all of them.

        Raises `CorruptFileError` for damaged details.
        """
        return {}

    def build_parameters_of(self, details: bytes) -> Mapping[str, Any]:
        """Those of the parameters in ``details`` with which `build` makes such an index.

        Raises `CorruptFileError` for damaged details.
        """
        return self.parameters_of(details)

    def label_of(self, details: bytes) -> str | None:
        """The name in listings of an index with these details; None: `IndexTypeSpec.label`.

        Raises `CorruptFileError` for damaged details.
        """
        return None

    def name_suffix(self, details: bytes) -> str:
        """What follows ``<path>_`` in the name of an index that is given none."""
        return "idx"

    def version_of(self, details: bytes) -> int | None:
        """The ``index_version`` of new indices with these details; None: that of `IndexTypeSpec`.

        Raises `CorruptFileError` for damaged details.
        """
        return None

    def accepts_stable_row_ids(self, details: bytes) -> bool:
        """False if such an index cannot be made in a table with stable row ids."""
        return True

    def trained_parameters(
        self,
        sample: Callable[[int], IndexRows],
        num_rows: int,
        parameters: Mapping[str, Any],
    ) -> Mapping[str, Any]:
        """Parameters for several processes that each build a segment of one index of ``num_rows``.

        They say what each process would otherwise learn from its own rows; none for types that
        learn nothing. ``sample`` returns about as many rows as it is asked for, from random places.
        The values can be pickled.
        """
        return {}

    @abstractmethod
    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        """Write the files of an index of ``rows``; returns the serialized details.

        Memory is bounded independently of the number of rows. ``rows`` may be empty.
        """

    @abstractmethod
    def open(self, folder: IndexFolder, details: bytes) -> OpenIndex:
        """Open the index in ``folder``. Raises `CorruptFileError` for damaged files."""

    @abstractmethod
    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        """Write an index of the rows of ``parts`` that their maps keep, and of new ``rows``.

        Returns the serialized details. Parameters are those of the first part; there is at least
        one. With one part and no rows, this moves an index to where a compaction has written its
        rows. No row is in two parts or in a part and in ``rows``. Raises `IndexNotWrittenError` if
        these parts cannot be merged.
        """

    def verify(self, part: IndexPart) -> Iterator[RowProblem]:
        """What differs between an index and the rows that it covers now, ``part.rows``.

        Rows of which the index also has deleted ones are no problem. Raises `CorruptFileError`, and
        `UnsupportedFeatureError` for a type that cannot tell.
        """
        raise UnsupportedFeatureError("indices of this type cannot be verified")
