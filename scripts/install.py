"""Install what pip's arguments name: ``python scripts/install.py ARGUMENT ...``.

uv does it in half of pip's time, from the package indexes that pip is set up to use: the uv of the
PATH, such as that of the environment that makes others, or else one that pip installs. Where uv is
not to be had, or does not succeed, pip does it.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Most of what is installed is never imported: to compile all of it takes longer than to install it.
PIP = (sys.executable, "-I", "-m", "pip")
INSTALL = (*PIP, "install", "--no-compile")
MIN_UV = (0, 9)

UNCOMPRESSED = "[bdist_wheel]\ncompression = stored\n"
"""PySpark has no wheel. To compress the 480 MB of one, and unpack it, takes as long as all else."""

SETTINGS = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "cert": ("SSL_CERT_FILE", " "),
}
"""Settings of pip, whose values are separated by white space; the environment variables in which uv
takes them, and what separates values there."""


def main(arguments: list[str]) -> int:
    """Install with uv, or else with pip. Returns the exit code of what was run last."""
    with _uncompressed_wheels():
        return run_uv(arguments) and subprocess.call([*INSTALL, *arguments])


def run_uv(arguments: list[str], python: Path = Path(sys.executable)) -> int:
    """Install with uv, for ``python``. Returns the exit code."""
    uv = _uv_on_path()
    if uv is None:
        if code := subprocess.call([*INSTALL, f"uv>={'.'.join(map(str, MIN_UV))}"]):
            return code
        uv = str(Path(sys.executable).with_name("uv"))
    # As pip does, take the newest version of all indexes, rather than that of the first.
    command = [uv, "pip", "install", "--python", str(python)]
    command += ["--index-strategy", "unsafe-best-match", *arguments]
    return subprocess.call(command, env={**settings_of_uv(_settings_of_pip()), **os.environ})


def _uv_on_path() -> str | None:
    """The path of a uv that is new enough, None if there is none."""
    uv = shutil.which("uv")
    if uv is None:
        return None
    version = subprocess.run([uv, "--version"], capture_output=True, text=True, check=False).stdout
    numbers = re.match(r"uv (\d+)\.(\d+)", version)
    return uv if numbers and tuple(map(int, numbers.groups())) >= MIN_UV else None


def _settings_of_pip() -> str:
    command = [*PIP, "config", "list"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def settings_of_uv(listing: str) -> dict[str, str]:
    """The environment variables for uv that equal what ``pip config list`` shows.

    A line is ``level.name='value'``. The environment (``:env:``) comes first and wins.
    """
    found: dict[str, str] = {}
    for line in listing.splitlines():
        name, _, value = line.partition("=")
        setting = name.rpartition(".")[2]
        if setting in SETTINGS:
            variable, separator = SETTINGS[setting]
            found.setdefault(variable, separator.join(ast.literal_eval(value).split()))
    return found


@contextmanager
def _uncompressed_wheels() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "setup.cfg")
        settings.write_text(UNCOMPRESSED)
        os.environ["DIST_EXTRA_CONFIG"] = str(settings)
        yield


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
