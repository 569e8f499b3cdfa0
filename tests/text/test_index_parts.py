"""A text index that several processes build under one UUID, as with older pylance releases."""

from __future__ import annotations

import uuid
from pathlib import Path

import pyarrow as pa

import lance_core as lance
from lance_core.indices import Index
from lance_core.query import PhraseQuery
from tests.text.corpus import texts


def test_parts_of_fragments_become_one_index(tmp_path: Path) -> None:
    rows = pa.table({"id": range(300), "t": texts(300)})
    dataset = lance.write_dataset(rows, tmp_path / "t", max_rows_per_file=100)
    whole = lance.write_dataset(rows, tmp_path / "whole")
    whole.create_scalar_index("t", "INVERTED", with_position=True)
    ids = [fragment.fragment_id for fragment in dataset.get_fragments()]
    name = str(uuid.uuid4())
    for id_ in ids:
        dataset.create_scalar_index(
            "t", "INVERTED", "words", fragment_ids=[id_], index_uuid=name, with_position=True
        )
    assert not dataset.list_indices()
    dataset.merge_index_metadata(name, "INVERTED")
    index = Index(name, "words", [1], dataset.version, set(ids), 0)
    operation = lance.LanceOperation.CreateIndex([index], [])
    dataset = lance.LanceDataset.commit(dataset.uri, operation, read_version=dataset.version)
    assert [one.index_type for one in dataset.describe_indices()] == ["Inverted"]
    files = [path for path in Path(dataset.uri, "_indices").rglob("*") if path.is_file()]
    assert {(path.parent.name, path.suffix) for path in files} == {(name, ".lance")}
    assert dataset.to_table(full_text_query="w3").num_rows
    for query in ("w3 w9", PhraseQuery("w1 w0", "t")):
        own, expected = (one.to_table(["id"], full_text_query=query) for one in (dataset, whole))
        assert own.equals(expected)
        assert own.num_rows
