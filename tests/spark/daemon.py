"""Spark's daemon, which forks the Python processes of tasks, with libraries imported beforehand.

A process whose task fails ends, as does one that was idle for a minute, and half of what the next
one takes to start are the same imports. They start no thread but that of Arrow's allocator, which
is made for forks.
"""

from __future__ import annotations

import gc
import importlib
import sys

from pyspark import daemon

LIBRARIES = ("pandas", "pyarrow.compute")

if __name__ == "__main__":
    for module in (*LIBRARIES, sys.argv[1]):
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    daemon.manager()
