"""Trying mutants in forks of one process that has collected the tests once.

A mutant changes the code objects of functions in a forked child, so that nothing is imported
again. Which tests call which function is found out beforehand, by running them all.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType

import pytest

from tests.mutants.operators import Mutant, module_at

Place = tuple[str, str]
"""A module's path from the checkout, and the qualified name of an outermost function."""

MEMORY = 6 << 30
"""Bytes of address space for a child: a mutant may ask for ever more."""

LEAST_SECONDS = 20.0
PATIENCE = 16
"""A child may take as many times as long as its tests took, and that many seconds at least."""


@dataclass(frozen=True)
class Baseline:
    """What a test does without a mutant.

    ``seconds`` of processor time that it took, with the calls being noted.
    """

    test: str
    seconds: float
    calls: frozenset[Place]


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: "killed", "survived", "timeout" or "not called"."""

    mutant: Mutant
    verdict: str
    seconds: float
    tests: int

    @property
    def is_killed(self) -> bool:
        """Whether the tests noticed."""
        return self.verdict in ("killed", "timeout")


class Mutations:
    """A pytest plugin that has the collected tests try mutants, instead of just running them."""

    def __init__(
        self,
        mutants: Sequence[Mutant],
        baseline: Path | None,
        most_seconds: float,
        report: Callable[[Outcome], None],
    ) -> None:
        self._mutants = mutants
        self._baseline = baseline
        self._most_seconds = most_seconds
        self._report = report
        self._failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note failures."""
        self._failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try each mutant by the tests that call it, the quick ones first."""
        session.config.pluginmanager.unregister(name="terminalreporter")
        items = {item.nodeid: item for item in session.items}
        found = self._baselines(items)
        for path in {mutant.path for mutant in self._mutants}:
            # Tests that import a module on demand did it in a child.
            importlib.import_module(module_at(path))
        functions = _functions_by_code()
        for mutant in self._mutants:
            tests = _nearest(mutant, found, self._most_seconds)
            chosen = [items[one.test] for one in tests if one.test in items]
            started = time.monotonic()
            verdict = "not called"
            if chosen:
                allowed = LEAST_SECONDS + PATIENCE * sum(one.seconds for one in tests)
                verdict = self._verdict(mutant, chosen, functions, allowed)
            self._report(Outcome(mutant, verdict, time.monotonic() - started, len(chosen)))
        return True

    def _baselines(self, items: dict[str, pytest.Item]) -> list[Baseline]:
        """What the tests call: what the file of an earlier run says, and what it does not know."""
        kept = self._baseline
        known = _read(kept) if kept is not None and kept.exists() else []
        known = [one for one in known if one.test in items]
        names = {one.test for one in known}
        missing = [item for name, item in items.items() if name not in names]
        found = known + _baselines(self, missing)
        if kept is not None:
            _write(kept, found)
        return found

    def _verdict(
        self,
        mutant: Mutant,
        items: Sequence[pytest.Item],
        functions: dict[tuple[str, str, int], list[FunctionType]],
        allowed: float,
    ) -> str:
        def work() -> int:
            if not _apply(mutant, functions):
                return 3
            for number in range(len(items)):
                self.run_one(*items[number : number + 2])
                if self._failed:
                    return 1
            return 0

        status = in_child(work, allowed)
        return {0: "survived", 3: "not called", None: "timeout"}.get(status, "killed")

    def run_one(self, item: pytest.Item, following: pytest.Item | None = None) -> None:
        """Run a test in this process."""
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)

    def has_failed(self) -> bool:
        """Whether a test failed since the last call."""
        failed, self._failed = self._failed, False
        return failed


def in_child(work: Callable[[], int], allowed: float) -> int | None:
    """The exit status of a forked child that does ``work``; None if that took too long."""
    child = os.fork()
    if child == 0:
        _begin_child()
        status = 1
        try:
            status = work()
        finally:
            os._exit(status)
    deadline, status = time.monotonic() + allowed, None
    while status is None and time.monotonic() < deadline:
        done, code = os.waitpid(child, os.WNOHANG)
        if done:
            status = os.waitstatus_to_exitcode(code)
        else:
            time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # with what it left behind
    if status is None:
        os.waitpid(child, 0)
    return status


def _begin_child() -> None:
    os.setsid()
    limit = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, limit))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)


def _baselines(plugin: Mutations, items: Sequence[pytest.Item]) -> list[Baseline]:
    """Every test that passes, with what it calls; the tests run in one child for each file."""
    by_file: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(item.nodeid.partition("::")[0], []).append(item)
    found: list[Baseline] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, same in by_file.items():
            path = Path(folder, "found")
            path.unlink(missing_ok=True)

            def work(same: list[pytest.Item] = same, path: Path = path) -> int:
                noted: list[Baseline] = []
                for number, item in enumerate(same):
                    calls, seconds = _noting(plugin, same[number : number + 2])
                    if not plugin.has_failed():
                        noted.append(Baseline(item.nodeid, seconds, frozenset(calls)))
                    _write(path, noted)
                return 0

            status = in_child(work, 900.0)
            if not path.exists():
                raise RuntimeError(f"the tests of {name} ended with status {status} at once")
            found += _read(path)
            print(f"{len(found)} tests noted, {name}", file=sys.stderr, flush=True)
    return found


def _noting(plugin: Mutations, items: Sequence[pytest.Item]) -> tuple[set[Place], float]:
    """The functions of this project that the first of ``items`` calls, and its processor time."""
    _called.clear()
    started = time.process_time()  # so that other processes do not decide which tests are tried
    threading.settrace(_note)
    sys.settrace(_note)
    try:
        plugin.run_one(*items)
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]  # typeshed forgets it
    seconds = time.process_time() - started
    codes = list(_called)
    return {place for code in codes if (place := _place(code)) is not None}, seconds


_called: dict[CodeType, None] = {}
"""The code objects of the running test. Threads of a pool outlive the test that started them, and
keep their trace function."""


def _note(frame: FrameType, event: str, _: object) -> None:
    _called[frame.f_code] = None


def _place(code: CodeType) -> Place | None:
    """Where the outermost function is that a code object belongs to."""
    root = f"{Path.cwd()}/"
    if not code.co_filename.startswith((f"{root}lance_core/", f"{root}plugins/")):
        return None
    return code.co_filename.removeprefix(root), code.co_qualname.partition(".<locals>")[0]


def _nearest(mutant: Mutant, found: Sequence[Baseline], most_seconds: float) -> list[Baseline]:
    """The tests that call the function, those of its own module first, then the quick ones."""
    place = (str(mutant.path), mutant.function)
    own = f"test_{mutant.path.stem}.py"
    calling = [one for one in found if place in one.calls]
    calling.sort(key=lambda one: (own not in one.test, one.seconds))
    chosen, total = [], 0.0
    for one in calling:
        total += one.seconds
        if chosen and total > most_seconds:
            break
        chosen.append(one)
    return sorted(chosen, key=lambda one: one.seconds)


def _functions_by_code() -> dict[tuple[str, str, int], list[FunctionType]]:
    """All functions of this project, by file, qualified name and first line."""
    found: dict[tuple[str, str, int], list[FunctionType]] = {}
    gc.unfreeze()  # frozen objects are not listed
    for value in gc.get_objects():
        if isinstance(value, FunctionType):
            code = value.__code__
            place = _place(code)
            if place is not None and place[1] == code.co_qualname:
                found.setdefault((*place, code.co_firstlineno), []).append(value)
    return found


def _apply(mutant: Mutant, functions: dict[tuple[str, str, int], list[FunctionType]]) -> bool:
    """Change the function; False if there is none such, or none that can be changed so."""
    filename = str(Path.cwd() / mutant.path)
    changed = 0
    for code in _codes(compile(mutant.tree(), filename, "exec", dont_inherit=True)):
        if code.co_qualname != mutant.function:
            continue
        for function in functions.get(
            (str(mutant.path), code.co_qualname, code.co_firstlineno), ()
        ):
            try:
                function.__code__ = code
            except ValueError:  # it has another number of free variables, which are cells
                return False
            changed += 1
    return changed > 0


def _codes(code: CodeType) -> list[CodeType]:
    """A code object and all within it."""
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found += _codes(constant)
    return found


def _write(path: Path, found: Sequence[Baseline]) -> None:
    rows = [[one.test, one.seconds, sorted(one.calls)] for one in found]
    path.write_text(json.dumps(rows), encoding="utf-8")


def _read(path: Path) -> list[Baseline]:
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [Baseline(test, seconds, frozenset(map(tuple, calls))) for test, seconds, calls in rows]
