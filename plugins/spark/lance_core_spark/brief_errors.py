"""Errors of lance-core in one sentence: Spark's processes show no traceback before them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from lance_core.errors import LanceError

TRACEBACK = "LANCE_CORE_TRACEBACK"
"""The environment variable that keeps all lines of tracebacks with the value ``full``."""

HIDE = "SPARK_HIDE_TRACEBACK"
"""The variable that PySpark looks at when it hands an error of this process to Java."""

_OF_WORKERS = "PYTHON_WORKER_FACTORY"
"""The beginning of variables that Java sets for the Python processes that it starts."""

_Method = TypeVar("_Method", bound=Callable[..., Any])


def shortened_error(error: BaseException) -> BaseException:
    """``error``, whose traceback PySpark leaves out if this is a process that Java has started.

    The process ends after the error, so the traceback of no other one is left out.
    """
    if os.environ.get(TRACEBACK) == "full":
        return error
    if any(name.startswith(_OF_WORKERS) for name in os.environ):
        os.environ[HIDE] = "1"
    return error.with_traceback(None)


def brief(method: _Method) -> _Method:
    """``method``, whose errors of lance-core have no traceback."""

    @functools.wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return method(*arguments, **named)
        except LanceError as error:
            arguments, named = (), {}  # The frame would show secrets.
            raise shortened_error(error) from None

    return call  # type: ignore[return-value]  # the same arguments and result


def brief_rows(method: _Method) -> _Method:
    """``method``, which returns an iterator, whose errors of lance-core have no traceback."""

    @functools.wraps(method)
    def call(*arguments: Any, **named: Any) -> Iterator[Any]:
        try:
            yield from method(*arguments, **named)
        except LanceError as error:
            arguments, named = (), {}
            raise shortened_error(error) from None

    return call  # type: ignore[return-value]  # the same arguments, and the same values
