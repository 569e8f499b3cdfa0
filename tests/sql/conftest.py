"""Databases to test on: SQLite files, and a PostgreSQL server where its programs are installed."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
STARTING = 60
"""Seconds."""


def program(name: str) -> str | None:
    """The path of one of PostgreSQL's programs."""
    path = os.pathsep.join([*map(str, FOLDERS), os.environ.get("PATH", "")])
    return shutil.which(name, path=path)


@dataclass(frozen=True, slots=True)
class Server:
    """A PostgreSQL server of this test run."""

    port: int
    password: str

    @property
    def url(self) -> str:
        """Without the password."""
        return f"postgresql://tester@127.0.0.1:{self.port}/postgres"


def unprivileged() -> list[str]:
    """What runs a program as a user other than root, as which PostgreSQL refuses to run."""
    if os.getuid() != 0:
        return []
    known = {entry.pw_name for entry in pwd.getpwall()}
    user = "postgres" if "postgres" in known else "nobody"
    return ["runuser", "-u", user, "--"]


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    initdb, pg_ctl = program("initdb"), program("pg_ctl")
    if initdb is None or pg_ctl is None:
        pytest.skip("PostgreSQL is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Server(port, uuid.uuid4().hex)
    become = unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="lance-core-postgresql-"))
    try:
        (folder / "password").write_text(server.password)
        if become:
            user = become[2]
            for path in (folder, folder / "password"):
                shutil.chown(path, user)
        data = folder / "data"
        given = ["-U", "tester", "--auth=scram-sha-256", f"--pwfile={folder / 'password'}"]
        run(*become, initdb, "-D", data, "-E", "UTF8", "--locale=C", "--no-sync", *given)
        listen = f"-p {port} -h 127.0.0.1 -k {folder} -F"
        start = [pg_ctl, "-D", data, "-o", listen, "-w", "-t", STARTING, "-l", folder / "log"]
        run(*become, *start, "start")
        try:
            yield server
        finally:
            run(*become, pg_ctl, "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(*command: object) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
