"""One library in a process of its own.

In one process, threads that one library leaves behind would be counted for another one, and the
loops without compiled code could not be measured beside those with it.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.report import OURS, PEER

T = TypeVar("T")
Process = TypeVar("Process", bound="SubjectProcess")

NUMPY = "numpy"
"""The name of this library without compiled code."""

VARIABLES = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "LANCE_LOG": "error"}
"""The libraries may use their own threads; those of matrix products would distort ratios."""


class SubjectProcess:
    """A process that has imported ``module``, with the variables ``environment``."""

    def __init__(self, module: str, path: Path, environment: Mapping[str, str]) -> None:
        self.module, self.path = module, path
        context = multiprocessing.get_context("spawn")
        self._process = ProcessPoolExecutor(1, mp_context=context)
        before = dict(os.environ)
        os.environ.update(VARIABLES | dict(environment))
        try:
            self.run(_import, module)
        finally:
            os.environ.clear()
            os.environ.update(before)

    def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call ``function``, of a module, in the process."""
        return self._process.submit(function, *arguments).result()

    def close(self) -> None:
        """End the process."""
        self._process.shutdown()


def _import(module: str) -> None:
    importlib.import_module(module)


@contextmanager
def subject_processes(
    process: type[Process], path: Path, numpy_variables: Mapping[str, str] | None
) -> Iterator[dict[str, Process]]:
    """A process for each subject, with links to the files of the table at ``path / PEER``.

    ``numpy_variables``: what makes this library use no compiled code; None leaves it out.
    """
    modules: dict[str, tuple[str, Mapping[str, str]]] = {PEER: ("lance", {})}
    modules[OURS] = ("lance_core", {})
    if numpy_variables is not None:
        modules[NUMPY] = ("lance_core", numpy_variables)
    processes = {}
    with ExitStack() as stack:
        for name, (module, environment) in modules.items():
            if name != PEER:
                shutil.copytree(path / PEER, path / name, copy_function=os.link)
            processes[name] = process(module, path / name, environment)
            stack.callback(processes[name].close)
        yield processes


@dataclass(frozen=True, slots=True)
class Build:
    """What a build needed, and ``index_bytes``: the size of its files.

    ``memory``: the growth of the resident memory in bytes at most, with mapped files.
    """

    seconds: float
    processor: float
    memory: int
    index_bytes: int


def measured_build(path: Path, build: Callable[[], Any]) -> Build:
    """``build`` makes the only index of the table at ``path``, and returns its dataset."""

    def index_bytes(dataset: Any) -> int:
        (segment,) = dataset.describe_indices()[0].segments
        files = (path / "_indices" / segment.uuid).iterdir()
        return sum(file.stat().st_size for file in files)

    return measured(build, index_bytes)


def measured(build: Callable[[], T], index_bytes: Callable[[T], int]) -> Build:
    """What ``build`` needs to make an index, whose size is ``index_bytes`` of its result."""
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    start, used = time.perf_counter(), time.process_time()
    index = build()
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    memory = _resident("VmHWM") - before
    return Build(seconds, processor, memory, index_bytes(index))


def _resident(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    raise KeyError(name)
