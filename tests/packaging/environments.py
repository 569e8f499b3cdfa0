"""Environments with nothing but the wheels of this checkout, and what these say that they need."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent for path in ROOT.glob("tests/example_*/pyproject.toml"))
PLUGINS = sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))
PROJECTS = [ROOT, *PLUGINS, *EXAMPLES]

_BOUND = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)(?:\[[^]]*\])?>=(?P<version>[0-9.]+)")


def settings(project: Path) -> dict[str, Any]:
    """What a project's file says of it."""
    loaded: dict[str, Any] = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))
    project_table: dict[str, Any] = loaded["project"]
    return project_table


def lowest_versions(projects: Iterable[Path]) -> dict[str, str]:
    """The lowest version of each package that all of ``projects`` take."""
    lowest: dict[str, str] = {}
    for project in projects:
        declared = settings(project)
        optional = declared.get("optional-dependencies", {}).values()
        for requirement in [*declared["dependencies"], *(one for each in optional for one in each)]:
            bound = _BOUND.match(requirement)
            if bound is not None:
                known = lowest.get(bound["name"], "0")
                lowest[bound["name"]] = max(known, bound["version"], key=_order)
    return lowest


def run(*command: str | Path, cwd: Path | None = None, **more: str) -> str:
    """What a command prints; it must succeed. Nothing of this process's Python reaches it.

    ``more``: environment variables.
    """
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYSPARK"))} | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment of its own. ``wheels``: the folder that it installs this checkout from."""

    folder: Path
    wheels: Path

    @classmethod
    def make(cls, folder: Path, wheels: Path, above: Environment | None = None) -> Environment:
        """An environment that has nothing, or what is ``above``."""
        venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
        made = cls(folder, wheels)
        if above is not None:
            (made.packages / "above.pth").write_text(f"{above.packages}\n")
        return made

    def install(self, *requirements: str, index: bool = True) -> None:
        """Install with pip; without an ``index``, nothing but wheels of this checkout."""
        python = ["--python", self.folder / "bin" / "python"]
        chosen = ["install", "-q", "--no-compile", "--find-links", self.wheels, *requirements]
        run(sys.executable, "-m", "pip", *python, *chosen, *([] if index else ["--no-index"]))

    def python(self, code: str, *arguments: str) -> str:
        """What a program prints. Its warnings are errors, but for one that depends on the date."""
        warnings = ("-W", "error", "-W", "ignore:You are using a Python version:FutureWarning")
        program = [self.folder / "bin" / "python", "-I", *warnings, "-c", code]
        return run(*program, *arguments, cwd=self.folder)

    def command(self, name: str, *arguments: str) -> str:
        return run(self.folder / "bin" / name, *arguments, cwd=self.folder)

    @property
    def packages(self) -> Path:
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
