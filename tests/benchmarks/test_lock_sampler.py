"""The sampler of the interpreter lock knows what holds the lock and what does not."""

from __future__ import annotations

import sys

import pytest

from benchmarks.lock_sampler import LockSampler

ACTIONS = """
import numpy as np
source = np.zeros(4_000_000)
target = np.empty_like(source)
def copies(seconds=0.2):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        np.copyto(target, source)
def both():
    for _ in range(10):
        loop(0.01)
        idle(0.01)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process from /proc")
def test_the_share_of_time_with_the_lock_is_that_of_python() -> None:
    with LockSampler(ACTIONS) as sampler:
        loop, copies, both = (sampler.locked(name) for name in ("loop", "copies", "both"))
        assert loop > 0.8
        assert copies < 0.2
        assert copies + 0.1 < both < loop - 0.1
