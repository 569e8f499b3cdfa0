"""Build an index of texts, or write one of existing indices whose rows may have moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lance_core.hookspecs.indices import IndexNotWrittenError
from lance_core_text.postings import index_files
from lance_core_text.write.parameters import BuildParameters
from lance_core_text.write.posting_table import PostingTable, combined, stored_table, text_tables
from lance_core_text.write.write_partition import posting_metadata, write_partition

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import IndexBatch, IndexOutput, IndexPart, IndexRows

NO_FRAGMENTS = bytes.fromhex("3a30000000000000")
"""An empty bitmap of fragments whose rows were deleted."""


def build(rows: IndexRows, parameters: BuildParameters, output: IndexOutput) -> bytes:
    """Write the files of an index of ``rows``; returns the details.

    Memory is bounded by partitions: one has the terms that the memory limit allows.
    """
    batches = _reported(rows, output)
    tables = text_tables(batches, parameters.texts, parameters.max_terms)
    _write(tables, parameters, output)
    return parameters.details()


def merge(parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput) -> bytes:
    """Write an index of the rows of ``parts`` that are kept, and of new rows.

    Small partitions become one. Raises `IndexNotWrittenError` for parts of other parameters.
    """
    source: Any = parts[0].source  # the type opens no others
    for part in parts[1:]:
        other: Any = part.source
        if other.text_parameters != source.text_parameters:
            raise IndexNotWrittenError("segments of texts with other parameters are not merged")
    # Blocks are written as format 2 has them, also those of indices of format 3.
    given = {**source.text_parameters.as_mapping(), "block_size": 128}
    parameters = BuildParameters.of(given)
    if parameters.texts.with_position and not all(p.source.has_positions for p in parts):  # type: ignore[attr-defined]
        raise IndexNotWrittenError("a segment has no positions")

    def tables() -> Iterator[PostingTable]:
        for part in parts:
            for partition in part.source.partitions:  # type: ignore[attr-defined]
                yield stored_table(
                    partition, part.map, with_positions=parameters.texts.with_position
                )
        if rows is not None:
            yield from text_tables(_reported(rows, output), parameters.texts, parameters.max_terms)

    _write(_joined(tables(), parameters.max_terms), parameters, output)
    return source.details if source.text_parameters.block_size == 128 else parameters.details()


def _joined(tables: Iterable[PostingTable], max_terms: int) -> Iterator[PostingTable]:
    """The same documents in as few tables as their terms allow."""
    waiting: list[PostingTable] = []
    total = 0
    for table in tables:
        size = int(table.lengths.sum())
        if waiting and total + size > max_terms:
            yield combined(waiting)
            waiting, total = [], 0
        waiting.append(table)
        total += size
    if waiting:
        yield combined(waiting)


def _write(
    tables: Iterable[PostingTable], parameters: BuildParameters, output: IndexOutput
) -> None:
    count = 0
    for table in tables:
        if len(table.rows):
            write_partition(table, count, output)
            count += 1
    schema = pa.schema([pa.field("deleted_fragments", pa.binary(), nullable=False)])
    with output.create(index_files.METADATA_FILE, schema) as writer:
        column = pa.array([NO_FRAGMENTS], pa.binary())
        writer.write(pa.RecordBatch.from_arrays([column], schema=schema))
        writer.add_metadata(index_files.PARTITIONS_KEY, str(list(range(count))))
        writer.add_metadata(index_files.PARAMETERS_KEY, parameters.texts.to_json())
        writer.add_metadata(index_files.TERMS_KEY, "arrow")
        metadata = posting_metadata(with_positions=parameters.texts.with_position)
        for key, value in metadata.items():
            writer.add_metadata(key, value)


def _reported(rows: IndexRows, output: IndexOutput) -> Iterator[IndexBatch]:
    """The batches of ``rows``; the progress is told."""
    done = 0
    for batch in rows.batches():
        yield batch
        done += len(batch.rows)
        output.progress("tokenize", done, rows.num_rows)
