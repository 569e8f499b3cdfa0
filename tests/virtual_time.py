"""Time that passes only when somebody waits."""

from __future__ import annotations

from lance_core.commits.environment import Environment


class VirtualTime:
    """``seconds`` is what time it is; sleeping moves it on."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    @property
    def environment(self) -> Environment:
        """The real world with this time instead of its own."""
        return Environment(
            clock=lambda: int(self.seconds * 1e9),
            monotonic=lambda: self.seconds,
            sleep=self.sleep,
        )
