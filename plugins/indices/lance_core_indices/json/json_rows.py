"""`JsonRows`: the values at a path in JSON documents, as rows to index.

All values have one type, which the first value that is not null determines: boolean, int64, float64
or string. In an index of float64, integers are floats, too. Values of any other type are refused:
the functions that read a field convert them to each type in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.arrays import from_numpy
from lance_core.hookspecs.indices import IndexBatch, IndexRows, RowNumbers, spill_errors
from lance_core.hookspecs.json_values import (
    CONTAINER,
    FALSE,
    NULL,
    TRUE,
    Members,
    are_int64,
    booleans,
    floats,
    follow,
    integers,
    members_of,
    parse_path,
    strings,
    texts,
)
from lance_core.hookspecs.options import shortened

NO_VALUES = pa.string()
"""The type of the values of an index without any value."""

_SPOOLED_ROWS = 1 << 18
"""Row numbers that are read at a time of those that wait in a file."""

_CONVERSIONS: dict[pa.DataType, Callable[[Members], pa.Array]] = {
    pa.bool_(): booleans,
    pa.int64(): integers,
    pa.float64(): floats,
    pa.string(): strings,
}

_TYPES = (*_CONVERSIONS, None)
"""The type of a value, by its code in `_Found`; None for arrays and objects."""

_Codes = npt.NDArray[np.int64]
_BOOL, _INT, _FLOAT, _TEXT, _NESTED = range(5)


class _Found(NamedTuple):
    """The values that are not null in a batch.

    ``rows``: the row numbers of the batch. ``positions``: the positions of the values in it.
    """

    rows: RowNumbers
    positions: npt.NDArray[np.int64]
    values: Members
    codes: _Codes


class JsonRows:
    """The values at ``path`` of the documents ``rows``: `lance_core.index.base.IndexRows`.

    ``kind``: the type of the values; None for that of the first value, up to which the documents
    are then read at once. ``scratch`` returns a local folder for the numbers of the rows before it.
    Reading a batch raises `InvalidInputError` for a value of another type, and `CorruptFileError`
    for invalid binary JSON.
    """

    def __init__(
        self,
        rows: IndexRows,
        path: str,
        scratch: Callable[[], Path],
        type_: pa.DataType | None = None,
    ) -> None:
        self._path = path
        self._steps = parse_path(path)
        self._num_rows = rows.num_rows
        self._waiting = _Spool(scratch)
        self._batches = map(self._found, rows.batches())
        self._first: _Found | None = None
        self.kind = type_
        """The type of the values; None if there are none."""
        if type_ is None:
            self._first = next(self._until_value(), None)
            if self._first is not None:
                self.kind = self._kind_of_first(self._first)

    @property
    def type(self) -> pa.DataType:
        """The type of the values."""
        return NO_VALUES if self.kind is None else self.kind

    @property
    def num_rows(self) -> int:
        """The number of documents."""
        return self._num_rows

    def batches(self) -> Iterator[IndexBatch]:
        """All rows, in the order of the documents; can be read once."""
        for numbers in self._waiting:
            yield IndexBatch(pa.nulls(len(numbers), self.type), numbers)
        if self._first is not None:
            yield self._converted(self._first)
        for values in self._batches:
            yield self._converted(values)

    def _until_value(self) -> Iterator[_Found]:
        """The batches with a value; the row numbers of those without wait."""
        for batch in self._batches:
            if len(batch.positions):
                yield batch
            else:
                self._waiting.add(batch.rows)

    def _found(self, batch: IndexBatch) -> _Found:
        matches = follow(self._steps, members_of(batch.values))
        several = np.flatnonzero(np.diff(matches.owner, prepend=-1) == 0)
        if len(several):
            raise self._refused("it matches several values of a document")
        present = np.flatnonzero(matches.values.kinds != NULL)
        values = matches.values.take(present)
        return _Found(batch.rows, matches.owner[present], values, _codes(values))

    def _kind_of_first(self, values: _Found) -> pa.DataType:
        kind = _TYPES[values.codes[0]]
        if kind is None:
            raise self._refused(f"an index has no arrays and objects, such as {_text(values, 0)}")
        return kind

    def _converted(self, extracted: _Found) -> IndexBatch:
        code = _TYPES.index(self.kind)
        fits = extracted.codes == code
        if code == _FLOAT:
            fits |= extracted.codes == _INT
        if not fits.all():
            wrong = int(np.argmin(fits))
            raise self._refused(
                f"the values of an index have one type, {self.kind} here, but one value is "
                f"{_text(extracted, wrong)}"
            )
        values = _CONVERSIONS[self.type](extracted.values)
        if len(values) == len(extracted.rows):
            return IndexBatch(values, extracted.rows)
        positions = np.zeros(len(extracted.rows), np.int64)
        positions[extracted.positions] = np.arange(len(values))
        is_missing = np.ones(len(extracted.rows), np.bool_)
        is_missing[extracted.positions] = False
        return IndexBatch(values.take(from_numpy(positions, is_missing)), extracted.rows)

    def _refused(self, reason: str) -> InvalidInputError:
        return InvalidInputError(f"JSON path {shortened(self._path)} cannot be indexed: {reason}")


class RowsAfterNulls:
    """Rows of which the first have no value: ``nulls``, and those of ``rows`` after them."""

    def __init__(
        self, nulls: Iterable[RowNumbers], rows: IndexRows | None, type_: pa.DataType
    ) -> None:
        self._nulls = tuple(nulls)
        self._rows = rows
        self.type = type_

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return sum(map(len, self._nulls)) + (self._rows.num_rows if self._rows is not None else 0)

    def batches(self) -> Iterator[IndexBatch]:
        """All rows; can be read once."""
        for numbers in self._nulls:
            yield IndexBatch(pa.nulls(len(numbers), self.type), numbers)
        if self._rows is not None:
            yield from self._rows.batches()


class _Spool:
    """Row numbers in a file of the folder that ``scratch`` returns."""

    def __init__(self, scratch: Callable[[], Path]) -> None:
        self._scratch = scratch
        self._file: Path | None = None

    def add(self, rows: RowNumbers) -> None:
        """Append row numbers."""
        if self._file is None:
            self._file = self._scratch() / "rows-without-values"
        with spill_errors(), self._file.open("ab") as file:
            rows.tofile(file)

    def __iter__(self) -> Iterator[RowNumbers]:
        if self._file is None:
            return
        with self._file.open("rb") as file:
            while len(rows := np.fromfile(file, np.uint64, _SPOOLED_ROWS)):
                yield rows


def _codes(values: Members) -> _Codes:
    """The type of each value, none of which is null, as a position in `_TYPES`."""
    kinds = values.kinds
    is_bool = (kinds == TRUE) | (kinds == FALSE)
    known = [is_bool, values.is_string, kinds == CONTAINER, are_int64(values)]
    return np.select(known, [_BOOL, _TEXT, _NESTED, _INT], _FLOAT)


def _text(extracted: _Found, number: int) -> str:
    """A value as JSON, for messages."""
    return shortened(texts(extracted.values.take(np.array([number])))[0].as_py())
