"""Calls of plugins whose errors name the plugin, the method, and the type that it returned.

The wrappers of stores, commit handlers, manifest stores, index types, encodings and kernels use
them. The functions make texts of errors, and are called only after a call has failed.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from typing import Any

from lance_core.errors import LanceError


def class_of(plugin: object) -> str:
    """The class of an object of a plugin, with its module."""
    own_class = type(plugin)
    return f"{own_class.__module__}.{own_class.__qualname__}"


def type_of(value: object) -> str:
    """The type of a returned value, for an error message. Closes a coroutine: it is never awaited.

    The value itself may be large or secret, so it is not shown.
    """
    if inspect.iscoroutine(value):
        value.close()
        return "coroutine (methods of plugins are not async)"
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 64:
        return f"{type(value).__qualname__} {value!r}"
    return type(value).__qualname__


def wrong_field(*fields: tuple[str, object, type]) -> str | None:
    """``name is type`` of the first of ``fields`` (name, value, type) that has another type.

    None if there is none. True and False are not integers.
    """
    for name, value, expected in fields:
        if not isinstance(value, expected) or isinstance(value, bool):
            return f"{name} is {type_of(value)}"
    return None


def wrong_result(plugin: str, method: str, value: object, expected: str) -> str:
    """The message for a call that returned a value of the wrong type."""
    return f"{plugin}: {method} returned {type_of(value)}; it must return {expected}"


def failed_call(
    plugin: str, method: str, error: BaseException, mask: Callable[[str], str] = str
) -> str:
    """The message for a call that raised an error outside of `lance_core.errors`.

    It has the class, the text and the origin of the error. ``mask`` removes secrets from the text.
    """
    text = mask(f": {error}") if str(error) else ""
    frames = traceback.extract_tb(error.__traceback__)
    origin = ""
    if frames:
        file = frames[-1].filename.replace("\\", "/").rpartition("/")[2]
        origin = f" ({file}, line {frames[-1].lineno})"
    return f"{plugin}: {method} raised {type(error).__name__}{text}{origin}"


class CheckedCalls:
    """Calls functions of ``plugin``; what they do wrong is raised as ``kind``.

    `LanceError`, `MemoryError` and the errors in ``passed`` are raised as they are.
    """

    __slots__ = ("kind", "passed", "plugin")

    def __init__(
        self,
        plugin: str,
        kind: Callable[[str], LanceError],
        passed: tuple[type[Exception], ...] = (),
    ) -> None:
        self.plugin = plugin
        self.kind = kind
        self.passed: tuple[type[Exception], ...] = (LanceError, MemoryError, *passed)

    def __call__(
        self, method: str, expected: type | tuple[type, ...], call: Callable[[], Any]
    ) -> Any:
        """The result of ``call``, which must have one of the ``expected`` types."""
        try:
            answer = call()
        except self.passed:
            raise
        except Exception as error:
            raise self.kind(failed_call(self.plugin, method, error)) from error
        if not isinstance(answer, expected):
            classes = expected if isinstance(expected, tuple) else (expected,)
            names = " or ".join("None" if k is type(None) else k.__name__ for k in classes)
            raise self.wrong(method, answer, names)
        return answer

    def wrong(self, method: str, value: object, expected: str) -> LanceError:
        """The error for a value of the wrong type."""
        return self.kind(wrong_result(self.plugin, method, value, expected))

    def false(self, method: str, problem: str) -> LanceError:
        """The error for a value of the right type that cannot be true."""
        return self.kind(f"{self.plugin}: {method} returned {problem}")
