"""Blobs are written where their sizes say and read back by scans and as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset import discard_fragments
from lance_core.errors import InvalidInputError, SchemaMismatchError, UnsupportedFeatureError
from tests.scan_numbers import tune
from tests.unit.dataset.blobs import blob_tables as blobs

VERSIONS = ["2.0", "2.1", "2.2"]
PLAIN = pa.struct([("data", pa.large_binary()), ("uri", pa.string())])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("rows_per_file", [100, 5])
def test_blobs_of_all_sizes_come_back(uri: str, version: str, rows_per_file: int) -> None:
    values = blobs.payloads()
    made = lance.write_dataset(
        blobs.v1(values), uri, data_storage_version=version, max_rows_per_file=rows_per_file
    )
    assert blobs.as_bytes(made) == values
    files = made.take_blobs("b", indices=range(len(values)))
    assert [None if file is None else file.read() for file in files] == values


def test_blobs_of_version_2_are_kept_by_their_sizes(uri: str) -> None:
    values = blobs.payloads()
    made = lance.write_dataset(blobs.v2(values), uri, data_storage_version="2.2")
    kinds = [
        None if one is None else (one["kind"], one["blob_id"]) for one in blobs.described(made)
    ]
    inline, packed, dedicated = (0, 0), (1, 1), (2, 2)
    assert kinds == [
        *(inline, None, inline, inline, inline, inline),
        *(packed, packed, dedicated, packed, None, inline),
    ]
    found = sorted(Path(uri, "data").glob("*/*.blob"))
    sizes = {path.name: path.stat().st_size for path in found}
    assert sizes == {
        "1".ljust(32, "0") + ".blob": blobs.INLINE + 1 + blobs.DEDICATED + 70_000,
        "01".ljust(32, "0") + ".blob": blobs.DEDICATED + 1,
    }
    assert blobs.as_bytes(made) == values


@pytest.mark.parametrize(
    ("options", "argument", "expected"),
    [
        ({"inline_size_threshold": 0}, None, [(1, 1), (1, 1), (1, 1), (1, 1)]),
        ({"inline_size_threshold": 10}, 30, [(1, 1), (1, 2), (1, 3), (0, 0)]),
        ({"inline_size_threshold": 10}, 0, [(1, 1), (1, 2), (1, 3), (0, 0)]),
        (
            {"inline_size_threshold": 10, "pack_file_size_threshold": 45},
            None,
            [(1, 1), (1, 1), (1, 2), (0, 0)],
        ),
        (
            {"inline_size_threshold": 10, "pack_file_size_threshold": 45},
            0,
            [(1, 1), (1, 2), (1, 3), (0, 0)],
        ),
        (
            {"inline_size_threshold": 10, "dedicated_size_threshold": 20},
            None,
            [(1, 1), (2, 2), (1, 1), (0, 0)],
        ),
        (
            {"inline_size_threshold": 99, "dedicated_size_threshold": 14},
            None,
            [(2, 1), (2, 2), (2, 3), (0, 0)],
        ),
    ],
)
def test_thresholds_say_where_blobs_are(
    uri: str, options: dict[str, int], argument: int | None, expected: list[tuple[int, int]]
) -> None:
    values = blobs.payloads([15, 30, 16, 5])
    made = lance.write_dataset(
        blobs.v2(values, **options),
        uri,
        data_storage_version="2.2",
        blob_pack_file_size_threshold=argument,
    )
    assert [(one["kind"], one["blob_id"]) for one in blobs.described(made)] == expected
    assert blobs.as_bytes(made) == values


def test_blobs_in_structs_and_lists_come_back(uri: str) -> None:
    item = blobs.V1.with_name("item")
    rows: list[Any] = [[b"a" * 70_000, None], None, [], [b"", b"x"], [None]]
    one = [{"b": b"q", "n": 1}, None, {"b": None, "n": 2}, {"b": b"r" * 70_000, "n": 3}, {"b": b""}]
    struct = pa.struct([blobs.V1, pa.field("n", pa.int64())])
    table = pa.table({"l": pa.array(rows, pa.list_(item)), "s": pa.array(one, struct)})
    made = lance.write_dataset(table, uri, data_storage_version="2.2", max_rows_per_file=2)
    assert blobs.as_bytes(made, "l") == rows
    assert blobs.as_bytes(made, "s") == table["s"].to_pylist()
    files = made.take_blobs("s.b", indices=[3, 1, 0])
    assert [None if file is None else file.read() for file in files] == [b"r" * 70_000, None, b"q"]
    with pytest.raises(InvalidInputError, match="not a blob column"):
        made.take_blobs("l", indices=[0])


def test_blobs_in_maps_come_back(uri: str) -> None:
    kind = pa.map_(pa.string(), lance.blob_field("value"))
    items = lance.blob_array([b"a", b"b" * 70_000, None])
    maps = pa.MapArray.from_arrays([0, 2, 2, 3], pa.array(["x", "y", "z"]), items, kind)
    made = lance.write_dataset(pa.table({"m": maps}), uri)
    expected = [[("x", b"a"), ("y", b"b" * 70_000)], [], [("z", None)]]
    assert blobs.as_bytes(made, "m") == expected
    assert len(list(Path(uri, "data").glob("*/*.blob"))) == 1


def test_blobs_that_null_structs_hide_are_not_written(uri: str) -> None:
    struct = pa.StructArray.from_arrays(
        [pa.array([b"secret" * 20_000, b"shown"], pa.large_binary())],
        fields=[blobs.V1],
        mask=pa.array([True, False]),
    )
    lance.write_dataset(pa.table({"s": struct}), uri, data_storage_version="2.2")
    assert not list(Path(uri, "data").glob("*/*.blob"))
    assert all(b"secret" not in path.read_bytes() for path in Path(uri, "data").glob("*.lance"))


def test_lists_of_blobs_are_refused_where_no_reader_has_them(uri: str) -> None:
    item = blobs.V1.with_name("item")
    table = pa.table({"l": pa.array([[b"a"]], pa.list_(item))})
    with pytest.raises(UnsupportedFeatureError, match="blobs in lists"):
        lance.write_dataset(table, uri, data_storage_version="2.1")
    assert lance.write_dataset(table, uri, data_storage_version="2.0").count_rows() == 1


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_blobs_of_version_2_need_files_of_version_2_2(uri: str, version: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"version 2\.2 can"):
        lance.write_dataset(blobs.v2([b"a"]), uri, data_storage_version=version)


@pytest.mark.parametrize("base", [blobs.v1, blobs.v2])
@pytest.mark.parametrize(
    "data",
    [
        blobs.v1([b"bb", None]),
        blobs.v2([b"bb", None]),
        pa.table({"i": [5, 6], "b": pa.array([{"data": b"bb"}, None], PLAIN)}),
    ],
)
def test_all_forms_of_blobs_can_be_appended(uri: str, base: Any, data: pa.Table) -> None:
    made = lance.write_dataset(base([b"a"]), uri, data_storage_version="2.2")
    fields = [part.id for part in made.snapshot.schema.walk()]
    longer = lance.write_dataset(data, uri, mode="append")
    assert blobs.as_bytes(longer) == [b"a", b"bb", None]
    assert [part.id for part in longer.snapshot.schema.walk()] == fields


def test_thresholds_of_a_table_are_not_changed_by_an_append(uri: str) -> None:
    lance.write_dataset(blobs.v2([b"a" * 50], inline_size_threshold=10), uri)
    longer = lance.write_dataset(blobs.v2([b"a" * 50]), uri, mode="append")
    assert [one["kind"] for one in blobs.described(longer)] == [1, 1]
    with pytest.raises(SchemaMismatchError, match="inline-size-threshold is 10"):
        lance.write_dataset(blobs.v2([b"a"], inline_size_threshold=11), uri, mode="append")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"data": None, "uri": None}, "either data or a uri"),
        ({"data": b"a", "uri": "s3://bucket/key"}, "either data or a uri"),
        ({"uri": "s3://bucket/key", "position": 1}, "both position and size"),
        ({"uri": "s3://bucket/key", "position": 1, "size": 0}, "size 0"),
        ({"data": b"a", "position": 1, "size": 1}, "no uri"),
        ({"uri": "s3://bucket/key", "position": 1 << 63, "size": (1 << 64) - 1}, "ends past"),
        ({"uri": ""}, "cannot be used"),
    ],
)
def test_values_that_are_no_blobs_are_refused_and_leave_nothing(
    uri: str, value: dict[str, Any], reason: str
) -> None:
    storage = lance.blob.BlobType().storage_type
    array = pa.array([{"data": b"a" * 70_000}, value], storage)
    field = lance.blob_field("b")
    column = pa.ExtensionArray.from_storage(field.type, array)
    with pytest.raises(InvalidInputError, match=reason):
        lance.write_dataset(pa.table([column], schema=pa.schema([field])), uri)
    assert not [path for path in Path(uri).rglob("*") if path.is_file()]


def test_discarded_fragments_leave_no_side_files(uri: str) -> None:
    lance.write_dataset(blobs.v2([b"a"]), uri)
    fragments = lance.fragment.write_fragments(blobs.v2([b"a" * 70_000]), uri)
    assert len(list(Path(uri, "data").glob("*/*.blob"))) == 1
    discard_fragments(fragments, uri)
    assert not list(Path(uri, "data").glob("*/*.blob"))


def test_batches_of_a_scan_are_cut_by_the_bytes_of_blobs(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = blobs.payloads([100_000] * 12)
    made = lance.write_dataset(blobs.v2(values), uri)
    tune(monkeypatch, stream={"max_bytes": 250_000})
    batches = list(made.to_batches(blob_handling="all_binary"))
    assert [batch.num_rows for batch in batches] == [2] * 6
    assert [value for batch in batches for value in batch["b"].to_pylist()] == values


@pytest.mark.parametrize("handling", ["all_binary", None])
def test_filters_see_blobs_as_results_do(uri: str, handling: str | None) -> None:
    made = lance.write_dataset(blobs.v2([b"a", None, b"", b"c" * 70_000]), uri)
    found = made.to_table(columns=["i"], filter="b is not null", blob_handling=handling)
    assert found["i"].to_pylist() == [0, 2, 3]
    assert made.to_table(filter="b.size > 1")["i"].to_pylist() == [3]
    made.delete("b is null")
    assert blobs.as_bytes(made) == [b"a", b"", b"c" * 70_000]


def test_dropping_a_table_removes_its_side_files(uri: str) -> None:
    lance.write_dataset(blobs.v2([b"a" * 70_000]), uri)
    assert list(Path(uri, "data").glob("*/*.blob"))
    lance.LanceDataset.drop(uri, {})
    assert not Path(uri).exists()


def test_side_files_of_a_live_data_file_outlive_a_cleanup(uri: str) -> None:
    lance.write_dataset(blobs.v2([b"a" * 70_000]), uri)
    dead = set(Path(uri, "data").glob("*/*.blob"))
    lance.write_dataset(blobs.v2([b"b" * 70_000]), uri, mode="overwrite")
    made = lance.write_dataset(blobs.v2([b"c" * 70_000]), uri, mode="append")
    live = set(Path(uri, "data").glob("*/*.blob")) - dead
    assert (len(dead), len(live)) == (1, 2)
    made.cleanup_old_versions(retain_versions=1, delete_unverified=True)
    assert set(Path(uri, "data").glob("*/*.blob")) == live
    assert blobs.as_bytes(made) == [b"b" * 70_000, b"c" * 70_000]


@pytest.mark.parametrize("kind", ["shallow_clone", "deep_clone"])
def test_clones_have_the_blobs_of_their_source(uri: str, tmp_path: Path, kind: str) -> None:
    values = blobs.payloads()
    made = lance.write_dataset(blobs.v2(values), uri)
    clone = getattr(made, kind)(str(tmp_path / "clone"), None)
    assert blobs.as_bytes(clone) == values
    copies = list((tmp_path / "clone" / "data").glob("*/*.blob"))
    assert len(copies) == (2 if kind == "deep_clone" else 0)
    longer = lance.write_dataset(blobs.v2([b"z" * 70_000]), clone, mode="append")
    assert blobs.as_bytes(longer) == [*values, b"z" * 70_000]
    assert blobs.as_bytes(lance.dataset(uri)) == values
