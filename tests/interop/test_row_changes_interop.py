"""pylance reads tables whose rows several workers changed."""

from __future__ import annotations

from pathlib import Path

import lance as pylance
import pyarrow as pa
import pytest

from tests.unit.dataset.write.test_row_changes import (
    ONE,
    TWO,
    WORDS,
    contents,
    table_of,
    with_changed_words,
    words,
    work,
)


@pytest.mark.parametrize("version", ["0.1", "2.0", "2.2"])
@pytest.mark.parametrize("stable", [False, True])
def test_pylance_reads_the_changes_of_workers(tmp_path: Path, version: str, stable: bool) -> None:
    table = table_of(tmp_path, data_storage_version=version, enable_stable_row_ids=stable)
    before = contents(table)
    table.change_rows(work(ONE, TWO))
    after = contents(pylance.dataset(table.uri))
    assert after == contents(table)
    assert after.keys() - before.keys() == {300, 1000, 1001}
    assert before.keys() - after.keys() == {3, 4}
    assert after[5] == ("five", before[5][1])


@pytest.mark.parametrize("new_words", WORDS, ids=lambda words: str(words.type)[:24])
def test_pylance_reads_new_words_of_the_dictionary_of_a_0_1_table(
    tmp_path: Path, new_words: pa.Array
) -> None:
    table = with_changed_words(tmp_path, new_words)
    assert words(pylance.dataset(table.uri)) == [(1, "b"), (3, "b"), (20, "a"), (30, "b")]
