"""Assertions of the conformance kit; messages name the call, its result and the required one.

Importing this module makes pytest rewrite the assertions of the whole kit, so that a failure shows
the values that were compared. `lance_core_testing` therefore imports it first.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

import pyarrow as pa
import pytest

E = TypeVar("E", bound=BaseException)

Kinds: TypeAlias = type[E] | tuple[type[E], ...]

_SHOWN = 40
"""Maximum bytes of a wrong content that a message shows."""


def _rewrite_assertions() -> None:
    """Let pytest rewrite the assertions of the kit's modules that are not imported yet."""
    package, _, _ = __name__.rpartition(".")
    folder = str(Path(__file__).parent)
    names = [f"{package}.{module.name}" for module in pkgutil.iter_modules([folder])]
    pytest.register_assert_rewrite(*(name for name in names if name not in sys.modules))


_rewrite_assertions()


def check_bytes(got: pa.Buffer | bytes, expected: bytes, doing: str) -> None:
    """Raise `AssertionError` unless ``got`` is ``expected``; ``doing`` names the call."""
    __tracebackhide__ = True
    if pa.py_buffer(got).equals(pa.py_buffer(expected)):
        return
    actual = bytes(got)
    shorter = min(len(actual), len(expected))
    first = next((n for n in range(shorter) if actual[n] != expected[n]), shorter)
    raise AssertionError(
        f"{doing} gave {len(actual)} bytes, must give {len(expected)}; they differ from byte "
        f"{first} on: {actual[first : first + _SHOWN]!r}, must be "
        f"{expected[first : first + _SHOWN]!r}"
    )


def check_returns_nothing(name: str, call: Callable[[], object]) -> None:
    """Call ``call``; raise `AssertionError` if it returns anything. ``name`` names the method."""
    __tracebackhide__ = True
    returned = call()
    assert returned is None, (
        f"{name} returned {returned!r}; it must return None after it has done its work, "
        "and raise otherwise: whether a write that returns a value was applied is unknown"
    )


class Caught(Generic[E]):
    """The exception that `must_raise` caught, available after its block."""

    error: E


@contextmanager
def must_raise(kinds: Kinds[E], doing: str) -> Iterator[Caught[E]]:
    """Raise `AssertionError` unless the block ends with one of ``kinds``.

    ``doing`` says what the block does.
    """
    __tracebackhide__ = True
    caught: Caught[E] = Caught()
    try:
        yield caught
    except kinds as error:
        caught.error = error
    except Exception as error:
        raise AssertionError(f"{doing} raised {error!r}; it must raise {_names(kinds)}") from error
    else:
        raise AssertionError(f"{doing} raised nothing; it must raise {_names(kinds)}")


def _names(kinds: Kinds[E]) -> str:
    several = kinds if isinstance(kinds, tuple) else (kinds,)
    return " or ".join(error_class.__name__ for error_class in several)
