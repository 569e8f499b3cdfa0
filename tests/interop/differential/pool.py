"""Run cases in processes of their own: pylance may abort, and the next case goes on anyhow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.interop.differential.cases import draw_case
from tests.interop.differential.running import ALONE, DIFFERENT, REFUSED, Outcome, run

PATIENCE = 600.0
"""Seconds after which a case counts as one that hangs."""


def run_all(first: int, count: int, processes: int) -> Iterator[Outcome]:
    """The outcomes of ``count`` cases, in any order."""
    outcomes: SimpleQueue[Outcome | None] = SimpleQueue()
    with ThreadPoolExecutor(processes) as threads:
        for number in range(processes):
            seeds = range(first + number, first + count, processes)
            threads.submit(_supervise, seeds, outcomes)
        for _ in range(count):
            yield _received(outcomes)


def _received(outcomes: SimpleQueue[Outcome | None]) -> Outcome:
    outcome = outcomes.get()
    if outcome is None:
        raise RuntimeError("cases cannot be run")
    return outcome


def _supervise(seeds: range, outcomes: SimpleQueue[Outcome | None]) -> None:
    """Start workers until all ``seeds`` have an outcome."""
    try:
        while seeds:
            seeds = _work_off(seeds, outcomes)
    except BaseException:
        outcomes.put(None)
        raise


def _work_off(seeds: range, outcomes: SimpleQueue[Outcome | None]) -> range:
    """What is left once a worker has ended, because it was done or because it crashed."""
    command = [sys.executable, "-W", "ignore", "-c", _WORKER]
    numbers = [str(number) for number in (seeds.start, seeds.stop, seeds.step)]
    environment = {**os.environ, "LANCE_CORE_DURABILITY": "fast"}
    with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(
        [*command, *numbers],
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment,
        text=True,
    ) as worker:
        assert worker.stdout is not None
        stage = ""
        for line in worker.stdout:
            message = json.loads(line)
            if "stage" in message:
                stage = message["stage"]
                continue
            outcomes.put(Outcome(**message))
            seeds, stage = seeds[1:], ""
        worker.wait()
        if seeds:
            if not stage:
                raise RuntimeError(f"a worker ended with {worker.returncode} before seed {seeds[0]}")
            # Signals end what pylance aborts; anything else is raised by the cases themselves.
            kind = REFUSED if stage == ALONE and worker.returncode < 0 else DIFFERENT
            errors.seek(0)
            last = errors.read().strip().rpartition("\n")[2]
            ended = f"{stage}: the process ended with {worker.returncode}: {last}"
            outcomes.put(Outcome(seeds[0], kind, ended))
            seeds = seeds[1:]
    return seeds


_WORKER = "from tests.interop.differential.pool import work; work()"


def work() -> None:
    """Run the seeds that the command line names, a message for each stage and outcome."""
    start, stop, step = (int(argument) for argument in sys.argv[1:])

    def say(**message: object) -> None:
        print(json.dumps(message), flush=True)  # noqa: T201

    for seed in range(start, stop, step):
        say(stage="drawing")
        with tempfile.TemporaryDirectory(prefix="differential-") as folder:
            outcome = run(draw_case(seed), Path(folder), lambda stage: say(stage=stage))
        say(seed=outcome.seed, kind=outcome.kind, why=outcome.why)
