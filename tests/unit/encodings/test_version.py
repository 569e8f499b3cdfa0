"""File versions: names, aliases and the pairs of numbers that stand for them."""

from __future__ import annotations

import pytest

from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, InvalidInputError, UnsupportedFeatureError
from tests.each_case import each_case


@each_case(
    ("selector", "version"),
    [
        ("legacy", "0.1"),
        ("0.1", "0.1"),
        ("2.0", "2.0"),
        ("0.3", "2.0"),
        ("2.1", "2.1"),
        ("2.2", "2.2"),
        ("stable", "2.2"),
        ("STABLE", "2.2"),
    ],
)
def test_a_selector_names_a_version(selector: str, version: str) -> None:
    assert FileVersion.from_selector(selector).value == version


@pytest.mark.parametrize("selector", ["2.3", "next"])
def test_the_unstable_version_is_refused_clearly(selector: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"2\.3"):
        FileVersion.from_selector(selector)
    with pytest.raises(UnsupportedFeatureError, match=r"2\.3"):
        FileVersion.from_footer(2, 3)
    with pytest.raises(UnsupportedFeatureError, match=r"2\.3"):
        FileVersion.from_manifest("2.3")


@each_case("selector", ["2.4", "", "two", "2.0.0"])
def test_an_unknown_selector_lists_the_known_ones(selector: str) -> None:
    with pytest.raises(InvalidInputError, match=r"known are 0\.1, 2\.0"):
        FileVersion.from_selector(selector)


@each_case("alias", ["stable", "legacy", "0.3", "next", "2.4"])
def test_a_manifest_has_no_aliases(alias: str) -> None:
    with pytest.raises(CorruptFileError, match="unknown file version"):
        FileVersion.from_manifest(alias)


@each_case("version", FileVersion)
def test_what_is_written_is_read_back(version: FileVersion) -> None:
    assert FileVersion.from_footer(*version.footer) is version
    assert FileVersion.from_footer(*version.data_file) is version
    assert FileVersion.from_manifest(str(version)) is version


def test_version_2_0_has_different_numbers_in_footer_and_manifest() -> None:
    assert FileVersion.V2_0.footer == (0, 3)
    assert FileVersion.V2_0.data_file == (2, 0)
    for pair in ((0, 3), (2, 0)):
        assert FileVersion.from_footer(*pair) is FileVersion.V2_0


@each_case("pair", [(0, 0), (0, 1), (0, 2)])
def test_version_0_1_has_three_pairs(pair: tuple[int, int]) -> None:
    assert FileVersion.from_footer(*pair) is FileVersion.V0_1


@each_case("pair", [(0, 4), (1, 0), (60000, 1)])
def test_garbled_numbers_are_corruption(pair: tuple[int, int]) -> None:
    with pytest.raises(CorruptFileError, match="unknown file version"):
        FileVersion.from_footer(*pair)


def test_versions_are_ordered() -> None:
    assert sorted(FileVersion) == list(FileVersion)
    assert FileVersion.V2_0 <= FileVersion.V2_0 < FileVersion.V2_1
