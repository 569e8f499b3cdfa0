"""What the library reports while it works, to the observers of plugins.

There are counters, to which amounts are added, and spans: work with a start, an end and an outcome.
``docs/plugins/otel.md`` lists their names and attributes. Without an observer, a report costs one
test of an empty list. An error of an observer is logged, and the work goes on.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

Attributes: TypeAlias = Mapping[str, str | int | float | bool]
"""What is said of a report, by name."""

EndSpan: TypeAlias = Callable[[Attributes, BaseException | None], None]
"""Ends a span: with more attributes, and the error that ended the work, if any."""

_LOG = logging.getLogger("lance_core.observation")


class Observer(ABC):
    """Gets the reports of all threads of a process."""

    @abstractmethod
    def count(self, name: str, amount: float, attributes: Attributes) -> None:
        """Add ``amount`` to the counter ``name``."""

    @abstractmethod
    def start_span(self, name: str, attributes: Attributes, *, is_current: bool) -> EndSpan:
        """Start the span ``name``.

        ``is_current``: the same thread ends it, and the spans that it starts before are parts of
        it. Otherwise the work is done bit by bit, as its consumer asks for it.
        """


OBSERVERS: list[Observer] = []
"""The observers of this process; those who report test whether there is one first."""


def count(name: str, amount: float = 1, **attributes: str | float | bool) -> None:
    """Add ``amount`` to the counter ``name`` of each observer."""
    for observer in OBSERVERS:
        try:
            observer.count(name, amount, attributes)
        except Exception:
            _LOG.exception("the observer %r failed to count %s", observer, name)


@contextmanager
def traced(
    name: str, *, is_current: bool = True, **attributes: str | float | bool
) -> Iterator[dict[str, str | int | float | bool]]:
    """A span around a block, which adds attributes to what it gets; see `Observer.start_span`."""
    ends: list[EndSpan] = []
    for observer in OBSERVERS:
        try:
            ends.append(observer.start_span(name, attributes, is_current=is_current))
        except Exception:
            _LOG.exception("the observer %r failed to start %s", observer, name)
    results: dict[str, str | int | float | bool] = {}
    failure: BaseException | None = None
    try:
        yield results
    except GeneratorExit:  # the consumer wants no more
        raise
    except BaseException as error:
        failure = error
        raise
    finally:
        for end in reversed(ends):
            try:
                end(results, failure)
            except Exception:
                _LOG.exception("an observer failed to end %s", name)
