"""Starting processes, killing them at random, and starting them again."""

from __future__ import annotations

import multiprocessing
import random
import signal
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

import pyarrow as pa

import lance_core as lance
from lance_core.commits.options import DEADLINE_KEY
from tests.soak.check import Findings, check
from tests.soak.journal import journal_path
from tests.soak.places import Place
from tests.soak.worker import COMMIT_DEADLINE, main

WARM = [
    *("lance_core.dataset.write.write", "lance_core.dataset.write.delete", "tests.soak.worker"),
    *("lance_core.dataset.write.update", "lance_core.dataset.write.merge_insert.merge"),
    "lance_core.dataset.write.schema_evolution.add_columns",
    # What deleting rows needs takes longest.
    *(
        "lance_core.dataset.expressions.sql.expression",
        "lance_core.commits.cleanup.execution",
        "pandas",
    ),
    *("lance_core_s3.client", "lance_core_dynamodb.store", "lance_core_gcs.store"),
    "lance_core_azure.store",
]
"""What a process needs: imported once, by the process that all workers are forked from."""


@dataclass(frozen=True)
class Plan:
    """How long and how hard.

    A run takes at least ``seconds``, and ends when there were ``min_kills`` kills, ``min_commits``
    acknowledged changes and a read, however long that takes.
    ``scheme`` and ``options`` are those of the table's URI: they decide who makes its versions.
    A place that is no folder has its own. With ``lets_begin``, no process is killed before it has
    acknowledged something: to start one can take longer than it has between two kills.
    """

    scheme: str = "file"
    options: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 30.0
    workers: int = 4
    readers: int = 1
    peers: int = 1
    seconds_between_kills: float = 0.5
    lets_begin: bool = False
    min_kills: int = 0
    min_commits: int = 0
    seed: int = 1


@dataclass
class Outcome:
    """What a run came to."""

    findings: Findings
    kills: int
    seconds: float


class Herd:
    """The running processes."""

    def __init__(self, uri: str, options: dict[str, str], folder: Path) -> None:
        self._uri = uri
        self._options = options
        self._folder = folder
        self._forks = multiprocessing.get_context("forkserver")
        self._forks.set_forkserver_preload(WARM)
        self._fresh = multiprocessing.get_context("spawn")
        self._count = 0
        self.running: list[tuple[str, BaseProcess, Path]] = []

    def start(self, role: str) -> None:
        # The reference implementation cannot be forked.
        context = self._fresh if role == "peer" else self._forks
        self._count += 1
        arguments = (role, self._uri, self._options, str(self._folder), self._count)
        process = context.Process(target=main, args=arguments, daemon=True)
        process.start()
        self.running.append((role, process, journal_path(self._folder, self._count)))

    def kill(self, place: int) -> str:
        """Kill one process without any notice; its role."""
        role, process, _ = self.running.pop(place)
        if process.exitcode not in (None, -signal.SIGKILL):
            raise RuntimeError(f"a {role} ended by itself with {process.exitcode}")
        process.kill()
        process.join()
        return role

    def at_work(self) -> list[int]:
        """The places of processes that have acknowledged something."""
        return [
            place
            for place, (_, _, journal) in enumerate(self.running)
            if journal.exists() and b'"acked"' in journal.read_bytes()
        ]

    def end(self) -> None:
        while self.running:
            self.kill(0)


def soak(plan: Plan, place: Place | None = None) -> Outcome:
    """Run ``plan`` on a new table: at ``place``, or else in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="lance-core-soak-") as name:
        if place is None:
            options = {"durability": "fast", **plan.options}
            return _soak(plan, f"{plan.scheme}://{name}/table.lance", options, Path(name))
        # Processes that live for seconds are not to spend them on trying out what the server does.
        options = {"put_if_absent": "yes", **place.options(place.endpoint), **plan.options}
        return _soak(plan, place.uri(place.endpoint), options, Path(name))


def _soak(plan: Plan, uri: str, options: dict[str, str], folder: Path) -> Outcome:
    columns = {"id": pa.array([], pa.int64()), "value": pa.array([], pa.int64())}
    table = lance.write_dataset(
        pa.table(columns), uri, data_storage_version="2.0", storage_options=options
    )
    table.update_config({DEADLINE_KEY: str(COMMIT_DEADLINE)})
    chance = random.Random(plan.seed)
    herd = Herd(uri, options, folder)
    roles = ["worker"] * plan.workers + ["reader"] * plan.readers + ["peer"] * plan.peers
    started, kills = time.monotonic(), 0
    try:
        for role in roles:
            herd.start(role)
        while not _is_enough(plan, kills, time.monotonic() - started, folder):
            time.sleep(chance.expovariate(1 / plan.seconds_between_kills))
            # The peer takes a second to start: it is killed less often.
            places = [
                place
                for place in (herd.at_work() if plan.lets_begin else range(len(herd.running)))
                if herd.running[place][0] != "peer" or chance.random() < 0.2
            ]
            if places:
                herd.start(herd.kill(chance.choice(places)))
                kills += 1
    finally:
        herd.end()
    seconds = time.monotonic() - started
    findings = check(uri, options, folder)
    _check_that_work_goes_on(uri, options, findings)
    return Outcome(findings, kills, seconds)


def _is_enough(plan: Plan, kills: int, seconds: float, folder: Path) -> bool:
    if seconds < plan.seconds or kills < plan.min_kills:
        return False
    changes, reads = _acknowledged(folder)
    return changes >= plan.min_commits and (reads > 0 or plan.readers == 0)


def _acknowledged(folder: Path) -> tuple[int, int]:
    """How many changes and how many reads were acknowledged so far."""
    changes = reads = 0
    for path in folder.glob("*.journal"):
        lines = path.read_bytes()
        count = lines.count(b'"acked"')
        if b'"read"' in lines:
            reads += count
        else:
            changes += count
    return changes, reads


def _check_that_work_goes_on(uri: str, options: dict[str, str], findings: Findings) -> None:
    """Whatever was killed: the next writer needs no help."""
    before = lance.dataset(uri, storage_options=options).count_rows()
    rows = pa.table({"id": [-1], "value": [0]})
    after = lance.write_dataset(rows, uri, mode="append", storage_options=options)
    if after.count_rows() != before + 1:
        findings.fail("an append after the run did not add its row")
