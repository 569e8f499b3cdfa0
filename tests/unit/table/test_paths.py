from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.table import paths
from lance_core.table.paths import ManifestName, NamingScheme
from tests.each_case import each_case

HOSTILE = [
    "",
    ".",
    "..",
    "../x.lance",
    "a/../../x.lance",
    "a/./b",
    "/etc/passwd",
    "//host/share",
    "a//b",
    "a/",
    "C:/x",
    "c:x",
    "a\\..\\b",
    "\\\\host\\share",
    "a\x00b",
    "a\nb",
    "a\x7fb",
    "a\u2028b",
    "%2e%2e/x",
    ".%2E/x",
    "a%2f..%2Fb",
    "a%5cb",
    "http://169.254.169.254/latest",
    "s3://bucket/key",
    "file:///etc/passwd",
    "x" * 5000,
]


@each_case(
    ("version", "scheme", "path"),
    [
        (1, NamingScheme.V1, "_versions/1.manifest"),
        (1, NamingScheme.V2, "_versions/18446744073709551614.manifest"),
        (1 << 62, NamingScheme.V2, "_versions/13835058055282163711.manifest"),
        ((1 << 63) | 5, NamingScheme.V2, "_versions/d9223372036854775813.manifest"),
        ((1 << 63) | 5, NamingScheme.V1, "_versions/d9223372036854775813.manifest"),
    ],
)
def test_manifest_paths_are_those_of_other_releases(
    version: int, scheme: NamingScheme, path: str
) -> None:
    assert paths.manifest_path(version, scheme) == path


@given(st.integers(0, (1 << 64) - 1), st.sampled_from(NamingScheme))
def test_a_manifest_name_tells_its_version_and_scheme(version: int, scheme: NamingScheme) -> None:
    name = paths.manifest_path(version, scheme).removeprefix("_versions/")
    detached = version >= paths.DETACHED
    parsed = paths.parse_manifest_name(name)
    assert parsed == ManifestName(version, None if detached else scheme)


@each_case(
    "name",
    [
        "latest_version_hint.json",
        "1.manifest-0f8fad5b-d9cb-469f-a165-70867728950e",
        ".tmp_7.manifest",
        "18446744073709551614.manifest#1",
        "x.manifest",
        "-1.manifest",
        "+1.manifest",
        "007.manifest",
        "\u0661.manifest",
        "1.manifest\n",
        ".manifest",
        "d5.manifest",
        "18446744073709551616.manifest",
        "00000000000000000001.manifest",
        "9223372036854775808.manifest",
    ],
)
def test_other_names_are_not_manifests(name: str) -> None:
    assert paths.parse_manifest_name(name) is None


def test_versions_outside_of_u64_have_no_path() -> None:
    for version in (-1, 1 << 64):
        with pytest.raises(InvalidInputError):
            paths.manifest_path(version)


def test_data_file_names_are_24_binary_and_26_hex_digits() -> None:
    name = paths.data_file_name(uuid.UUID("deadbeef-0000-4000-8000-00000000002a"))
    assert name == "110111101010110110111110ef00004000800000000000002a.lance"


def test_transaction_files_are_named_after_read_version_and_uuid() -> None:
    name = paths.transaction_file_name(7, "some-uuid")
    assert paths.transaction_path(name) == "_transactions/7-some-uuid.txn"


@each_case("path", HOSTILE)
def test_a_hostile_path_is_refused_with_the_name_of_its_field(path: str) -> None:
    with pytest.raises(CorruptFileError) as caught:
        paths.check_relative(path, "DataFile.path")
    assert caught.value.field == "DataFile.path"
    with pytest.raises(CorruptFileError):
        paths.data_file_path(path)
    with pytest.raises(CorruptFileError):
        paths.transaction_path(path)


@each_case("path", ["a.lance", "a/b.lance", "..a", "a b", "ü.lance", "%41", "a.b.c"])
def test_an_ordinary_path_is_accepted_unchanged(path: str) -> None:
    assert paths.check_relative(path, "f") == path


def test_a_file_name_has_no_folders() -> None:
    with pytest.raises(CorruptFileError):
        paths.check_name("a/b", "transaction_file")
