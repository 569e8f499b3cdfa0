"""A URI names the same table here and in pylance."""

from __future__ import annotations

import os
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError
from lance_core.store.uri import parse_uri

TABLE = pa.table({"x": [1]})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tables(folder: Path) -> list[str]:
    return [str(found.parent.parent) for found in folder.rglob("_versions/*.manifest")]


@pytest.mark.parametrize(
    "uri",
    [
        "{0}/plain",
        "{0}/with space",
        "{0}/percent%20sign",
        "{0}/query?a=b",
        "{0}/hash#tag",
        "{0}/back\\slash",
        "{0}//double//slash/",
        "{0}/é",
        "relative",
        "./a/../b",
        "~/x",
        "~",
        " ",
        "file://{0}/plain",
        "file://{0}/a%20b",
        "file://{0}/a b",
        "file://{0}/%C3%A9",
        "file://{0}/100%zz",
        "file://{0}/a/../b",
        "file://{0}/x?a=b",
        "file://localhost{0}/x",
        "file:{0}/x",
        "FILE://{0}/x",
    ],
)
def test_a_local_uri_names_the_same_folder(home: Path, uri: str) -> None:
    text = uri.format(home)
    lance.write_dataset(TABLE, text)
    assert tables(home) == [parse_uri(text).path]


@pytest.mark.parametrize(
    "uri", ["a1:b", "no-such-scheme://x", "file://{0}/%ff", "file://{0}/..%2Fx", "{0}/new\nline"]
)
def test_what_pylance_refuses_is_refused(home: Path, uri: str) -> None:
    text = uri.format(home)
    with pytest.raises((ValueError, OSError)):
        lance.write_dataset(TABLE, text)
    if text.startswith("no-such"):
        assert parse_uri(text).scheme == "no-such-scheme"  # whether it is known is asked later
    else:
        with pytest.raises(InvalidInputError):
            parse_uri(text)
    assert os.listdir(home) == ["home"]  # noqa: PTH208
