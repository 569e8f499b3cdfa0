"""The wheels, built once, and an environment with all of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.packaging.distributions import closure, distributions_in, link, linked
from tests.packaging.environments import EXAMPLES, PROJECTS, ROOT, Environment, run, settings


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel of every project, made by the command of the install page."""
    folder = tmp_path_factory.mktemp("wheels")
    command = ["-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder]
    # Compilers take most of the time; how fast the loops are that they make does not matter here.
    run(sys.executable, *command, "--no-build-isolation", *PROJECTS, CFLAGS="-O0")
    return folder


@pytest.fixture(scope="session")
def installed(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Everything, by the extras that users name.

    What is not of this checkout is linked from where the tests run; pip finds that it is enough.
    """
    made = Environment.make(tmp_path_factory.mktemp("everything"), wheels)
    extras = ",".join(settings(ROOT)["optional-dependencies"])
    wanted = [f"lance-core[{extras}]", *(settings(example)["name"] for example in EXAMPLES)]
    ours = distributions_in(*wheels.iterdir())
    known = distributions_in(*wheels.iterdir(), *sys.path)
    others = {name: each for name, each in closure(wanted, known).items() if name not in ours}
    link(others, known, made.packages)
    made.install(*wanted, index=False)
    return made


@pytest.fixture(scope="session")
def core(installed: Environment, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The core and what it needs, without any plugin."""
    return linked(installed, "lance-core", tmp_path_factory.mktemp("core"))
