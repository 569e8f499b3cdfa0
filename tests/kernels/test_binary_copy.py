"""Compactions copy bytes with the compiled kernel."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import lance_core
from lance_core.plugins import get_manager
from lance_core.store.local.writer import LocalWriter
from tests.unit.compaction.page_copy.test_binary_copy import copy, rows, snapshot_of


def test_a_compiled_kernel_copies_the_bytes_of_local_files(tmp_path: Path) -> None:
    for start in (0, 1000):
        lance_core.write_dataset(rows(start), str(tmp_path / "t"), mode="append")
    kernel = get_manager().encodings.kernels.copy_ranges
    with mock.patch.object(LocalWriter, "copy_with") as copy_with:
        copy(snapshot_of(tmp_path / "t"))
    assert kernel is not None
    copy_with.assert_called_once_with(kernel)
