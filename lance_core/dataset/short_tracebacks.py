"""Errors in arguments are raised where the user called, not where the library noticed them.

A misspelt column passes through twenty functions of the library before it is found out. None of
them helps the user, and they push the user's own line and the error's text apart.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from lance_core.dataset.spelled_out import SpelledOut
from lance_core.errors import (
    DatasetNotFoundError,
    IndexNotFoundError,
    InvalidInputError,
    RefNotFoundError,
    UserFunctionError,
)

VARIABLE = "LANCE_CORE_TRACEBACK"
"""Environment variable; with the value "full", the functions of the library stay in tracebacks."""

_ABOUT_ARGUMENTS = (
    InvalidInputError,
    DatasetNotFoundError,
    IndexNotFoundError,
    RefNotFoundError,
)

_Class = TypeVar("_Class", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def short_tracebacks(cls: _Class) -> _Class:
    """Let errors in the arguments of the public methods of a class be raised by the methods."""
    for name, member in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, classmethod | staticmethod):
            setattr(cls, name, type(member)(raises_by_itself(member.__func__)))
        elif isinstance(member, FunctionType):
            setattr(cls, name, raises_by_itself(member))
    return cls


def raises_by_itself(function: _Function) -> _Function:
    """``function``, whose errors about arguments have a traceback that begins with its call.

    The error and its cause stay; an error of the caller's own function keeps its traceback.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            args, kwargs = (), {}  # the frame would show secrets
            if not _is_about_arguments(error) or os.environ.get(VARIABLE) == "full":
                raise
            raise _without_own_frames(error)  # noqa: B904  # it is the error that is being handled

    if any("Unpack[" in str(annotation) for annotation in function.__annotations__.values()):
        spelled_out: Any = SpelledOut(function)
        spelled_out.__wrapped__ = function  # for those who look for the code
        call.__wrapped__ = spelled_out
    return call  # type: ignore[return-value]  # a wrapper has the signature of its function


def _is_about_arguments(error: BaseException | None) -> bool:
    return isinstance(error, _ABOUT_ARGUMENTS) and not isinstance(error, UserFunctionError)


def _without_own_frames(error: BaseException) -> BaseException:
    """``error`` without a traceback, and so are the errors of this library that led to it."""
    earlier = error.__cause__ or error.__context__
    while earlier is not None and _is_about_arguments(earlier):
        earlier.__traceback__ = None
        earlier = earlier.__cause__ or earlier.__context__
    return error.with_traceback(None)
