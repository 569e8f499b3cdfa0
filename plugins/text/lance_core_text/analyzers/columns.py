"""The terms of a column, whose rows are texts or lists of texts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.analyzers.analyze import AnalyzedTexts, analyze_texts
from lance_core_text.analyzers.parameters import TextParameters


def is_text(kind: pa.DataType) -> bool:
    """True for the types of columns that are searched: strings, and lists of them."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def analyze_column(values: pa.Array, parameters: TextParameters) -> AnalyzedTexts:
    """The terms of each row, one row a document.

    The texts of a list are as one: their positions continue. Offsets in a list are those in its
    texts. Raises `PluginNotFoundError` if the analyzer is missing.
    """
    if not (pa.types.is_list(values.type) or pa.types.is_large_list(values.type)):
        return analyze_texts(values.cast(pa.large_string()), parameters)
    found = analyze_texts(values.flatten().cast(pa.large_string()), parameters)
    lengths = values.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    owners = np.repeat(np.arange(len(values)), lengths)
    positions = found.positions + _starts(found, owners)[found.texts]
    return found._replace(texts=owners[found.texts], positions=positions)


def _starts(found: AnalyzedTexts, owners: Integers) -> Integers:
    """The first position of each text of a list: those of the texts before it are below."""
    sizes = np.zeros(len(owners), np.int64)
    np.maximum.at(sizes, found.texts, found.positions + 1)
    starts = np.cumsum(sizes) - sizes
    firsts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1])[: len(owners)])
    counts = np.diff(np.append(firsts, len(owners)))
    of_texts: Integers = starts - np.repeat(starts[firsts], counts)
    return of_texts
