"""What the shipped contract of stores asks of those who inherit it."""

from __future__ import annotations

import threading

import pytest

from lance_core_testing import ObjectStoreTests, must_raise
from lance_core_testing.object_stores.paths import HOSTILE
from lance_core_testing.processes import in_another_process, portable, race_processes
from lance_core_testing.threads import background_calls, race_threads

SUITE = ObjectStoreTests()


def test_there_are_many_hostile_paths() -> None:
    assert len(set(HOSTILE)) >= 60


def test_a_subclass_must_say_how_the_store_is_opened() -> None:
    with must_raise(NotImplementedError, "a subclass without fixtures") as caught:
        SUITE.open_store.__wrapped__(SUITE)  # type: ignore[attr-defined]
    assert "in_process_only" in str(caught.error)


def test_what_other_processes_call_must_be_portable() -> None:
    assert portable(dict, "open_store") is dict
    with must_raise(AssertionError, "a function that cannot be pickled") as caught:
        portable(lambda: None, "open_store")
    assert "fixture `open_store`" in str(caught.error)
    assert "functools.partial" in str(caught.error)


def fail_in_one(number: int, wait: object) -> int:
    if number == 2:
        raise LookupError("in the third process")
    wait()  # type: ignore[operator]
    return number


def test_an_exception_of_another_process_is_raised_here() -> None:
    with must_raise(AssertionError, "a race in which a process fails") as caught:
        race_processes(fail_in_one)
    assert "LookupError: in the third process" in str(caught.error)
    assert in_another_process(dict) == {}


def test_an_exception_of_a_thread_is_raised_here() -> None:
    def fail(number: int = 1) -> None:
        if number == 1:
            raise LookupError("in a thread")

    with must_raise(LookupError, "a race in which a thread fails"):
        race_threads(fail, 3)
    with must_raise(LookupError, "a block during which a thread fails"), background_calls(fail):
        pass


def test_a_block_that_fails_ends_its_threads() -> None:
    before = threading.active_count()

    def broken_block() -> None:
        with background_calls(lambda: None):
            raise LookupError("in the block")

    with pytest.raises(LookupError, match="in the block"):
        broken_block()
    assert threading.active_count() == before


def test_a_failed_assertion_of_the_kit_shows_values_and_a_sentence(pytester_run: str) -> None:
    assert "head gave a size of 1 bytes; it must be 0" in pytester_run
    assert "assert 1 == 0" in pytester_run


@pytest.fixture
def pytester_run(tmp_path: object) -> str:
    """What pytest says of a store that is wrong, in a run with nothing but the kit."""
    import subprocess
    import sys
    from pathlib import Path

    folder = Path(str(tmp_path))
    (folder / "test_wrong.py").write_text(WRONG)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "any_size"]
    done = subprocess.run(
        [*command, folder], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout


WRONG = """
from dataclasses import replace
import pytest
from lance_core.store.memory import MemoryStore
from lance_core_testing import ObjectStoreTests

class WrongSize(MemoryStore):
    def head(self, path):
        return replace(super().head(path), size=1)

class TestWrongSize(ObjectStoreTests):
    in_process_only = "memory"

    @pytest.fixture
    def store(self):
        return WrongSize()
"""
