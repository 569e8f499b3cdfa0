"""Analyzers: how a text is split into words.

A plugin provides an analyzer by name (`AnalyzerSpec`). The analyzer splits texts only; lower case,
stems, stop words and so on are applied to the distinct words afterwards, the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers: TypeAlias = npt.NDArray[np.int64]
"""Indices, positions and offsets."""


class Words(NamedTuple):
    """The words of some texts, in the order of the texts.

    ``words``: strings, as they are in the texts. ``texts``: for each word, the index of its text,
    ascending. ``positions``: for each word, its position in the text, from 0, ascending in a text;
    phrases are words at successive positions. ``starts`` and ``stops``: where the word is in its
    text, in bytes of UTF-8.
    """

    words: pa.Array
    texts: Integers
    positions: Integers
    starts: Integers
    stops: Integers


class Analyzer(ABC):
    """Splits texts into words. It has no state."""

    @abstractmethod
    def words(self, texts: pa.Array, parameters: Mapping[str, Any]) -> Words:
        """The words of ``texts``, large strings; nulls have no words.

        ``parameters``: those of the index, by the names of its metadata. Texts are given for whole
        columns: an implementation does not loop over them in Python.
        """
