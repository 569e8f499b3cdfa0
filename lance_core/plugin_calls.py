"""Texts of errors about calls of plugins: which plugin, which method, which type it returned.

The wrappers of stores, commit handlers and manifest stores, and the code that calls encodings and
index types, use these functions. They are called only after a call has failed.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable


def class_of(plugin: object) -> str:
    """The class of an object of a plugin, with its module."""
    kind = type(plugin)
    return f"{kind.__module__}.{kind.__qualname__}"


def type_of(value: object) -> str:
    """The type of a returned value, for an error message. Closes a coroutine, which nobody awaits.

    The value itself may be large or secret, so it is not shown.
    """
    if inspect.iscoroutine(value):
        value.close()
        return "coroutine (methods of plugins are not async)"
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 64:
        return f"{type(value).__qualname__} {value!r}"
    return type(value).__qualname__


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
