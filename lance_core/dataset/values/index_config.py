"""`IndexConfig`: a type of index with its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from lance_core.lazy_dataclass import dataclass


@dataclass
class IndexConfig:
    """A type of index, for example ``"zonemap"``, and the parameters of a new index of it."""

    index_type: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
