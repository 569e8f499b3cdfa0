"""Wrong answers of plugins: values of wrong types, and errors of any kind, at a chosen call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


async def _later() -> None:
    """A method that its author has made async."""


def _generator() -> Iterator[None]:
    yield None


WRONG_VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "0": lambda: 0,
    "-1": lambda: -1,
    "float": lambda: 1.5,
    "text": lambda: "text",
    "bytes": lambda: b"bytes",
    "empty list": list,
    "list of None": lambda: [None],
    "list of texts": lambda: ["_versions/1.manifest"],
    "dict": lambda: {"version": 2},
    "object": object,
    "class": lambda: object,
    "coroutine": _later,
    "generator": _generator,
    "exception": lambda: ValueError("returned, not raised"),
}
"""Values that no method of a plugin may return in place of an object of the contract."""

ERRORS: dict[str, Callable[[], BaseException]] = {
    "TypeError": lambda: TypeError("'NoneType' object is not subscriptable"),
    "AttributeError": lambda: AttributeError("'str' object has no attribute 'size'"),
    "KeyError": lambda: KeyError("ETag"),
    "ValueError": lambda: ValueError("wrong"),
    "IndexError": lambda: IndexError("list index out of range"),
    "StopIteration": StopIteration,
    "StopAsyncIteration": StopAsyncIteration,
    "RecursionError": RecursionError,
    "AssertionError": AssertionError,
    "OSError": lambda: OSError(5, "broken"),
    "TimeoutError": TimeoutError,
    "FileNotFoundError": lambda: FileNotFoundError("gone"),
    "FileExistsError": lambda: FileExistsError("there"),
    "MemoryError": MemoryError,
}
"""Errors that the contracts do not mention."""

INTERRUPTIONS: dict[str, Callable[[], BaseException]] = {
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": lambda: SystemExit(1),
    "GeneratorExit": GeneratorExit,
}
"""What ends a call without being an error; it reaches the caller as it is."""


class ReturnedError(ValueError):
    """An exception that is returned, not raised."""

    is_raised = False


WRONG_VALUES["exception"] = lambda: ReturnedError("returned, not raised")


@dataclass
class Lie:
    """A call of ``method`` ends in a wrong way: the ``at``-th one (from 1), or all from then on.

    ``answer`` makes the value to return, or the exception to raise, from the honest result.
    ``applied``: the honest call is made before. ``raised``: the exception that was raised last.
    """

    method: str
    answer: Callable[[Any], Any]
    at: int = 1
    applied: bool = True
    always: bool = False
    calls: int = 0
    raised: BaseException | None = None

    def end(self, method: str, honest: Callable[[], Any]) -> Any:
        """End a call of ``method``, by this lie or honestly."""
        if method != self.method:
            return honest()
        self.calls += 1
        if self.calls < self.at or (self.calls > self.at and not self.always):
            return honest()
        answer = self.answer(honest() if self.applied else None)
        if isinstance(answer, BaseException) and not isinstance(answer, ReturnedError):
            self.raised = answer
            raise answer
        return answer


def no_lie() -> Lie:
    """A lie that is never told."""
    return Lie("", lambda honest: honest)
