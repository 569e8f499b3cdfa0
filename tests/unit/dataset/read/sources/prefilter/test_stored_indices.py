"""Which type a stored index has, also one of an old or a foreign table."""

from __future__ import annotations

import dataclasses
import uuid
from pathlib import Path

import pyarrow as pa

import lance_core as lance
from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of, open_index, spec_of
from lance_core.dataset.write.commit_change import commit_change
from lance_core.index.base import OpenIndex
from lance_core.table.indices.index_coverage import has_row_ids
from lance_core.table.indices.index_metadata import IndexDetails, IndexFile, IndexMetadata
from lance_core.table.transactions.operations import CreateIndex
from tests.each_case import each_case


def type_of(index: IndexMetadata) -> str | None:
    spec = spec_of(index)
    return None if spec is None else spec.name


def metadata(url: str | None, version: int | None = None, field: int = 0) -> IndexMetadata:
    details = None if url is None else IndexDetails(url)
    return IndexMetadata(uuid.uuid4(), "i_idx", (field,), 1, b"", details, version)


@each_case(
    "url, version, name, row_ids",
    [
        ("/lance.table.BTreeIndexDetails", None, "btree", True),
        ("/lance.table.BTreeIndexDetails", 1, "btree", False),
        ("/lance.table.BTreeIndexDetails", 2, None, False),
        ("type.googleapis.com/lance.index.pb.btreeindexDETAILS", 0, "btree", True),
        ("x/lance.index.pb.BitmapIndexDetails", 0, "bitmap", True),
        ("/lance.table.BitmapIndexDetails", 1, None, False),
        ("/lance.table.LabelListIndexDetails", 1, "label_list", True),
        ("/lance.table.LabelListIndexDetails", 2, None, False),
        ("/lance.table.BloomFilterIndexDetails", 0, "bloomfilter", False),
        ("/lance.table.ZoneMapIndexDetails", -1, "zonemap", False),
        ("/of.somebody.BTreeIndexDetails", 0, None, False),
        ("lance.table.BTreeIndexDetails", 0, None, False),
        ("", 0, None, False),
        ("/lance.table.FMIndexDetails", 10, None, False),
    ],
)
def test_the_type_of_an_index_is_that_of_its_details(
    url: str, version: int | None, name: str | None, row_ids: bool
) -> None:
    index = metadata(url, version)
    assert type_of(index) == name
    assert has_row_ids(index) == row_ids


def test_an_index_without_details_has_the_type_that_its_files_suggest(uri: str) -> None:
    table = pa.table({"i": [1], "l": [[1]]})
    dataset = lance.write_dataset(table, uri)
    fields = {"i": 0, "l": 1}
    cases = [
        ("i", ["page_lookup.lance", "page_data.lance"], "btree"),
        ("i", ["bitmap_page_lookup.lance"], "bitmap"),
        ("l", ["bitmap_page_lookup.lance"], "label_list"),
        ("i", ["index.idx"], None),
        ("i", [], None),
    ]
    given = [metadata(None, field=fields[column]) for column, _, _ in cases]
    store = dataset.snapshot.root.store
    for index, (_, names, _) in zip(given, cases, strict=True):
        for name in names:
            store.put(f"_indices/{index.uuid}/{name}", b"12345")
    given.append(dataclasses.replace(metadata(None), fields=(0, 1)))
    dataset.move_to(commit_change(dataset.snapshot, CreateIndex(tuple(given), ())))
    found = indices_of(dataset.snapshot)
    assert [type_of(index) for index in found] == [*(name for _, _, name in cases), None]
    assert set(found[0].files) == {
        IndexFile("page_lookup.lance", 5),
        IndexFile("page_data.lance", 5),
    }
    assert [index.uuid for index in found] == [index.uuid for index in given]


def test_an_open_index_belongs_to_the_options_of_its_table(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lance.write_dataset(pa.table({"i": [1]}), path).create_scalar_index("i", "BTREE")

    session = lance.Session()

    def opened(options: dict[str, str]) -> OpenIndex:
        snapshot = lance.dataset(path, storage_options=options, session=session).snapshot
        (index,) = indices_of(snapshot)
        spec = spec_of(index)
        assert spec is not None
        return open_index(snapshot, index, spec)

    assert opened({}) is opened({})
    assert opened({"durability": "fast"}) is not opened({"durability": "durable"})
