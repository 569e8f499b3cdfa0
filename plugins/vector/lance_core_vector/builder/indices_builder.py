"""`IndicesBuilder`: the steps in which an index is built, one by one."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import lance_core
from lance_core.errors import InvalidInputError
from lance_core.file import LanceFileReader, LanceFileWriter
from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core_vector.builder.dataset_rows import DatasetRows
from lance_core_vector.builder.model_training import ModelTraining, refuse_accelerator
from lance_core_vector.builder.models import IvfModel, PqModel
from lance_core_vector.quantizers.product import COLUMN
from lance_core_vector.training.build import owners_of, vectors_of
from lance_core_vector.training.encoded_files import ROW_ID, read_rows, schema_of, write_rows
from lance_core_vector.training.partitioned_rows import PartitionedRows
from lance_core_vector.training.precomputed import COLUMNS, PrecomputedPartitions
from lance_core_vector.vectors import matrix_of

SLICE_BYTES = 8 << 20
"""Bytes of codes that are written at once."""


class IndicesBuilder(ModelTraining):
    """Builds an index of a column of vectors in steps, for tables that need several processes.

    ``dataset``: a `LanceDataset`. ``column``: the name of a column of vectors, or a list of one.
    Raises `ColumnNotFoundError` and `InvalidTypeError`.
    """

    def assign_ivf_partitions(
        self, ivf_model: IvfModel, accelerator: Any = None, *, output_uri: str | None = None
    ) -> str:
        """Write a table with the partition of each vector; returns its URI.

        Its columns are ``row_id`` and ``partition``; rows without a vector are left out.
        ``output_uri``: by default a new temporary folder.
        """
        refuse_accelerator(accelerator)
        parameters = self.parameters({**self.of_ivf(ivf_model), "kind": "IVF_FLAT"})
        if output_uri is None:
            output_uri = str(Path(tempfile.gettempdir()) / f"partitions-{uuid.uuid4()}.lance")
        types = dict(zip(COLUMNS, (pa.uint64(), pa.uint32()), strict=True))
        schema = pa.schema(list(types.items()))
        centroids = matrix_of(ivf_model.centroids).astype(np.float32)

        def batches() -> Iterator[pa.RecordBatch]:
            for numbers, vectors in vectors_of(self.rows, parameters.metric):
                owners = owners_of(vectors, centroids, parameters).astype(np.uint32)
                yield pa.RecordBatch.from_arrays(
                    [from_numpy(numbers), from_numpy(owners)], schema=schema
                )

        lance_core.write_dataset(batches(), output_uri, schema=schema)
        return output_uri

    def transform_vectors(
        self,
        ivf: IvfModel,
        pq: PqModel,
        dest_uri: str,
        fragments: Sequence[Any] | None = None,
        partition_ds_uri: str | None = None,
    ) -> None:
        """Write the partition and code of each vector of ``fragments`` to a Lance file.

        ``partition_ds_uri``: a table of `assign_ivf_partitions`. Raises `InvalidInputError`.
        """
        if fragments is not None and not len(fragments):
            raise InvalidInputError("fragments must be a non-empty list or None")
        options = {
            **self.of_ivf(ivf),
            "pq_codebook": pq.codebook,
            "num_sub_vectors": pq.num_subvectors,
            "num_bits": pq.num_bits,
        }
        parameters, encoder = self.parameters(options), self.trained(options).encoder
        centroids = matrix_of(ivf.centroids).astype(np.float32)
        precomputed = None
        if partition_ds_uri is not None:
            precomputed = PrecomputedPartitions.of(partition_ds_uri, len(centroids), None)
        rows = DatasetRows(self.dataset, self.column[0], fragments)
        with LanceFileWriter(dest_uri, schema_of(_code_bytes(pq))) as writer:
            for numbers, vectors in vectors_of(rows, parameters.metric):
                owners = owners_of(vectors, centroids, parameters)
                if precomputed is not None:
                    owners = precomputed.owners(numbers, owners)
                write_rows(writer, (owners, numbers, encoder.encode(vectors, centroids, owners)))

    def shuffle_transformed_vectors(
        self,
        unsorted_filenames: Sequence[str],
        dir_path: str,
        ivf: IvfModel,
        shuffle_output_root_filename: str | None = "sorted",
    ) -> list[str]:
        """Sort the rows of files of `transform_vectors` by partition; returns the new file names.

        All files are in the folder ``dir_path``.
        """
        _check_names(unsorted_filenames)
        paths = [f"{dir_path}/{name}" for name in unsorted_filenames]
        num_bytes = _stored_bytes(paths)
        name = f"{shuffle_output_root_filename or 'sorted'}_0.lance"
        with (
            tempfile.TemporaryDirectory(prefix="lance-core-index-") as scratch,
            PartitionedRows(ivf.num_partitions, lambda: Path(scratch)) as partitioned,
        ):
            for rows in read_rows(paths, ivf.num_partitions, num_bytes):
                partitioned.add(*rows)
            with LanceFileWriter(f"{dir_path}/{name}", schema_of(num_bytes)) as writer:
                for number in np.flatnonzero(partitioned.lengths).tolist():
                    for numbers, codes in partitioned.slices(number, SLICE_BYTES):
                        write_rows(writer, (np.full(len(numbers), number), numbers, codes))
        return [name]

    def load_shuffled_vectors(
        self,
        filenames: Sequence[str],
        dir_path: str,
        ivf: IvfModel,
        pq: PqModel,
        index_name: str | None = None,
    ) -> None:
        """Commit an index of type ``IVF_PQ`` of the rows of sorted files.

        It covers the fragments with these rows. ``index_name``: by default ``<column>_idx``.
        """
        _check_names(filenames)
        paths = [f"{dir_path}/{name}" for name in filenames]
        name = f"{self.column[0]}_idx" if index_name is None else index_name
        segment = self.dataset.create_index_uncommitted(
            self.column[0],
            "IVF_PQ",
            name,
            replace=True,
            fragment_ids=self._fragments(paths),
            metric=ivf.distance_type,
            ivf_centroids=ivf.centroids,
            pq_codebook=pq.codebook,
            num_sub_vectors=pq.num_subvectors,
            num_bits=pq.num_bits,
            precomputed_shuffle_buffers=paths,
        )
        self.dataset.commit_existing_index_segments(name, self.column[0], [segment])

    def _fragments(self, paths: Sequence[str]) -> list[int]:
        """The fragments with the rows of files; all in tables with stable row ids."""
        if self.dataset.has_stable_row_ids:
            return [fragment.fragment_id for fragment in self.dataset.get_fragments()]
        fragment_ids: set[int] = set()
        for path in paths:
            for batch in LanceFileReader(path, columns=[ROW_ID]).read_all().to_batches():
                fragment_ids.update(np.unique(to_numpy(batch.column(0)) >> np.uint64(32)).tolist())
        return sorted(fragment_ids)


def _code_bytes(pq: PqModel) -> int:
    return pq.num_subvectors * pq.num_bits // 8


def _stored_bytes(paths: Sequence[str]) -> int:
    """The bytes of a code in a file of `IndicesBuilder.transform_vectors`."""
    for path in paths:
        schema = LanceFileReader(path).metadata().schema
        if COLUMN in schema.names and pa.types.is_fixed_size_list(schema.field(COLUMN).type):
            return int(schema.field(COLUMN).type.list_size)
    raise InvalidInputError("there are no files of codes")


def _check_names(names: object) -> None:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidInputError("filenames must be a list of strings")
