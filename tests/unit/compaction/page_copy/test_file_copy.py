"""Rows of several files that are encoded again as pages of one."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import lance_core
from tests.each_case import each_case


@each_case("version", ["2.0", "2.1", "2.2"])
@each_case("is_nested", [False, True])
def test_dictionaries_with_more_values_in_all_than_an_index_counts_stay_apart(
    tmp_path: Path, version: str, is_nested: bool
) -> None:
    uri = str(tmp_path / "t")
    for number in range(4):
        words = pa.array([f"{number}-{n % 100}" for n in range(150)]).dictionary_encode()
        column: pa.Array = pa.DictionaryArray.from_arrays(
            words.indices.cast(pa.int8()), words.dictionary
        )
        if is_nested:
            column = pa.StructArray.from_arrays([column, pa.array(range(150))], ["a", "b"])
        table = pa.table({"d": column, "i": range(150)})
        lance_core.write_dataset(table, uri, mode="append", data_storage_version=version)
    dataset = lance_core.dataset(uri)
    dataset.delete("i % 10 = 3")
    before = dataset.to_table()["d"].to_pylist()
    metrics = dataset.optimize.compact_files(compaction_mode="try_binary_copy")
    assert metrics.pages_copied == 0
    assert dataset.to_table()["d"].to_pylist() == before
