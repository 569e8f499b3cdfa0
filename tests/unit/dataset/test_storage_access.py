"""Single files of a table are read and written by a session."""

from __future__ import annotations

import pyarrow as pa

import lance_core as lance


def test_a_file_session_reads_the_files_of_the_table(uri: str) -> None:
    dataset = lance.write_dataset(pa.table({"a": [1, 2]}), uri)
    (file,) = dataset.get_fragments()[0].data_files()
    reader = dataset.new_file_session().open_reader(f"data/{file.path}")
    assert reader.read_all().to_table().to_pydict() == {"a": [1, 2]}
