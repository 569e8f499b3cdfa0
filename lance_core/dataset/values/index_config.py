"""`IndexConfig`: a type of index with its parameters; names of types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from lance_core.lazy_dataclass import dataclass


@dataclass
class IndexConfig:
    """A type of index, for example ``"zonemap"``, and the parameters of a new index of it."""

    index_type: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


class SupportedDistributedIndices(StrEnum):
    """Types that pylance's `LanceDataset.merge_index_metadata` takes; here all types can be."""

    BTREE = "BTREE"
    INVERTED = "INVERTED"
    IVF_FLAT = "IVF_FLAT"
    IVF_PQ = "IVF_PQ"
    IVF_SQ = "IVF_SQ"
    VECTOR = "VECTOR"
