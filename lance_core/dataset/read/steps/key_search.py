"""The search for some keys in the rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Int64Array, ValueMatches
    from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex


class KeyMatches(NamedTuple):
    """Rows that have one of some keys, in the order of the table."""

    addresses: npt.NDArray[np.uint64]
    keys: Int64Array
    """The number of each row's key."""


class FindKeys(Protocol):
    """The search for some keys.

    ``integers``: the keys if they are integers of the same bits as the values of the one field that
    is searched; None for other keys.
    """

    @property
    def integers(self) -> IntegerIndex | None: ...

    def __call__(self, data: pa.Table) -> ValueMatches:
        """The rows of ``data`` with one of the keys: ascending positions, and each key's number."""
