"""Build an index of texts, or write one of existing indices whose rows may have moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.arrays import from_values
from lance_core.hookspecs.indices import IndexBatch, IndexNotWrittenError
from lance_core_text.postings import index_files
from lance_core_text.write.parameters import BuildParameters
from lance_core_text.write.posting_lists import Documents, PostingLists
from lance_core_text.write.posting_runs import PostingRuns
from lance_core_text.write.stored_documents import StoredDocuments
from lance_core_text.write.text_terms import TextTerms
from lance_core_text.write.write_partition import write_partition

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import IndexOutput, IndexPart, IndexRows
    from lance_core_text.inverted_index import InvertedIndex

NO_FRAGMENTS = bytes.fromhex("3a30000000000000")
"""An empty bitmap of fragments whose rows were deleted."""

MAX_DOCUMENTS = 1 << 23
"""Documents of a partition: a build takes up to 24 bytes for each beside its memory limit."""

_BYTES_OF_WORD = 4
"""Bytes of a word and the space after it, at least about."""


def build(rows: IndexRows, parameters: BuildParameters, output: IndexOutput) -> bytes:
    """Write the files of an index of ``rows``; returns the details."""
    if pa.types.is_large_binary(rows.type):
        parameters = replace(parameters, texts=replace(parameters.texts, lance_tokenizer="json"))
    index = _NewIndex(parameters, output)
    index.add_texts(_reported(rows, output))
    index.finish()
    return parameters.details()


def merge(parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput) -> bytes:
    """Write an index of the rows of ``parts`` that are kept, and of new rows.

    Raises `IndexNotWrittenError` for parts of other parameters.
    """
    sources: list[InvertedIndex] = [part.source for part in parts]  # type: ignore[misc]  # the type opens no others
    first = sources[0]
    texts = first.text_parameters
    for source in sources[1:]:
        if (source.text_parameters, source.by_element) != (texts, first.by_element):
            raise IndexNotWrittenError("segments of texts with other parameters are not merged")
    if texts.with_position and not all(source.has_positions for source in sources):
        raise IndexNotWrittenError("a segment has no positions")
    # pylance merges no segments with terms in different forms, and always writes transducers.
    has_transducer = any(source.token_set == index_files.TRANSDUCER for source in sources)
    token_set = index_files.TRANSDUCER if has_transducer else index_files.SORTED_COLUMN
    parameters = BuildParameters(
        texts, first.posting_format, token_set=token_set, by_element=first.by_element
    )
    index = _NewIndex(parameters, output)
    partitions = [
        StoredDocuments(partition, part.map)
        for part, source in zip(parts, sources, strict=True)
        for partition in source.partitions
    ]
    index.add_stored(partitions)
    if rows is not None:
        index.add_texts(_reported(rows, output))
    index.finish()
    return first.details


class _NewIndex:
    """An index that is written partition by partition."""

    def __init__(self, parameters: BuildParameters, output: IndexOutput) -> None:
        self._parameters = parameters
        self._output = output
        self._num_partitions = 0
        self._documents: list[Documents] = []
        self._num_documents = 0
        self._waiting: PostingLists | None = None
        self._runs: PostingRuns | None = None

    def add_texts(self, batches: Iterable[IndexBatch]) -> None:
        """Add the rows of ``batches`` as further documents."""
        parameters = self._parameters
        terms = self._new_terms()
        for batch in batches:
            bytes_of_row = batch.values.nbytes / max(1, len(batch.rows))
            most = max(1, int(_BYTES_OF_WORD * parameters.max_terms / max(1, bytes_of_row)))
            start = 0
            while start < len(batch.rows):
                count = min(most, MAX_DOCUMENTS - terms.num_documents)
                rows = batch.rows[start : start + count]
                terms.add(IndexBatch(batch.values.slice(start, count), rows))
                start += count
                is_full = terms.num_documents >= MAX_DOCUMENTS
                if is_full or terms.num_terms >= parameters.max_terms:
                    self._add_documents(*terms.inverted())
                    if is_full:
                        self._write_partition()
                    terms = self._new_terms()
        if terms.num_documents > self._num_documents:
            self._add_documents(*terms.inverted())

    def add_stored(self, partitions: Sequence[StoredDocuments]) -> None:
        """Add the documents of existing partitions, sorted by their rows."""
        group: list[StoredDocuments] = []
        total = 0
        for partition in partitions:
            if group and total + partition.num_documents > MAX_DOCUMENTS:
                self._add_group(group)
                self._write_partition()
                group, total = [], 0
            group.append(partition)
            total += partition.num_documents
        if group:
            self._add_group(group)

    def _new_terms(self) -> TextTerms:
        parameters = self._parameters
        return TextTerms(parameters.texts, self._num_documents, by_element=parameters.by_element)

    def finish(self) -> None:
        """Write the last partition, and the metadata."""
        self._write_partition()
        texts, form = self._parameters.texts, self._parameters.form
        schema = pa.schema([pa.field("deleted_fragments", pa.binary(), nullable=False)])
        with self._output.create(index_files.METADATA_FILE, schema) as writer:
            column = from_values([NO_FRAGMENTS], pa.binary())
            writer.write(pa.RecordBatch.from_arrays([column], schema=schema))
            numbers = str(list(range(self._num_partitions)))
            writer.add_metadata(index_files.PARTITIONS_KEY, numbers)
            writer.add_metadata(index_files.PARAMETERS_KEY, texts.to_json())
            writer.add_metadata(index_files.TERMS_KEY, form.token_set)
            for key, value in form.metadata.items():
                writer.add_metadata(key, value)

    def _add_group(self, group: Sequence[StoredDocuments]) -> None:
        documents, order = Documents.joined([stored.documents for stored in group]).ordered()
        numbers = np.empty(len(order), np.int32)
        numbers[order] = np.arange(len(order)) + self._num_documents
        self._documents.append(documents)
        self._num_documents += len(order)
        start = 0
        for stored in group:
            stop = start + stored.num_documents
            with_positions = self._parameters.texts.with_position
            for lists in stored.lists(numbers[start:stop], with_positions=with_positions):
                self._add_lists(lists)
            start = stop

    def _add_documents(self, documents: Documents, lists: PostingLists) -> None:
        self._documents.append(documents)
        self._num_documents += len(documents.rows)
        self._add_lists(lists)

    def _add_lists(self, lists: PostingLists) -> None:
        """Only if there are several, lists become runs."""
        if self._waiting is not None:
            if self._runs is None:
                self._runs = PostingRuns(self._output.scratch, self._parameters.run_bytes)
            self._runs.add(self._waiting)
        self._waiting = lists

    def _write_partition(self) -> None:
        """Write the documents so far; those that are added later have numbers from 0 on."""
        lists: Iterable[PostingLists] = [] if self._waiting is None else [self._waiting]
        if self._runs is not None and self._waiting is not None:
            self._runs.add(self._waiting)
            lists = self._runs.lists()
        self._waiting = None
        documents = Documents.joined(self._documents)
        if len(documents.rows):
            number = self._num_partitions
            write_partition(documents, lists, number, self._parameters.form, self._output)
            self._num_partitions += 1
        self._documents, self._num_documents, self._runs = [], 0, None


def _reported(rows: IndexRows, output: IndexOutput) -> Iterator[IndexBatch]:
    """The batches of ``rows``; the progress is told."""
    done = 0
    for batch in rows.batches():
        yield batch
        done += len(batch.rows)
        output.progress("tokenize", done, rows.num_rows)
