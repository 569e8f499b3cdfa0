"""Blobs elsewhere: what is stored of their URIs, and who may have them read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.blobs import ingest as blob_ingest
from lance_core.dataset.blobs.external import ExternalBlobs
from lance_core.dataset.snapshot.base_paths import object_place
from lance_core.errors import (
    BasePathRefusedError,
    CorruptFileError,
    InvalidInputError,
    InvalidPathError,
    LanceError,
    ObjectNotFoundError,
)
from lance_core.table.manifest_parts import BasePath
from tests.each_case import each_case
from tests.unit.dataset.blobs import blob_tables as blobs

CONTENT = b"0123456789" * 10


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two objects in it."""
    place = tmp_path / "media"
    (place / "a b").mkdir(parents=True)
    (place / "one").write_bytes(CONTENT)
    (place / "a b" / "two").write_bytes(b"two")
    return place


def values(folder: Path) -> list[Any]:
    return [
        b"own",
        f"file://{folder}/one",
        lance.Blob.from_uri(f"file://{folder}/one", 3, 5),
        None,
        f"file://{folder}/a%20b/two",
    ]


EXPECTED = [b"own", CONTENT, b"34567", None, b"two"]


def test_uris_outside_of_base_paths_need_the_writers_word(uri: str, folder: Path) -> None:
    data = blobs.v2(values(folder))
    with pytest.raises(InvalidInputError, match="allow_external_blob_outside_bases"):
        lance.write_dataset(data, uri)
    made = lance.write_dataset(data, uri, allow_external_blob_outside_bases=True)
    texts = [None if one is None else one["blob_uri"] for one in blobs.described(made)]
    place = f"file://{folder}"
    assert texts == ["", f"{place}/one", f"{place}/one", None, f"{place}/a%20b/two"]


def test_uris_outside_of_a_table_are_read_only_where_the_reader_allows_it(
    uri: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lance.write_dataset(blobs.v2(values(folder)), uri, allow_external_blob_outside_bases=True)
    found = lance.dataset(uri)
    with pytest.raises(BasePathRefusedError, match="allow_base_paths"):
        blobs.as_bytes(found)
    with pytest.raises(BasePathRefusedError, match="allow_base_paths"):
        found.take_blobs("b", indices=[1])
    assert len(blobs.described(found)) == 5
    assert blobs.as_bytes(found, limit=1) == [b"own"]
    for allowed in ("yes", str(folder), f"file://{folder}"):
        opened = lance.dataset(uri, allow_base_paths=allowed)
        assert blobs.as_bytes(opened) == EXPECTED
        files = opened.take_blobs("b", indices=range(5))
        assert [None if file is None else file.read() for file in files] == EXPECTED
        assert [data for _, data in opened.read_blobs("b", indices=range(5))] == EXPECTED
    with pytest.raises(BasePathRefusedError):
        blobs.as_bytes(lance.dataset(uri, allow_base_paths=str(folder / "a b")))
    monkeypatch.setenv("LANCE_CORE_ALLOW_BASE_PATHS", str(folder))
    assert blobs.as_bytes(lance.dataset(uri)) == EXPECTED


def test_uris_in_base_paths_are_stored_relative_to_them(uri: str, folder: Path) -> None:
    bases = [lance.DatasetBasePath(str(folder), name="media", is_dataset_root=False)]
    lance.write_dataset(blobs.v2(values(folder)), uri, initial_bases=bases)
    opened = lance.dataset(uri, allow_base_paths=str(folder))
    stored = [one and (one["blob_id"], one["blob_uri"]) for one in blobs.described(opened)]
    assert stored == [(0, ""), (1, "one"), (1, "one"), None, (1, "a b/two")]
    assert blobs.as_bytes(opened) == EXPECTED
    longer = lance.write_dataset(blobs.v2([f"file://{folder}/one"]), opened, mode="append")
    assert blobs.as_bytes(longer) == [*EXPECTED, CONTENT]
    with pytest.raises(BasePathRefusedError):
        blobs.as_bytes(lance.dataset(uri))


def test_deep_clones_keep_what_their_external_blobs_refer_to(
    uri: str, folder: Path, tmp_path: Path
) -> None:
    bases = [lance.DatasetBasePath(str(folder), is_dataset_root=False)]
    made = lance.write_dataset(blobs.v2(values(folder)), uri, initial_bases=bases)
    made.deep_clone(str(tmp_path / "clone"), None)
    clone = lance.dataset(str(tmp_path / "clone"), allow_base_paths=str(folder))
    assert blobs.as_bytes(clone) == EXPECTED


PLACES = ExternalBlobs.of(
    [
        BasePath(1, "s3://bucket/media", False, None),
        BasePath(2, "s3://bucket/media/inner", False, None),
        BasePath(3, "/tables/other", True, None),
        BasePath(4, "/data/a b", False, None),
    ],
    allow_outside=True,
)


@each_case(
    ("given", "expected"),
    [
        ("s3://bucket/media/x/y", (1, "x/y")),
        ("s3://bucket/media/inner/z", (2, "z")),
        ("s3://bucket/mediax/y", (0, "s3://bucket/mediax/y")),
        ("s3://bucket/media/../k", (0, "s3://bucket/k")),
        ("s3://bucket/media/a%20b", (1, "a b")),
        ("s3://other/media/x", (0, "s3://other/media/x")),
        ("s3://bucket/media/.hidden", (1, ".hidden")),
        ("/data/a b/c", (4, "c")),
        ("file:///data/a%20b/c d", (4, "c d")),
        ("file:///tables/other/x", (0, "file:///tables/other/x")),
        ("s3://bucket/ä", (0, "s3://bucket/%C3%A4")),
    ],
)
def test_uris_are_kept_in_one_form(given: str, expected: tuple[int, str]) -> None:
    assert PLACES.reference_to(given) == expected
    ids, texts = PLACES.refer(pa.array([given, None, "s3://bucket/media/x"]), "b")
    assert (ids.tolist(), texts.to_pylist()) == (
        [expected[0], 0, 1] if not texts[1].is_valid and ids[1] == 0 else [expected[0], ids[1], 1],
        [expected[1], None, "x"],
    )


@each_case(
    "given",
    [
        "",
        "relative/path",
        "/elsewhere",
        "s3://bucket",
        "s3://bucket/",
        "s3://bucket/a?version=1",
        "s3+ddb://bucket/a",
        "s3://user:secret@bucket/a",
        "s3://bucket/a%2F..%2Fb",
        "s3://bucket/a\x00b",
        "C:\\file",
    ],
)
def test_texts_that_name_no_object_are_refused(given: str) -> None:
    with pytest.raises(InvalidInputError, match="field 'b'"):
        PLACES.refer(pa.array([given]), "b")


@pytest.mark.parametrize(
    "given",
    [
        "https://ann:hush@host/a",
        "s3://key:hush@bucket/a?X-Amz-Signature=hush",
        "https://host/a?sig=hush",
        "https://host/a#hush",
        "https://ann:hush@host/..",
        "https:ann:hush@host/a",
        "://ann:hush@host/a",
        "https://ann:hush@ho\nst/a",
    ],
)
@pytest.mark.parametrize("mode", ["reference", "ingest"])
def test_errors_do_not_tell_what_may_be_secret_in_a_uri(uri: str, given: str, mode: str) -> None:
    with pytest.raises(LanceError) as caught:
        lance.write_dataset(blobs.v2([given]), uri, external_blob_mode=mode)
    with pytest.raises(CorruptFileError) as stored:
        object_place(given)
    assert "hush" not in "".join(texts_of(caught.value)) + "".join(texts_of(stored.value))


def texts_of(error: BaseException | None) -> Iterator[str]:
    """What an error says, and what those that it comes from say."""
    while error is not None:
        yield str(error)
        error = error.__cause__


def test_missing_and_short_objects_are_errors_of_their_own(uri: str, folder: Path) -> None:
    gone, past = f"file://{folder}/none", lance.Blob.from_uri(f"file://{folder}/one", 90, 50)
    lance.write_dataset(blobs.v2([gone, past]), uri, allow_external_blob_outside_bases=True)
    opened = lance.dataset(uri, allow_base_paths=str(folder))
    with pytest.raises(ObjectNotFoundError):
        opened.take_blobs("b", indices=[0])
    (file,) = opened.take_blobs("b", indices=[1])
    assert file is not None
    for read in (file.read, lambda: opened.to_table(offset=1, blob_handling="all_binary")):
        with pytest.raises(CorruptFileError):
            read()


@pytest.mark.parametrize("most_bytes", [1, 104, 1 << 20])
def test_ingested_objects_become_part_of_the_table(
    uri: str, folder: Path, most_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blob_ingest, "MAX_BYTES", most_bytes)
    own = pa.table([lance.blob_array(values(folder))], schema=pa.schema([lance.blob_field("b")]))
    struct = pa.StructArray.from_arrays(own.columns[0].chunks, fields=list(own.schema))
    data = own.append_column("s", struct)
    made = lance.write_dataset(data, uri, external_blob_mode="ingest")
    assert {one and one["kind"] for one in blobs.described(made)} == {0, None}
    (folder / "one").unlink()
    assert blobs.as_bytes(made) == EXPECTED
    assert [one["b"] for one in blobs.as_bytes(made, "s")] == EXPECTED


def test_large_ingested_objects_go_where_their_size_says(uri: str, folder: Path) -> None:
    (folder / "large").write_bytes(b"x" * 70_000)
    data = blobs.v2([f"{folder}/large", f"{folder}/one"])
    made = lance.write_dataset(data, uri, external_blob_mode="ingest")
    assert [one["kind"] for one in blobs.described(made)] == [1, 0]
    assert blobs.as_bytes(made) == [b"x" * 70_000, CONTENT]
    with pytest.raises(ObjectNotFoundError):
        lance.write_dataset(blobs.v2([f"{folder}/none"]), f"{uri}2", external_blob_mode="ingest")


def test_links_do_not_lead_out_of_what_the_reader_allowed(
    uri: str, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    data = blobs.v2([f"file://{folder}/link"])
    lance.write_dataset(data, uri, allow_external_blob_outside_bases=True)
    opened = lance.dataset(uri, allow_base_paths=str(folder))
    with pytest.raises(InvalidPathError):
        blobs.as_bytes(opened)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (
            {"external_blob_mode": "ingest", "allow_external_blob_outside_bases": True},
            InvalidInputError,
        ),
        ({"external_blob_mode": "other"}, InvalidInputError),
        ({"allow_external_blob_outside_bases": "yes"}, InvalidInputError),
        ({"blob_pack_file_size_threshold": -1}, InvalidInputError),
    ],
)
def test_options_that_cannot_be_honoured_are_refused(
    uri: str, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        lance.write_dataset(blobs.v2([b"a"]), uri, **options)
