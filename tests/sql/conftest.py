"""Databases to test on: SQLite files always; servers of PostgreSQL and MySQL (MariaDB) of this test
run, where their programs are installed.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pymysql
import pytest

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
STARTING = 60
"""Seconds."""


def program(name: str) -> str | None:
    """The path of one of PostgreSQL's programs."""
    path = os.pathsep.join([*map(str, FOLDERS), os.environ.get("PATH", ""), "/usr/sbin"])
    return shutil.which(name, path=path)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Server:
    """A server of this test run. ``url`` is without the password."""

    url: str
    password: str


def unprivileged(user: str) -> list[str]:
    """What runs a program as a user other than root, as which servers refuse to run."""
    if os.getuid() != 0:
        return []
    known = {entry.pw_name for entry in pwd.getpwall()}
    return ["runuser", "-u", user if user in known else "nobody", "--"]


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    initdb, pg_ctl = program("initdb"), program("pg_ctl")
    if initdb is None or pg_ctl is None:
        pytest.skip("PostgreSQL is not installed")
    port = free_port()
    server = Server(f"postgresql://tester@127.0.0.1:{port}/postgres", uuid.uuid4().hex)
    become = unprivileged("postgres")
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


@pytest.fixture(scope="session")
def mysql() -> Iterator[Server]:
    install, server_program = program("mariadb-install-db"), program("mariadbd")
    if install is None or server_program is None:
        pytest.skip("MariaDB is not installed")
    port, password = free_port(), uuid.uuid4().hex
    become = unprivileged("mysql")
    folder = Path(tempfile.mkdtemp(prefix="lance-core-mysql-"))
    try:
        (folder / "init.sql").write_text(
            "create database lance;\n"
            f"create user tester@'127.0.0.1' identified by '{password}';\n"
            "grant all on lance.* to tester@'127.0.0.1';\n"
        )
        if become:
            shutil.chown(folder, become[2])
            shutil.chown(folder / "init.sql", become[2])
        data = f"--datadir={folder / 'data'}"
        run(*become, install, "--no-defaults", data, "--skip-test-db")
        options = [f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder / 'socket'}"]
        options += [f"--pid-file={folder / 'pid'}", f"--init-file={folder / 'init.sql'}"]
        running = subprocess.Popen(
            [*become, server_program, "--no-defaults", data, *options],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for_mysql(port, password)
            yield Server(f"mysql://tester@127.0.0.1:{port}/lance", password)
        finally:
            running.terminate()
            running.wait(STARTING)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wait_for_mysql(port: int, password: str) -> None:
    deadline = time.monotonic() + STARTING
    while True:
        try:
            pymysql.connect(
                host="127.0.0.1", port=port, user="tester", password=password, database="lance"
            ).close()
        except pymysql.OperationalError:
            assert time.monotonic() < deadline, "MariaDB does not start"
            time.sleep(0.1)
        else:
            return


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
    return free_port()
