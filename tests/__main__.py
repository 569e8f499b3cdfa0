"""All tests: ``python -m tests``, or those that pytest's arguments name.

Each part is a run of pytest of its own; one more than there are processors run at the same time,
because some tests wait. Parts with servers wait most: one of them at a time runs beside the others.
A process collects, imports and keeps only what its part needs, and the tests of a part share
servers and a session of Spark.

``--beside COMMAND`` runs other commands together with all tests.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

HERE = Path(__file__).parent
QUERY_ENGINES = ("extras", "docs/test_query_engine_examples.py")
"""Tests that bring other libraries into their process, of 140 MB."""

LARGE_TABLES = ("interop/test_v2_1_interop.py", "interop/test_datafile_layout_interop.py")
"""Tests whose tables need 200 MB: they run before others have left anything in their process."""

PARTS: tuple[tuple[str, ...], ...] = (
    ("spark", "docs", "cloud/spark"),
    ("interop",),
    (),
    ("conformance",),
    ("histories", "unit/dataset/write"),
    (*LARGE_TABLES, "interop/index"),
    (
        *("packaging", "cloud/spark/test_cluster.py"),
        *("unit/store/local", "conformance/test_local_store.py"),
        *QUERY_ENGINES,
    ),
    ("unit/dataset",),
    ("unit",),
    ("properties", "sql"),
)
"""Paths below this folder that a process runs together; the part without paths runs all folders
that no other names. What takes longest begins first."""

PARTS_WITH_SERVERS: tuple[tuple[str, ...], ...] = (
    ("cloud",),
    ("cloud/dynamodb", "cloud/azure"),
    ("cloud/s3", "cloud/gcs"),
)
"""Parts whose tests wait for servers of clouds. Each has few of them, which take 300 MB beside the
tests, and one of these parts runs at a time."""

ON_DISK = ("packaging", "unit/store/local")
"""Paths whose parts use the disk. Others write to memory: a disk takes as long as most tests."""

MEMORY = Path("/dev/shm")
"""A file system in memory (Linux)."""

KEPT = ("sql",)
"""Paths whose parts keep the folders of tests that pass. Names of removed folders are used again,
and an open database does not notice that its file was removed."""

ONE_THREAD = "OPENBLAS_NUM_THREADS=1"
"""Parts run at the same time: threads of matrix products would only wait for those of others."""

FOLDERS = ("TMPDIR", "PYTEST_DEBUG_TEMPROOT")
"""Environment variables that say where tests write."""

MIN_MEMORY = 2 << 30
"""Free bytes of `MEMORY` from which it is used; the tests of all parts need less than half."""

ELSEWHERE = ("old", "report", "training")
"""Folders with tests for environments of their own."""

Command = Sequence[str]


def parts(folder: Path | None) -> tuple[list[Command], list[Command]]:
    """The commands of `PARTS` and of `PARTS_WITH_SERVERS`. ``folder`` is in memory."""
    folders = {path.relative_to(HERE).parts[0] for path in HERE.rglob("test_*.py")}
    named = [path for part in (*PARTS, *PARTS_WITH_SERVERS) for path in part]
    others = sorted(folders.difference(ELSEWHERE, named))
    return (
        [_command(part or others, named, folder) for part in PARTS],
        [_command(part, named, folder) for part in PARTS_WITH_SERVERS],
    )


def _command(part: Sequence[str], named: list[str], folder: Path | None) -> Command:
    """Run the paths of a part, without those below them that are named by themselves."""
    below = [path for path in named if path.startswith(tuple(f"{parent}/" for parent in part))]
    without = [f"--ignore=tests/{path}" for path in below if path not in part]
    on_disk = not set(ON_DISK).isdisjoint(part)
    # The cache is a file that only one run of pytest may write.
    arguments = ["-p", "no:cacheprovider", *(f"tests/{path}" for path in part), *without]
    if set(KEPT).isdisjoint(part):
        arguments = ["-o", "tmp_path_retention_policy=failed", *arguments]
    return _pytest(arguments, None if on_disk else folder)


def _pytest(arguments: Sequence[str], folder: Path | None) -> Command:
    """Run pytest. Its tests write to ``folder``, if there is one."""
    own = [] if folder is None else [f"{name}={folder}" for name in FOLDERS]
    return ["env", ONE_THREAD, *own, sys.executable, "-m", "pytest", *arguments]


@contextmanager
def folder_in_memory() -> Iterator[Path | None]:
    """A new folder of `MEMORY`, if there is enough of it and programs can be run from it."""
    usable = MEMORY.is_dir() and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    if not usable or shutil.disk_usage(MEMORY).free < MIN_MEMORY:
        yield None
        return
    with tempfile.TemporaryDirectory(dir=MEMORY, prefix="lance-core-") as folder:
        Path(folder).chmod(0o711)  # PostgreSQL runs as a user of its own, below this folder
        yield Path(folder)


def run_all(*queues: tuple[Sequence[Command], int]) -> int:
    """Run all commands to their end, whether or not one fails. Returns the highest exit code.

    Those of a queue begin in its order, so many at once as it says. The output of each is shown
    when it has ended.
    """
    one_at_a_time = threading.Lock()

    def run(command: Command) -> tuple[int, float]:
        start = time.monotonic()
        with tempfile.TemporaryFile() as output:
            code = abs(subprocess.call(command, stdout=output, stderr=subprocess.STDOUT))
            seconds = time.monotonic() - start
            output.seek(0)
            text = output.read().decode(errors="replace")
        with one_at_a_time:
            _say(f"\n{shlex.join(command)}\n{text}")
        return code, seconds

    with ExitStack() as stack:
        pools = [stack.enter_context(ThreadPoolExecutor(at_once)) for _, at_once in queues]
        running = [
            pool.map(run, commands) for pool, (commands, _) in zip(pools, queues, strict=True)
        ]
        ends = [end for of_queue in running for end in of_queue]
    commands = [command for queue, _ in queues for command in queue]
    for command, (code, seconds) in zip(commands, ends, strict=True):
        _say(f"exit code {code} after {seconds:4.0f} s: {shlex.join(command)}\n")
    return max(code for code, _ in ends)


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Run what ``arguments`` name, or all parts. Returns the highest exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests", add_help=False)
    parser.add_argument("--beside", action="append", default=[], metavar="COMMAND")
    known, of_pytest = parser.parse_known_args(arguments)
    os.chdir(HERE.parent)
    with folder_in_memory() as folder:
        if of_pytest:
            workers = ("-n", "2", "--dist", "loadgroup")
            return subprocess.call(_pytest([*workers, *of_pytest], folder))
        plain, with_servers = parts(folder)
        plain = [*map(shlex.split, known.beside), *plain]
        return run_all((plain, (os.cpu_count() or 1) + 1), (with_servers, 1))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
