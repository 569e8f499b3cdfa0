"""Part of the contract of object stores: a forked child can use a store that its parent uses.

A child has only the thread that forked. A lock that another thread held stays locked in it, a pool
has no threads, and a connection is shared with the parent: the child must get new ones.
Programs fork without notice to their libraries, such as data loaders with worker processes.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import pytest

from lance_core.hookspecs.stores import ByteRange, ObjectStore, list_paths
from lance_core_testing.assertions import check_bytes
from lance_core_testing.object_stores.instances import CONTENT, OpenStore
from lance_core_testing.processes import in_another_process

CHILDREN = 4
"""Number of forked children, at different moments of the calls of other threads."""

THREADS = 3
"""Number of threads that use the store while it is forked."""

_TEXT_BYTES = 4000
"""Maximum bytes of a child's error, which fit into the buffer of a pipe."""


class ForkTests:
    """Forks while other threads use the store."""

    fork_seconds: ClassVar[float] = 30.0
    """Seconds after which a forked child counts as hanging."""

    not_after_fork: ClassVar[str] = ""
    """The reason why a forked child cannot use the store. It must say so by an error, not hang."""

    def test_a_forked_child_can_use_the_store(self, shared: OpenStore) -> None:
        if self.not_after_fork:
            pytest.skip(f"a forked child cannot use the store: {self.not_after_fork}")
        if not hasattr(os, "fork"):
            pytest.skip("this system cannot fork a process")
        failure = in_another_process(_Forking(shared, self.fork_seconds))
        assert failure is None, (
            f"a child that was forked while {THREADS} threads used the store {failure}; locks, "
            "pools and connections must be created again in a child (os.register_at_fork)"
        )


@dataclass(frozen=True)
class _Forking:
    """Uses a store in threads and forks; returns what went wrong in the first bad child."""

    open_store: OpenStore
    seconds: float

    def __call__(self) -> str | None:
        store = self.open_store()
        _use(store, "parent")  # starts pools and connects
        with _busy(store):
            for number in range(CHILDREN):
                time.sleep(0.003 * number)
                failure = _in_child(lambda number=number: _use(store, f"{number}"), self.seconds)  # type: ignore[misc]  # bound by its default
                if failure is not None:
                    return failure
        _use(store, "parent")
        return None


@contextlib.contextmanager
def _busy(store: ObjectStore) -> Iterator[None]:
    """Use the store in `THREADS` threads while the block runs."""
    stop = threading.Event()

    def work(number: int) -> None:
        while not stop.is_set():
            _use(store, f"thread {number}")

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _use(store: ObjectStore, folder: str) -> None:
    """Write, read, list and delete objects of one folder, and check what is read."""
    store.put(f"{folder}/put", CONTENT)
    with store.open_writer(f"{folder}/written") as writer:
        writer.write(CONTENT)
    for name in ("put", "written"):
        doing = f"get of {folder}/{name} after a fork"
        check_bytes(store.get(f"{folder}/{name}"), CONTENT, doing)
        ranges = [ByteRange(at, at + 9) for at in range(0, len(CONTENT) - 9, 7000)]
        for (start, stop), part in zip(
            ranges, store.get_ranges(f"{folder}/{name}", ranges), strict=True
        ):
            check_bytes(part, CONTENT[start:stop], doing)
    assert sorted(list_paths(store, folder)) == [f"{folder}/put", f"{folder}/written"]
    for name in ("put", "written"):
        store.delete(f"{folder}/{name}")


def _in_child(run: Callable[[], object], seconds: float) -> str | None:
    """Call ``run`` in a forked child; returns what went wrong, None if it returned in time."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _run_and_exit(run, writer)
    os.close(writer)
    try:
        is_ready, _, _ = select.select([reader], [], [], seconds)
        if not is_ready:
            os.kill(pid, signal.SIGKILL)
            return f"did not end within {seconds:g} s"
        told = os.read(reader, _TEXT_BYTES)
    finally:
        os.close(reader)
        os.waitpid(pid, 0)
    if told == b"\0":
        return None
    return f"failed: {told.decode(errors='replace')}" if told else "died"


def _run_and_exit(run: Callable[[], object], writer: int) -> None:
    """Call ``run``, write a zero byte or the error to ``writer``, and end this process."""
    told = b"\0"
    try:
        run()
    except BaseException as error:
        told = f"{type(error).__name__}: {error}".encode(errors="replace")[:_TEXT_BYTES]
    finally:
        os.write(writer, told)
        os._exit(0)  # without the clean-up of the parent's libraries
