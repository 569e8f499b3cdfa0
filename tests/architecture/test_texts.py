"""What no file of the project may say: the project speaks of itself alone, on any machine."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

from lance_core._version import __version__
from tests.each_case import each_case

ROOT = Path(__file__).parents[2]
FORBIDDEN = {
    "a path of one machine": re.compile(r"""(?<![\w.}/])/(?:home|opt|root|tmp|work|Users)/"""),
    "a host of a package registry": re.compile(
        r"(?:pypi|pythonhosted|npmjs|crates|debian|anaconda)[.](?:org|com|io)"
    ),
    "a conflict marker": re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE),
}


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name]


def texts() -> dict[str, str]:
    found = {}
    for path in tracked():
        if path.is_file() and b"\0" not in (data := path.read_bytes()):
            found[path.relative_to(ROOT).as_posix()] = data.decode("utf-8")
    return found


def test_names_of_files_are_plain() -> None:
    """A name like ``memory:`` is what a test wrote into its working folder by mistake."""
    names = [path.relative_to(ROOT).as_posix() for path in tracked()]
    assert [name for name in names if not re.fullmatch(r"[\w./-]+", name, re.ASCII)] == []


@each_case("what", FORBIDDEN)
def test_no_file_names(what: str) -> None:
    hits = {
        f"{name}: {match.group(0)}"
        for name, text in texts().items()
        for match in FORBIDDEN[what].finditer(text)
    }
    assert hits == set()


def test_every_distribution_of_the_checkout_has_the_same_version() -> None:
    core = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for path in ROOT.glob("plugins/*/pyproject.toml"):
        plugin = tomllib.loads(path.read_text("utf-8"))["project"]
        extra = path.parent.name
        assert plugin["version"] == __version__
        assert f"lance-core=={__version__}" in plugin["dependencies"]
        assert core["optional-dependencies"][extra] == [f"{plugin['name']}=={__version__}"]


def test_every_plugin_but_the_alias_is_installed_for_development() -> None:
    """The package of the alias is that of pylance, which the tests compare with."""
    required = (ROOT / "requirements-dev.txt").read_text("utf-8").splitlines()
    for path in ROOT.glob("plugins/*/pyproject.toml"):
        installed = f"-e {path.parent.relative_to(ROOT).as_posix()}" in required
        assert installed == (path.parent.name != "alias")
