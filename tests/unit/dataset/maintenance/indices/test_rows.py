"""The rows that an index is built of, and samples of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.dataset.maintenance.indices import rows as index_rows
from lance_core.dataset.maintenance.indices.rows import FragmentRows, sampled_rows


def test_a_sample_has_blocks_of_all_fragments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_rows, "BLOCK_ROWS", 16)
    table = pa.table({"id": range(2000)})
    dataset = lance_core.write_dataset(table, "memory://sampled", max_rows_per_file=700)
    dataset.delete("id % 7 = 0")
    snapshot = dataset.snapshot
    lineage = (snapshot.schema.fields[0],)
    rows = FragmentRows(snapshot, lineage, snapshot.manifest.fragments, with_row_ids=False)

    some = sampled_rows(rows, 320)
    assert 300 <= some.num_rows <= 320
    addresses = addresses_of(some)
    assert 250 <= len(addresses) < some.num_rows  # those of deleted rows are not there
    assert (np.diff(addresses.astype(np.int64)) > 0).all()
    assert set((addresses >> np.uint64(32)).tolist()) == {0, 1, 2}
    assert (addresses_of(sampled_rows(rows, 320)) == addresses).all()
    assert sampled_rows(rows, 2100) is rows


def addresses_of(rows: FragmentRows) -> np.ndarray:
    return np.concatenate([batch.rows for batch in rows.batches()])
