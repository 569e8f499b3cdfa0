"""Zones: runs of live rows of one fragment, of which indices keep statistics or filters.

A zone has a fixed number of consecutive live rows, but the last one of a fragment has fewer. It
starts at the offset of its first row; its length counts up to its last row, with deleted rows
between them. Row numbers are addresses, also in tables with stable row ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core.hookspecs.indices import (
    EMPTY,
    IndexBatch,
    IndexFileReader,
    IndexFileWriter,
    IndexRows,
    Progress,
    RowMap,
    RowNumbers,
    RowSet,
)
from lance_core.hookspecs.options import hint, shortened

Positions = npt.NDArray[np.int64]

DEFAULT_ROWS = 8192
"""Live rows of a zone in new indices."""

UNSTATED_ROWS = 8192
"""Live rows of a zone in files that do not state it: a rule of the format, not our default."""

NULL_BITMAP = "null_bitmap"
"""The metadata with the number of the global buffer that has the addresses of null rows."""

ZONE_COLUMNS = dict.fromkeys(("fragment_id", "zone_start", "zone_length"), pa.uint64())
"""The columns of an index file that describe zones."""

_LOW = np.uint64(0xFFFFFFFF)
_HIGH = np.uint64(32)
_FRAGMENT_ROWS = 1 << 32

_BLOCK_ROWS = 1 << 17
_BLOCK_BYTES = 16 << 20
"""Minimum rows or bytes that are processed at a time; smaller batches are concatenated."""

_MAP_ROWS = 1 << 20
"""Rows whose new addresses are looked up at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Zones:
    """Zones, in any order: their fragments, the offsets of their first rows, and their lengths."""

    fragments: npt.NDArray[np.uint64]
    starts: npt.NDArray[np.uint64]
    lengths: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.fragments)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.fragments.nbytes + self.starts.nbytes + self.lengths.nbytes

    def take(self, positions: Positions | slice) -> Zones:
        """The zones at ``positions``."""
        return Zones(self.fragments[positions], self.starts[positions], self.lengths[positions])

    def addresses(self) -> RowNumbers:
        """The addresses of the first rows."""
        return (self.fragments << _HIGH) | self.starts

    def rows(self, mask: npt.NDArray[np.bool_]) -> RowSet:
        """All rows of the zones for which ``mask`` is True."""
        zones = self.take(np.flatnonzero(mask))
        if not len(zones):
            return EMPTY
        first = zones.addresses()
        stop = first + zones.lengths
        # Adjacent zones become one range.
        begins = np.concatenate([[True], first[1:] != stop[:-1]])
        first, stop = first[begins], stop[np.concatenate([begins[1:], [True]])]
        high = (first >> _HIGH).astype(np.int64)
        low = (first & _LOW).astype(np.int64)
        ends = low + (stop - first).astype(np.int64)
        return RowSet.of_ranges(zip(high.tolist(), low.tolist(), ends.tolist(), strict=True))

    def columns(self) -> list[pa.Array]:
        """The zones as `ZONE_COLUMNS`."""
        return [
            from_numpy(np.asarray(numbers, np.uint64))
            for numbers in (self.fragments, self.starts, self.lengths)
        ]

    @classmethod
    def of(cls, first: RowNumbers, last: RowNumbers) -> Zones:
        """Zones from the addresses of their first and last rows."""
        return cls(first >> _HIGH, first & _LOW, last - first + np.uint64(1))

    @classmethod
    def concat(cls, parts: Sequence[Zones]) -> Zones:
        """The zones of all ``parts``."""
        return cls(
            *(
                np.concatenate([np.empty(0, np.uint64), *(getattr(zones, name) for zones in parts)])
                for name in ("fragments", "starts", "lengths")
            )
        )


def check_columns(schema: pa.Schema, kinds: Mapping[str, pa.DataType], path: str) -> None:
    """Raise `CorruptFileError` if an index file lacks one of these columns or its type differs."""
    for name, kind in kinds.items():
        number = schema.get_field_index(name)
        if number < 0:
            raise CorruptFileError("the column is missing", path, field=name)
        stored_type = schema.field(number).type
        if stored_type != kind:
            raise CorruptFileError(
                f"the column has type {stored_type}, not {kind}", path, field=name
            )


def parse_count(text: str, path: str) -> int:
    """A positive number in the metadata of an index file. Raises `CorruptFileError`."""
    if not text.isascii() or not text.isdigit() or len(text) > 18 or not int(text):
        raise CorruptFileError(
            f"the metadata contains {shortened(text)}, which is not a positive number", path
        )
    return int(text)


def column_values(table: pa.Table, name: str, path: str) -> npt.NDArray[Any]:
    """A column of numbers. Raises `CorruptFileError` if it has nulls."""
    column = table[name]
    if column.null_count:
        raise CorruptFileError(f"the column has {column.null_count} nulls", path, field=name)
    return to_numpy(column)


def read_zones(table: pa.Table, path: str) -> Zones:
    """The zones in the columns of an index file. Raises `CorruptFileError` for impossible ones."""
    zones = Zones(*(column_values(table, name, path) for name in ZONE_COLUMNS))
    limit = np.uint64(_FRAGMENT_ROWS)
    bad = (zones.fragments >= limit) | (zones.starts >= limit) | (zones.lengths > limit)
    bad |= zones.starts + zones.lengths > limit
    if bad.any():
        number = int(np.flatnonzero(bad)[0])
        raise CorruptFileError(f"zone {number} is beyond the rows of a fragment", path)
    return zones


class ZonePieces(NamedTuple):
    """The parts of zones in some rows.

    ``starts``: the position of the first row of each; ``first`` and ``last``: the addresses of its
    first and last row. ``continues``: the first piece belongs to the last zone of earlier rows.
    """

    starts: Positions
    first: RowNumbers
    last: RowNumbers
    continues: bool


class ZoneCutter:
    """Cuts a stream of rows, in the order of fragments and offsets, into zones."""

    def __init__(self, rows_per_zone: int) -> None:
        self._size = rows_per_zone
        self._fragment = -1
        self._filled = 0

    def cut(self, rows: RowNumbers) -> ZonePieces:
        """The pieces of zones in the next ``rows``, of which there is at least one."""
        begins = _fragment_starts(rows)
        lengths = np.diff(np.append(begins, len(rows)))
        carried = np.zeros(len(begins), np.int64)
        if int(rows[0] >> _HIGH) == self._fragment:
            carried[0] = self._filled
        counts = -(-(lengths + carried) // self._size)
        run = np.repeat(np.arange(len(begins)), counts)
        number = np.arange(len(run)) - (np.cumsum(counts) - counts)[run]
        starts = begins[run] + np.maximum(0, number * self._size - carried[run])
        self._fragment = int(rows[-1] >> _HIGH)
        self._filled = int(lengths[-1] + carried[-1]) % self._size
        last = rows[np.append(starts[1:], len(rows)) - 1]
        return ZonePieces(starts, rows[starts], last, bool(carried[0]))


def _fragment_starts(rows: RowNumbers) -> Positions:
    """Where the rows of each fragment begin."""
    first = np.zeros(1, np.int64)
    if rows[0] >> _HIGH == rows[-1] >> _HIGH:
        return first
    high = rows.view(np.uint32)[1::2]
    return np.concatenate([first, np.flatnonzero(high[1:] != high[:-1]) + 1])


def blocks(rows: IndexRows, progress: Progress) -> Iterator[IndexBatch]:
    """The batches of ``rows``, small ones concatenated; none is empty."""
    done = waiting = size = 0
    batches: list[IndexBatch] = []
    for batch in rows.batches():
        if not len(batch.rows):
            continue
        batches.append(batch)
        waiting += len(batch.rows)
        size += batch.values.nbytes
        if waiting >= _BLOCK_ROWS or size >= _BLOCK_BYTES:
            yield _concatenated(batches)
            done += waiting
            progress("build zones", done, rows.num_rows)
            batches, waiting, size = [], 0, 0
    if batches:
        yield _concatenated(batches)
        progress("build zones", done + waiting, rows.num_rows)


def _concatenated(batches: Sequence[IndexBatch]) -> IndexBatch:
    if len(batches) == 1:
        return batches[0]
    values = pa.concat_arrays([batch.values for batch in batches])
    return IndexBatch(values, np.concatenate([batch.rows for batch in batches]))


class NullRows:
    """Collects the addresses of null rows."""

    def __init__(self) -> None:
        self._sets: list[RowSet] = []

    def add(self, rows: RowNumbers) -> None:
        """Add the addresses of some rows."""
        if len(rows):
            self._sets.append(RowSet.of(rows))

    def write(self, file: IndexFileWriter) -> None:
        """Store the rows in a global buffer of ``file``."""
        data = RowSet.union(self._sets).to_tree_map()
        file.add_metadata(NULL_BITMAP, str(file.add_global_buffer(data)))


def null_mask(values: pa.Array) -> npt.NDArray[np.bool_]:
    """True for each null of ``values``."""
    if not values.null_count:
        return np.zeros(len(values), np.bool_)
    return np.asarray(to_numpy(values.is_null()))


def read_null_rows(file: IndexFileReader, path: str) -> RowSet | None:
    """The null rows that an index file records; None if it does not.

    Raises `CorruptFileError` if it refers to other bytes.
    """
    number = file.metadata.get(NULL_BITMAP)
    if number is None:
        return None
    try:
        return RowSet.from_tree_map(file.global_buffer(parse_count(number, path)).to_pybytes())
    except CorruptFileError as error:
        raise error.at(path, field=NULL_BITMAP) from error
    except InvalidInputError as error:
        raise CorruptFileError(str(error), path, field=NULL_BITMAP) from error


class MovedZones(NamedTuple):
    """Zones after their rows have moved, and for each the position of the zone that it is of."""

    zones: Zones
    origins: Positions


def moved_zones(zones: Zones, row_map: RowMap) -> MovedZones:
    """The zones where their rows are now; a zone may be in several fragments, or in none."""
    ends = np.cumsum(zones.lengths.astype(np.int64))
    total = int(ends[-1]) if len(ends) else 0
    # The address of row n of all zones is n plus the number of its zone here.
    bases = zones.addresses().astype(np.int64) - (ends - zones.lengths.astype(np.int64))
    moves: list[tuple[Positions, RowNumbers, RowNumbers]] = []
    for start in range(0, total, _MAP_ROWS):
        rows = np.arange(start, min(start + _MAP_ROWS, total))
        zone = np.searchsorted(ends, rows, "right")
        now, is_kept = row_map.moved((rows + bases[zone]).astype(np.uint64))
        live = np.flatnonzero(is_kept)
        if len(live):
            now, zone = now[live], zone[live]
            moves.append(_pieces(zone, now, now))
    if not moves:
        return MovedZones(Zones.concat([]), np.empty(0, np.int64))
    # A zone can be in two blocks of rows.
    origin, first, last = _pieces(*(np.concatenate(part) for part in zip(*moves, strict=True)))
    return MovedZones(Zones.of(first, last), origin)


def _pieces(
    zones: Positions, first: RowNumbers, last: RowNumbers
) -> tuple[Positions, RowNumbers, RowNumbers]:
    """Unite neighbours of the same zone and fragment."""
    high = first >> _HIGH
    changes = (zones[1:] != zones[:-1]) | (high[1:] != high[:-1])
    begins = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(changes) + 1])
    return zones[begins], np.minimum.reduceat(first, begins), np.maximum.reduceat(last, begins)


def moved_nulls(
    nulls: RowSet, zones: Zones, moved: Zones, row_map: RowMap, collected: NullRows
) -> Positions:
    """Add the ``nulls`` of an index, where they are now, to ``collected``.

    ``zones`` are the zones of the index, ``moved`` those after their rows have moved. Returns how
    many nulls are in each of ``moved``.
    """
    counts = np.zeros(len(moved), np.int64)
    if any(bitmap is None for bitmap in nulls.bitmaps.values()):
        nulls = nulls & zones.rows(np.ones(len(zones), np.bool_))
    group: dict[int, Any] = {}
    size, waiting = 0, len(nulls.bitmaps)
    for high, bitmap in nulls.bitmaps.items():
        group[high] = bitmap
        size += len(bitmap or ())
        waiting -= 1
        if size >= _MAP_ROWS or not waiting:
            rows, is_kept = row_map.moved(RowSet(group).numbers())
            collected.add(rows[is_kept])
            counts += _count_in_zones(moved, rows[is_kept])
            group, size = {}, 0
    return counts


def _count_in_zones(zones: Zones, rows: RowNumbers) -> Positions:
    """How many of ``rows`` are in each zone; the zones do not overlap."""
    order = np.argsort(zones.addresses(), kind="stable")
    sorted_zones = zones.take(order)
    first = sorted_zones.addresses()
    at = np.searchsorted(first, rows, "right") - 1
    inside = at >= 0
    inside[inside] = rows[inside] - first[at[inside]] < sorted_zones.lengths[at[inside]]
    counts = np.empty(len(zones), np.int64)
    counts[order] = np.bincount(at[inside], minlength=len(zones))
    return counts


def check_names(parameters: Mapping[str, Any], known: Sequence[str], label: str) -> None:
    """Raise `InvalidInputError` for a parameter that an index type does not have."""
    for name in parameters:
        if name not in known:
            raise InvalidInputError(f"{label} has no parameter {name!r}{hint(name, known)}")


def check_count(name: str, value: Any) -> int:
    """A number of rows or values given as a parameter. Raises `InvalidInputError`."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 10**18:
        raise InvalidInputError(f"{name} must be a positive integer, but is {value!r}")
    return value
