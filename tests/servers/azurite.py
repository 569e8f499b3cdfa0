"""Azurite, the emulator of Azure Blob Storage that Microsoft publishes, as a process of its own.

It is installed from npm (`tests.servers.npm`).
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.npm import installed_from_npm, node_of_machine
from tests.servers.process import running

VERSION = "3.35.0"
"""Later ones need a Node that distributions do not have yet."""
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Known to everybody."""

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
    node, _ = node_of_machine()
    main = str(installed_from_npm("azurite", VERSION) / _MAIN)
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
