"""The terms of a column, whose rows are texts, lists of texts, or JSON documents."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core_text.analyzers.analyze import AnalyzedTexts, analyze_texts
from lance_core_text.analyzers.json_documents import analyze_documents, is_json
from lance_core_text.analyzers.parameters import TextParameters


def is_text(data_type: pa.DataType) -> bool:
    """True for strings, and lists of them; other columns that are searched have JSON."""
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type):
        data_type = data_type.value_type
    return bool(pa.types.is_string(data_type) or pa.types.is_large_string(data_type))


def analyze_column(
    values: pa.Array, parameters: TextParameters, *, with_offsets: bool = True
) -> AnalyzedTexts:
    """The terms of each row, one row a document.

    The texts of a list are as one, with spaces between them, in which offsets are. Raises
    `PluginNotFoundError` if the analyzer is missing. ``with_offsets``: as in `analyze_texts`.
    """
    if is_json(parameters):
        return analyze_documents(values, parameters)
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        values = _joined(values)
    return analyze_texts(values.cast(pa.large_string()), parameters, with_offsets=with_offsets)


def _joined(lists: pa.Array) -> pa.Array:
    """The texts of each list as one. As in pylance, nulls do not count, nor empty first texts."""
    texts = lists.flatten()
    lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    owners = np.repeat(np.arange(len(lists)), lengths)
    is_empty = pc.equal(pc.binary_length(texts), 0).fill_null(True).to_numpy(zero_copy_only=False)
    before = np.cumsum(~is_empty)
    firsts = np.cumsum(lengths) - lengths
    of_others = np.append(0, before)[firsts]
    counts = (before > of_others[owners]) & texts.is_valid().to_numpy(zero_copy_only=False)
    offsets = np.append(0, np.cumsum(np.bincount(owners[counts], minlength=len(lists))))
    parts = texts.filter(pa.array(counts)).cast(pa.large_string())
    made = pa.LargeListArray.from_arrays(pa.array(offsets), parts)
    return pc.binary_join(made, pa.scalar(" ", pa.large_string()))
