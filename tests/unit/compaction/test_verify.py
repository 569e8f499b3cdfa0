"""Checksums of rows before and after a compaction."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import CompactionError, CorruptFileError
from tests.unit.compaction.compaction_tables import table_of


def test_a_compaction_is_verified_after_other_changes(uri: str) -> None:
    dataset = table_of(uri, [10] * 4)
    dataset.delete("i = 3")
    dataset.optimize.compact_files(target_rows_per_fragment=20)
    lance.write_dataset(pa.table({"i": [100]}), dataset, mode="append")
    dataset.checkout_latest()
    dataset.delete("i = 7")
    check = dataset.optimize.verify()
    assert (check.read_version, check.version, check.num_rows) == (4, 5, 39)
    assert len(check.checksums) == 1


def test_other_rows_are_found(uri: str) -> None:
    dataset = table_of(uri, [10] * 2)
    other = table_of(uri + "2", [20])
    (group,) = lance.optimize.Compaction.plan(dataset, {}).tasks
    result = group.execute(dataset)
    name = result.new_fragments[0].files[0].path
    wrong = lance.write_dataset(pa.table({"i": [*range(19), 77]}), uri + "3")
    data = Path(wrong.uri) / "data" / wrong.get_fragments()[0].metadata.files[0].path
    lance.optimize.Compaction.commit(dataset, [result])
    (Path(uri) / "data" / name).write_bytes(data.read_bytes())
    with pytest.raises(CorruptFileError, match="the rows of fragments 0, 1 before"):
        lance.dataset(uri).optimize.verify()
    assert other.count_rows() == 20


def test_without_a_compaction_there_is_nothing_to_verify(uri: str) -> None:
    with pytest.raises(CompactionError, match="no version up to 2 is a compaction"):
        table_of(uri, [10]).optimize.verify()


def test_files_that_a_cleanup_has_removed_cannot_be_verified(uri: str) -> None:
    dataset = table_of(uri, [10, 10])
    dataset.optimize.compact_files()
    for version in (1, 2):
        for fragment in dataset.checkout_version(version).get_fragments():
            (Path(uri) / "data" / fragment.metadata.files[0].path).unlink()
    with pytest.raises(CompactionError, match="cannot be verified"):
        lance.dataset(uri).optimize.verify()
