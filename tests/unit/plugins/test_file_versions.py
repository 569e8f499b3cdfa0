"""A file version of a plugin is written and read like those of the format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.encodings.version import FORMAT_VERSIONS
from lance_core.errors import InvalidInputError, PluginConflictError, PluginNotFoundError
from lance_core.file_version import PAGE_LAYOUT_URL
from lance_core.hookspecs import (
    FileVersion,
    FileVersionSpec,
    StorableTypes,
    VersionFacts,
    hookimpl,
)
from lance_core.plugins.builtin import lance_file_versions
from lance_core.plugins.manager import PluginManager, get_manager
from tests.each_case import each_case

PAGES = "lance_core.encodings.v2_1"
FACTS = VersionFacts(
    value="88.1",
    footer=(88, 1),
    data_file=(88, 2),
    aliases=("eighty-eight",),
    page_encoding_url=PAGE_LAYOUT_URL,
    stores=StorableTypes(maps=False, blobs_v2=False),
    splits_structs=False,
    may_mix=False,
    has_partial_files=False,
    index_files="2.1",
)
SPEC = FileVersionSpec(
    version=FACTS,
    decode_field=f"{PAGES}.fields:decode_field",
    field_encoder=f"{PAGES}.write.field_encoder:field_encoder",
)


class Plugin:
    """Provides the pages of 2.2 under another version."""

    @hookimpl
    def lance_file_versions(self) -> list[FileVersionSpec]:
        return [SPEC]


@pytest.fixture
def installed() -> Iterator[None]:
    name = get_manager().register(Plugin(), "eighty-eight")
    get_manager().file_version(FileVersion.add(FACTS))
    yield
    get_manager().unregister(name)


@pytest.mark.usefixtures("installed")
@each_case("selector", ["88.1", "eighty-eight"])
def test_a_version_of_a_plugin_is_written_and_read(selector: str, tmp_path: Path) -> None:
    rows = pa.table({"id": range(3000), "name": [f"n{i}" for i in range(3000)]})
    uri = str(tmp_path / "t.lance")
    table = lance.write_dataset(rows, uri, data_storage_version=selector)
    table = lance.write_dataset(rows, uri, mode="append")
    assert table.data_storage_version == "88.1"
    assert table.to_table() == pa.concat_tables([rows, rows])
    assert table.to_table(filter="id = 2999")["name"].to_pylist() == ["n2999"] * 2
    table.create_scalar_index("id", "BTREE")
    assert table.take([5999])["id"].to_pylist() == [2999]
    file = table.get_fragments()[0].metadata.files[0]
    assert (file.file_major_version, file.file_minor_version) == (88, 2)
    table.optimize.compact_files()
    assert table.to_table(filter="id = 1")["name"].to_pylist() == ["n1"] * 2


@pytest.mark.usefixtures("installed")
def test_the_facts_of_a_version_decide_what_a_table_accepts(tmp_path: Path) -> None:
    uri = str(tmp_path / "t.lance")
    maps = pa.table({"m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))})
    with pytest.raises(lance.errors.UnsupportedFeatureError, match=r"88\.1 cannot store maps"):
        lance.write_dataset(maps, uri, data_storage_version="88.1")
    table = lance.write_dataset(pa.table({"id": [1]}), uri, data_storage_version="88.1")
    with pytest.raises(InvalidInputError, match=r"88\.1.*2\.0 cannot be appended"):
        lance.write_dataset(pa.table({"id": [1]}), uri, mode="append", data_storage_version="2.0")
    with pytest.raises(lance.errors.UnsupportedFeatureError, match="all-null"):
        table.add_columns(pa.field("x", pa.int64()))


def test_a_version_without_a_provider_is_named() -> None:
    version = FileVersion.add(FACTS)
    with pytest.raises(PluginNotFoundError, match=r"no plugin provides file version '88\.1'"):
        PluginManager(entry_points=False).file_version(version)


def test_two_providers_of_a_version_are_both_named() -> None:
    manager = PluginManager(entry_points=False)
    manager.register(Plugin(), "first")
    manager.register(Plugin(), "second")
    with pytest.raises(PluginConflictError, match=r"'first'.*and 'second'"):
        manager.file_version(FileVersion.add(FACTS))


def test_the_core_provides_its_versions_by_the_hook() -> None:
    assert [spec.version.value for spec in lance_file_versions()] == ["2.0", "2.1", "2.2"]
    manager = PluginManager(entry_points=False)
    for spec in FORMAT_VERSIONS:
        assert manager.file_version(FileVersion(spec.version.value)) is spec
