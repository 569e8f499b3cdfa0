"""JSON documents of every shape pass each verb unchanged."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError, ResultTooLargeError
from lance_core.schema.json import encoding, values

DOCUMENTS = [
    '{"a":1,"cut":"\\ud83d"}',
    '"\\\\ud83d\\udc00"',
    "[" * 2_000 + "]" * 2_000,
    '{"a":' * 1_100 + "1" + "}" * 1_100,
    '"\\u0000\u2028"',
    "-0.0",
    "18446744073709551615",
    "5e-324",
    '{"":null}',
    None,
]


def nested(documents: list[str | None]) -> pa.Array:
    """The documents in structs in lists, with text that is not JSON below nulls."""
    texts = pa.array([text or "" for text in documents])
    mask = pa.array([text is None for text in documents])
    members = pa.StructArray.from_arrays(
        [pa.ExtensionArray.from_storage(pa.json_(), texts)], names=["f"], mask=mask
    )
    return pa.ListArray.from_arrays(range(len(documents) + 1), members)


def table() -> pa.Table:
    documents = pa.array(DOCUMENTS, pa.json_())
    return pa.table({"id": range(len(DOCUMENTS)), "c": documents, "n": nested(DOCUMENTS)})


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_documents_pass_every_verb(tmp_path: Path, version: str) -> None:
    data = table() if version != "2.0" else table().drop_columns("n")

    def check(dataset: lance.LanceDataset) -> None:
        assert dataset.to_table(order_by=["id"]).sort_by("id").equals(data)

    dataset = lance.write_dataset(data.slice(0, 4), tmp_path / "t", data_storage_version=version)
    dataset = lance.write_dataset(data.slice(4), tmp_path / "t", mode="append")
    check(dataset)
    merge = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(data)
    dataset.update({"c": "c", "id": "id + 0"})
    check(dataset)
    dataset.optimize.compact_files()
    check(dataset)
    dataset.drop_columns(["c"])
    dataset.add_columns(data.select(["c"]).to_reader())
    assert dataset.to_table(order_by=["id"])["c"].to_pylist() == DOCUMENTS
    assert dataset.take([9, 0, 3], columns=["c"])["c"].to_pylist() == [
        DOCUMENTS[row] for row in (9, 0, 3)
    ]


def test_documents_are_queried_and_indexed(tmp_path: Path) -> None:
    dataset = lance.write_dataset(table(), tmp_path / "t")
    path = "$" + ".a" * 1_100
    expressions = {
        "deep": f"json_extract(c, '{path}')",
        "cut": "json_get_string(c, 'cut')",
        "text": "json_extract(c, '$.cut')",
        "some": "json_exists(c, '$.**.cut')",
    }
    rows = dataset.to_table(columns=expressions)
    assert rows["deep"].to_pylist() == [None] * 3 + ["1"] + [None] * 6
    assert rows["cut"].to_pylist() == ["\\ud83d"] + [None] * 9
    assert rows["text"].to_pylist() == ['"\\ud83d"'] + [None] * 9
    assert rows["some"].to_pylist() == [True] + [False] * 8 + [None]
    dataset.create_scalar_index(
        "c", lance.indices.IndexConfig("json", {"path": "cut", "target_index_type": "btree"})
    )
    assert dataset.count_rows("json_get_string(c, 'cut') = '\\ud83d'") == 1


def test_a_path_that_repeats_nested_data_is_limited(tmp_path: Path) -> None:
    text = "[" * 1_000 + json.dumps("x" * 500_000) + "]" * 1_000
    dataset = lance.write_dataset(pa.table({"c": pa.array([text], pa.json_())}), tmp_path / "t")
    with pytest.raises(ResultTooLargeError, match="json_extract"):
        dataset.to_table(columns={"x": "json_extract(c, '$.**')"})


def test_text_that_is_not_json_is_refused_with_column_and_row(tmp_path: Path) -> None:
    data = pa.table({"id": [1, 2], "c": pa.array(["{}", "{"], pa.json_())})
    with pytest.raises(InvalidInputError, match="field c, row 1 of its batch: not valid JSON"):
        lance.write_dataset(data, tmp_path / "t")
    dataset = lance.write_dataset(data.slice(0, 1), tmp_path / "t")
    with pytest.raises(InvalidInputError, match="field c, row 0 of its batch: not valid JSON"):
        dataset.update({"c": "'['"})
    assert dataset.count_rows() == 1


@pytest.mark.parametrize("verb", ["update", "merge"])
def test_documents_that_do_not_change_keep_their_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    data = table().append_column("x", pa.array([1] * len(DOCUMENTS)))
    dataset = lance.write_dataset(data, tmp_path / "t")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a document was converted")

    with monkeypatch.context() as patched:
        patched.setattr(encoding, "encode_json", refuse)
        patched.setattr(values, "decode_json", refuse)
        if verb == "update":
            dataset.update({"x": "x + 1"})
        else:
            rows = pa.table({"id": data["id"], "x": pa.array([2] * len(DOCUMENTS))})
            dataset.merge_insert("id").when_matched_update_all().execute(rows)
    expected = data.set_column(3, "x", pa.array([2] * len(DOCUMENTS)))
    assert lance.dataset(tmp_path / "t").to_table().sort_by("id").equals(expected)
