"""ZONEMAP: the least and greatest value of each zone of rows, and the addresses of null rows.

``zonemap.lance`` has a row for each zone: ``min`` and ``max`` (of the column's type, nullable),
``null_count`` and ``nan_count`` (unsigned 32 bits), ``fragment_id``, ``zone_start`` and
``zone_length`` (unsigned 64 bits). Nulls and NaN do not count for ``min`` and ``max``, but ``max``
is NaN if the zone has any NaN. Both are null if a zone has no other value, and for types whose
values are not compared. Metadata: ``rows_per_zone``, ``null_bitmap``. The details are a
``ZoneMapIndexDetails`` (``index_old.proto``).

Seeds, with which other writers store the zones of a new data file in the file itself, are neither
written nor read: they are optional, and the rows of a file without them are read instead.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.hookspecs.arrays import from_numpy, is_text, is_variable
from lance_core.hookspecs.concurrency import cached_property
from lance_core.hookspecs.indices import (
    EMPTY,
    IndexFolder,
    IndexOutput,
    IndexPart,
    IndexQuery,
    IndexRows,
    IndexType,
    InRange,
    IsIn,
    IsNull,
    OpenIndex,
    Precision,
    Progress,
    RowSet,
    SearchResult,
    StartsWith,
    ZoneMapIndexDetails,
    parse_details_message,
)
from lance_core_indices.zone_bounds import (
    ZoneBounds,
    extremes,
    is_compared,
    no_bounds,
    with_nan,
)
from lance_core_indices.zones import (
    DEFAULT_ROWS,
    NULL_BITMAP,
    UNSTATED_ROWS,
    ZONE_COLUMNS,
    NullRows,
    Positions,
    ZoneCutter,
    Zones,
    blocks,
    check_columns,
    check_count,
    check_names,
    column_values,
    moved_nulls,
    moved_zones,
    null_mask,
    parse_count,
    read_null_rows,
    read_zones,
)

FILE = "zonemap.lance"

ROWS_VARIABLE = "LANCE_ZONEMAP_DEFAULT_ROWS_PER_ZONE"
"""The environment variable with the default of the parameter ``rows_per_zone``."""

_PARAMETERS = ("rows_per_zone", "use_seeds")
_COUNT_COLUMNS = dict.fromkeys(("null_count", "nan_count"), pa.uint32())

_Mask = npt.NDArray[np.bool_]


class _Summary(NamedTuple):
    """Zones, with the least and greatest value and the number of nulls and NaN of each."""

    zones: Zones
    least: pa.Array
    greatest: pa.Array
    nulls: Positions
    nans: Positions

    def take(self, positions: Positions) -> _Summary:
        return _Summary(
            self.zones.take(positions),
            self.least.take(from_numpy(positions)),
            self.greatest.take(from_numpy(positions)),
            self.nulls[positions],
            self.nans[positions],
        )

    @classmethod
    def concat(cls, parts: Sequence[_Summary]) -> _Summary:
        zones, least, greatest, nulls, nans = zip(*parts, strict=True)
        return cls(
            Zones.concat(zones),
            pa.concat_arrays(least),
            pa.concat_arrays(greatest),
            np.concatenate(nulls),
            np.concatenate(nans),
        )


class ZoneMap(IndexType):
    """The built-in index type ``zonemap``."""

    def accepts(self, kind: pa.DataType) -> bool:
        """All types; of those that are not compared, the index only has the null rows."""
        return True

    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        """Nulls are answered exactly if the details say so."""
        if isinstance(query, IsNull):
            # Other writers do not count the nulls of these types.
            if pa.types.is_null(kind) or pa.types.is_dictionary(kind):
                return None
            exact = _parse_details(details).has_null_bitmap
            return Precision.EXACT if exact else Precision.AT_MOST
        has_values = is_compared(kind) and isinstance(query, IsIn | InRange)
        has_prefixes = isinstance(query, StartsWith) and is_text(kind)
        return Precision.AT_MOST if has_values or has_prefixes else None

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Raise `InvalidInputError` unless all parameters are known and valid.

        Known are ``rows_per_zone`` (an integer of at least 1) and ``use_seeds`` (a boolean).
        """
        check_names(parameters, _PARAMETERS, "a zone map")
        check_count("rows_per_zone", parameters.get("rows_per_zone", DEFAULT_ROWS))
        seeds = parameters.get("use_seeds", False)
        if not isinstance(seeds, bool):
            raise InvalidInputError(f"use_seeds must be True or False, got {seeds!r}")

    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        """Writes one file. Keeps the zones in memory."""
        self.check_parameters(parameters)
        rows_per_zone = parameters.get("rows_per_zone") or _default_rows()
        use_seeds = parameters.get("use_seeds", is_variable(rows.type))
        nulls = NullRows()
        summary = _summarise(rows, rows_per_zone, nulls, output.progress)
        return _write(output, summary, rows_per_zone, use_seeds, nulls)

    def open(self, folder: IndexFolder, details: bytes) -> OpenZoneMap:
        """Reads the zones and their bounds."""
        return OpenZoneMap(folder, _parse_details(details))

    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        """Moves the zones; one whose rows are in several fragments afterwards becomes several."""
        sources = [part.source for part in parts]
        first = sources[0]
        assert isinstance(first, OpenZoneMap)
        nulls: NullRows | None = NullRows()
        if any(isinstance(source, OpenZoneMap) and source.null_rows is None for source in sources):
            nulls = None
        summaries = [_moved(part, nulls) for part in parts]
        if rows is not None:
            null_rows = nulls or NullRows()
            summaries.append(_summarise(rows, first.rows_per_zone, null_rows, output.progress))
        merged = _Summary.concat(summaries)
        merged = merged.take(np.argsort(merged.zones.addresses(), kind="stable"))
        return _write(output, merged, first.rows_per_zone, first.details.use_seeds, nulls)


class OpenZoneMap(OpenIndex):
    """An opened zone map; its zones and their bounds are in memory."""

    def __init__(self, folder: IndexFolder, details: ZoneMapIndexDetails) -> None:
        self.details = details
        self._kind = folder.kind
        self._file = folder.reader(FILE)
        self._file_bytes = folder.sizes.get(FILE, 0)
        names = ["min", "max"] if is_compared(self._kind) else []
        column_types = dict.fromkeys(names, self._kind) | ZONE_COLUMNS
        check_columns(self._file.schema, column_types | _COUNT_COLUMNS, FILE)
        has_nans = pa.types.is_floating(self._kind)
        table = self._file.read([*column_types, "nan_count"] if has_nans else list(column_types))
        self._zones = read_zones(table, FILE)
        if names:
            self._least, self._greatest = (table[name].combine_chunks() for name in names)
        else:
            self._least = self._greatest = no_bounds(self._kind, len(table))
        nans = np.zeros(len(table), np.bool_)
        if has_nans:
            nans = column_values(table, "nan_count", FILE) > 0
        try:
            self._bounds = ZoneBounds.of(self._least, self._greatest, nans)
        except CorruptFileError as error:
            raise error.at(FILE) from error

    @cached_property
    def summary(self) -> _Summary:
        """The zones with all their statistics; few queries need the counts of nulls and NaN."""
        table = self._file.read(list(_COUNT_COLUMNS))
        nulls, nans = (column_values(table, n, FILE).astype(np.int64) for n in _COUNT_COLUMNS)
        return _Summary(self._zones, self._least, self._greatest, nulls, nans)

    @property
    def rows_per_zone(self) -> int:
        """The live rows of a zone."""
        rows: int = self.details.rows_per_zone
        stored = self._file.metadata.get("rows_per_zone")
        return (rows or UNSTATED_ROWS) if stored is None else parse_count(stored, FILE)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The live rows of a zone, and whether other writers store seeds in new files."""
        return {"rows_per_zone": self.rows_per_zone, "use_seeds": self.details.use_seeds}

    @cached_property
    def null_rows(self) -> RowSet | None:
        """The rows with a null; None if the index does not have them."""
        rows = read_null_rows(self._file, FILE)
        if rows is not None and is_compared(self._kind):
            count = sum(map(len, filter(None, rows.bitmaps.values())))
            counted = int(self.summary.nulls.sum())
            if count != counted and None not in rows.bitmaps.values():
                reason = f"the bitmap has {count} null rows, the zones have {counted}"
                raise CorruptFileError(reason, FILE, field=NULL_BITMAP)
        return rows

    @property
    def nbytes(self) -> int:
        """Bytes in memory: the zones, and at most the file's size for the null rows."""
        values: int = self._least.nbytes + self._greatest.nbytes
        return self._zones.nbytes + 3 * values + 64 * len(self._zones) + self._file_bytes

    def search(self, query: IndexQuery, *, with_nulls: bool = False) -> SearchResult:
        """Compares the bounds of all zones with the query."""
        if isinstance(query, IsNull):
            return self._null_rows(with_nulls)
        may_match = self._bounds.may_match(query)
        return SearchResult(self._zones.rows(may_match), num_pages=len(may_match))

    def _null_rows(self, with_nulls: bool) -> SearchResult:
        if self.null_rows is not None:
            return SearchResult(self.null_rows, EMPTY if with_nulls else None)
        if self.details.has_null_bitmap:
            raise CorruptFileError("the file has no bitmap of null rows", FILE)
        has_nulls = self.summary.nulls > 0
        return SearchResult(self._zones.rows(has_nulls), num_pages=len(has_nulls))

    def statistics(self) -> Mapping[str, Any]:
        """The number of zones, and their rows."""
        return {"num_zones": len(self._zones), "rows_per_zone": self.rows_per_zone}

    def prewarm(self) -> None:
        """Read the null rows."""
        _ = self.null_rows


def _parse_details(details: bytes) -> ZoneMapIndexDetails:
    return parse_details_message(ZoneMapIndexDetails, details)


def _default_rows() -> int:
    text = os.environ.get(ROWS_VARIABLE, str(DEFAULT_ROWS))
    if not text.isascii() or not text.isdigit() or not int(text):
        reason = f"must be a positive integer, but is {text!r}"
        raise InvalidInputError(f"environment variable {ROWS_VARIABLE} {reason}")
    return check_count(ROWS_VARIABLE, int(text))


_MAX_PIECES_BYTES = 64 << 20
"""Bytes of new bounds of parts of zones after which the parts of each zone are united."""


def _summarise(
    rows: IndexRows, rows_per_zone: int, nulls: NullRows, progress: Progress
) -> _Summary:
    """The zones of new rows; adds their null rows to ``nulls``."""
    cutter = ZoneCutter(rows_per_zone)
    none, no_counts = no_bounds(rows.type, 0), np.empty(0, np.int64)
    summaries = [_Summary(Zones.concat([]), none, none, no_counts, no_counts)]
    begins = [np.empty(0, np.bool_)]
    size = 0
    for values, numbers in blocks(rows, progress):
        pieces = cutter.cut(numbers)
        is_null = null_mask(values)
        nulls.add(numbers[is_null])
        counts = np.add.reduceat(is_null, pieces.starts, dtype=np.int64)
        least, greatest, nans = extremes(values, pieces.starts)
        summaries.append(
            _Summary(Zones.of(pieces.first, pieces.last), least, greatest, counts, nans)
        )
        begins.append(np.arange(len(counts)) >= int(pieces.continues))
        size += least.nbytes + greatest.nbytes
        if size > _MAX_PIECES_BYTES:
            zones = _united(_Summary.concat(summaries), np.flatnonzero(np.concatenate(begins)))
            summaries, begins = [zones], [np.ones(len(zones.nulls), np.bool_)]
            size = 0
    return _united(_Summary.concat(summaries), np.flatnonzero(np.concatenate(begins)))


def _united(pieces: _Summary, begins: Positions) -> _Summary:
    """Zones of pieces, of which those at ``begins`` are the first ones of a zone."""
    if not len(begins):
        return pieces
    first = pieces.zones.addresses()
    last = first + pieces.zones.lengths - np.uint64(1)
    least, greatest = extremes(pieces.least, begins)[0], extremes(pieces.greatest, begins)[1]
    nans = np.add.reduceat(pieces.nans, begins)
    return _Summary(
        Zones.of(first[begins], last[np.append(begins[1:], len(first)) - 1]),
        least,
        with_nan(greatest, nans > 0),
        np.add.reduceat(pieces.nulls, begins),
        nans,
    )


def _moved(part: IndexPart, nulls: NullRows | None) -> _Summary:
    """The zones of an existing index, where their rows are now."""
    source = part.source
    assert isinstance(source, OpenZoneMap)
    old = source.summary
    zones, origins = moved_zones(old.zones, part.map)
    moved = old.take(origins)
    lengths = zones.lengths.astype(np.int64)
    counts = np.minimum(moved.nulls, lengths)
    if nulls is not None and source.null_rows is not None:
        counts = moved_nulls(source.null_rows, old.zones, zones, part.map, nulls)
    return moved._replace(zones=zones, nulls=counts, nans=np.minimum(moved.nans, lengths))


def _write(
    output: IndexOutput,
    summary: _Summary,
    rows_per_zone: int,
    use_seeds: bool,
    nulls: NullRows | None,
) -> bytes:
    value_type = summary.least.type
    column_types = {"min": value_type, "max": value_type} | _COUNT_COLUMNS | ZONE_COLUMNS
    schema = pa.schema(
        [
            pa.field(name, type_, nullable=name in ("min", "max"))
            for name, type_ in column_types.items()
        ],
        {"rows_per_zone": str(rows_per_zone)},
    )
    counts = [from_numpy(np.asarray(values, np.uint32)) for values in (summary.nulls, summary.nans)]
    columns = [summary.least, summary.greatest, *counts, *summary.zones.columns()]
    with output.create(FILE, schema) as file:
        file.write(pa.RecordBatch.from_arrays(columns, schema=schema))
        if nulls is not None:
            nulls.write(file)
    return ZoneMapIndexDetails(
        rows_per_zone=rows_per_zone, use_seeds=use_seeds, has_null_bitmap=nulls is not None
    ).SerializeToString()
