"""Telling how far the work is: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import TextIO

WIDTH = 24
INTERVAL = 0.2
"""Seconds between two paintings of the bar."""


class Progress:
    """Counts ``total`` steps and their `seconds`. A context manager."""

    def __init__(self, total: int, out: TextIO) -> None:
        self.seconds: dict[str, float] = {}
        self._total = total
        self._out = out
        self._is_terminal = out.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_terminal:
            print("\r\x1b[K", end="", file=self._out, flush=True)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Do one step inside the block."""
        started = time.perf_counter()
        done = threading.Event()
        painter = threading.Thread(target=self._paint, args=(name, started, done), daemon=True)
        if self._is_terminal:
            painter.start()
        try:
            yield
        finally:
            done.set()
            if self._is_terminal:
                painter.join()
        self.seconds[name] = time.perf_counter() - started
        if not self._is_terminal:
            count = f"[{len(self.seconds)}/{self._total}]"
            print(f"{count} {name}: {self.seconds[name]:.1f} s", file=self._out, flush=True)

    def _paint(self, name: str, started: float, done: threading.Event) -> None:
        while True:
            filled = WIDTH * len(self.seconds) // self._total
            bar = "█" * filled + "░" * (WIDTH - filled)
            line = f"\r\x1b[K{bar} {name}, {time.perf_counter() - started:.1f} s"
            print(line, end="", file=self._out, flush=True)
            if done.wait(INTERVAL):
                return
