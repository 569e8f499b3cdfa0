"""The rows that a fragment stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from lance_core.fragment import LanceFragment


def stored_batches(
    fragment: LanceFragment, columns: Sequence[str] | None
) -> Iterator[pa.RecordBatch]:
    """Columns of all rows, also deleted ones, with the bytes of blobs; ``columns`` None for all."""
    return fragment.scanner(
        columns=None if columns is None else list(columns),
        include_deleted_rows=True,
        with_row_id=True,
        blob_handling="all_binary",
    ).to_batches()
