"""Files of encoded vectors, which processes write before an index is built of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.file import LanceFileReader, LanceFileWriter
from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core_vector.partitions.index_files import row_numbers
from lance_core_vector.quantizers.base import fixed_bytes, matrix
from lance_core_vector.quantizers.product import COLUMN

ROW_ID, PARTITION = "_rowid", "__ivf_part_id"

BATCH_ROWS = 1 << 16
"""Rows that are read at once."""

Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64], npt.NDArray[np.uint8]]
"""The partitions, row ids and codes of some vectors, one code a row."""


def schema_of(num_bytes: int) -> pa.Schema:
    """The columns of a file of codes of so many bytes."""
    return pa.schema(
        [
            pa.field(ROW_ID, pa.uint64()),
            pa.field(PARTITION, pa.uint32()),
            pa.field(COLUMN, fixed_bytes(num_bytes)),
        ]
    )


def write_rows(writer: LanceFileWriter, rows: Rows) -> None:
    """Append rows to a file with the columns of `schema_of`."""
    partitions, numbers, codes = rows
    flat = from_numpy(np.ascontiguousarray(codes).reshape(-1))
    arrays = [
        from_numpy(numbers.astype(np.uint64, copy=False)),
        from_numpy(partitions.astype(np.uint32)),
        pa.FixedSizeListArray.from_arrays(flat, codes.shape[1]).cast(fixed_bytes(codes.shape[1])),
    ]
    schema = schema_of(codes.shape[1])
    writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))


def read_rows(paths: Sequence[str], count: int, num_bytes: int) -> Iterator[Rows]:
    """The rows of files, of vectors in ``count`` partitions with codes of ``num_bytes`` bytes.

    Raises `CorruptFileError` for other files and `ObjectNotFoundError`.
    """
    for path in paths:
        reader = LanceFileReader(path)
        schema = reader.metadata().schema
        for field in schema_of(num_bytes):
            index = schema.get_field_index(field.name)
            stored = None if index < 0 else schema.field(index).type
            if stored != field.type:
                raise CorruptFileError(
                    f"has the type {stored} instead of {field.type}", path, field=field.name
                )
        for batch in reader.read_all(batch_size=BATCH_ROWS).to_batches():
            if batch.column(PARTITION).null_count:
                raise CorruptFileError("a partition is null", path, field=PARTITION)
            partitions = to_numpy(batch.column(PARTITION)).astype(np.int64)
            if len(partitions) and int(partitions.max()) >= count:
                raise CorruptFileError(
                    f"has partition {partitions.max()} of {count}", path, field=PARTITION
                )
            codes = matrix(batch.column(COLUMN), path)
            yield partitions, row_numbers(batch.column(ROW_ID), path), codes
