"""The two files of a vector index, and the metadata in them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import to_numpy
from lance_core.hookspecs.indices import IVF, IndexFileReader, IndexFolder, Tensor, parse_message

INDEX_FILE = "index.idx"
"""The kind, the centroids and, for kinds with a graph, the graph."""

CODES_FILE = "auxiliary.idx"
"""The row numbers and codes of all vectors, sorted by partition."""

ROW_ID = "_rowid"

_TAIL_LENGTH = 1 << 20
"""Bytes of each file that are read first: few codebooks and descriptions of pages are longer."""

_WHOLE_LENGTH = 4 << 20
"""Bytes up to which the file of the centroids is read whole, since a query needs all of them."""

INDEX_KEY = "lance:index"
IVF_KEY = "lance:ivf"
HNSW_KEY = "lance:hnsw"
FLAT_KEY = "lance:flat"
METRIC_KEY = "distance_type"
QUANTIZER_KEY = "storage_metadata"

DTYPES: dict[int, np.dtype[Any]] = {
    Tensor.FLOAT16: np.dtype("<f2"),
    Tensor.FLOAT32: np.dtype("<f4"),
    Tensor.FLOAT64: np.dtype("<f8"),
    Tensor.UINT8: np.dtype("u1"),
}
"""The types of numbers in a ``Tensor``."""


@dataclass(frozen=True, slots=True, eq=False)
class IndexFiles:
    """The files of an index and what their metadata says.

    ``kind`` as in ``IVF_PQ``; ``metric`` the name of the distance; ``quantizer`` the metadata of
    the codes; ``graph`` one JSON object for each partition, empty for kinds without a graph.
    """

    index: IndexFileReader
    codes: IndexFileReader
    kind: str
    metric: str
    quantizer: Mapping[str, Any]
    graph: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, folder: IndexFolder) -> IndexFiles:
        """Open the files. Raises `CorruptFileError` and `ObjectNotFoundError`."""
        index = folder.reader(INDEX_FILE, _TAIL_LENGTH, _WHOLE_LENGTH)
        codes = folder.reader(CODES_FILE, _TAIL_LENGTH)
        index_type = as_object(_json(index, INDEX_KEY), index.path, INDEX_KEY)
        stored = _json(codes, QUANTIZER_KEY)
        if not isinstance(stored, list) or len(stored) != 1 or not isinstance(stored[0], str):
            raise CorruptFileError("is not a list of one text", codes.path, field=QUANTIZER_KEY)
        quantizer = as_object(_parsed(stored[0], codes, QUANTIZER_KEY), codes.path, QUANTIZER_KEY)
        metric = codes.metadata.get(METRIC_KEY)
        if not isinstance(index_type.get("type"), str) or metric != index_type.get("distance_type"):
            raise CorruptFileError("has no type, or another distance", index.path, field=INDEX_KEY)
        graph: tuple[Mapping[str, Any], ...] = ()
        if HNSW_KEY in index.metadata:
            graph = tuple(
                as_object(_parsed(part, index, HNSW_KEY) if part else {}, index.path, HNSW_KEY)
                for part in _texts(index, HNSW_KEY)
            )
        return cls(index, codes, index_type["type"], str(metric), quantizer, graph)


@dataclass(frozen=True, slots=True, eq=False)
class IvfModel:
    """The partitions: their centroids, and the rows that they have in the file of codes.

    ``centroids``: float32, float64 or uint8, one a row. Partition i has ``lengths[i]`` rows from
    ``offsets[i]`` on; no row is in two partitions. ``loss``: of the training, if it is known.
    ``graph_rows``: for each partition the first row of its graph in the file of the index, and the
    one after the last; None for an index without graphs.
    """

    centroids: npt.NDArray[Any]
    offsets: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    loss: float | None
    graph_rows: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(cls, files: IndexFiles, width: int) -> IvfModel:
        """Read the model of an index of vectors of ``width`` numbers. Raises `CorruptFileError`."""
        trained, stored = _ivf(files.index), _ivf(files.codes)
        centroids = _centroids(trained, files.index.path, width)
        if not len(centroids):  # some writers have them in the other file only
            centroids = _centroids(stored, files.codes.path, width)
        count = len(stored.lengths)
        lengths = np.array(stored.lengths, np.int64)
        offsets = np.cumsum(lengths) - lengths
        if stored.offsets:
            if len(stored.offsets) != count or max(stored.offsets) >= 1 << 62:
                raise CorruptFileError("offsets do not match", files.codes.path, field="IVF")
            offsets = np.array(stored.offsets, np.int64)
        if count != len(centroids):
            raise CorruptFileError(
                f"{count} partitions, and {len(centroids)} centroids", files.codes.path, field="IVF"
            )
        order = np.argsort(offsets[lengths > 0])
        starts, stops = offsets[lengths > 0][order], (offsets + lengths)[lengths > 0][order]
        if (starts[1:] < stops[:-1]).any() or stops.max(initial=0) > files.codes.num_rows:
            raise CorruptFileError(
                "partitions overlap or end after the last row", files.codes.path, field="IVF"
            )
        if lengths.sum() != files.codes.num_rows:
            raise CorruptFileError(
                f"partitions have {lengths.sum()} of {files.codes.num_rows} rows",
                files.codes.path,
                field="IVF",
            )
        loss = trained.loss if trained.HasField("loss") and math.isfinite(trained.loss) else None
        graph_rows = _graph_rows(trained, files)
        if graph_rows is not None and len(graph_rows) != count:
            raise CorruptFileError(
                f"{count} partitions, and {len(graph_rows)} graphs", files.index.path, field="IVF"
            )
        return cls(centroids, offsets, lengths, loss, graph_rows)

    @property
    def nbytes(self) -> int:
        """The bytes in memory."""
        return int(self.centroids.nbytes + self.offsets.nbytes + self.lengths.nbytes)


def _graph_rows(message: Any, files: IndexFiles) -> npt.NDArray[np.int64] | None:
    """See `IvfModel.graph_rows`."""
    if not files.graph or not files.index.num_rows:
        return None
    path = files.index.path
    lengths = np.array(message.lengths, np.int64)
    starts = np.cumsum(lengths) - lengths
    if message.offsets:
        if len(message.offsets) != len(lengths) or max(message.offsets) >= 1 << 62:
            raise CorruptFileError("offsets do not match", path, field="IVF")
        starts = np.array(message.offsets, np.int64)
    stops = starts + lengths
    if stops.max(initial=0) > files.index.num_rows or len(files.graph) != len(lengths):
        raise CorruptFileError("a graph is missing or ends after the last row", path, field="IVF")
    return np.stack([starts, stops], axis=1)


def tensor(message: Any, path: str, field: str) -> npt.NDArray[Any]:
    """The numbers of a ``Tensor``, flat; its shape is checked against its bytes."""
    dtype = DTYPES.get(message.data_type)
    size = math.prod(message.shape)
    if dtype is None or size * dtype.itemsize != len(message.data):
        raise CorruptFileError(
            f"{len(message.data)} bytes for numbers of type {message.data_type} in the shape "
            f"{list(message.shape)}",
            path,
            field=field,
        )
    values: npt.NDArray[Any] = np.frombuffer(message.data, dtype)
    return values


def buffer_tensor(reader: IndexFileReader, number: object, field: str) -> Any:
    """The ``Tensor`` in a global buffer."""
    if type(number) is not int:
        raise CorruptFileError(
            f"{number!r} is not the number of a buffer", reader.path, field=field
        )
    data = reader.global_buffer(number).to_pybytes()
    return parse_message(Tensor, data, reader.path, field)


def as_object(value: object, path: str, field: str) -> dict[str, Any]:
    """``value``, if it is a JSON object."""
    if not isinstance(value, dict):
        raise CorruptFileError("is not a JSON object", path, field=field)
    return value


def row_numbers(values: pa.Array, path: str) -> npt.NDArray[np.uint64]:
    """The row numbers in a column (uint64), aligned in memory.

    Raises `CorruptFileError` for nulls.
    """
    if values.null_count:
        raise CorruptFileError("a row number is null", path, field=ROW_ID)
    numbers: npt.NDArray[np.uint64] = to_numpy(values)
    # Parts of mapped files may begin anywhere, which compiled loops refuse.
    return np.require(numbers, requirements="A")


def whole(values: Mapping[str, Any], name: str, path: str) -> int:
    """The positive whole number ``name`` of the metadata of a quantizer."""
    value = values.get(name)
    if type(value) is not int or not 0 < value < 1 << 24:
        raise CorruptFileError(f"{name} is {value!r}", path, field=QUANTIZER_KEY)
    return value


def _ivf(reader: IndexFileReader) -> Any:
    number = reader.metadata.get(IVF_KEY, "")
    if not number.isdecimal() or len(number) > 9:
        raise CorruptFileError(
            f"{number!r} is not the number of a buffer", reader.path, field=IVF_KEY
        )
    data = reader.global_buffer(int(number)).to_pybytes()
    return parse_message(IVF, data, reader.path, "IVF")


def _centroids(message: Any, path: str, width: int) -> npt.NDArray[Any]:
    if message.HasField("centroids_tensor"):
        numbers = tensor(message.centroids_tensor, path, "IVF.centroids_tensor")
    else:
        numbers = np.array(message.centroids, np.float32)
    if len(numbers) % width:
        raise CorruptFileError(
            f"{len(numbers)} numbers for centroids of {width}", path, field="IVF.centroids_tensor"
        )
    if numbers.dtype == np.float16:
        numbers = numbers.astype(np.float32)
    if numbers.dtype != np.uint8 and not np.isfinite(numbers).all():
        raise CorruptFileError("a number is not finite", path, field="IVF.centroids_tensor")
    return numbers.reshape(-1, width)


def _json(reader: IndexFileReader, key: str) -> Any:
    if key not in reader.metadata:
        raise CorruptFileError("the metadata is missing", reader.path, field=key)
    return _parsed(reader.metadata[key], reader, key)


def _texts(reader: IndexFileReader, key: str) -> list[str]:
    texts = _json(reader, key)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise CorruptFileError("is not a list of texts", reader.path, field=key)
    return texts


def _parsed(text: str, reader: IndexFileReader, key: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"is not JSON: {error}", reader.path, field=key) from None
