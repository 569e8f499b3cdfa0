"""Trained models, which can be saved: the centroids of partitions, and codebooks."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Self

import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.file import LanceFileReader, LanceFileWriter


class IndexFileVersion(StrEnum):
    """The versions of the files of vector indices; only ``V3`` is written."""

    LEGACY = "Legacy"
    V3 = "V3"


class IvfModel:
    """The centroids of partitions.

    ``centroids``: a fixed-size list array of the type of the vectors. ``distance_type``: as in
    ``l2``.
    """

    def __init__(self, centroids: pa.FixedSizeListArray, distance_type: str) -> None:
        self.centroids = centroids
        self.distance_type = distance_type

    @property
    def num_partitions(self) -> int:
        """The number of centroids."""
        return len(self.centroids)

    def save(self, uri: str, *, storage_options: Mapping[str, str] | None = None) -> None:
        """Write the model to a Lance file at a path or URI."""
        metadata = {"distance_type": self.distance_type}
        _save(uri, "centroids", self.centroids, metadata, storage_options)

    @classmethod
    def load(cls, uri: str, *, storage_options: Mapping[str, str] | None = None) -> Self:
        """Read a model that `save` has written. Raises `CorruptFileError` for other files."""
        centroids, metadata = _loaded(uri, "centroids", storage_options)
        return cls(centroids, _text(metadata, "distance_type", uri))


class PqModel:
    """The codewords of a product quantiser.

    ``num_subvectors``: the parts of a vector. ``codebook``: a fixed-size list array with the
    numbers of all codewords of the first part first, then those of the second. ``num_bits``: of the
    code of a part, 8 or 4.
    """

    def __init__(
        self, num_subvectors: int, codebook: pa.FixedSizeListArray, *, num_bits: int = 8
    ) -> None:
        self.num_subvectors = num_subvectors
        self.num_bits = num_bits
        self.codebook = codebook

    @property
    def dimension(self) -> int:
        """The numbers of a vector."""
        return int(self.codebook.type.list_size)

    def save(self, uri: str, *, storage_options: Mapping[str, str] | None = None) -> None:
        """Write the model to a Lance file at a path or URI."""
        metadata = {"num_subvectors": str(self.num_subvectors), "num_bits": str(self.num_bits)}
        _save(uri, "codebook", self.codebook, metadata, storage_options)

    @classmethod
    def load(cls, uri: str, *, storage_options: Mapping[str, str] | None = None) -> Self:
        """Read a model that `save` has written. Raises `CorruptFileError` for other files."""
        codebook, metadata = _loaded(uri, "codebook", storage_options)
        numbers = {"num_bits": "8", **metadata}
        parts, bits = (_text(numbers, name, uri) for name in ("num_subvectors", "num_bits"))
        if not parts.isdecimal() or not bits.isdecimal():
            raise CorruptFileError("is not a number", uri, field="num_subvectors")
        return cls(int(parts), codebook, num_bits=int(bits))


def _save(
    uri: str,
    name: str,
    column: pa.Array,
    metadata: dict[str, str],
    options: Mapping[str, str] | None,
) -> None:
    schema = pa.schema([pa.field(name, column.type)], metadata=metadata)
    with LanceFileWriter(uri, schema, storage_options=options) as writer:
        writer.write_batch(pa.table([column], schema=schema))


def _loaded(
    uri: str, name: str, options: Mapping[str, str] | None
) -> tuple[pa.FixedSizeListArray, dict[str, str]]:
    reader = LanceFileReader(uri, storage_options=options)
    schema = reader.metadata().schema
    if name not in schema.names or not pa.types.is_fixed_size_list(schema.field(name).type):
        raise CorruptFileError("the column is missing", uri, field=name)
    column = reader.read_all().to_table()[name].combine_chunks()
    metadata = schema.metadata or {}
    return column, {key.decode(): value.decode() for key, value in metadata.items()}


def _text(metadata: Mapping[str, str], name: str, uri: str) -> str:
    if name not in metadata:
        raise CorruptFileError("the metadata is missing", uri, field=name)
    return metadata[name]
