"""BLOOMFILTER: a split block Bloom filter of each zone of rows, and the addresses of null rows.

``bloomfilter.lance`` has a row for each zone: ``fragment_id``, ``zone_start`` and ``zone_length``
(unsigned 64 bits), ``has_null`` and ``bloom_filter_data`` (binary), none of them nullable.
Metadata: ``bloomfilter_item``, ``bloomfilter_probability``, ``null_bitmap``. The details are an
empty ``BloomFilterIndexDetails`` (``index.proto``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.hookspecs.arrays import from_numpy, is_variable
from lance_core.hookspecs.concurrency import LruCache, cached_property
from lance_core.hookspecs.indices import (
    BLOCK_BYTES,
    EMPTY,
    FilterSet,
    IndexFileWriter,
    IndexFolder,
    IndexOutput,
    IndexPart,
    IndexQuery,
    IndexRows,
    IndexType,
    IsIn,
    IsNull,
    OpenIndex,
    Precision,
    Progress,
    RowMap,
    RowNumbers,
    RowSet,
    SearchResult,
    build_filters,
    filter_bytes,
    hash_array,
)
from lance_core_indices.zones import (
    DEFAULT_ROWS,
    UNSTATED_ROWS,
    ZONE_COLUMNS,
    NullRows,
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

FILE = "bloomfilter.lance"

DEFAULT_PROBABILITY = 0.00057

MAX_CACHED_BYTES = 64 << 20
"""Maximum bytes of the filters of an index that stay in memory; larger ones are read in parts."""

_PARAMETERS = ("number_of_items", "probability")
_ITEMS, _PROBABILITY = "bloomfilter_item", "bloomfilter_probability"
_FILTERS = "bloom_filter_data"
_COLUMNS = ZONE_COLUMNS | {"has_null": pa.bool_(), _FILTERS: pa.binary()}

_WINDOW_BYTES = 16 << 20
"""Bytes of filters read at a time if not all of them are cached."""

_GROUP_BYTES = 512 << 10
"""Bytes of filters built at a time: small enough for the processor's cache."""

_Mask = npt.NDArray[np.bool_]


class BloomFilter(IndexType):
    """The built-in index type ``bloomfilter``."""

    def accepts(self, kind: pa.DataType) -> bool:
        """Integers, 32-bit and 64-bit floats, dates, times, timestamps, strings and binary."""
        types = pa.types
        is_time = types.is_temporal(kind) and not types.is_duration(kind)
        return bool(
            types.is_integer(kind)
            or types.is_float32(kind)
            or types.is_float64(kind)
            or (is_time and not types.is_interval(kind))
            or is_variable(kind)
        )

    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        """Nulls are answered exactly, equality and lists of values by zones."""
        if not self.accepts(kind):
            return None
        if isinstance(query, IsNull):
            return Precision.EXACT
        return Precision.AT_MOST if isinstance(query, IsIn) else None

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Known are ``number_of_items`` (rows of a zone) and ``probability`` (of a false hit)."""
        check_names(parameters, _PARAMETERS, "a Bloom filter")
        check_count("number_of_items", parameters.get("number_of_items", DEFAULT_ROWS))
        probability = parameters.get("probability", DEFAULT_PROBABILITY)
        is_number = isinstance(probability, int | float) and not isinstance(probability, bool)
        if not is_number or not 0 < probability < 1:
            raise InvalidInputError(
                f"probability must be a number between 0 and 1, but is {probability!r}"
            )

    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        """Writes one file, each filter as soon as it is complete."""
        self.check_parameters(parameters)
        items = parameters.get("number_of_items", DEFAULT_ROWS)
        probability = float(parameters.get("probability", DEFAULT_PROBABILITY))
        nulls = NullRows()
        with _create(output, items, probability) as file:
            _add_rows(file, rows, items, probability, nulls, output.progress)
            nulls.write(file)
        return b""

    def open(self, folder: IndexFolder, details: bytes) -> OpenBloomFilter:
        """Reads filters only when they are needed."""
        return OpenBloomFilter(folder)

    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        """Copies the filters. If a zone is now in several fragments, each of these gets a copy."""
        sources = [part.source for part in parts]
        first = sources[0]
        assert isinstance(first, OpenBloomFilter)
        nulls, has_all = NullRows(), True
        with _create(output, first.number_of_items, first.probability) as file:
            for source, row_map, _ in parts:
                assert isinstance(source, OpenBloomFilter)
                has_all = has_all and source.null_rows is not None
                _add_moved(file, source, row_map, nulls)
            if rows is not None:
                items, probability = first.number_of_items, first.probability
                _add_rows(file, rows, items, probability, nulls, output.progress)
            if has_all:
                nulls.write(file)
        return b""


class _Loaded(NamedTuple):
    """What stays in memory: the zones and, unless they are too large, their filters."""

    zones: Zones
    filters: list[FilterSet] | None


class OpenBloomFilter(OpenIndex):
    """An opened index of Bloom filters; they are read by the first search that needs them."""

    def __init__(self, folder: IndexFolder) -> None:
        self._file = folder.reader(FILE)
        check_columns(self._file.schema, _COLUMNS, FILE)
        self._loaded: LruCache[str, _Loaded] = LruCache(1, made_once=True)
        expected = filter_bytes(self.number_of_items, self.probability) * self._file.num_rows
        self._bytes = max(expected, folder.sizes.get(FILE, 0))

    @property
    def number_of_items(self) -> int:
        """The live rows of a zone."""
        return parse_count(self._file.metadata.get(_ITEMS, str(UNSTATED_ROWS)), FILE)

    @property
    def probability(self) -> float:
        """The probability of a false hit for which new filters are made."""
        text = self._file.metadata.get(_PROBABILITY, str(DEFAULT_PROBABILITY))
        try:
            probability = float(text)
        except ValueError:
            probability = -1.0
        if not 0 <= probability < 1:
            raise CorruptFileError(
                f"the metadata contains {text!r}, which is not a probability",
                FILE,
                field=_PROBABILITY,
            )
        return probability

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The live rows of a zone, and the probability of a false hit."""
        return {"number_of_items": self.number_of_items, "probability": self.probability}

    @cached_property
    def null_rows(self) -> RowSet | None:
        """The rows with a null; None if the index does not have them."""
        return read_null_rows(self._file, FILE)

    @property
    def nbytes(self) -> int:
        """The filters, or the zones alone if the filters are too large for memory."""
        if self._bytes <= MAX_CACHED_BYTES:
            return self._bytes
        return 64 * self._file.num_rows

    @cached_property
    def has_values(self) -> bool:
        """False if no filter has a value: all rows are null. Reads all filters."""
        for _, filters in self.filters():
            _, offsets, data = filters.buffers()
            bounds = np.frombuffer(offsets, np.int32, len(filters) + 1, 4 * filters.offset)
            if np.frombuffer(data or b"", np.uint8)[bounds[0] : bounds[-1]].any():
                return True
        return False

    def zones(self) -> Zones:
        """The zones. Raises `CorruptFileError`."""
        return self._load().zones

    def filters(self) -> Iterator[tuple[int, pa.Array]]:
        """All filters in windows of zones: the first zone, and its filter and those that follow."""
        for start, stop in self._windows():
            chunks = self._file.read([_FILTERS], start, stop)[_FILTERS].chunks
            firsts = itertools.accumulate(map(len, chunks), initial=start)
            yield from zip(firsts, chunks, strict=False)

    def has_null(self) -> _Mask:
        """Which zones have a null, according to the column of zones."""
        return column_values(self._file.read(["has_null"]), "has_null", FILE)

    def _windows(self) -> Iterator[tuple[int, int]]:
        rows, size = self._file.num_rows, filter_bytes(self.number_of_items, self.probability)
        step = max(1, _WINDOW_BYTES // size)
        for start in range(0, rows, step):
            yield start, min(start + step, rows)

    def _load(self) -> _Loaded:
        return self._loaded.get(FILE, self._read)

    def _read(self) -> _Loaded:
        if self._bytes > MAX_CACHED_BYTES:
            return _Loaded(read_zones(self._file.read(list(ZONE_COLUMNS)), FILE), None)
        # One read of all columns needs one request.
        table = self._file.read([*ZONE_COLUMNS, _FILTERS])
        sets = [_filter_set(chunk) for chunk in table[_FILTERS].chunks]
        return _Loaded(read_zones(table, FILE), sets)

    def search(self, query: IndexQuery, *, with_nulls: bool = False) -> SearchResult:
        """Tests the filters of all zones for the values of the query."""
        if isinstance(query, IsNull):
            if self.null_rows is None:
                raise CorruptFileError("the file has no bitmap of null rows", FILE)
            return SearchResult(self.null_rows, EMPTY if with_nulls else None)
        assert isinstance(query, IsIn)
        hashes = np.unique(hash_array(query.values))
        zones, cached = self._load()
        sets = cached or (_filter_set(chunk) for _, chunk in self.filters())
        matches = [np.empty(0, np.bool_), *(filters.may_contain(hashes) for filters in sets)]
        return SearchResult(zones.rows(np.concatenate(matches)), num_pages=len(zones))

    def statistics(self) -> Mapping[str, Any]:
        """The number of zones, and the parameters."""
        return {
            "type": "BloomFilter",
            "num_blocks": self._file.num_rows,
            "number_of_items": self.number_of_items,
            "probability": self.probability,
        }

    def prewarm(self) -> None:
        """Read the filters, if they are small enough, and the null rows."""
        self._load()
        _ = self.null_rows


def _filter_set(filters: pa.Array) -> FilterSet:
    """The filters of an array. Raises `CorruptFileError` for a size that is not of whole blocks."""
    _, offsets, data = filters.buffers()
    ends = np.frombuffer(offsets, np.int32, len(filters) + 1, 4 * filters.offset).astype(np.int64)
    sizes = np.diff(ends)
    bad = np.flatnonzero((sizes <= 0) | (sizes % BLOCK_BYTES != 0))
    if len(bad):
        reason = f"a filter has {sizes[bad[0]]} bytes, not a positive multiple of {BLOCK_BYTES}"
        raise CorruptFileError(reason, FILE, field=_FILTERS)
    words = np.frombuffer(data, "<u4", int(ends[-1] - ends[0]) // 4, int(ends[0]))
    first = (ends[:-1] - ends[0]) // BLOCK_BYTES
    return FilterSet(words.reshape(-1, 8), first, sizes // BLOCK_BYTES)


def _create(output: IndexOutput, items: int, probability: float) -> IndexFileWriter:
    metadata = {_ITEMS: str(items), _PROBABILITY: str(probability)}
    fields = [pa.field(name, column_type, nullable=False) for name, column_type in _COLUMNS.items()]
    return output.create(FILE, pa.schema(fields, metadata))


class _FilteredZones(NamedTuple):
    """Zones and their filters; the axes of ``filters`` are zones, blocks and words."""

    first: RowNumbers
    last: RowNumbers
    has_null: _Mask
    filters: npt.NDArray[np.uint32]

    def cut(self, part: slice) -> _FilteredZones:
        first, last, has_null, filters = self
        return _FilteredZones(first[part], last[part], has_null[part], filters[part])

    def write(self, file: IndexFileWriter) -> None:
        count, size = len(self.first), self.filters[:1].nbytes
        ends = np.arange(0, (count + 1) * size, size, dtype=np.int32)
        data = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(self.filters))]
        filters = pa.Array.from_buffers(pa.binary(), count, data)
        _write(file, Zones.of(self.first, self.last), self.has_null, filters)


def _write(file: IndexFileWriter, zones: Zones, has_null: _Mask, filters: pa.Array) -> None:
    columns = [*zones.columns(), from_numpy(has_null), filters]
    file.write(pa.RecordBatch.from_arrays(columns, names=list(_COLUMNS)))


def _add_rows(
    file: IndexFileWriter,
    rows: IndexRows,
    items: int,
    probability: float,
    nulls: NullRows,
    progress: Progress,
) -> None:
    """Write the zones of new rows; adds their null rows to ``nulls``."""
    cutter, num_blocks = ZoneCutter(items), filter_bytes(items, probability) // BLOCK_BYTES
    step = max(1, _GROUP_BYTES // (num_blocks * BLOCK_BYTES))
    last: _FilteredZones | None = None
    for values, numbers in blocks(rows, progress):
        is_null = null_mask(values)
        nulls.add(numbers[is_null])
        pieces = cutter.cut(numbers)
        lengths = np.diff(np.append(pieces.starts, len(numbers)))
        zones = np.repeat(np.arange(len(lengths)), lengths)
        if values.null_count:
            zones = zones[~is_null]
        hashes = hash_array(values.drop_null() if values.null_count else values)
        has_null = np.logical_or.reduceat(is_null, pieces.starts)
        for start in range(0, len(lengths), step):
            part = slice(start, min(start + step, len(lengths)))
            low, high = np.searchsorted(zones, (part.start, part.stop))
            count = part.stop - start
            filters = build_filters(hashes[low:high], zones[low:high] - start, count, num_blocks)
            group = _FilteredZones(
                pieces.first[part],
                pieces.last[part],
                has_null[part],
                filters.reshape(count, num_blocks, 8),
            )
            if last is not None and start == 0 and pieces.continues:
                _unite(last, group)
            elif last is not None:
                last.write(file)
            if count > 1:
                group.cut(slice(0, -1)).write(file)
            last = group.cut(slice(-1, None))
    if last is not None:
        last.write(file)


def _unite(before: _FilteredZones, group: _FilteredZones) -> None:
    """Add the rows of a zone that came ``before`` to the first zone of ``group``."""
    group.first[0] = before.first[0]
    group.has_null[0] |= before.has_null[0]
    np.bitwise_or(group.filters[0], before.filters[0], out=group.filters[0])


def _add_moved(
    file: IndexFileWriter, source: OpenBloomFilter, row_map: RowMap, nulls: NullRows
) -> None:
    """Write the zones of an existing index where their rows are now."""
    old = source.zones()
    zones, origins = moved_zones(old, row_map)
    if source.null_rows is None:
        has_null = source.has_null()[origins]
    else:
        has_null = moved_nulls(source.null_rows, old, zones, row_map, nulls) > 0
    for start, filters in source.filters():
        low, high = np.searchsorted(origins, (start, start + len(filters)))
        if high > low:
            moved = filters.take(from_numpy(origins[low:high] - start))
            _write(file, zones.take(slice(low, high)), has_null[low:high], moved)
