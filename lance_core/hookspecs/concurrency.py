"""Threads, locks and caches that survive forks, and pauses between attempts.

Programs fork while other threads hold locks. An ordinary lock stays locked in the child then, and a
connection is shared by both processes; what this module has starts anew in the child.
"""

from lance_core.concurrency.backoff import backoff
from lance_core.concurrency.cpu_count import THREADS_VARIABLE, cpu_count, num_processors
from lance_core.concurrency.fork_safe import ForkSafeLock, cached_property
from lance_core.concurrency.lru_cache import LruCache
from lance_core.concurrency.pools import ThreadPool

__all__ = [
    "THREADS_VARIABLE",
    "ForkSafeLock",
    "LruCache",
    "ThreadPool",
    "backoff",
    "cached_property",
    "cpu_count",
    "num_processors",
]
