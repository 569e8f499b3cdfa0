"""Runs tests of the kit on something defective, in this process and without pytest around them."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

Fixtures = Callable[[Any], Mapping[str, object]]
"""The values of fixtures for a subject, all new."""


@dataclass(frozen=True)
class Defect:
    """``make`` makes a subject with the defect; one of ``tests`` has to fail on it."""

    name: str
    make: Callable[..., object]
    tests: Sequence[str]


def defects_of(test: str, *makes: Callable[..., object]) -> list[Defect]:
    """A defect for each of ``makes``, named for it, all found by one test."""
    return [Defect(make.__name__, make, [test]) for make in makes]


def failure_of(kit: object, test: str, fixtures: Callable[[], Mapping[str, object]]) -> str | None:
    """What the first of a test's cases to fail says, None if all pass."""
    method = getattr(kit, test)
    wanted = inspect.signature(method).parameters
    for case in _cases(method):
        given = {**fixtures(), **case}
        try:
            method(**{name: given[name] for name in wanted})
        except (KeyboardInterrupt, MemoryError):
            raise
        except BaseException as error:  # also what pytest raises
            if isinstance(error, pytest.skip.Exception):
                raise AssertionError(f"{test} was skipped: {error}") from error
            return f"{type(error).__name__}: {error}"
    return None


def _cases(method: Callable[..., object]) -> Iterator[dict[str, object]]:
    """The arguments of each case of a parametrised test; of another one, that there are none."""
    axes = []
    for mark in getattr(method, "pytestmark", ()):
        if mark.name == "parametrize":
            names = [name.strip() for name in mark.args[0].split(",")]
            axes.append(
                [dict(zip(names, _values(names, one), strict=True)) for one in mark.args[1]]
            )
    for chosen in itertools.product(*axes):
        yield {name: value for part in chosen for name, value in part.items()}


def _values(names: Sequence[str], given: Any) -> Sequence[object]:
    return (given,) if len(names) == 1 else given
