"""The first fast path that applies is taken; the plain mode has none."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from lance_core.fast_paths import VARIABLE, FastPath, FastPaths, plain_mode

HALVES = FastPaths(
    FastPath(lambda number: number // 2 if number % 2 == 0 else None, lambda half: ("half", half)),
    FastPath(lambda number: number if number < 10 else None, lambda number: ("few", number)),
)


@pytest.mark.fast_path
def test_the_first_path_that_applies_runs() -> None:
    assert HALVES.first(6) == ("half", 3)
    assert HALVES.first(0) == ("half", 0)
    assert HALVES.first(7) == ("few", 7)
    assert HALVES.first(11) is None


@pytest.mark.fast_path
def test_in_the_plain_mode_no_path_applies_in_any_thread() -> None:
    found = []
    with plain_mode():
        thread = threading.Thread(target=lambda: found.append(HALVES.first(6)))
        thread.start()
        thread.join()
        with pytest.raises(ZeroDivisionError), plain_mode():
            raise ZeroDivisionError
        found.append(HALVES.first(6))
    assert found == [None, None]
    assert HALVES.first(6) == ("half", 3)


@pytest.mark.parametrize(("value", "is_plain"), [("1", True), ("0", False), ("", False)])
def test_the_variable_selects_the_mode_of_the_process(value: str, is_plain: bool) -> None:
    code = "from lance_core.fast_paths import FastPaths; print(FastPaths.is_plain)"
    command = [sys.executable, "-c", code]
    environment = {**os.environ, VARIABLE: value}
    run = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    assert run.stdout.strip() == str(is_plain)
