"""Write the files of a partition: documents, terms, and postings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.arrays import from_numpy
from lance_core_text.postings import index_files
from lance_core_text.postings.partition import ELEMENT, NUM_TOKENS, ROW_ID
from lance_core_text.write.posting_columns import MAX_POSTINGS, PostingColumns, term_ranges
from lance_core_text.write.posting_lists import Documents, PostingLists, joined
from lance_core_text.write.token_sets import SortedColumn, TokenSetWriter, Transducer

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import IndexOutput
    from lance_core_text.write.posting_format import PostingFormat

_DOCUMENT_FIELDS = (
    pa.field(ROW_ID, pa.uint64(), nullable=False),
    pa.field(NUM_TOKENS, pa.uint32(), nullable=False),
)
_ELEMENT_FIELD = pa.field(ELEMENT, pa.uint32(), nullable=False)


def write_partition(
    documents: Documents,
    lists: Iterable[PostingLists],
    number: int,
    form: PostingFormat,
    output: IndexOutput,
) -> None:
    """Write documents, and the lists of all terms, whose terms ascend."""
    fields = list(_DOCUMENT_FIELDS)
    columns = [from_numpy(documents.rows), from_numpy(documents.lengths.astype(np.uint32))]
    if documents.elements is not None:
        fields.append(_ELEMENT_FIELD)
        columns.append(from_numpy(documents.elements))
    schema = pa.schema(fields)
    with output.create(index_files.documents_file(number), schema) as writer:
        writer.write(pa.RecordBatch.from_arrays(columns, schema=schema))
        writer.add_metadata(index_files.TOTAL_KEY, str(documents.total_length))
    columns_of = PostingColumns(documents, form)
    tokens: TokenSetWriter = (
        Transducer() if form.token_set == index_files.TRANSDUCER else SortedColumn()
    )
    postings_schema = pa.schema(columns_of.fields)
    with (
        output.create(index_files.tokens_file(number), tokens.schema) as terms,
        output.create(index_files.postings_file(number), postings_schema) as postings,
    ):
        for part in _groups(lists):
            terms_of_part = tokens.add(part.terms)
            if terms_of_part is not None:
                terms.write(terms_of_part)
            columns = columns_of.encoded(part)
            postings.write(pa.RecordBatch.from_arrays(columns, schema=postings_schema))
        last_terms = tokens.finish()
        if last_terms is not None:
            terms.write(last_terms)
        for key, value in form.metadata.items():
            postings.add_metadata(key, value)


def _groups(lists: Iterable[PostingLists]) -> Iterator[PostingLists]:
    """The same lists in groups of `MAX_POSTINGS` or a single longer list.

    They depend on the lists alone: the same postings have the same bytes, however they come.
    """
    waiting: list[PostingLists] = []
    total = 0
    for part in lists:
        waiting.append(part)
        total += len(part.documents)
        if total > MAX_POSTINGS:
            *full, left = _cut(joined(waiting))
            yield from full
            waiting, total = [left], len(left.documents)
    if waiting:
        yield from _cut(joined(waiting))


def _cut(lists: PostingLists) -> Iterator[PostingLists]:
    for first, stop in term_ranges(lists.counts):
        yield lists if stop - first == len(lists.counts) else lists.some(first, stop)
