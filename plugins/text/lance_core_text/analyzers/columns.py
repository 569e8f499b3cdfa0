"""The terms of a column, whose rows are texts, lists of texts, or JSON documents."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.analyzers import Integers
from lance_core.hookspecs.arrays import edges_of, from_numpy, to_numpy, to_scalar
from lance_core.hookspecs.indices import RowNumbers
from lance_core_text.analyzers.analyze import AnalyzedTexts, analyze_texts
from lance_core_text.analyzers.json_documents import analyze_documents, is_json
from lance_core_text.analyzers.parameters import TextParameters
from lance_core_text.postings.numbered_runs import numbered_runs


def is_text(data_type: pa.DataType) -> bool:
    """True for strings, lists of them, and lists in lists; others that are searched are JSON."""
    while is_list(data_type):
        data_type = data_type.value_type
    return bool(pa.types.is_string(data_type) or pa.types.is_large_string(data_type))


def is_list(data_type: pa.DataType) -> bool:
    """True for lists, whose elements may be documents."""
    return bool(pa.types.is_list(data_type) or pa.types.is_large_list(data_type))


def analyze_column(
    values: pa.Array, parameters: TextParameters, *, with_offsets: bool = True
) -> AnalyzedTexts:
    """The terms of each row, one row a document.

    The texts of a list, and of lists in it, are as one, with spaces between them, in which offsets
    are. Raises `PluginNotFoundError` if the analyzer is missing. ``with_offsets``: as in
    `analyze_texts`.
    """
    if is_json(parameters):
        return analyze_documents(values, parameters)
    if is_list(values.type):
        values = _joined(values)
    return analyze_texts(values.cast(pa.large_string()), parameters, with_offsets=with_offsets)


class ElementTexts(NamedTuple):
    """The elements of lists, each a document: the text, the number of the row, and the position.

    ``positions`` count from 0 in each list; nulls and empty texts are elements, too.
    """

    texts: pa.Array
    rows: RowNumbers
    positions: npt.NDArray[np.uint32]


def element_texts(lists: pa.Array, rows: npt.NDArray[Any]) -> ElementTexts:
    """The elements of ``lists``, which are those of ``rows``; no lists in lists."""
    lengths = _lengths(lists)
    _, positions = numbered_runs(lengths)
    return ElementTexts(lists.flatten(), np.repeat(rows, lengths), positions.astype(np.uint32))


def _joined(lists: pa.Array) -> pa.Array:
    """The texts of each list as one. As in pylance, nulls do not count, nor empty first texts."""
    while is_list(lists.type.value_type):
        lists = _without_inner_lists(lists)
    texts, lengths = lists.flatten(), _lengths(lists)
    edges = edges_of(lengths)
    is_empty = to_numpy(pc.equal(pc.binary_length(texts), to_scalar(0)).fill_null(to_scalar(True)))
    before = edges_of(~is_empty)
    of_others = np.repeat(before[edges[:-1]], lengths)
    counts = (before[1:] > of_others) & to_numpy(texts.is_valid())
    parts = texts.filter(from_numpy(counts)).cast(pa.large_string())
    made = pa.LargeListArray.from_arrays(from_numpy(edges_of(counts)[edges]), parts)
    return pc.binary_join(made, to_scalar(" ", pa.large_string()))


def _without_inner_lists(lists: pa.Array) -> pa.Array:
    """Lists of the elements of all lists in each list."""
    inner = lists.flatten()
    offsets = edges_of(_lengths(inner))[edges_of(_lengths(lists))]
    return pa.LargeListArray.from_arrays(from_numpy(offsets), inner.flatten())


def _lengths(lists: pa.Array) -> Integers:
    """The number of elements of each list, 0 for nulls."""
    lengths = lists.value_lengths()
    return to_numpy(lengths.fill_null(to_scalar(0, lengths.type))).astype(np.int64)
