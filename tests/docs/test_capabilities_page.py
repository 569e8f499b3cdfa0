"""The table of capabilities says what the installed plugins say."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
import s3fs
from fsspec.implementations.memory import MemoryFileSystem

from lance_core.plugins import get_manager, open_store
from lance_core.plugins.handler_choice import UnprovenCommitHandler, select_commit_handler
from lance_core.plugins.loading import Contribution
from lance_core.store.base import StoreCapabilities
from lance_core.store.uri import parse_uri
from lance_core_fsspec import register_file_system, unregister_file_system
from tests.docs.page_examples import ROOT

PAGE = ROOT / "docs" / "plugins" / "capabilities.md"
AZURE = {"account_name": "account", "account_key": "a2V5"}

Opened = tuple[str, dict[str, str]]
OPENED: dict[str, Opened] = {
    "Local files": ("file:///{folder}/table", {}),
    "Memory of a process": ("memory://name/table", {}),
    "Amazon S3": ("s3://bucket/table", {"aws_region": "us-east-1"}),
    "S3 at another endpoint": ("s3://bucket/table", {"aws_endpoint": "https://example.org"}),
    "Google Cloud Storage": ("gs://bucket/table", {}),
    "GCS at another endpoint": ("gs://bucket/table", {"google_base_url": "https://example.org"}),
    "Azure Blob Storage": ("az://container/table", AZURE),
    "Azure at another endpoint": (
        "az://container/table",
        AZURE | {"azure_endpoint": "https://example.org/account"},
    ),
    "fsspec: s3fs, gcsfs, adlfs": ("fsspec://s3fs/table", {}),
    "fsspec: SFTP, FTP, SMB, HDFS, OSS, COS, OBS, TOS, OCI, local files": (
        "fsspec://strong/table",
        {},
    ),
    "fsspec: other file systems": ("fsspec://other/table", {}),
    "fsspec: for reading": ("zip://table", {"fo": "{folder}/archive.zip"}),
}
"""A URL and options for each row; nothing of it is asked for."""


class OtherFileSystem(MemoryFileSystem):
    """One that nothing is known of."""

    protocol = "other"


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without those of its head."""
    _, _, section = PAGE.read_text("utf-8").partition(f"## {heading}\n")
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def words(cell: str) -> set[str]:
    return {word.strip("`") for word in cell.split()}


def columns() -> list[str]:
    (head,) = [
        line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| Store |")
    ]
    return [cell.strip(" `") for cell in head.strip("|").split("|")]


def contributions() -> list[Contribution]:
    """Of the plugins, without those that are examples."""
    return [c for c in get_manager().plugins if "example" not in c.source.distribution]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("opened")
    (folder / "packed").mkdir()
    shutil.make_archive(str(folder / "archive"), "zip", folder / "packed")
    made = {
        "s3fs": s3fs.S3FileSystem(anon=True, skip_instance_cache=True),
        "strong": fsspec.filesystem("file"),
        "other": OtherFileSystem(skip_instance_cache=True),
    }
    for name, files in made.items():
        register_file_system(name, files)
    yield folder
    for name in made:
        unregister_file_system(name)


@pytest.mark.parametrize("row", rows("Stores"), ids=lambda row: row[0])
def test_a_store_guarantees_what_the_page_says(row: list[str], folder: Path) -> None:
    said = dict(zip(columns(), row, strict=True))
    url, given = OPENED[said["Store"]]
    uri = url.format(folder=str(folder).strip("/"))
    options = {name: value.format(folder=folder) for name, value in given.items()}
    store = open_store(uri, options)
    names = set(StoreCapabilities.__dataclass_fields__) & set(said)
    assert len(names) == 6
    seen = {name: getattr(store.capabilities, name).value for name in names}
    assert seen == {name: said[name] for name in names}
    handler = select_commit_handler(store, parse_uri(uri), options)
    by_itself = "yes" if not isinstance(handler, UnprovenCommitHandler) else "no"
    if "unknown" in (said["put_if_absent"],):
        by_itself = "after a probe"
    assert said["Commits by itself"] == by_itself


def test_every_scheme_of_every_plugin_is_on_the_page() -> None:
    listed: dict[str, set[str]] = {}
    for row in rows("Stores"):
        listed.setdefault(row[2].strip("`"), set()).update(words(row[1]))
    served: dict[str, set[str]] = {}
    for plugin in contributions():
        for spec in plugin.object_stores:
            served.setdefault(spec.extra or "", set()).update(spec.schemes)
    assert listed == served


def test_every_commit_handler_is_on_the_page() -> None:
    listed = {
        row[0].strip("`"): (row[1].strip("`"), words(row[3]), row[4])
        for row in rows("Commit handlers")
    }
    names = {
        spec.name
        for plugin in contributions()
        for spec in (*plugin.commit_handlers, *plugin.manifest_stores)
    }
    assert set(listed) == names
    for name in names:
        spec = get_manager().commit_handler(name)
        automatic = "chosen, or by name" if spec.rank > 0 else "by name"
        asked = f"+{spec.url_suffix}" if spec.url_suffix else automatic
        writers = "many" if spec.multi_writer else "one"
        assert listed[name] == (asked, set(spec.requires), writers)
