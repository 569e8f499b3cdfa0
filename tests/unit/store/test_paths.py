"""Which paths a store accepts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core.errors import InvalidPathError
from lance_core.store.paths import check_folder, check_path, is_below, is_path, join
from tests.each_case import each_case

SEGMENT = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="/\\"), min_size=1
)


@given(st.lists(SEGMENT.filter(lambda s: s not in {".", ".."} and ":" not in s), min_size=1))
def test_printable_segments_make_a_path(segments: list[str]) -> None:
    path = "/".join(segments)
    fits = len(path.encode()) <= 1024 and all(len(s.encode()) <= 255 for s in segments)
    assert is_path(path) is fits
    if fits:
        assert check_path(path) is path


@given(st.text())
def test_an_accepted_path_stays_inside_and_prints(path: str) -> None:
    if is_path(path):
        assert not set(path.split("/")) & {"", ".", ".."}
        assert "\\" not in path
        assert "\0" not in path
        assert path.encode().decode() == path


@each_case(
    ("path", "reason"),
    [
        ("", "empty"),
        ("/x", "absolute"),
        ("a//b", "a segment is empty"),
        ("a/", "a segment is empty"),
        ("a/../b", "'..'"),
        ("./a", "'.'"),
        ("C:/x", "drive"),
        ("a\\b", "'\\\\\\\\'"),
        ("a\0b", "x00"),
        ("a\x85", "x85"),
        ("a\ud800", "ud800"),
        ("x" * 256, "255"),
        ("x/" * 512 + "x", "1024"),
    ],
)
def test_a_refusal_names_the_reason(path: str, reason: str) -> None:
    with pytest.raises(InvalidPathError, match=reason):
        check_path(path)


def test_a_refusal_is_printable_and_short() -> None:
    with pytest.raises(InvalidPathError) as caught:
        check_path("\x1b[2J" + "é\n" * 100_000)
    assert len(str(caught.value)) < 3000
    assert str(caught.value).isprintable()


@each_case("path", [None, 3, b"a", ["a"]])
def test_a_path_is_text(path: object) -> None:
    with pytest.raises(InvalidPathError, match="text"):
        check_path(path)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(InvalidPathError):
        check_folder(path)  # type: ignore[arg-type]


@each_case("path", ["a:b", "ab:c", "data/c:x", "1:2", "é:x", "%2e%2e", "...", "a..b"])
def test_what_only_looks_dangerous_is_a_path(path: str) -> None:
    assert is_path(path) is (path != "a:b")


def test_the_root_is_a_folder_but_no_object() -> None:
    assert check_folder("") == ""
    assert check_folder("a/b") == "a/b"
    assert not is_path("")


def test_joining_checks_the_result() -> None:
    assert join("", "a") == "a"
    assert join("a", "b", "c/d") == "a/b/c/d"
    with pytest.raises(InvalidPathError):
        join("a", "../b")
    with pytest.raises(InvalidPathError):
        join("", "")


def test_below_means_below_the_folder() -> None:
    assert is_below("a/b", "a")
    assert is_below("a", "")
    assert not is_below("ab", "a")
    assert not is_below("a", "a")
