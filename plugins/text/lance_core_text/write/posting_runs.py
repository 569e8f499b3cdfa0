"""`PostingRuns`: posting lists that are merged by term, in bounded memory.

Lists that do not fit into memory become runs in local files, see `ExternalSort`. A row of a run is
a term with a piece of its list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.analyzers import Integers
from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core.hookspecs.indices import ExternalSort
from lance_core_text.postings.numbered_runs import numbered_runs
from lance_core_text.write.posting_lists import PostingLists

MAX_PIECE = 1 << 16
"""Postings of a row at most, so that long lists have blocks of bounded size."""


class PostingRuns:
    """Posting lists of terms, some of which are added several times, with other documents."""

    def __init__(self, scratch: Callable[[], Path], memory_bytes: int) -> None:
        """``scratch``: returns an empty local folder. ``memory_bytes``: the budget."""
        self._sort = ExternalSort(scratch, memory_bytes)

    def add(self, lists: PostingLists) -> None:
        """Add lists, in any order of the documents."""
        if len(lists.terms):
            self._sort.add(_rows(lists))

    def lists(self) -> Iterator[PostingLists]:
        """The whole list of each term. Nothing can be added any more."""
        waiting: list[pa.RecordBatch] = []  # the last term, which may go on
        for batch in self._sort.batches():
            terms = batch.column(0)
            if waiting and terms[-1] == waiting[0].column(0)[0]:
                waiting.append(batch)
                continue
            last = int(pc.index(terms, terms[-1]).as_py())
            if last or waiting:
                yield _lists([*waiting, batch.slice(0, last)])
            waiting = [batch.slice(last)]
        if waiting:
            yield _lists(waiting)


def _rows(lists: PostingLists) -> pa.RecordBatch:
    """One row for each piece of a list."""
    counts = lists.counts
    of_lists = -(-counts // MAX_PIECE)
    owners, number = numbered_runs(of_lists)
    starts = (np.cumsum(counts) - counts)[owners] + MAX_PIECE * number
    offsets = np.append(starts, len(lists.documents))
    columns = {
        "term": lists.terms.take(from_numpy(owners)),
        "documents": _list_array(offsets, lists.documents),
        "frequencies": _list_array(offsets, lists.frequencies),
    }
    if lists.positions is not None:
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lists.frequencies, dtype=np.int64)])
        columns["positions"] = _list_array(ends[offsets], lists.positions)
    return pa.RecordBatch.from_pydict(columns)


def _list_array(offsets: Integers, values: np.ndarray[Any, Any]) -> pa.Array:
    return pa.LargeListArray.from_arrays(from_numpy(offsets), from_numpy(values))


def _lists(batches: list[pa.RecordBatch]) -> PostingLists:
    """The lists whose pieces, by term, are in ``batches``."""
    (rows,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    terms = rows.column(0)
    is_first = np.ones(len(terms), np.bool_)
    is_first[1:] = to_numpy(pc.not_equal(terms[1:], terms[:-1]))
    firsts = np.flatnonzero(is_first)
    lengths = to_numpy(rows.column(1).value_lengths())
    values = [to_numpy(column.flatten()) for column in rows.columns[1:]]
    lists = PostingLists(
        terms.take(from_numpy(firsts)),
        np.add.reduceat(lengths, firsts),
        values[0],
        values[1],
        values[2] if len(values) > 2 else None,
    )
    return lists.ordered()
