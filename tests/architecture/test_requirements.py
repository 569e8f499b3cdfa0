"""The lowest versions that the project requires are those that `tox -e lowest` installs."""

from __future__ import annotations

import configparser
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13")


def project(path: Path) -> dict[str, list[str]]:
    return dict(tomllib.loads(path.read_text("utf-8"))["project"])


def bounds(path: Path, operator: str, python: str = "3.11") -> dict[str, Version]:
    """The version after ``operator`` of each dependency that has one, on a version of Python."""
    return _versions(project(path)["dependencies"], operator, python)


def _versions(lines: list[str], operator: str, python: str) -> dict[str, Version]:
    return {
        requirement.name: Version(one.version)
        for requirement in map(Requirement, lines)
        if requirement.marker is None or requirement.marker.evaluate({"python_version": python})
        for one in requirement.specifier
        if one.operator == operator
    }


def pins(python: str) -> dict[str, Version]:
    """Exact versions in `requirements/lowest.txt`, for a version of Python."""
    lines = (ROOT / "requirements/lowest.txt").read_text("utf-8").splitlines()
    return _versions([line for line in lines if line and line[0] != "#"], "==", python)


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lowest_versions_are_those_that_are_tested(python: str) -> None:
    required = bounds(ROOT / "pyproject.toml", ">=", python)
    assert {"numpy", "pyarrow", "protobuf"} <= set(required)
    tested = pins(python)
    assert {name: tested.get(name) for name in required} == required


def test_plugins_require_no_older_versions_than_the_core() -> None:
    required = bounds(ROOT / "pyproject.toml", ">=")
    for path in ROOT.glob("plugins/*/pyproject.toml"):
        for name, version in bounds(path, ">=").items():
            assert version >= required.get(name, version), path.parent.name


def test_the_test_command_runs_at_the_lowest_and_at_the_newest_versions() -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    assert tox["tox"]["env_list"] == "everything"
    command = tox["testenv:everything"]["commands"].split()
    environments = command[command.index("-e") + 1].split(",")
    assert {"lowest", "checks"} <= set(environments)
    assert "-r requirements/lowest.txt" in tox["testenv:lowest"]["deps"]
    named = [word for word in tox["testenv:lowest"]["commands"].split() if word.startswith("tests")]
    assert named
    for name in named:
        assert (ROOT / name.rstrip("}")).exists(), name


def test_no_code_asks_arrow_for_a_type_of_pandas() -> None:
    """`to_pandas_dtype` requires pandas in releases of pyarrow before 26."""
    paths = [path for top in ("lance_core", "plugins", "tests") for path in (ROOT / top).rglob("*")]
    sources = [path for path in paths if path.suffix in (".py", ".in") and path != Path(__file__)]
    assert [path for path in sources if ".to_pandas_dtype(" in path.read_text("utf-8")] == []


def test_each_python_has_an_environment_of_unit_tests() -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    command = tox["testenv:pythons"]["commands"].split()
    environments = command[command.index("-e") + 1].split(",")
    assert environments == [f"unit-py{python.replace('.', '')}" for python in PYTHONS]
    assert "--skip-missing-interpreters" in command
    assert "testenv:unit-py{311,312,313}" in tox
