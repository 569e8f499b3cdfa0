"""No text in a table's files leads out of the table, on stores that are asked by keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core._pb import table_pb2
from lance_core.errors import LanceError
from lance_core.hookspecs import (
    ManifestEntry,
    ManifestStoreSpec,
    ObjectStore,
    ObjectStoreSpec,
    StoreUrl,
    hookimpl,
)
from lance_core.plugins import get_manager
from lance_core.plugins.manifest_stores import base_uri_of
from lance_core.store.secret import Secret
from lance_core.store.uri import parse_uri
from lance_core_remote.store import RemoteStore
from lance_core_testing import MemoryClient, MemoryManifestStore
from lance_core_testing.object_stores.paths import HOSTILE as HOSTILE_PATHS
from tests.examples import share

ROOT = "folder/table"
URI = f"kept://bucket/{ROOT}"
KEY = "18446744073709551613.manifest"
"""Of version 2."""
OUTSIDE = ("victim", "folder/victim", "folder/table2/data/victim", "folder/other/_versions/victim")

UPWARDS = ("..", "%2e%2e", ".%2E", "%252e%252e", "\uff0e\uff0e", "..;", "....", ". .", "..\u200b")
SEPARATORS = ("/", "//", "\\", "%2f", "%5C", "\u2215", "\uff0f", "/./", "\0/", "/\n")
TARGETS = ("victim", "table2/data/victim", "other/_versions/victim")
PLACES = (
    *("kept://bucket/folder", "kept://bucket/folder/table2", "kept://bucket", "kept://elsewhere/x"),
    *(
        f"kept://bucket/{ROOT}/../table2",
        f"kept://bucket/{ROOT}/%2e%2e/table2",
        f"{URI}2",
        f"{URI}x",
    ),
    *(
        "kept://me:pass@bucket/folder",
        "kept://bucket@evil/folder",
        "KEPT://elsewhere/x",
        "//evil/x",
    ),
    *(
        "s3://bucket/x",
        "gs://bucket/x",
        "az://c/x",
        "http://169.254.169.254/latest",
        "http://[::1]/",
    ),
    *(
        "https://evil.example/x",
        "ftp://evil/x",
        "file:///etc/passwd",
        "file://evil/x",
        "/etc/passwd",
    ),
    *("s3+ddb://bucket/x?ddbTableName=t", "memory://x", "data:text/plain,x", "javascript:x", "~/x"),
)
HOSTILE = list(
    dict.fromkeys(
        [
            *HOSTILE_PATHS,
            *(f"{up}{by}victim" for up in UPWARDS for by in SEPARATORS),
            *(f"../{to}" for to in TARGETS),
            *(f"x/{up}/{up}/{up}/victim" for up in UPWARDS),
            *PLACES,
        ]
    )
)


class Recording(MemoryClient):
    """A service that remembers the targets of copies, too."""

    def copy(self, source: str, target: str, *, if_absent: bool) -> None:
        self.requests.append(("copy to", target))
        super().copy(source, target, if_absent=if_absent)

    def holding(self) -> dict[str, bytes]:
        return {key: data.to_pybytes() for key, (data, _) in self._objects.items()}


class Service:
    """A store scheme ``kept`` and a commit scheme ``rows``, in the memory of a test."""

    def __init__(self) -> None:
        self.client = Recording()
        self.rows = MemoryManifestStore()
        self.opened: list[tuple[str, Mapping[str, str | Secret]]] = []

    @hookimpl
    def lance_object_stores(self) -> list[ObjectStoreSpec]:
        return [
            ObjectStoreSpec("kept", ("kept",), self.open, self.client.capabilities),
        ]

    @hookimpl
    def lance_manifest_stores(self) -> list[ManifestStoreSpec]:
        return [ManifestStoreSpec("rows", "rows", lambda url, options: self.rows)]

    def open(self, url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
        self.opened.append((f"{url.netloc}/{url.path}", options))
        return RemoteStore(self.client, url.path)

    def keys_outside(self) -> set[str]:
        """Keys and prefixes that were asked for and are not of the table."""
        return {key for _, key in self.client.requests if not key.startswith(f"{ROOT}/")}


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    name = get_manager().register(made)
    yield made
    get_manager().unregister(name)


@pytest.fixture
def table(service: Service) -> Service:
    """Two versions of a table, and objects beside it."""
    for key in OUTSIDE:
        service.client.put(key, [memoryview(b"outside")], if_absent=False)
    for _ in range(2):
        lance.write_dataset(pa.table({"x": [1, 2]}), URI, mode="append")
    lance.dataset(URI).tags.create("tag")
    lance.dataset(URI).create_branch("branch")
    service.client.requests.clear()
    service.opened.clear()
    return service


Edit = Callable[[table_pb2.Manifest, table_pb2.IndexSection, str], object]


def _base_path(message: table_pb2.Manifest, text: str, *, is_root: bool) -> None:
    message.base_paths.add(id=3, path=text, is_dataset_root=is_root)
    message.reader_feature_flags |= 16
    message.writer_feature_flags |= 16
    message.fragments[0].files[0].base_id = 3


def _index(section: table_pb2.IndexSection, text: str) -> None:
    index = section.indices.add(name="i", fields=[0], dataset_version=1)
    index.uuid.uuid = text.encode("utf-8", "surrogatepass")[:16].ljust(16)
    index.files.add(path=text, size_bytes=1)


FIELDS: dict[str, Edit] = {
    "data file": lambda m, _, text: setattr(m.fragments[0].files[0], "path", text),
    "row ids": lambda m, _, text: setattr(m.fragments[0].external_row_ids, "path", text),
    "transaction file": lambda m, _, text: setattr(m, "transaction_file", text),
    "branch": lambda m, _, text: setattr(m, "branch", text),
    "base path": lambda m, _, text: _base_path(m, text, is_root=True),
    "base path of files": lambda m, _, text: _base_path(m, text, is_root=False),
    "index": lambda _, section, text: _index(section, text),
}


def edited(raw: bytes, edit: Edit, text: str) -> bytes:
    """A manifest file after ``edit``, with an index section and without the transaction."""
    start = int.from_bytes(raw[-16:-8], "little")
    length = int.from_bytes(raw[start : start + 4], "little")
    message = table_pb2.Manifest.FromString(raw[start + 4 : start + 4 + length])
    section = table_pb2.IndexSection()
    edit(message, section, text)
    message.ClearField("transaction_section")
    message.index_section = 0
    parts = [section.SerializeToString(), message.SerializeToString()]
    body = b"".join(len(part).to_bytes(4, "little") + part for part in parts)
    return body + (4 + len(parts[0])).to_bytes(8, "little") + raw[-8:]


def _read() -> object:
    dataset = lance.dataset(URI)
    return dataset.to_table(), dataset.take([0])


def _clean_up() -> object:
    return lance.dataset(URI).cleanup_old_versions(retain_versions=1, delete_unverified=True)


USES: dict[str, Callable[[], object]] = {
    "reads": _read,
    "checks": lambda: lance.dataset(URI).validate(),
    "history": lambda: lance.dataset(URI).read_transaction(2),
    "writes": lambda: lance.write_dataset(pa.table({"x": [3]}), URI, mode="append"),
    "deletes": lambda: lance.dataset(URI).delete("x = 1"),
    "cleans up": lambda: lance.dataset(URI).cleanup_old_versions(
        retain_versions=1, delete_unverified=True
    ),
}


def test_there_are_enough_texts() -> None:
    assert len(HOSTILE) >= 200


@pytest.mark.parametrize("field", FIELDS)
def test_no_text_in_a_manifest_leads_out_of_the_table(table: Service, field: str) -> None:
    client, path = table.client, f"{ROOT}/_versions/{KEY}"
    original, saved = client.holding()[path], dict(client._objects)
    refused = dict.fromkeys(USES, 0)
    texts = share(HOSTILE, 3, turn=list(FIELDS).index(field))
    for text in texts:
        with suppress(ValueError):  # protobuf holds no lone surrogates
            content = pa.py_buffer(edited(original, FIELDS[field], text))
            kept = replace(saved[path][1], size=content.size, etag=f"{field} {text!a}")
            client._objects = {**saved, path: (content, kept)}
        for name, use in USES.items():
            try:
                use()
            except LanceError:
                refused[name] += 1
    assert max(refused.values()) > len(texts) // 2
    assert table.keys_outside() == set()
    assert {place for place, _ in table.opened} <= {f"bucket/{ROOT}"}
    assert all(client.holding()[key] == b"outside" for key in OUTSIDE)


REFS = {
    "tag": ("_refs/tags/tag.json", lambda: lance.dataset(URI, "tag").to_table()),
    "branch": (
        "_refs/branches/branch.json",
        lambda: lance.dataset(URI).checkout_version(("branch", None)).to_table(),
    ),
}


@pytest.mark.parametrize("kind", REFS)
def test_no_text_in_a_ref_leads_out_of_the_table(table: Service, kind: str) -> None:
    path, use = REFS[kind]
    store = RemoteStore(table.client, ROOT)
    original = json.loads(bytes(store.get(path)))
    saved = dict(table.client._objects)
    member = "branch" if kind == "tag" else "parentBranch"
    for text in share(HOSTILE, 2, turn=list(REFS).index(kind)):
        table.client._objects = dict(saved)
        store.put(path, json.dumps({**original, member: text}).encode())
        for one in (
            use,
            lance.dataset(URI).tags.list,
            lance.dataset(URI).branches.list,
            lambda: lance.dataset(URI).branches.delete("branch"),
            lambda: lance.dataset(URI).cleanup_old_versions(
                retain_versions=1, delete_unverified=True
            ),
        ):
            with suppress(LanceError):
                one()
    assert table.keys_outside() == set()
    assert all(table.client.holding()[key] == b"outside" for key in OUTSIDE)


def test_no_name_that_a_caller_gives_leads_out_of_the_table(table: Service) -> None:
    dataset = lance.dataset(URI)
    calls: dict[str, Callable[[str], object]] = {
        "tag": dataset.tags.create,
        "no tag": dataset.tags.delete,
        "branch": dataset.create_branch,
        "no branch": dataset.branches.delete,
        "reference": dataset.checkout_version,
        "version": lambda text: dataset.checkout_version((text, None)),
        "path": RemoteStore(table.client, ROOT).get,
    }
    for name, call in calls.items():
        for text in HOSTILE:
            with suppress(LanceError):
                call(text)
                assert name not in {"no tag", "no branch", "path"}, text
    assert table.keys_outside() == set()
    assert all(table.client.holding()[key] == b"outside" for key in OUTSIDE)


@pytest.mark.parametrize("staged", [True, False])
def test_no_path_of_an_external_store_leads_out_of_the_table(table: Service, staged: bool) -> None:
    """What a store of rows returns is data, be it the path of a manifest or of a staged one."""
    uri, refused = URI.replace("kept:", "kept+rows:"), 0
    saved = dict(table.client._objects)
    end = f"_versions/{KEY}{'-0f8fad5b-d9cb-469f-a165-70867728950e' if staged else ''}"
    texts = [
        *HOSTILE,
        *(f"{text}/{end}" for text in HOSTILE),
        *(f"{ROOT}/{t}{end}" for t in HOSTILE),
    ]
    for text in [*texts, *(f"{ROOT}/_versions/{one}" for one in HOSTILE)]:
        table.rows._rows = {base_uri_of(parse_uri(uri)): {2: ManifestEntry(2, text, 9)}}
        table.client._objects = dict(saved)
        for use in (
            lambda: lance.dataset(uri).to_table(),
            lambda: lance.dataset(uri, version=2),
            lambda: lance.write_dataset(pa.table({"x": [3]}), uri, mode="append"),
        ):
            try:
                use()
            except LanceError:
                refused += 1
    assert refused > len(HOSTILE)
    assert table.keys_outside() == set()
    assert all(table.client.holding()[key] == b"outside" for key in OUTSIDE)
