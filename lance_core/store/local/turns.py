"""Let writers of a folder come one after the other, in processes of one machine.

Writers that prepare the same version at the same time do all work of a commit, and all but one in
vain. The turn is an advisory lock of the folder itself, so it leaves no file and ends with its
process. Nothing depends on it: a writer that has waited for long enough goes on without.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator

from lance_core.store.local.positioned_io import OPEN_FLAGS

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_LOOK = 0.001
"""Seconds between two looks at the lock: about as long as a commit holds it. Waiting
inside the kernel could not end if the holder were stopped."""

_THREAD = threading.local()
"""``turns``: the process and folder of each turn that this thread holds."""


@contextlib.contextmanager
def turn(folder: str, patience: float) -> Iterator[None]:
    """Wait for at most ``patience`` seconds while another holds the turn of ``folder``.

    Does nothing for a folder that does not exist or cannot be locked, nor in a thread that holds
    the turn already: it would wait for itself.
    """
    held: set[tuple[int, str]] = _THREAD.__dict__.setdefault("turns", set())
    own = (os.getpid(), folder)
    descriptor = None if own in held else _locked(folder, patience)
    if descriptor is None:
        yield
        return
    held.add(own)
    try:
        yield
    finally:
        held.discard(own)
        # Closing would not suffice: a process forked in the meantime has the file open, too.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _locked(folder: str, patience: float) -> int | None:
    """An open descriptor of ``folder`` that is locked, None if there is none."""
    if fcntl is None:
        return None  # type: ignore[unreachable]  # Windows
    try:
        descriptor = os.open(folder, os.O_RDONLY | OPEN_FLAGS)
    except OSError:
        return None
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            if time.monotonic() < deadline:
                time.sleep(_LOOK)
                continue
        except OSError:  # a file system without locks
            pass
        os.close(descriptor)
        return None
