"""Progress bars of writes that take long, if tqdm is installed, on a terminal or in a notebook.

The environment variable ``TQDM_DISABLE=1`` turns them off.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

DELAY_SECONDS = 2.0
"""Time after which a bar appears: most writes take less."""

_shown = threading.Lock()
"""Held while a bar is shown: a write inside of another has none."""


@contextlib.contextmanager
def progress_bar(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A function that advances a bar by a number of rows; it does nothing without a bar.

    ``what`` describes the bar, ``total``: the expected number of rows, None if unknown.
    """
    bar_class = _tqdm()
    if bar_class is None or not _shown.acquire(blocking=False):
        yield lambda count: None
        return
    options = {"unit": " rows", "unit_scale": True, "delay": DELAY_SECONDS, "file": sys.stderr}
    try:
        with bar_class(desc=what, total=total, **options) as bar:
            yield bar.update
    finally:
        _shown.release()


def _tqdm() -> Callable[..., contextlib.AbstractContextManager[Any]] | None:
    """The class of bars, None if there are none."""
    in_notebook = _in_notebook()
    if not in_notebook and (sys.stderr is None or not sys.stderr.isatty()):
        return None
    try:
        is_graphic = in_notebook and importlib.util.find_spec("ipywidgets") is not None
        tqdm = importlib.import_module("tqdm.notebook" if is_graphic else "tqdm").tqdm
    except ImportError:
        return None
    bar_class: Callable[..., contextlib.AbstractContextManager[Any]] = tqdm
    return bar_class


def _in_notebook() -> bool:
    """True if this code runs in a notebook, which shows what a kernel sends."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"
