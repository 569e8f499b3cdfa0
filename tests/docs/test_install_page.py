"""What the pages say about installing is true while the distributions are on no index."""

from __future__ import annotations

import re
import tomllib

from tests.docs.page_examples import PAGES, ROOT

PAGE = ROOT / "docs" / "install.md"
README = ROOT / "README.md"
BUILD = "    python -m pip wheel --no-deps --wheel-dir wheels . plugins/*\n"
POINT = "    export PIP_FIND_LINKS=$PWD/wheels\n"


def test_the_readme_and_the_page_build_wheels_by_the_same_commands() -> None:
    """`tests/packaging` builds them so."""
    for page in (README, PAGE):
        text = page.read_text("utf-8")
        assert BUILD in text
        assert POINT in text


def test_every_extra_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for page in (README, PAGE):
        rows = [line for line in page.read_text("utf-8").splitlines() if line.startswith("| [`")]
        listed = {name for row in rows for name in re.findall(r"\[`(\w+)`\]", row)}
        assert listed == set(project["optional-dependencies"]), page.name


def test_the_commands_of_the_readme_are_there() -> None:
    text = README.read_text("utf-8")
    for command in ("tox && python -m tox -e quickstart", "tox && python -m tox"):
        assert f"    python -m pip install {command}\n" in text


def test_a_page_that_installs_from_wheels_says_where_they_are() -> None:
    pages = [page for page in PAGES if "    pip install" in page.read_text("utf-8")]
    assert len(pages) >= 16
    assert [page for page in pages if "install.md" not in page.read_text("utf-8")] == []
