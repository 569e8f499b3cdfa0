"""DataFusion, an optional query engine: its sessions, and its errors.

This is the only module that imports DataFusion's package.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from lance_core.error_texts.install import install
from lance_core.errors import (
    InvalidInputError,
    LanceError,
    ResultTooLargeError,
)

INSTALL = install("datafusion")
"""The command that installs the engine."""


def engine() -> Any:
    """The module `datafusion`, None if it is not installed."""
    try:
        import datafusion
    except ImportError:
        return None
    return datafusion


MIN_QUERY_BYTES = 1 << 30
"""Memory that the operators of a query may always use together."""


def query_memory() -> int:
    """Bytes that the operators of a query may use: half of the machine's memory.

    Sorts, aggregates and some joins write to temporary files beyond their part of it.
    """
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        physical = 0
    return max(physical // 2, MIN_QUERY_BYTES)


def session(options: dict[str, str], memory: int | None = None) -> Any:
    """A new session of DataFusion, whose operators use at most ``memory`` bytes."""
    datafusion = engine()
    config = datafusion.SessionConfig()
    for name, value in options.items():
        config = config.set(name, value)
    if memory is None:
        return datafusion.SessionContext(config)
    runtime = datafusion.RuntimeEnvBuilder().with_disk_manager_os().with_fair_spill_pool(memory)
    return datafusion.SessionContext(config, runtime)


@contextlib.contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Translate errors of the engine to `InvalidInputError`; ours stay.

    A query that needs more than its memory raises `ResultTooLargeError`.
    """
    try:
        yield
    except (LanceError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # the engine has no class of its own; a panic is no Exception
        first = str(error).split("\n", maxsplit=1)[0]
        if "Resources exhausted" in first:
            raise ResultTooLargeError(f"{what}: {first}") from error
        raise InvalidInputError(f"{what}: {first}") from error
