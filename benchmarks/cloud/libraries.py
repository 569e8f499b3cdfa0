"""Both libraries at one service: the same calls, with the options of each library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import lance
import pyarrow as pa

import lance_core
from benchmarks.cloud.places import Place
from benchmarks.report import OURS, PEER

MODULES: dict[str, Any] = {OURS: lance_core, PEER: lance}


@dataclass(frozen=True, slots=True)
class Library:
    """One library. ``name``: its name in the report. ``origin``: the URL of a proxy, if any."""

    name: str
    place: Place
    origin: str | None = None

    @property
    def _options(self) -> dict[str, str]:
        return self.place.options(self.name == OURS, self.origin)

    def write(self, table: str, data: Any, **options: Any) -> None:
        """Write a table, or append with ``mode``."""
        uri = self.place.uri(table)
        MODULES[self.name].write_dataset(data, uri, storage_options=self._options, **options)

    def open(self, table: str) -> Any:
        """Open the table with empty caches."""
        return MODULES[self.name].dataset(self.place.uri(table), storage_options=self._options)


def libraries(place: Place, origin: str | None = None) -> dict[str, Library]:
    """This library and pylance, by their names."""
    return {name: Library(name, place, origin) for name in MODULES}


def each(
    chosen: dict[str, Library], work: Callable[[Library], object]
) -> dict[str, Callable[[], object]]:
    """By name, an action that calls ``work`` with the library."""
    return {name: partial(work, library) for name, library in chosen.items()}


def one_row(data: pa.Table) -> pa.Table:
    """One row to append."""
    return data.slice(0, 1)
