"""Sets of row ids that a scan allows or blocks.

Their serialised form is that of pylance, see `lance_core.table.indices.row_set`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from lance_core.errors import CorruptFileError, InvalidInputError, InvalidTypeError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.indices.row_set import RowSet, UInt64Array


@dataclass(frozen=True, slots=True, eq=False)
class RowMask:
    """The rows that a scan may return: those ``allowed`` (None: all) that are not ``blocked``."""

    allowed: RowSet | None
    blocked: RowSet | None

    def keep(self, ids: UInt64Array) -> npt.NDArray[np.bool_]:
        """True for the row ids that the scan may return."""
        is_allowed = (
            np.ones(len(ids), np.bool_) if self.allowed is None else self.allowed.contains(ids)
        )
        return is_allowed if self.blocked is None else is_allowed & ~self.blocked.contains(ids)


def row_mask(allowlist: object, blocklist: object) -> RowMask:
    """The mask of two serialised sets, or one of them. Raises `InvalidInputError`."""
    return RowMask(_decoded(allowlist, "allowlist"), _decoded(blocklist, "blocklist"))


def _decoded(data: object, name: str) -> RowSet | None:
    if data is None:
        return None
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InvalidTypeError(
            f"the row address {name} must be the bytes of serialize_row_addrs, got {type(data)}"
        )
    try:
        return RowSet.from_tree_map(bytes(data))
    except CorruptFileError as error:
        raise InvalidInputError(f"the row address {name} is malformed: {error}") from None


def serialize_row_addrs(addrs: Iterable[int]) -> bytes:
    """The ids of rows as bytes for ``row_addr_allowlist`` and ``row_addr_blocklist`` of a scan.

    Raises `InvalidInputError` unless all are integers from 0 to 2**64 - 1.
    """
    try:
        ids = np.unique(np.fromiter(addrs, np.uint64))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"a row address must be an integer from 0 on: {error}") from None
    return RowSet.of(ids).to_tree_map()
