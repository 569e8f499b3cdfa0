"""`docs/where-to-change.md` names files, folders and names that exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tests.each_case import each_case

ROOT = Path(__file__).parents[2]
ROWS = {
    subject: places
    for line in (ROOT / "docs/where-to-change.md").read_text("utf-8").splitlines()
    for subject, places in re.findall(r"^\| (.+?) \| (.*`.*) \|$", line)
}
ENDINGS = (".py", ".pyi", ".c", ".md", ".txt", ".proto", ".toml", ".ini", "/")
NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@each_case("subject", ROWS)
def test_the_paths_of_a_row_exist(subject: str) -> None:
    """A path starts at the root, or at a folder that its row names or a file of the row is in."""
    row = ROWS[subject]
    missing = [word for word in _codes(row) if _is_path(word) and word not in _places(row)]
    assert not missing


@each_case("subject", ROWS)
def test_the_names_of_a_row_are_in_its_files(subject: str) -> None:
    files = [
        file
        for places in _places(ROWS[subject]).values()
        for place in places
        for file in _files(place)
    ]
    missing = [
        word
        for word in _codes(ROWS[subject])
        if NAME.fullmatch(word) and not _is_path(word)
        if not any(word.rpartition(".")[2] in _words(file) for file in files)
    ]
    assert not missing


def _codes(row: str) -> list[str]:
    return re.findall(r"`([^`]+)`", row)


def _is_path(word: str) -> bool:
    return " " not in word and word.endswith(ENDINGS)


@cache
def _places(row: str) -> dict[str, list[Path]]:
    """The files and folders that a row names, by their text there; several if it is a pattern."""
    places: dict[str, list[Path]] = {}
    folders = {ROOT}
    before = -1
    while len(places) > before:  # a name may stand before that of its folder
        before = len(places)
        for word in filter(_is_path, _codes(row)):
            bases = set(folders)
            if "/" in word[:-1]:  # a path of several parts may start above its neighbour's folder
                bases |= {one for base in folders - {ROOT} for one in base.parents}
            pattern = re.sub("<.*?>", "*", word)
            matches = [p for base in bases for p in base.glob(pattern) if p.is_relative_to(ROOT)]
            if matches:
                places[word] = matches
                folders |= {path if path.is_dir() else path.parent for path in matches}
    return places


def _files(place: Path) -> list[Path]:
    return list(place.rglob("*.py")) if place.is_dir() else [place]


@cache
def _words(file: Path) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", file.read_text("utf-8")))
