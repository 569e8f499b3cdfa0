"""Ingest of external blobs: read the objects behind URIs and store their bytes in the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.concurrency.lru_cache import LruCache
from lance_core.dataset.blobs.external import url_text
from lance_core.dataset.blobs.source import BlobSource
from lance_core.dataset.snapshot.base_paths import allowing, object_place, open_base
from lance_core.errors import CorruptFileError, InvalidInputError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import Field, has_blobs_v2, is_blob_v2
from lance_core.schema.blobs.fields import GIVEN_V2
from lance_core.store.base import ObjectStore
from lance_core.store.config import StoreConfig
from lance_core.store.uri import parse_uri, shown_uri

MAX_BYTES = 32 << 20
"""Bytes of objects in memory at a time; a single larger object is still read as a whole."""

_MAX_STORES = 64
"""Maximum number of open stores, one for each folder that the URIs name."""
_PERMISSION = "yes"
"""The caller named the URIs, so reads are allowed anywhere: see `base_paths.allowing`."""


@dataclass(frozen=True, slots=True)
class Ingest:
    """Reads the objects that a writer references; ``config`` is the table's store configuration.

    Storage options, and with them credentials, apply only to the table's own bucket or host.
    """

    config: StoreConfig

    def batches(self, batch: pa.RecordBatch, fields: Sequence[Field]) -> Iterator[pa.RecordBatch]:
        """The rows of ``batch`` with bytes in place of URIs, in one or several batches.

        ``fields`` describe the columns, with blob fields as `given_to_files` returns them. Raises
        `InvalidInputError` for a URI that cannot be used, `ObjectNotFoundError`, and
        `UnsupportedFeatureError` for blobs in lists.
        """
        paths = [path for n, field in enumerate(fields) for path in _blob_paths(field, (n,))]
        config = allowing(self.config, [_PERMISSION])
        stores: LruCache[str, ObjectStore] = LruCache(_MAX_STORES)
        sources_by_path = {path: _sources(_leaf(batch, path), config, stores) for path in paths}
        sizes = np.zeros(batch.num_rows)
        for sources in sources_by_path.values():
            for row, source in sources.items():
                sizes[row] += source.size
        if not any(sources_by_path.values()):
            yield batch
            return
        for start, stop in _pieces(sizes):
            columns = batch.slice(start, stop - start).columns
            for path, sources in sources_by_path.items():
                inside = {
                    row - start: source for row, source in sources.items() if start <= row < stop
                }
                if inside:
                    columns[path[0]] = _replaced(columns[path[0]], path[1:], inside)
            yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)


Path = tuple[int, ...]
"""The position of a column, then the position of a child at each struct level."""


def _blob_paths(field: Field, path: Path) -> Iterator[Path]:
    if is_blob_v2(field):
        yield path
    elif field.is_struct:
        for number, child in enumerate(field.children):
            yield from _blob_paths(child, (*path, number))
    elif has_blobs_v2([field]):
        raise UnsupportedFeatureError(f"ingesting blobs in lists (field {field.name!r})")


def _leaf(batch: pa.RecordBatch, path: Path) -> pa.StructArray:
    """The blobs at ``path``; a blob is null where a struct around it is null."""
    array = batch.column(path[0])
    for number in path[1:]:
        array = array.flatten()[number]
    return array


def _sources(
    array: pa.StructArray, config: StoreConfig, stores: LruCache[str, ObjectStore]
) -> dict[int, BlobSource]:
    """The location of the bytes, by row, for each row with a URI."""
    members = dict(zip([member.name for member in GIVEN_V2], array.flatten(), strict=True))
    rows = np.flatnonzero(np.asarray(members["uri"].is_valid()))
    sources = {}
    for row in rows.tolist():
        uri, start, size = (members[name][row].as_py() for name in ("uri", "position", "size"))
        sources[row] = _source(config, stores, uri, start or 0, size)
    return sources


def _source(
    config: StoreConfig, stores: LruCache[str, ObjectStore], uri: str, start: int, size: int | None
) -> BlobSource:
    try:
        folder, name = object_place(url_text(parse_uri(uri)))
    except CorruptFileError as error:
        raise InvalidInputError(
            f"the blob's URI {shown_uri(uri)!r} cannot be used: {error}"
        ) from error
    store = stores.get(folder, lambda: open_base(config, None, folder))
    if size is None:
        size = store.head(name).size
    return BlobSource(store, name, start, size)


def _pieces(sizes: npt.NDArray[np.float64]) -> Iterator[tuple[int, int]]:
    ends, first, before = np.cumsum(sizes), 0, 0.0
    while first < len(ends):
        stop = int(np.searchsorted(ends, before + MAX_BYTES, side="right"))
        stop = max(stop, first + 1)
        yield first, stop
        first, before = stop, float(ends[stop - 1])


def _replaced(array: pa.Array, path: Path, sources: dict[int, BlobSource]) -> pa.Array:
    """``array`` with the bytes of ``sources`` (by row) in its blobs at ``path``."""
    mask = array.is_null() if array.null_count else None
    children = [array.field(number) for number in range(array.type.num_fields)]
    if path:
        children[path[0]] = _replaced(children[path[0]], path[1:], sources)
        return pa.StructArray.from_arrays(children, fields=list(array.type), mask=mask)
    nothing = [pa.nulls(len(array), member.type) for member in list(GIVEN_V2)[1:]]
    members = [_with_bytes(children[0], sources), *nothing]
    return pa.StructArray.from_arrays(members, fields=list(GIVEN_V2), mask=mask)


def _with_bytes(data: pa.Array, sources: dict[int, BlobSource]) -> pa.Array:
    """``data`` with the bytes of ``sources``, which are by row.

    `_pieces` puts a large value into a batch of its own; a single value is not copied.
    """
    read = {row: _read(source) for row, source in sources.items()}
    if len(data) == 1:
        (buffer,) = read.values()
        ends = pa.py_buffer(np.array([0, buffer.size], np.int64))
        return pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, buffer])
    mask = np.zeros(len(data), np.bool_)
    mask[list(read)] = True
    values = pa.array([read[row].to_pybytes() for row in sorted(read)], pa.large_binary())
    return pc.replace_with_mask(data, pa.array(mask), values)


def _read(source: BlobSource) -> pa.Buffer:
    if not source.size:
        return pa.py_buffer(b"")
    return source.store.get_ranges(source.path, [source.range(0, source.size)])[0]
