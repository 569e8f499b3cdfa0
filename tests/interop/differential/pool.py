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
from threading import Timer

from tests.interop.differential.cases import draw_case
from tests.interop.differential.running import ALONE, DIFFERENT, REFUSED, Outcome, run

PATIENCE = 900.0
"""Seconds after which a case counts as one that hangs; a usual one takes some tenths."""

Outcomes = SimpleQueue[Outcome | BaseException]


def run_all(first: int, count: int, processes: int) -> Iterator[Outcome]:
    """The outcomes of ``count`` cases, in any order."""
    outcomes: Outcomes = SimpleQueue()
    with ThreadPoolExecutor(processes) as threads:
        for number in range(processes):
            seeds = range(first + number, first + count, processes)
            threads.submit(_supervise, seeds, outcomes)
        for _ in range(count):
            outcome = outcomes.get()
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome


def _supervise(seeds: range, outcomes: Outcomes) -> None:
    """Start workers until all ``seeds`` have an outcome."""
    try:
        while seeds:
            seeds = _work_off(seeds, outcomes)
    except BaseException as error:
        outcomes.put(error)


def _work_off(seeds: range, outcomes: Outcomes) -> range:
    """The seeds that are left once a worker has ended: it is done, or it has crashed."""
    command = [sys.executable, "-W", "ignore", "-c", _WORKER]
    numbers = [str(number) for number in (seeds.start, seeds.stop, seeds.step)]
    environment = {**os.environ, "LANCE_CORE_DURABILITY": "fast"}
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(
            [*command, *numbers],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            text=True,
        ) as worker:
            seeds, stage = _follow(worker, seeds, outcomes)
        if not seeds:
            return seeds
        errors.seek(0)
        last = errors.read().strip().rpartition("\n")[2]
    ended = f"{stage}: the process ended with {worker.returncode}: {last}"
    if not stage:
        raise RuntimeError(ended)
    # Signals end what pylance aborts; anything else is an error of the cases themselves.
    kind = REFUSED if stage == ALONE and worker.returncode < 0 else DIFFERENT
    outcomes.put(Outcome(seeds[0], kind, ended))
    return seeds[1:]


def _follow(worker: subprocess.Popen[str], seeds: range, outcomes: Outcomes) -> tuple[range, str]:
    """Hand on what ``worker`` says: the seeds that it left, and what it did with the first."""
    assert worker.stdout is not None
    stage = ""
    timer = _start_timer(worker)
    for line in worker.stdout:
        message = json.loads(line)
        if "stage" in message:
            stage = message["stage"]
            continue
        timer.cancel()
        timer = _start_timer(worker)
        outcomes.put(Outcome(**message))
        seeds, stage = seeds[1:], ""
    timer.cancel()
    return seeds, stage


def _start_timer(worker: subprocess.Popen[str]) -> Timer:
    timer = Timer(PATIENCE, worker.kill)
    timer.daemon = True
    timer.start()
    return timer


_WORKER = "from tests.interop.differential.pool import work; work()"


def work() -> None:
    """Run the seeds that the command line names; print a message for each stage and outcome."""
    start, stop, step = (int(argument) for argument in sys.argv[1:])

    def say(**message: object) -> None:
        print(json.dumps(message), flush=True)  # noqa: T201

    for seed in range(start, stop, step):
        say(stage="drawing")
        with tempfile.TemporaryDirectory(prefix="differential-") as folder:
            outcome = run(draw_case(seed), Path(folder), lambda stage: say(stage=stage))
        say(seed=outcome.seed, kind=outcome.kind, why=outcome.why)
